package cache

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// manualClient is a client without Run. The test moves its clocks: that of local entries and
// that of records.
type manualClient struct {
	*Client
	began  time.Time
	passed atomic.Int64
}

// manualClient returns another process with its own options and hooks.
func (w *world) manualClient(t *testing.T, o Options, hooks ...redis.Hook) *manualClient {
	t.Helper()
	rdb := w.client()
	for _, hook := range hooks {
		rdb.AddHook(hook)
	}
	o.Prefix, o.RedisTimeout = w.prefix, 10*time.Second
	h, err := NewClient(rdb, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.Wait()
		_ = rdb.Close()
	})
	x := &manualClient{Client: h, began: time.Now()}
	h.wall = func() time.Time { return x.began.Add(time.Duration(x.passed.Load())) }
	h.clock.now.Store(0)
	return x
}

// advance moves both clocks.
func (x *manualClient) advance(d time.Duration) { x.clock.now.Store(x.passed.Add(int64(d))) }

// inSyncFor puts the process in sync for a duration from now.
func (x *manualClient) inSyncFor(d time.Duration) {
	x.clock.synced.Store(x.clock.now.Load() + int64(d))
}

// miniWorld returns a world on its own miniredis.
func miniWorld(t *testing.T) *world {
	t.Helper()
	return startMini(t).world(t)
}

const allCriteria = Hot | RarelyChanged | Small | MayBeStale

// localPolicy stores rows locally for their full TTL.
func localPolicy() Policy {
	return Policy{Name: "row", TTL: time.Hour, NegativeTTL: 10 * time.Minute, Jitter: -1, Local: Local{Share: 1, Criteria: allCriteria}}
}

// rowsOf returns a cache of rows with versions.
func rowsOf(h *Client, p Policy, load Loader[int, row]) *Cache[int, row] {
	if p.Name == "" {
		p.Name = "row"
	}
	return New(h, p.withTestTimes(), Source[int, row]{Key: strconv.Itoa, Load: load, Version: func(r row) int64 { return int64(r.Version) }})
}

// localHit reports whether local memory answers a read.
func localHit(t *testing.T, c *Cache[int, row], id int) bool {
	t.Helper()
	before := c.Stats().LocalHits
	if _, err := c.Get(t.Context(), id); err != nil && !errors.Is(err, ErrNotFound) {
		t.Fatalf("Get(%d): %v", id, err)
	}
	return c.Stats().LocalHits > before
}

// outage fails every command of a client while it is on.
type outage struct{ on atomic.Bool }

var errOutage = errors.New("redis is unavailable")

func (o *outage) DialHook(next redis.DialHook) redis.DialHook { return next }

func (o *outage) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if o.on.Load() {
			cmd.SetErr(errOutage)
			return errOutage
		}
		return next(ctx, cmd)
	}
}

func (o *outage) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if !o.on.Load() {
			return next(ctx, cmds)
		}
		for _, cmd := range cmds {
			cmd.SetErr(errOutage)
		}
		return errOutage
	}
}

// lateReply delays the reply to each GET while it is on.
type lateReply struct {
	on   atomic.Bool
	held chan chan struct{}
}

func (l *lateReply) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l *lateReply) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if l.on.Load() && cmd.Name() == "get" {
			release := make(chan struct{})
			l.held <- release
			<-release
		}
		return err
	}
}

func (l *lateReply) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// failingAfter returns a loader that fails once broken is set.
func (t *table) failingAfter(broken *atomic.Bool) Loader[int, row] {
	return func(ctx context.Context, ids []int) (map[int]row, error) {
		found, err := t.load(ctx, ids)
		if broken.Load() {
			return nil, errDatabase
		}
		return found, err
	}
}

// expire deletes a record, like its expiry.
func (w *world) expire(t *testing.T, name string) {
	t.Helper()
	if err := w.rdb.Del(t.Context(), name).Err(); err != nil {
		t.Fatal(err)
	}
}

// stored returns row and header in Redis; the kind is nothing if there is no record.
func (w *world) stored(t *testing.T, c *Cache[int, row], id int) (row, header, recordKind) {
	t.Helper()
	b, err := w.rdb.Get(t.Context(), c.inside().nameOf(id)).Bytes()
	if errors.Is(err, redis.Nil) {
		return row{}, header{}, nothing
	}
	if err != nil {
		t.Fatal(err)
	}
	v, h, is, err := decodeRow(b)
	if err != nil {
		t.Fatal(err)
	}
	return v, h, is
}
