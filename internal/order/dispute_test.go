package order

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/payment"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// redeemed returns an order of Ann that the merchant has redeemed.
func redeemed(t *testing.T, p process, w *fixture, change ...func(*ent.OrderCreate)) *Order {
	t.Helper()
	o, err := p.Redeem(t.Context(), Viewer{UserID: mia}, p.insertOrder(t, w, Paid, change...).ID)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func (w *fixture) clearHints() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hints = nil
}

func TestRedemptionsCanBeDisputedForADay(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		p, other := w.process(t), w.process(t)
		p.seed(t)
		ctx := t.Context()
		o, late := redeemed(t, p, w), redeemed(t, p, w)
		if o.RedeemedBy == nil || *o.RedeemedBy != mia {
			t.Errorf("redeemed by %v, want %d", o.RedeemedBy, mia)
		}
		if _, err := other.ByID(ctx, Viewer{UserID: mia}, o.ID); err != nil { // cached
			t.Fatal(err)
		}
		for _, user := range []int64{bob, mia} {
			if got, err := p.Dispute(ctx, user, o.ID); got != nil || codes(err) != string(apierror.NotFound) {
				t.Errorf("dispute by user %d: got %v, %v, want not found", user, got, err)
			}
		}
		w.advance(23 * time.Hour)
		w.clearHints()
		got, err := p.Dispute(ctx, ann, o.ID)
		if err != nil || got.DisputedAt == nil || got.Status != Used || !got.UsedAt.Equal(*o.UsedAt) || got.Version != o.Version+1 {
			t.Fatalf("got %+v, %v", got, err)
		}
		if !w.notified(ordersKey(ann)) {
			t.Error("watchers of the order were not notified")
		}
		waitFor(t, func() bool {
			seen, err := other.ByID(ctx, Viewer{UserID: mia}, o.ID)
			return err == nil && cmp.Equal(got, seen)
		})
		w.advance(2 * time.Hour)
		if again, err := p.Dispute(ctx, ann, o.ID); err != nil || !cmp.Equal(got, again) {
			t.Errorf("second dispute: got %+v, %v", again, err)
		}
		if got, err := p.Dispute(ctx, ann, late.ID); codes(err) != string(NotDisputable) || got == nil || got.DisputedAt != nil {
			t.Errorf("late dispute: got %+v, %v", got, err)
		}
		waitFor(t, func() bool { return p.pendingJobs(t) == 0 })
	})
}

func TestOnlyUsedOrdersCanBeDisputed(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		p := w.process(t)
		p.seed(t)
		queued := &Order{ID: w.number(3), UserID: ann, ShopID: shopID, Status: Queued}
		w.entries[queued.ID] = queued
		orders := []*Order{queued}
		for _, status := range []Status{Unpaid, Paid, Cancelled, Refunding, Refunded, Failed} {
			orders = append(orders, p.insertOrder(t, w, status, func(c *ent.OrderCreate) { c.SetUsedAt(w.now().UnixMilli()) }))
		}
		for _, o := range orders {
			got, err := p.Dispute(t.Context(), ann, o.ID)
			if codes(err) != string(NotDisputable) || !cmp.Equal(o, got) {
				t.Errorf("%s: got %+v, %v", o.Status, got, err)
			}
		}
	})
}

// The refund of a disputed order subtracts its points and its sale from the counters once.
func TestDisputedOrdersAreRefundedOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		both := []process{w.process(t), w.process(t)}
		p := both[0]
		p.seed(t)
		ctx := t.Context()
		o, undisputed := redeemed(t, p, w), redeemed(t, p, w)
		counters := func(sold int64, points int) {
			t.Helper()
			if _, err := p.countOrders(ctx); err != nil {
				t.Fatal(err)
			}
			shop, user := p.db.Shop.GetX(ctx, shopID), p.db.User.GetX(ctx, ann)
			if int64(shop.Sold) != sold || user.Points != points {
				t.Errorf("got %d sold and %d points, want %d and %d", shop.Sold, user.Points, sold, points)
			}
		}
		counters(2, 20)
		if _, err := p.Dispute(ctx, ann, o.ID); err != nil {
			t.Fatal(err)
		}
		counters(2, 20)
		if got, err := p.Refund(ctx, ann, o.ID); codes(err) != string(NotRefundable) || got.Status != Used {
			t.Errorf("refund by the buyer: got %+v, %v, want %s", got, err, NotRefundable)
		}
		if got, err := p.RefundDisputed(ctx, undisputed.ID); codes(err) != string(NotRefundable) || got.Status != Used {
			t.Errorf("refund without a dispute: got %+v, %v", got, err)
		}
		stock := p.stock(t)
		var wins [2]bool
		var all sync.WaitGroup
		for i := range both {
			all.Go(func() {
				got, err := both[i].RefundDisputed(ctx, o.ID)
				if wins[i] = err == nil; err != nil && codes(err) != string(NotRefundable) {
					t.Error(err)
				} else if wins[i] && got.Status != Refunded {
					t.Errorf("got %+v", got)
				}
			})
		}
		all.Wait()
		if wins[0] == wins[1] {
			t.Errorf("got successful refunds %v, want one", wins)
		}
		if got := p.stock(t); got != stock+1 {
			t.Errorf("got stock %d, want %d", got, stock+1)
		}
		counters(1, 10)
		for id, want := range map[int64]payment.State{o.ID: payment.StateREFUNDED, undisputed.ID: payment.StateCONFIRMED} {
			if got := p.payments(t, id); len(got) != 1 || got[0].State != want {
				t.Errorf("got payments %v of order %d, want one %s", got, id, want)
			}
		}
	})
}

func TestDisputedOrdersAreListed(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		p := w.process(t)
		p.seed(t)
		ctx := t.Context()
		var disputed []int64
		for i := range 4 {
			w.advance(time.Second)
			o := redeemed(t, p, w)
			if i == 1 {
				continue
			}
			if _, err := p.Dispute(ctx, ann, o.ID); err != nil {
				t.Fatal(err)
			}
			disputed = append([]int64{o.ID}, disputed...)
		}
		if _, err := p.RefundDisputed(ctx, disputed[0]); err != nil {
			t.Fatal(err)
		}
		ids := func(f Filter) (ids []int64) {
			t.Helper()
			for {
				page, err := p.Disputed(ctx, f)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range page.Edges {
					ids = append(ids, e.Node.ID)
				}
				if !page.Info.HasNextPage {
					return ids
				}
				f.After = *page.Info.EndCursor
			}
		}
		if diff := cmp.Diff(disputed, ids(Filter{First: 2})); diff != "" {
			t.Errorf("all (-want +got)\n%s", diff)
		}
		if diff := cmp.Diff(disputed[1:], ids(Filter{First: 2, Status: []Status{Used}})); diff != "" {
			t.Errorf("undecided (-want +got)\n%s", diff)
		}
	})
}
