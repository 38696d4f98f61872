package cache

import (
	"context"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/eventbus"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/testkit"
)

// onBus returns another running process, on a bus through Redis.
func (w *world) onBus(t *testing.T) *Client {
	t.Helper()
	rdb := w.client()
	bus := eventbus.NewRedis(rdb, redisdb.NewBlockingClient, eventbus.Options{Prefix: w.prefix})
	h, err := NewClient(rdb, Options{Prefix: w.prefix, Bus: bus, LocalBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var all sync.WaitGroup
	all.Go(func() { _ = bus.Run(ctx) })
	all.Go(func() { _ = h.Run(ctx) }) // always nil
	t.Cleanup(func() {
		stop()
		all.Wait()
		h.Wait()
		_ = rdb.Close()
	})
	eventually(t, "in sync", func() bool { return h.clock.inSync() && h.epoch.Load() != 0 })
	return h
}

// A full Redis without eviction rejects new records, but accepts invalidations.
func TestFullRedisAcceptsInvalidations(t *testing.T) {
	w := startRedis(t).world(t)
	here, there := w.onBus(t), w.onBus(t)
	rows := newTable(1)
	mine, theirs := rowsOf(here, localPolicy(), rows.load), rowsOf(there, localPolicy(), rows.load)
	version := 0
	lists := func(h *Client) (*Table, *QueryCache[int, int]) {
		table := h.Table("rows")
		return table, NewQueryCache(table, Policy{Name: "list", Jitter: -1}, func(int) string { return "all" }, func(context.Context, int) ([]int, error) {
			return []int{version}, nil
		})
	}
	table, _ := lists(here)
	_, list := lists(there)
	eventually(t, "stored locally", func() bool { return localHit(t, theirs, 1) })
	if got, err := list.Get(t.Context(), 1); err != nil || got[0] != 0 {
		t.Fatal(got, err)
	}
	full := testkit.AdminClient(t, w.rdb)
	if err := full.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	if err := full.Set(t.Context(), w.prefix+":x", "1", 0).Err(); !redis.HasErrorPrefix(err, "OOM") {
		t.Fatalf("Redis is not full: %v", err)
	}
	want := rows.commit(1)
	version = 1
	if err := mine.Invalidate(t.Context(), 1); err != nil {
		t.Error(err)
	}
	if err := table.Invalidate(t.Context()); err != nil {
		t.Error(err)
	}
	eventually(t, "the other process reads the new row", func() bool { return mustGet(t, theirs, 1) == want })
	if got, err := list.Get(t.Context(), 1); err != nil || got[0] != 1 {
		t.Errorf("got list %v, %v, want that of version 1", got, err)
	}
}
