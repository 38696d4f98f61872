package order

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/ent"
	entorder "github.com/tandian-dev/tandian/ent/order"
	"github.com/tandian-dev/tandian/ent/schema"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestUnpaidOrdersExpire(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		w.provider.Plan = func(Charge) FakeOutcome { return FakeOutcome{State: Pending} }
		p := w.process(t, func(c *Config) { c.payWait = time.Millisecond })
		p.seed(t)
		unpaid, early, tried, paid := p.insertOrder(t, w, Unpaid), p.insertOrder(t, w, Unpaid), p.insertOrder(t, w, Unpaid), p.insertOrder(t, w, Paid)
		attempt := func(o *Order) {
			if _, err := p.Pay(t.Context(), ann, o.ID, Wechat); err != nil {
				t.Fatal(err)
			}
		}
		attempt(early)
		w.advance(13 * time.Minute)
		attempt(tried)
		for _, tt := range []struct {
			name                       string
			after                      time.Duration
			unpaid, early, tried, paid Status
			stock                      int
		}{
			{"before the deadline", time.Minute, Unpaid, Unpaid, Unpaid, Paid, 0},
			{"after the deadline", 2 * time.Minute, Cancelled, Cancelled, Unpaid, Paid, 2},
			{"again", time.Minute, Cancelled, Cancelled, Unpaid, Paid, 2},
			{"after the grace period", attemptGrace, Cancelled, Cancelled, Cancelled, Paid, 3},
			{"a day later", 24 * time.Hour, Cancelled, Cancelled, Cancelled, Paid, 3},
		} {
			w.advance(tt.after)
			again := w.process(t) // a new process without state
			again.expireAll(t.Context())
			for _, o := range []struct {
				id   int64
				want Status
			}{{unpaid.ID, tt.unpaid}, {early.ID, tt.early}, {tried.ID, tt.tried}, {paid.ID, tt.paid}} {
				got, err := p.ByID(t.Context(), Viewer{UserID: ann}, o.id)
				if err != nil || got.Status != o.want {
					t.Errorf("%s: got %+v, %v, want %s", tt.name, got, err, o.want)
				}
			}
			if p.stock(t) != tt.stock {
				t.Errorf("%s: got stock %d, want %d", tt.name, p.stock(t), tt.stock)
			}
		}
	})
}

// The payment attempt opens between the select of due orders and their lock.
func TestExpirySkipsOrdersBeingPaid(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		p := w.process(t)
		p.seed(t)
		w.advance(time.Hour)
		at := func(before time.Duration) func(*ent.OrderCreate) {
			return func(c *ent.OrderCreate) { c.SetPayBefore(w.now().Add(-before).UnixMilli()) }
		}
		alone, tried, long := p.insertOrder(t, w, Unpaid, at(time.Minute)), p.insertOrder(t, w, Unpaid, at(time.Minute)), p.insertOrder(t, w, Unpaid, at(time.Hour))
		early := p.insertOrder(t, w, Unpaid, at(time.Minute))
		opened := w.now().Add(-2 * time.Minute).UnixMilli()
		for o, at := range map[*Order]int64{tried: opened, long: 1, early: 1} {
			p.db.Payment.Create().SetOrderID(o.ID).SetAttempt(1).SetMethod("ALIPAY").SetAmount(1).SetCreatedAt(at).SetUpdatedAt(at).SaveX(t.Context())
		}
		err := ent.WithTx(t.Context(), p.db, func(tx *ent.Tx) error {
			rows, err := p.withoutAttempts(t.Context(), tx, tx.Order.Query().Order(entorder.ByID()).AllX(t.Context()))
			var ids []int64
			for _, r := range rows {
				ids = append(ids, r.ID)
			}
			if diff := cmp.Diff([]int64{alone.ID, long.ID, early.ID}, ids); diff != "" {
				t.Error(diff)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func TestTwoWorkersExpireEachOrderOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		both := []process{w.process(t), w.process(t)}
		both[0].seed(t)
		const n = 3*expireBatch + 11
		var rows []*ent.OrderCreate
		for range n {
			rows = append(rows, both[0].db.Order.Create().SetID(w.number(3)).SetUserID(ann).SetVoucherID(flash).SetShopID(shopID).
				SetStatus(entorder.StatusUNPAID).SetOnePerUser(false).SetFlash(true).SetPayValue(1000).SetCreatedAt(1).SetPayBefore(2))
		}
		both[0].db.Order.CreateBulk(rows...).ExecX(t.Context())
		ctx, stop := context.WithCancel(t.Context())
		var g sync.WaitGroup
		for _, p := range both {
			g.Go(func() {
				if err := p.Expire(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		waitFor(t, func() bool {
			return both[0].db.Order.Query().Where(entorder.StatusEQ(entorder.StatusUNPAID)).CountX(t.Context()) == 0
		})
		stop()
		g.Wait()
		if got := both[0].stock(t); got != n || len(w.returned) != n {
			t.Errorf("released %d items and published %d, want %d", got, len(w.returned), n)
		}
		storetest.Relay(t, both[0].box) // for timeouts of a busy Redis
		waitFor(t, func() bool { return both[0].pendingJobs(t)+both[1].pendingJobs(t) == 0 })
	})
}

func TestCountersCountEachOrderOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		both := []process{w.process(t), w.process(t)}
		p := both[0]
		p.seed(t)
		counted := func(sold, points int) {
			t.Helper()
			if got := p.db.Shop.GetX(t.Context(), shopID).Sold; got != sold {
				t.Errorf("got %d sales of the shop, want %d", got, sold)
			}
			if got := p.db.User.GetX(t.Context(), ann).Points; got != points {
				t.Errorf("got %d points of the user, want %d", got, points)
			}
		}
		count := func() {
			t.Helper()
			var g sync.WaitGroup
			for _, p := range both {
				g.Go(func() {
					for n := 1; n > 0; {
						var err error
						if n, err = p.countOrders(t.Context()); err != nil {
							t.Error(err)
						}
					}
				})
			}
			g.Wait()
		}
		paid := p.insertOrder(t, w, Paid, func(c *ent.OrderCreate) { c.SetPayValue(1999) })
		p.insertOrder(t, w, Used)
		p.insertOrder(t, w, Refunding)
		for _, s := range []Status{Unpaid, Cancelled, Refunded, Failed} {
			p.insertOrder(t, w, s)
		}
		count()
		count()
		counted(3, 19+10+10)

		if _, err := p.Refund(t.Context(), ann, paid.ID); err != nil {
			t.Fatal(err)
		}
		count()
		count()
		counted(2, 20)

		// A refund before the order was counted.
		quick := p.insertOrder(t, w, Paid)
		if _, err := p.Refund(t.Context(), ann, quick.ID); err != nil {
			t.Fatal(err)
		}
		count()
		counted(2, 20)

		var rows []*ent.OrderCreate
		for range 1200 {
			rows = append(rows, p.db.Order.Create().SetID(w.number(3)).SetUserID(ann).SetVoucherID(anyTimes).SetShopID(shopID).
				SetStatus(entorder.StatusPAID).SetOnePerUser(false).SetFlash(false).SetPayValue(150).SetCreatedAt(1).SetPayBefore(2))
			if len(rows) == 300 {
				p.db.Order.CreateBulk(rows...).ExecX(t.Context())
				rows = nil
			}
		}
		w.mu.Lock()
		w.failSold = errors.New("shops failed")
		w.mu.Unlock()
		if _, err := p.countOrders(t.Context()); err == nil {
			t.Error("countOrders returned nil, want an error")
		}
		counted(2, 20)
		w.mu.Lock()
		w.failSold = nil
		w.mu.Unlock()
		count()
		counted(1202, 1220)
	})
}

func TestUncountedOrdersUseTheirIndex(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := newFixture(on).process(t)
		tx, err := p.db.Tx(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		explain := "EXPLAIN QUERY PLAN "
		if p.db.Dialect() == "postgres" {
			explain = "EXPLAIN "
			if _, err := tx.ExecContext(t.Context(), "SET LOCAL enable_seqscan = off"); err != nil {
				t.Fatal(err)
			}
		}
		rows, err := tx.QueryContext(t.Context(), explain+"SELECT id FROM orders WHERE "+schema.UntalliedOrder+" ORDER BY id LIMIT 500")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = rows.Close() }()
		plan := scanAll(t, rows)
		if !strings.Contains(plan, "order_untallied") {
			t.Errorf("got plan\n%s\nwant index order_untallied", plan)
		}
	})
}
