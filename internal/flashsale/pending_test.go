package flashsale

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	entorder "github.com/tandian-dev/tandian/ent/order"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// Window 6: Redis lost an admitted order. The order fails, because QUEUED promises a decision.
func TestWindow06LostQueuedOrderFails(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		now := newRigClock()
		r := newRig(t, on, rigOptions{cfg: func(c *Config) { c.Wait, c.Now = -1, now.now }})
		v := r.open(t, 5)
		r.runCertify(t)
		lost, queued := r.order(t, by(v, 1)), r.order(t, by(v, 2))
		r.Redis.Unlink(t.Context(), r.admitter.keys.order(lost.Order))
		check := func(after time.Duration, want int) {
			t.Helper()
			now.add(after)
			if err := r.sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := r.counts(t, v)[entorder.StatusFAILED]; n != want {
				t.Errorf("got %d tombstones, want %d", n, want)
			}
		}
		check(0, 0) // too early
		check(4*time.Second, 0)
		check(3*time.Second, 1)
		check(time.Minute, 1) // the other one is only late
		if row := r.DB.Order.GetX(t.Context(), lost.Order); row.UserID != 1 || row.ShopID != v.ShopID || row.CreatedAt != lost.At.UnixMilli() {
			t.Errorf("got tombstone %v", row)
		}
		if failure, ok := r.orders.outcome(lost.Order); !ok || failure != codeNotCompleted {
			t.Errorf("got decision %q, %v", failure, ok)
		}
		if stock, buyers := r.redisStock(t, v); stock != 4 || buyers != 1 {
			t.Errorf("Redis has %d left and %d buyers, want 4 and 1", stock, buyers)
		}
		if e, _ := r.Entry(t.Context(), lost.Order); e != nil {
			t.Errorf("got entry %v, want none", e)
		}
		r.run(t, r.Consume)
		r.awaitEmptyQueues(t)
		if row := r.DB.Order.GetX(t.Context(), queued.Order); row.Status != entorder.StatusUNPAID {
			t.Errorf("late order: got %v", row)
		}
		// Window 17: the stream still had it, and its consumer found the tombstone.
		if row := r.DB.Order.GetX(t.Context(), lost.Order); row.Status != entorder.StatusFAILED {
			t.Errorf("lost order: got %v", row)
		}
		r.checkSale(t, v, 5)
	})
}

func TestWithoutRedisQueuedOrderFailsLater(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		now := newRigClock()
		var wire rigWire
		r := newRig(t, on, rigOptions{cfg: func(c *Config) { c.Wait, c.Now = -1, now.now }, dial: wire.dialer(on.Redis.Dial)})
		v := r.open(t, 5)
		r.runCertify(t)
		a := r.order(t, by(v, 1))
		wire.set(wireCut)
		for after, want := range map[time.Duration]int{7 * time.Second: 0} {
			now.add(after)
			if err := r.sweep(t.Context()); err != nil || r.counts(t, v)[entorder.StatusFAILED] != want {
				t.Errorf("after %v: got %v, %v, want %d failed", after, r.counts(t, v), err, want)
			}
		}
		now.add(20 * time.Second)
		if err := r.sweep(t.Context()); err != nil {
			t.Error(err)
		}
		if row := r.DB.Order.GetX(t.Context(), a.Order); row.Status != entorder.StatusFAILED {
			t.Errorf("after 27 seconds: got %v", row)
		}
		wire.set(wireHealthy)
	})
}

func TestChecksOfALateOrderSlowDown(t *testing.T) {
	start := time.UnixMilli(0)
	now := start
	p := newPending(func() time.Time { return now })
	p.add(Entry{Order: 1})
	var checks []int // seconds
	for range 60 {
		now = now.Add(time.Second)
		if len(p.due()) > 0 {
			checks = append(checks, int(now.Sub(start).Seconds()))
		}
	}
	// At 6 it may be lost; at 25 it may be given up.
	if d := cmp.Diff([]int{6, 7, 9, 13, 21, 25, 33, 41, 49, 57}, checks); d != "" {
		t.Errorf("checks (-want +got):\n%s", d)
	}
	p.add(Entry{Order: 2})
	now = now.Add(6 * time.Second)
	if due := p.due(); len(due) == 0 || due[len(due)-1].Order != 2 && due[0].Order != 2 {
		t.Errorf("a newer order waits for the first: %v", due)
	}
}

func TestPendingOrdersAreBounded(t *testing.T) {
	p := newPending(time.Now)
	for n := range int64(maxPending) {
		if _, ok := p.add(Entry{Order: n + 1}); !ok {
			t.Fatalf("order %d was rejected", n)
		}
	}
	if w, ok := p.add(Entry{Order: maxPending + 1}); ok || w == nil {
		t.Error("the limit is not enforced")
	}
	p.resolve(5, "WHY", time.Time{})
	if _, ok := p.add(Entry{Order: maxPending + 1}); !ok {
		t.Error("a decided order still counts")
	}
}
