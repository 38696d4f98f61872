package order

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/eventbus"
	"github.com/tandian-dev/tandian/internal/kit/notify"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// outage is the sales of a town, which can be away.
type outage struct {
	*town
	away atomic.Bool
}

func (s *outage) Entries(ctx context.Context, numbers []int64) (map[int64]*Order, error) {
	if s.away.Load() {
		return nil, errors.New("the sales are away")
	}
	return s.town.Entries(ctx, numbers)
}

// watching is a process whose changes are told to a hub of its own.
func (w *town) watching(t *testing.T, change ...func(*Config)) (process, *notify.Hub) {
	t.Helper()
	hub := notify.New(eventbus.NewMemory(), notify.Options{})
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- hub.Run(ctx) }()
	t.Cleanup(func() { stop(); <-done; hub.Wait() })
	return w.process(t, append(change, func(c *Config) { c.Notify = hub.Notify })...), hub
}

// told is the next order of a subscription.
func told(t *testing.T, from <-chan *Order) *Order {
	t.Helper()
	select {
	case o, ok := <-from:
		if !ok {
			t.Fatal("the subscription has ended")
		}
		return o
	case <-time.After(20 * time.Second):
		t.Fatal("nothing came")
	}
	return nil
}

// An order that is in no list any more is asked for by itself. That this fails is
// counted, and the next look finds what it became.
func TestWhoWatchesAllOrdersOutlivesAnOutage(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newTown(on)
		sales := &outage{town: w}
		p, hub := w.watching(t, func(c *Config) { c.Sales = sales })
		p.furnish(t)
		queued := &Order{ID: w.number(3), UserID: ann, VoucherID: flash, ShopID: shopID, Status: Queued, PayValue: 1000, CreatedAt: p.now()}
		w.mu.Lock()
		w.entries[queued.ID] = queued
		w.mu.Unlock()
		at := redis.Z{Score: float64(queued.CreatedAt.UnixMilli()), Member: decimal(queued.ID)}
		if err := p.rdb.ZAdd(t.Context(), p.QueuedKey(ann), at).Err(); err != nil {
			t.Fatal(err)
		}
		p.rdb.Expire(t.Context(), p.QueuedKey(ann), time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		updates, err := p.Updates(ctx, hub, Viewer{UserID: ann}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if o := told(t, updates); o.ID != queued.ID || o.Status != Queued {
			t.Fatalf("the first is %+v", o)
		}
		p.rdb.Del(t.Context(), p.QueuedKey(ann))
		sales.away.Store(true)
		waitFor(t, func() bool {
			hub.Notify(watched(ann))
			return counterOf(t, p.from, "tandian_order_failures_total", "updates") > 0
		})
		sales.away.Store(false)
		w.mu.Lock()
		delete(w.entries, queued.ID)
		w.mu.Unlock()
		next := p.plant(t, w, Unpaid)
		hub.Notify(watched(ann))
		if o := told(t, updates); o.ID != next.ID || o.Status != Unpaid {
			t.Errorf("then came %+v", o)
		}
		cancel()
		for range updates { // it is closed
		}
	})
}
