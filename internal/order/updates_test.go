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

// failingSales is the sales of a fixture that can fail.
type failingSales struct {
	*fixture
	down atomic.Bool
}

func (s *failingSales) Entries(ctx context.Context, numbers []int64) (map[int64]*Order, error) {
	if s.down.Load() {
		return nil, errors.New("sales are unavailable")
	}
	return s.fixture.Entries(ctx, numbers)
}

// processWithHub returns a process that notifies its own hub.
func (w *fixture) processWithHub(t *testing.T, change ...func(*Config)) (process, *notify.Hub) {
	t.Helper()
	hub := notify.New(eventbus.NewMemory(), notify.Options{})
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- hub.Run(ctx) }()
	t.Cleanup(func() { stop(); <-done; hub.Wait() })
	return w.process(t, append(change, func(c *Config) { c.OnChange = hub.Notify })...), hub
}

// nextOrder returns the next order of a subscription.
func nextOrder(t *testing.T, from <-chan *Order) *Order {
	t.Helper()
	select {
	case o, ok := <-from:
		if !ok {
			t.Fatal("the subscription has ended")
		}
		return o
	case <-time.After(20 * time.Second):
		t.Fatal("received no order in time")
	}
	return nil
}

// An order that is no longer in a list is read separately. A failure of that read is counted,
// and the next snapshot finds the order.
func TestUpdatesSurviveAnOutage(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		sales := &failingSales{fixture: w}
		p, hub := w.processWithHub(t, func(c *Config) { c.Sales = sales })
		p.seed(t)
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
		if o := nextOrder(t, updates); o.ID != queued.ID || o.Status != Queued {
			t.Fatalf("got %+v, want order %d %s", o, queued.ID, Queued)
		}
		p.rdb.Del(t.Context(), p.QueuedKey(ann))
		sales.down.Store(true)
		waitFor(t, func() bool {
			hub.Notify(ordersKey(ann))
			return counterOf(t, p.from, "tandian_order_failures_total", "updates") > 0
		})
		sales.down.Store(false)
		w.mu.Lock()
		delete(w.entries, queued.ID)
		w.mu.Unlock()
		next := p.insertOrder(t, w, Unpaid)
		hub.Notify(ordersKey(ann))
		if o := nextOrder(t, updates); o.ID != next.ID || o.Status != Unpaid {
			t.Errorf("got %+v, want order %d %s", o, next.ID, Unpaid)
		}
		cancel()
		for range updates { // until it is closed
		}
	})
}
