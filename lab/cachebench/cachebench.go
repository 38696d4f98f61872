// Package cachebench measures package cache: its cost relative to the bare commands that it needs,
// and its guarantees when processes are killed and Redis is stopped or emptied.
package cachebench

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os/exec"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/testkit/cachetest"
	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
	"github.com/tandian-dev/tandian/lab/harness"
)

// Options configures [Rows]. Processes is required.
type Options struct {
	RedisURL  string           // "" starts a redis-server for the run
	Reads     int64            // strict reads; default a million
	Expiries  int              // of the hot key, at least; default 100
	Seed      uint64           // of random choices; default 1
	Processes func() *exec.Cmd // a command that calls Process on its standard input and output
	Progress  io.Writer        // what is being measured; default nowhere
}

// Process runs one process of a measurement that needs several.
func Process(ctx context.Context, in io.Reader, out io.Writer) error {
	return cachetest.Serve(ctx, in, out, subprocess.OpenPatient)
}

// Rows measures the cache and writes a table to out: its cost relative to the bare commands, in
// alternating rounds, and its guarantees when processes are killed and Redis is stopped or emptied.
// Measurements that stop or empty a Redis need a private redis-server; without one, their rows contain
// the reason. Every figure is next to its goal.
func Rows(ctx context.Context, o Options, out io.Writer) error {
	o.Reads, o.Expiries, o.Seed = cmp.Or(o.Reads, 1_000_000), cmp.Or(o.Expiries, 100), cmp.Or(o.Seed, 1)
	o.Progress = cmp.Or(o.Progress, io.Discard)
	private, err := subprocess.StartRedis(ctx)
	if err == nil {
		defer private.Stop()
	} else if !errors.Is(err, subprocess.ErrNoServer) || o.RedisURL == "" {
		return err
	}
	if o.RedisURL == "" {
		o.RedisURL = private.URL
	}
	b := &cacheBench{Options: o, private: private, prefix: "tdbench-" + rand.Text()[:8]}
	if b.rdb, err = subprocess.OpenPatient(o.RedisURL); err != nil {
		return err
	}
	defer func() { _ = b.rdb.Close() }()
	var without error // for measurements that stop or empty a Redis
	if private == nil {
		without = subprocess.ErrNoServer
	}
	return harness.Table(ctx, "bench cache", []harness.Measurement{
		{Name: "hits in Redis next to a bare GET", Measure: b.hit},
		{Name: "local hits next to otter", Measure: b.localHit},
		{Name: "many keys at once next to MGET", Measure: b.many},
		{Name: "expiries of a hot key over three processes", Measure: b.expiries},
		{Name: "strict reads over three processes that are killed", Measure: b.strict},
		{Name: "absent keys", Measure: b.absent},
		{Name: "updates seen by other processes", Measure: b.bus, Without: without},
		{Name: "an emptied Redis", Measure: b.emptied, Without: without},
		{Name: "a stopped Redis", Measure: b.stopped, Without: without},
	}, out, o.Progress)
}

// cacheBench is one run.
type cacheBench struct {
	Options
	rdb     redis.UniversalClient
	private *subprocess.Redis // nil if there is none
	prefix  string            // of all keys, which expire
	clients int
}

// newClient returns a client with its own keys, like another process.
func (b *cacheBench) newClient(rdb redis.UniversalClient, o cache.Options) (*cache.Client, error) {
	b.clients++
	o.Prefix = fmt.Sprintf("%s-%d", b.prefix, b.clients)
	return cache.NewClient(rdb, o)
}

// running runs a client. stop ends it and waits for its background work.
func running(ctx context.Context, h *cache.Client) (stop func()) {
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
