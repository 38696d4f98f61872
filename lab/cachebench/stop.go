package cachebench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
	"github.com/tandian-dev/tandian/lab/harness"
)

// stopped stops the private Redis under 200 reads a second, all of them hits, and resumes it later.
func (b *cacheBench) stopped(ctx context.Context) ([]harness.Row, error) {
	const (
		every, keys, limit = 5 * time.Millisecond, 500, 32
		before             = 3 * time.Second
		opening            = time.Second // for the breaker to open
		after              = 4 * time.Second
		settling           = 2 * time.Second // until Redis is used again
		again              = 2 * time.Second
	)
	rdb, err := subprocess.OpenRedis(b.private.URL)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rdb.Close() }()
	signal, err := b.private.Signal(ctx)
	if err != nil {
		return nil, err
	}
	h, err := b.newClient(rdb, cache.Options{})
	if err != nil {
		return nil, err
	}
	defer h.Wait()
	source := &slowBlobs{takes: time.Millisecond}
	c := cache.New(h, cache.Policy{Name: "page", MaxLoads: limit}, cache.Source[int, blob]{Key: strconv.Itoa, Load: source.load})
	ids := rand.Perm(keys)
	if _, err := c.GetMany(ctx, ids); err != nil {
		return nil, err
	}
	source.max.Store(0)
	load := readEvery(ctx, every, func(ctx context.Context) error {
		_, err := c.Get(ctx, ids[rand.IntN(keys)])
		return err
	})
	phase := func(d time.Duration) (timings, error) {
		load.take()
		err := clock.Sleep(ctx, d)
		return load.take(), err
	}
	normal, err := phase(before)
	err = errors.Join(err, signal("STOP"))
	first, failed := phase(opening)
	later, failedLater := phase(after)
	err = errors.Join(err, failed, failedLater, signal("CONT"))
	_, failed = phase(settling)
	back, failedLater := phase(again)
	load.stop()
	if err := errors.Join(err, failed, failedLater); err != nil {
		return nil, err
	}
	return []harness.Row{
		{What: "200 reads/s, all of them hits: p99", Measured: normal.String()},
		{
			What: "Redis stopped, first second: p99", Measured: first.String(),
			Goal: "≤ 300 ms", Met: first.p99() <= 300*time.Millisecond && first.errors == 0,
		},
		{
			What: "Redis stopped, the next four: p99", Measured: later.String() + fmt.Sprintf(", %d loader calls at once", source.max.Load()),
			Goal: "≤ normal + 2 ms", Met: later.p99() <= normal.p99()+2*time.Millisecond && later.errors == 0 && source.max.Load() <= limit,
		},
		{What: "Redis back for two seconds: p99", Measured: back.String()},
	}, nil
}

// timings are the durations of reads that began in one phase.
type timings struct {
	took   harness.Samples
	errors int
}

func (t timings) p99() time.Duration { return t.took.Percentile(99) }

func (t timings) String() string {
	return fmt.Sprintf("%.1f ms, p50 %.2f ms, %d reads, %d errors", harness.Millis(t.p99()), harness.Millis(t.took.Percentile(50)), len(t.took), t.errors)
}

// openLoad reads at a steady rate, regardless of the duration of each read.
type openLoad struct {
	cancel context.CancelFunc
	all    sync.WaitGroup

	mu    sync.Mutex
	phase *timings
	under *sync.WaitGroup // reads of this phase
}

func readEvery(ctx context.Context, every time.Duration, read func(context.Context) error) *openLoad {
	ctx, cancel := context.WithCancel(ctx)
	l := &openLoad{cancel: cancel, phase: new(timings), under: new(sync.WaitGroup)}
	l.all.Go(func() {
		for due := time.Now(); ctx.Err() == nil; due = due.Add(every) {
			_ = clock.Sleep(ctx, time.Until(due))
			l.mu.Lock()
			phase := l.phase
			l.under.Go(func() {
				began := time.Now()
				err := read(context.WithoutCancel(ctx))
				l.mu.Lock()
				defer l.mu.Unlock()
				phase.took = append(phase.took, time.Since(began))
				if err != nil {
					phase.errors++
				}
			})
			l.mu.Unlock()
		}
	})
	return l
}

// take begins a phase and returns the timings of the previous one, after all of its reads.
func (l *openLoad) take() timings {
	l.mu.Lock()
	phase, under := l.phase, l.under
	l.phase, l.under = new(timings), new(sync.WaitGroup)
	l.mu.Unlock()
	under.Wait()
	return *phase
}

func (l *openLoad) stop() {
	l.cancel()
	l.all.Wait()
	l.take()
}
