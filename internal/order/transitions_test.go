package order

import (
	"context"
	stdsql "database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tandian-dev/tandian/ent"
	entflash "github.com/tandian-dev/tandian/ent/flashsale"
	"github.com/tandian-dev/tandian/ent/payment"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/sale"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// actions are the actions on an order, by an authorized caller.
var actions = []struct {
	name string
	do   func(ctx context.Context, p process, id int64) (*Order, error)
	code apierror.Code
	from Status
	to   Status
}{
	{"pay", func(ctx context.Context, p process, id int64) (*Order, error) { return p.Pay(ctx, ann, id, Alipay) }, NotPayable, Unpaid, Paid},
	{"cancel", func(ctx context.Context, p process, id int64) (*Order, error) { return p.Cancel(ctx, ann, id) }, NotCancellable, Unpaid, Cancelled},
	{"refund", func(ctx context.Context, p process, id int64) (*Order, error) { return p.Refund(ctx, ann, id) }, NotRefundable, Paid, Refunded},
	{"redeem", func(ctx context.Context, p process, id int64) (*Order, error) {
		return p.Redeem(ctx, Viewer{UserID: mia}, id)
	}, NotRedeemable, Paid, Used},
}

func TestActionsAllowOneTransitionOnly(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		p, other := w.process(t), w.process(t)
		p.seed(t)
		storetest.Relay(t, other.box) // for timeouts of a busy Redis
		for _, status := range []Status{Queued, Unpaid, Paid, Used, Cancelled, Refunding, Refunded, Failed} {
			for _, v := range actions {
				t.Run(fmt.Sprintf("%s %s", v.name, status), func(t *testing.T) {
					var before *Order
					if status == Queued {
						before = &Order{ID: w.number(3), UserID: ann, ShopID: shopID, Status: Queued, PayValue: 1000}
						w.entries[before.ID] = before
					} else {
						before = p.insertOrder(t, w, status)
					}
					if _, err := other.ByID(t.Context(), Viewer{UserID: ann}, before.ID); err != nil { // cached
						t.Fatal(err)
					}
					stock := p.stock(t)
					got, err := v.do(t.Context(), p, before.ID)
					if status != v.from {
						if codes(err) != string(v.code) {
							t.Errorf("got %v, want %s", err, v.code)
						}
						if diff := cmp.Diff(before, got); diff != "" {
							t.Errorf("returned order (-want +got):\n%s", diff)
						}
						if p.stock(t) != stock {
							t.Error("the refused action released stock")
						}
						return
					}
					if err != nil {
						t.Fatal(err)
					}
					if got.Status != v.to || got.Version <= before.Version {
						t.Errorf("got %+v, want %s with a new version", got, v.to)
					}
					at := map[Status]*time.Time{Paid: got.PaidAt, Used: got.UsedAt, Cancelled: got.CancelledAt, Refunded: got.RefundedAt}[v.to]
					if at == nil {
						t.Error("the time of the transition is missing")
					}
					waitFor(t, func() bool {
						seen, err := other.ByID(t.Context(), Viewer{UserID: ann}, before.ID)
						return err == nil && cmp.Equal(got, seen)
					})
					want := stock
					if v.to == Cancelled || v.to == Refunded {
						want++
					}
					if p.stock(t) != want {
						t.Errorf("got stock %d, want %d", p.stock(t), want)
					}
				})
			}
		}
		waitFor(t, func() bool { return p.pendingJobs(t) == 0 })
	})
}

func TestActionsRejectOrdersOfOthers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		p := w.process(t)
		p.seed(t)
		ctx := t.Context()
		for _, tt := range []struct {
			name string
			from Status
			do   func(id int64) (*Order, error)
		}{
			{"pay", Unpaid, func(id int64) (*Order, error) { return p.Pay(ctx, bob, id, Alipay) }},
			{"cancel", Unpaid, func(id int64) (*Order, error) { return p.Cancel(ctx, bob, id) }},
			{"refund", Paid, func(id int64) (*Order, error) { return p.Refund(ctx, bob, id) }},
		} {
			for _, id := range []int64{p.insertOrder(t, w, tt.from).ID, 999} {
				if o, err := tt.do(id); o != nil || codes(err) != string(apierror.NotFound) {
					t.Errorf("%s: got %v, %v, want %s", tt.name, o, err, apierror.NotFound)
				}
			}
		}
		o := p.insertOrder(t, w, Paid)
		for _, user := range []int64{ann, bob, zoe} { // zoe owns no shop
			if got, err := p.Redeem(ctx, Viewer{UserID: user}, o.ID); got != nil || apierror.KindOf(err) != apierror.Forbidden {
				t.Errorf("redeem by user %d: got %+v, %v, want %s", user, got, err, apierror.Forbidden)
			}
		}
		if got, err := p.Redeem(ctx, Viewer{UserID: mia}, 999); got != nil || codes(err) != string(apierror.NotFound) {
			t.Errorf("unknown order: got %+v, %v, want %s", got, err, apierror.NotFound)
		}
		if _, err := p.Redeem(ctx, Viewer{UserID: bob, IsAdmin: true}, o.ID); err != nil {
			t.Errorf("redeem by an administrator: %v", err)
		}
	})
}

// One of two concurrent actions succeeds, and the other gets the current order. Stock is
// released at most once.
func TestOneOfTwoConcurrentActionsWins(t *testing.T) {
	type side struct {
		name string
		do   func(p process, w *fixture, id int64) bool // reports whether it won
		to   Status
	}
	won := func(err error, code apierror.Code, t *testing.T) bool {
		if err != nil && codes(err) != string(code) {
			t.Error(err)
		}
		return err == nil
	}
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		both := []process{w.process(t), w.process(t)}
		both[0].seed(t)
		both[0].fund(t, 1_000_000)
		payBy := func(method PayMethod) side {
			return side{"pay by " + string(method), func(p process, _ *fixture, id int64) bool {
				o, err := p.Pay(t.Context(), ann, id, method)
				return won(err, NotPayable, t) && o.Status == Paid
			}, Paid}
		}
		cancel := side{"cancel", func(p process, _ *fixture, id int64) bool {
			_, err := p.Cancel(t.Context(), ann, id)
			return won(err, NotCancellable, t)
		}, Cancelled}
		expire := side{"expire", func(p process, _ *fixture, id int64) bool {
			if _, err := p.expire(t.Context()); err != nil {
				t.Error(err)
			}
			row := p.db.Order.GetX(t.Context(), id)
			return Status(row.Status) == Cancelled
		}, Cancelled}
		refund := side{"refund", func(p process, _ *fixture, id int64) bool {
			_, err := p.Refund(t.Context(), ann, id)
			return won(err, NotRefundable, t)
		}, Refunded}
		redeem := side{"redeem", func(p process, _ *fixture, id int64) bool {
			_, err := p.Redeem(t.Context(), Viewer{UserID: mia}, id)
			return won(err, NotRedeemable, t)
		}, Used}
		due := func(c *ent.OrderCreate) { c.SetPayBefore(1) }
		for _, tt := range []struct {
			a, b   side
			from   Status
			change []func(*ent.OrderCreate)
		}{
			{payBy(Balance), cancel, Unpaid, nil},
			{payBy(Alipay), cancel, Unpaid, nil},
			{cancel, cancel, Unpaid, nil},
			{cancel, expire, Unpaid, []func(*ent.OrderCreate){due}},
			{expire, expire, Unpaid, []func(*ent.OrderCreate){due}},
			{refund, redeem, Paid, nil},
			{refund, refund, Paid, nil},
			{redeem, redeem, Paid, nil},
		} {
			t.Run(tt.a.name+" and "+tt.b.name, func(t *testing.T) {
				wins := map[string]int{}
				for range 15 {
					o := both[0].insertOrder(t, w, tt.from, tt.change...)
					stock := both[0].stock(t)
					sides, results := []side{tt.a, tt.b}, make([]bool, 2)
					start := make(chan struct{})
					var g sync.WaitGroup
					for i, s := range sides {
						g.Go(func() { <-start; results[i] = s.do(both[i], w, o.ID) })
					}
					close(start)
					g.Wait()
					now := Status(both[0].db.Order.GetX(t.Context(), o.ID).Status)
					for i, s := range sides {
						if results[i] {
							wins[s.name]++
						}
						if results[i] && s.to != now && s.name != "expire" {
							t.Errorf("%s succeeded, but the order is %s", s.name, now)
						}
					}
					// expire reads the row afterwards, so it may see the success of the other
					// action.
					if tt.b.name != "expire" && results[0] == results[1] {
						t.Errorf("both got %t, want one success; the order is %s", results[0], now)
					}
					if tt.b.name == "expire" && now != Cancelled {
						t.Errorf("got order %s, want %s", now, Cancelled)
					}
					want := stock
					if now == Cancelled || now == Refunded {
						want++
					}
					if got := both[0].stock(t); got != want {
						t.Errorf("got stock %d for an order %s, want %d", got, now, want)
					}
				}
				t.Log(wins)
			})
		}
		for _, p := range both {
			p.box.Wait()
		}
	})
}

// onlyPayment ignores ids and times of payments.
var onlyPayment = cmp.Options{
	cmpopts.IgnoreUnexported(ent.Payment{}, ent.PaymentEdges{}), cmpopts.IgnoreFields(ent.Payment{}, "ID", "CreatedAt", "UpdatedAt"),
}

func (p process) payments(t *testing.T, order int64) []*ent.Payment {
	t.Helper()
	return p.db.Payment.Query().Where(payment.OrderID(order)).Order(payment.ByAttempt()).AllX(t.Context())
}

func deliver(t *testing.T, p process, w *fixture) {
	t.Helper()
	err := w.provider.Deliver(t.Context(), func(ctx context.Context, c Charge, state PaymentState) error {
		return p.Confirm(ctx, c.Order, c.Attempt, state)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFailedStockReleaseKeepsTheOrder(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		p := w.process(t)
		p.seed(t)
		o := p.insertOrder(t, w, Unpaid)
		p.db.FlashSale.Update().SetStock(1000).ExecX(t.Context()) // the maximum
		if _, err := p.Cancel(t.Context(), ann, o.ID); err == nil || apierror.KindOf(err) != apierror.Internal {
			t.Fatalf("got %v, want %s", err, apierror.Internal)
		}
		if row := p.db.Order.GetX(t.Context(), o.ID); Status(row.Status) != Unpaid || row.Version != o.Version {
			t.Errorf("got %v, want it unchanged", row)
		}
		if slices.ContainsFunc(w.returned, func(h sale.Reservation) bool { return h.Order == o.ID }) {
			t.Error("the release was published")
		}
	})
}

// The statement that commits a flash sale locks the sale and then inserts orders, which may
// conflict with a live order that is being cancelled. The cancellation waits for the sale
// before it writes, so the insert does not wait.
func TestCancelDoesNotDeadlockWithASale(t *testing.T) {
	w := newFixture(storetest.Real(t))
	p := w.process(t)
	p.seed(t)
	o := p.insertOrder(t, w, Unpaid, func(c *ent.OrderCreate) { c.SetOnePerUser(true) })
	tx, err := p.db.Tx(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	sale := tx.FlashSale.Query().Where(entflash.ID(flash))
	sale.Modify(sqldb.ForUpdate)
	sale.OnlyX(t.Context())
	var g sync.WaitGroup
	g.Go(func() {
		if got, err := p.Cancel(t.Context(), ann, o.ID); err != nil || got.Status != Cancelled {
			t.Errorf("got %v, %v", got, err)
		}
	})
	waitFor(t, func() bool { // until the cancellation waits for the sale
		rows, err := p.db.QueryContext(t.Context(), "SELECT 'one' FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database() AND query LIKE '%flash_sales%'")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = rows.Close() }()
		return strings.Contains(scanAll(t, rows), "one")
	})
	if _, err := tx.ExecContext(t.Context(), "SET LOCAL lock_timeout = '4s'"); err != nil {
		t.Fatal(err)
	}
	err = tx.Order.Create().SetID(w.number(3)).SetUserID(ann).SetVoucherID(flash).SetShopID(shopID).SetStatus("UNPAID").SetOnePerUser(true).
		SetFlash(true).SetPayValue(1000).SetCreatedAt(1).SetPayBefore(1).OnConflict().DoNothing().Exec(t.Context())
	if !errors.Is(err, stdsql.ErrNoRows) {
		t.Errorf("insert with a live order: got %v, want %v", err, stdsql.ErrNoRows)
	}
	if err := tx.Commit(); err != nil {
		t.Error(err)
	}
	g.Wait()
	if p.stock(t) != 1 {
		t.Errorf("got stock %d, want 1", p.stock(t))
	}
}
