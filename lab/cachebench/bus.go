package cachebench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/eventbus"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/testkit/cachetest"
	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
	"github.com/tandian-dev/tandian/lab/harness"
)

const busMaxAge = time.Second // the default of the cache

// bus measures for how long the local copy of another process is stale after a commit: with a
// healthy, a cut and a half-open bus.
func (b *cacheBench) bus(ctx context.Context) (rows []harness.Row, err error) {
	dir, err := os.MkdirTemp("", "tdbus")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the link: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	link, err := cachetest.NewLink(b.private.URL, filepath.Join(dir, "s"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, link.Close()) }()
	b.clients++
	x := &busPair{prefix: fmt.Sprintf("%s-%d", b.prefix, b.clients)}
	here, stop, err := x.process(ctx, b.private.URL, b.private.URL)
	if err != nil {
		return nil, err
	}
	defer stop()
	there, stop, err := x.process(ctx, b.private.URL, link.URL())
	if err != nil {
		return nil, err
	}
	defer stop()
	for _, m := range []struct {
		fault   cachetest.Fault
		updates int
		goal    time.Duration
	}{
		{cachetest.Healthy, 200, 50 * time.Millisecond},
		{cachetest.Cut, 5, busMaxAge + 50*time.Millisecond},
		{cachetest.HalfOpen, 5, busMaxAge + 50*time.Millisecond},
	} {
		var took harness.Samples
		for range m.updates {
			d, err := x.update(ctx, link, m.fault, here, there)
			if err != nil {
				return nil, err
			}
			took = append(took, d)
		}
		worst := took.Percentile(99)
		if m.fault != cachetest.Healthy {
			worst = took.Percentile(100)
		}
		rows = append(rows, harness.Row{
			What: fmt.Sprintf("update seen in another process's memory, its bus %s, p99 of %d", m.fault, m.updates),
			Measured: fmt.Sprintf("%.1f ms, p50 %.1f ms, max %.1f ms",
				harness.Millis(took.Percentile(99)), harness.Millis(took.Percentile(50)), harness.Millis(took.Percentile(100))),
			Goal: fmt.Sprintf("≤ %v", m.goal), Met: worst <= m.goal,
		})
	}
	return rows, nil
}

// busPair is one row in the caches of two processes.
type busPair struct {
	prefix  string
	version atomic.Int64 // of the row
}

type versions = cache.Cache[int, int64]

// process opens a cache with a bus and its own Redis clients, like another process.
func (x *busPair) process(ctx context.Context, url, busURL string) (c *versions, stop func(), err error) {
	rdb, err := subprocess.OpenRedis(url)
	if err != nil {
		return nil, nil, err
	}
	busRdb, err := subprocess.OpenRedis(busURL)
	if err != nil {
		return nil, nil, errors.Join(err, rdb.Close())
	}
	bus := eventbus.NewRedis(busRdb, redisdb.NewBlockingClient, eventbus.Options{Prefix: x.prefix})
	h, err := cache.NewClient(rdb, cache.Options{Prefix: x.prefix, LocalBytes: 1 << 20, MaxAge: busMaxAge, Bus: bus})
	if err != nil {
		return nil, nil, errors.Join(err, rdb.Close(), busRdb.Close())
	}
	c = cache.New(h, cache.Policy{
		Name: "row", TTL: time.Hour,
		Local: cache.Local{Share: 1, Criteria: cache.Hot | cache.RarelyChanged | cache.Small | cache.MayBeStale, MaxAge: busMaxAge},
	}, cache.Source[int, int64]{Key: strconv.Itoa, Parse: strconv.Atoi, Load: func(context.Context, []int) (map[int]int64, error) {
		return map[int]int64{1: x.version.Load()}, nil
	}})
	stopHub := running(ctx, h)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = bus.Run(ctx) // without it the goals are not met
	}()
	return c, func() {
		cancel()
		<-done
		stopHub()
		_, _ = rdb.Close(), busRdb.Close()
	}, nil
}

// update breaks the link, changes the row, and returns the time from the commit until the other
// process returned the new row. Before that, it waits until that process is in sync and has cached
// the row.
func (x *busPair) update(ctx context.Context, link *cachetest.Link, f cachetest.Fault, here, there *versions) (time.Duration, error) {
	link.Set(cachetest.Healthy)
	alone := 10 * time.Millisecond
	if f != cachetest.Healthy {
		alone += busMaxAge // longer than without a bus
	}
	if err := x.settled(ctx, there, alone); err != nil {
		return 0, err
	}
	link.Set(f)
	want := x.version.Add(1)
	committed := time.Now()
	if err := here.Invalidate(ctx, 1); err != nil {
		return 0, err
	}
	for {
		got, err := there.Get(ctx, 1)
		if err != nil {
			return 0, err
		}
		if took := time.Since(committed); got == want {
			return took, nil
		} else if took > time.Minute {
			return 0, errors.New("update was not seen within a minute")
		}
		if err := clock.Sleep(ctx, 100*time.Microsecond); err != nil {
			return 0, err
		}
	}
}

// settled waits until a process has returned its local copy for the given time.
func (x *busPair) settled(ctx context.Context, c *versions, alone time.Duration) error {
	for since := time.Now(); ; {
		before := c.Stats().Misses + c.Stats().Hits
		if _, err := c.Get(ctx, 1); err != nil {
			return err
		}
		if after := c.Stats().Misses + c.Stats().Hits; after != before {
			since = time.Now()
		}
		if time.Since(since) > alone {
			return nil
		}
		if err := clock.Sleep(ctx, time.Millisecond); err != nil {
			return err
		}
	}
}
