package bench

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/redisdb"
)

const (
	fillBatch   = 500                    // members of one command
	fillPipe    = 10                     // commands of one pipeline
	fillLife    = time.Hour              // TTL, in case this program is killed
	probeBefore = 300 * time.Millisecond // of quiet, in each measurement
	probeAfter  = 300 * time.Millisecond
	expiryPoll  = 5 * time.Millisecond
	rounds      = 3 // of each measurement; the shortest wait counts, because other load only lengthens it
)

// Progress shows the progress of a known amount of work.
type Progress interface {
	Set(done int)
	Close()
}

// RedisDeletePlan configures RedisDelete. All fields are required.
type RedisDeletePlan struct {
	Work     redis.UniversalClient // fills and deletes; its time-out must allow a DEL of all members
	Probe    redis.UniversalClient // sends GETs meanwhile, on its own connections
	Prefix   string                // of the keys
	Members  int                   // of each key
	Progress func(what string, total int) Progress
}

// RedisDelete creates a hash and a sorted set of the planned size, deletes each in every available
// way, and writes a table to out: the duration of the deletion, and the longest wait of another
// client that sends one GET after the other. The figures are those of the round with
// the shortest wait, of three. The first row shows the wait without a deletion. The keys have random names;
// RedisDelete removes them at the end, also when ctx ends.
func RedisDelete(ctx context.Context, p RedisDeletePlan, out io.Writer) (err error) {
	b := &deleteBench{RedisDeletePlan: p, key: p.Prefix + ":bench:{" + rand.Text() + "}"}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		err = errors.Join(err, redisdb.DeleteLarge(ctx, p.Work, b.key), p.Work.Unlink(ctx, b.probed()).Err())
	}()
	if err := p.Work.Set(ctx, b.probed(), "1", fillLife).Err(); err != nil {
		return fmt.Errorf("prepare probe: %w", err)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintf(table, "%d members\ttook ms\tlongest wait ms\tp99 ms\tGETs\t\n", p.Members)
	quiet, err := b.best(ctx, "", func(ctx context.Context) error { return pause(ctx, time.Second) })
	if err != nil {
		return err
	}
	quiet.print(table, "no deletion")
	for _, kind := range []string{"hash", "zset"} {
		for _, way := range b.ways() {
			got, err := b.best(ctx, kind, way.remove)
			if err != nil {
				return fmt.Errorf("%s of a %s: %w", way.name, kind, err)
			}
			got.print(table, kind+", "+way.name)
		}
	}
	return table.Flush()
}

// deleteBench is one run with one key.
type deleteBench struct {
	RedisDeletePlan
	key string
}

// probed returns the key that the probe reads. It is on the same node of a cluster.
func (b *deleteBench) probed() string { return b.key + ":probe" }

type way struct {
	name   string
	remove func(ctx context.Context) error
}

// ways returns all ways to delete the key.
func (b *deleteBench) ways() []way {
	return []way{
		{"DEL", func(ctx context.Context) error {
			return b.Work.Del(ctx, b.key).Err()
		}},
		{"expiry", func(ctx context.Context) error {
			if err := b.Work.PExpire(ctx, b.key, 10*time.Millisecond).Err(); err != nil {
				return err
			}
			return until(ctx, func() (bool, error) {
				n, err := b.Work.Exists(ctx, b.key).Result()
				return n == 0, err
			})
		}},
		{"UNLINK", func(ctx context.Context) error {
			if err := b.Work.Unlink(ctx, b.key).Err(); err != nil {
				return err
			}
			// Another thread frees the memory: the probe continues until it is done.
			return until(ctx, func() (bool, error) {
				info, err := b.Work.Info(ctx, "memory").Result()
				return !strings.Contains(info, "lazyfree_pending_objects:") || strings.Contains(info, "lazyfree_pending_objects:0"), err
			})
		}},
		{"DeleteLarge", func(ctx context.Context) error { return redisdb.DeleteLarge(ctx, b.Work, b.key) }},
	}
}

// fill creates the key.
func (b *deleteBench) fill(ctx context.Context, kind string) error {
	progress := b.Progress("members of a "+kind, b.Members)
	defer progress.Close()
	for done := 0; done < b.Members; {
		_, err := b.Work.Pipelined(ctx, func(p redis.Pipeliner) error {
			for range fillPipe {
				n := min(fillBatch, b.Members-done)
				if n == 0 {
					break
				}
				add(ctx, p, kind, b.key, done, n)
				done += n
			}
			p.PExpire(ctx, b.key, fillLife)
			return nil
		})
		if err != nil {
			return fmt.Errorf("fill a %s: %w", kind, err)
		}
		progress.Set(done)
	}
	return nil
}

// add adds the members from, from+1, … to a key.
func add(ctx context.Context, p redis.Pipeliner, kind, key string, from, n int) {
	if kind == "hash" {
		fields := make([]any, 0, 2*n)
		for i := from; i < from+n; i++ {
			fields = append(fields, fmt.Sprintf("member:%08d", i), "value")
		}
		p.HSet(ctx, key, fields...)
		return
	}
	members := make([]redis.Z, 0, n)
	for i := from; i < from+n; i++ {
		members = append(members, redis.Z{Score: float64(i), Member: fmt.Sprintf("member:%08d", i)})
	}
	p.ZAdd(ctx, key, members...)
}

// stall is the result of one measurement.
type stall struct {
	took         time.Duration // of the work
	longest, p99 time.Duration // that the probe waited for one answer
	requests     int
}

func (s stall) print(out io.Writer, what string) {
	_, _ = fmt.Fprintf(out, "%s\t%.1f\t%.1f\t%.2f\t%d\t\n", what, millis(s.took), millis(s.longest), millis(s.p99), s.requests)
}

// best measures some work several times, each time on a new key of the given type, or on none if it
// is "".
func (b *deleteBench) best(ctx context.Context, kind string, work func(context.Context) error) (best stall, err error) {
	for round := range rounds {
		if kind != "" {
			if err := b.fill(ctx, kind); err != nil {
				return stall{}, err
			}
		}
		got, err := b.measure(ctx, work)
		if err != nil {
			return stall{}, err
		}
		if round == 0 || got.longest < best.longest {
			best = got
		}
	}
	return best, nil
}

// measure probes before, during and after the work.
func (b *deleteBench) measure(ctx context.Context, work func(context.Context) error) (s stall, err error) {
	probing, stop := context.WithCancel(ctx)
	defer stop()
	type result struct {
		waits []time.Duration
		err   error
	}
	ended := make(chan result, 1)
	go func() {
		waits, err := b.probe(ctx, probing)
		ended <- result{waits, err}
	}()
	err = pause(ctx, probeBefore)
	if err == nil {
		begin := time.Now()
		err = work(ctx)
		s.took = time.Since(begin)
	}
	if err == nil {
		err = pause(ctx, probeAfter)
	}
	stop()
	r := <-ended
	if err := errors.Join(err, r.err); err != nil {
		return stall{}, err
	}
	if len(r.waits) == 0 {
		return stall{}, errors.New("probe got no answer")
	}
	slices.Sort(r.waits)
	s.longest, s.p99, s.requests = r.waits[len(r.waits)-1], r.waits[len(r.waits)*99/100], len(r.waits)
	return s, nil
}

// probe sends one GET after the other until probing ends, and waits for the last reply.
func (b *deleteBench) probe(ctx, probing context.Context) (waits []time.Duration, err error) {
	for probing.Err() == nil {
		begin := time.Now()
		if err := b.Probe.Get(ctx, b.probed()).Err(); err != nil {
			return nil, fmt.Errorf("probe: %w", err)
		}
		waits = append(waits, time.Since(begin))
	}
	return waits, nil
}

// until polls until yes returns true.
func until(ctx context.Context, yes func() (bool, error)) error {
	for {
		ok, err := yes()
		if err != nil || ok {
			return err
		}
		if err := pause(ctx, expiryPoll); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
