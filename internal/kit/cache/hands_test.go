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

// hands are the clocks of a hub that does not run, moved by the test: the one
// of its local entries and the one that its records are written and read by.
type manualClient struct {
	*Client
	began  time.Time
	passed atomic.Int64
}

// hands is one more process, with options and hooks of its own, whose clocks are
// moved by hand.
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

// pass moves both clocks.
func (x *manualClient) advance(d time.Duration) { x.clock.now.Store(x.passed.Add(int64(d))) }

// inSyncFor makes the process hear of every invalidation for a time from now.
func (x *manualClient) inSyncFor(d time.Duration) {
	x.clock.synced.Store(x.clock.now.Load() + int64(d))
}

// mini is a world on a miniredis of its own.
func miniWorld(t *testing.T) *world {
	t.Helper()
	return startMini(t).world(t)
}

const allCriteria = Hot | RarelyChanged | Small | MayBeStale

// localPolicy keeps rows locally, whole lives long.
func localPolicy() Policy {
	return Policy{Name: "row", TTL: time.Hour, NegativeTTL: 10 * time.Minute, Jitter: -1, Local: Local{Share: 1, Criteria: allCriteria}}
}

// rowsOf is a cache of rows with their versions.
func rowsOf(h *Client, p Policy, load Loader[int, row]) *Cache[int, row] {
	if p.Name == "" {
		p.Name = "row"
	}
	return New(h, p.withTestTimes(), Source[int, row]{Key: strconv.Itoa, Load: load, Version: func(r row) int64 { return int64(r.Version) }})
}

// ownHit reports whether a read is answered by the process's own memory.
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

var errOutage = errors.New("redis is away")

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

// lateReply holds the reply to each GET back, once Redis gave it, while it is on.
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

// failingAfter is a loader that fails once broken is set.
func (t *table) failingAfter(broken *atomic.Bool) Loader[int, row] {
	return func(ctx context.Context, ids []int) (map[int]row, error) {
		found, err := t.load(ctx, ids)
		if broken.Load() {
			return nil, errDatabase
		}
		return found, err
	}
}

// expire ends the life of a record, as Redis would.
func (w *world) expire(t *testing.T, name string) {
	t.Helper()
	if err := w.rdb.Del(t.Context(), name).Err(); err != nil {
		t.Fatal(err)
	}
}

// stored is the row that Redis has under a key, and its header; the answer is
// nothing where there is no record.
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
