// Package cachebench measures package cache: what it costs beside the bare
// commands that it cannot do without, and whether it holds what it promises when
// processes are killed and Redis is stopped or emptied.
package cachebench

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"text/tabwriter"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/cache/cachetest"
)

// Options says how [Rows] measures. Processes is required.
type Options struct {
	RedisURL  string           // "" starts a redis-server for the run
	Reads     int64            // strict reads; default a million
	Expiries  int              // of the hot key, at least; default 100
	Seed      uint64           // of random choices; default 1
	Processes func() *exec.Cmd // a command that calls Process on its standard input and output
	Progress  io.Writer        // what is being measured; default nowhere
}

// Process is a process of those measurements that need several.
func Process(ctx context.Context, in io.Reader, out io.Writer) error {
	return cachetest.Serve(ctx, in, out, openPatient)
}

// Rows measures the cache and writes a table to out: what it costs beside
// what it cannot do without, in rounds that take turns, and what it holds to
// when processes are killed and Redis is stopped or emptied. Those that harm a
// Redis have a redis-server of their own, and say so where there is none to
// start. Every figure has the goal of the design beside it.
func Rows(ctx context.Context, o Options, out io.Writer) error {
	o.Reads, o.Expiries, o.Seed = cmp.Or(o.Reads, 1_000_000), cmp.Or(o.Expiries, 100), cmp.Or(o.Seed, 1)
	o.Progress = cmp.Or(o.Progress, io.Discard)
	private, err := startRedis(ctx)
	if err == nil {
		defer private.stop()
	} else if !errors.Is(err, errNoServer) || o.RedisURL == "" {
		return err
	}
	if o.RedisURL == "" {
		o.RedisURL = private.url
	}
	b := &cacheBench{Options: o, private: private, prefix: "tdbench-" + rand.Text()[:8]}
	if b.rdb, err = openPatient(o.RedisURL); err != nil {
		return err
	}
	defer func() { _ = b.rdb.Close() }()
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "what\tmeasured\tgoal\tmet")
	for _, m := range []struct {
		name    string
		measure func(context.Context) ([]row, error)
		harms   bool
	}{
		{"hits in Redis beside a bare GET", b.hit, false},
		{"local hits beside otter", b.localHit, false},
		{"many keys at once beside MGET", b.many, false},
		{"expiries of a hot key over three processes", b.expiries, false},
		{"strict reads over three processes that are killed", b.strict, false},
		{"absent keys", b.absent, false},
		{"updates that other processes hear of", b.bus, true},
		{"an emptied Redis", b.emptied, true},
		{"a stopped Redis", b.stopped, true},
	} {
		if m.harms && private == nil {
			_, _ = fmt.Fprintf(table, "%s\t%v\t\t\n", m.name, errNoServer)
			continue
		}
		fmt.Fprintf(o.Progress, "bench cache: %s\n", m.name)
		rows, err := m.measure(ctx)
		if err != nil {
			return fmt.Errorf("measure %s: %w", m.name, err)
		}
		for _, r := range rows {
			_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", r.what, r.measured, r.goal, r.verdict())
		}
	}
	return table.Flush()
}

// row is a line of the table. Without a goal it is there to be compared with.
type row struct {
	what, measured, goal string
	met                  bool
}

func (r row) verdict() string {
	switch {
	case r.goal == "":
		return ""
	case r.met:
		return "yes"
	}
	return "NO"
}

// cacheBench is one run.
type cacheBench struct {
	Options
	rdb     redis.UniversalClient
	private *redisServer // nil: there is none
	prefix  string       // of all keys, which have a life
	hubs    int
}

// hub is a new one, of a process as it were, with keys of its own.
func (b *cacheBench) hub(rdb redis.UniversalClient, o cache.Options) (*cache.Hub, error) {
	b.hubs++
	o.Prefix = fmt.Sprintf("%s-%d", b.prefix, b.hubs)
	return cache.NewHub(rdb, o)
}

// running runs a hub until the function that it returns is called, which waits
// for all that the hub does.
func running(ctx context.Context, h *cache.Hub) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = h.Run(ctx) // always nil
	}()
	return func() {
		cancel()
		<-done
		h.Wait()
	}
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
