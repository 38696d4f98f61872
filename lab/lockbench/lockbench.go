// Package lockbench measures package lock: its cost, hand-over time, commands per waiter, and
// guarantees when callers give up and nodes stop. Package lock is a layer over redsync, so most
// rows also measure redsync alone, with its default options.
package lockbench

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
	"github.com/tandian-dev/tandian/lab/harness"
)

// Options configures [Rows]. Processes is required.
type Options struct {
	RedisURL  string           // one Redis; "" starts a redis-server for the run
	Rounds    int              // of lock and unlock, an odd number of 100 each; default 401
	Handovers int              // between two processes; default 1000
	Waiters   int              // for one lock, in several processes; default 16
	Cancelled int              // calls that are cancelled; default 10 000
	Leases    int              // that are held when Redis stops; default 1000
	Processes func() *exec.Cmd // a command that calls Process on its standard input and output
	Progress  io.Writer        // what is being measured; default nowhere

	// Tests set larger values for busy machines.
	tidying time.Duration // until locks of cancelled calls must be released; default 1 s
	ttl     time.Duration // of the leases; default 2 s
}

func (o *Options) complete() {
	o.Rounds, o.Handovers, o.Waiters = cmp.Or(o.Rounds, 401), cmp.Or(o.Handovers, 1000), cmp.Or(o.Waiters, 16)
	o.Cancelled, o.Leases = cmp.Or(o.Cancelled, 10_000), cmp.Or(o.Leases, 1000)
	o.Progress = cmp.Or(o.Progress, io.Discard)
	o.tidying, o.ttl = cmp.Or(o.tidying, time.Second), cmp.Or(o.ttl, 2*time.Second)
}

// Rows measures the lock and writes a table to out. Measurements that stop or slow a Redis, or
// count its commands, need private redis-servers; without them, their rows contain the reason.
// Every figure is next to its goal.
func Rows(ctx context.Context, o Options, out io.Writer) error {
	o.complete()
	private, err := subprocess.StartRedis(ctx)
	if err == nil {
		defer private.Stop()
	} else if !errors.Is(err, subprocess.ErrNoServer) || o.RedisURL == "" {
		return err
	}
	if o.RedisURL == "" {
		o.RedisURL = private.URL
	}
	b := &lockBench{Options: o, private: private, prefix: "tdbench-" + rand.Text()[:8]}
	if b.rdb, err = subprocess.OpenPatient(o.RedisURL); err != nil {
		return err
	}
	defer func() { _ = b.rdb.Close() }()
	var without error // for measurements that need private redis-servers
	if private == nil {
		without = subprocess.ErrNoServer
	}
	return harness.Table(ctx, "bench lock", []harness.Measurement{
		{Name: "lock and unlock next to redsync and bare commands", Measure: b.cost},
		{Name: "hand-over between two processes", Measure: b.handover},
		{Name: "many waiters in several processes", Measure: b.crowd},
		{Name: "commands of a waiter in Redis", Measure: b.silence, Without: without},
		{Name: "calls cancelled over a slow link", Measure: b.cancelled, Without: without},
		{Name: "a stopped Redis", Measure: b.stopped, Without: without},
		{Name: "one of three nodes stopped or killed", Measure: b.quorum, Without: without},
	}, out, o.Progress)
}

// lockBench is one run.
type lockBench struct {
	Options
	rdb     redis.UniversalClient
	private *subprocess.Redis // nil if there is none
	prefix  string            // of all keys, which expire
	parts   int
}

// part returns a prefix that no other measurement of this run uses.
func (b *lockBench) part() string {
	b.parts++
	return fmt.Sprintf("%s-%d", b.prefix, b.parts)
}
