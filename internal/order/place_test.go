package order

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/ent"
	entorder "github.com/tandian-dev/tandian/ent/order"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/lock"
	"github.com/tandian-dev/tandian/internal/sale"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func ordered(t *testing.T, p process, user, voucher int64, key string) *Order {
	t.Helper()
	o, err := p.Place(t.Context(), user, voucher, key)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestOrdersAreVisibleToUserAndMerchant(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		p, other := w.process(t), w.process(t)
		first := ordered(t, p, ann, anyTimes, "")
		second := ordered(t, p, ann, anyTimes, "")
		if first.ID == second.ID || first.ID&63 != ordinary {
			t.Errorf("got numbers %d and %d, want two of the ordinary partition", first.ID, second.ID)
		}
		before := first.CreatedAt.Add(15 * time.Minute)
		want := &Order{
			ID: first.ID, UserID: ann, VoucherID: anyTimes, ShopID: shopID, Status: Unpaid, PayValue: 4550, Version: 1,
			CreatedAt: first.CreatedAt, PayBefore: &before,
		}
		if diff := cmp.Diff(want, first); diff != "" {
			t.Error(diff)
		}
		for _, tt := range []struct {
			name string
			who  Viewer
			sees bool
		}{
			{"the user", Viewer{UserID: ann}, true},
			{"another user", Viewer{UserID: bob}, false},
			{"the shop's merchant", Viewer{UserID: mia}, true},
			{"another merchant", Viewer{UserID: zoe}, false},
			{"an administrator", Viewer{UserID: bob, IsAdmin: true}, true},
		} {
			got, err := other.ByNumber(t.Context(), tt.who, decimal(first.ID))
			if sees := err == nil; sees != tt.sees || sees && !cmp.Equal(want, got) {
				t.Errorf("%s: got %+v, %v, want visible = %v", tt.name, got, err, tt.sees)
			}
			if !tt.sees && !errors.Is(err, apierror.ErrNotFound) {
				t.Errorf("%s: got %v, want not found", tt.name, err)
			}
		}
		if _, err := p.ByNumber(t.Context(), Viewer{IsAdmin: true}, "12x"); !errors.Is(err, apierror.ErrNotFound) {
			t.Error(err)
		}
		if !w.notified("orders:"+decimal(ann)) || !w.notified("stock:"+decimal(anyTimes)) {
			t.Errorf("got notifications %v, want user and stock", w.hints)
		}
	})
}

func TestRefusalsNameTheirReason(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		p := w.process(t)
		for _, tt := range []struct {
			name    string
			voucher int64
			key     string
			want    apierror.UserError
		}{
			{"unknown voucher", 999, "", apierror.UserError{Code: apierror.NotFound, Field: []string{"voucherId"}}},
			{"off sale", offSale, "k", apierror.UserError{Code: OffSale, Field: []string{"voucherId"}}},
			{"an old sale", past, "k", apierror.UserError{Code: SaleEnded, Field: []string{"voucherId"}}},
			{"a long key", anyTimes, strings.Repeat("火", 65), apierror.UserError{Code: apierror.InvalidInput, Field: []string{"idempotencyKey"}}},
		} {
			o, err := p.Place(t.Context(), bob, tt.voucher, tt.key)
			refused, _ := errors.AsType[apierror.UserErrors](err)
			if o != nil || len(refused) != 1 || refused[0].Code != tt.want.Code || !cmp.Equal(refused[0].Field, tt.want.Field) {
				t.Errorf("%s: got %v, %v, want %v", tt.name, o, err, tt.want)
			}
		}
		ordered(t, p, ann, anyTimes, strings.Repeat("火", 64))
	})
}

func TestOnePerUserReturnsTheExistingOrder(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		p := w.process(t)
		first := ordered(t, p, ann, oncePerUser, "")
		again, err := p.Place(t.Context(), ann, oncePerUser, "")
		if codes(err) != string(AlreadyOrdered) || again == nil || again.ID != first.ID {
			t.Fatalf("got %v, %v", again, err)
		}
		ordered(t, p, bob, oncePerUser, "")
		if _, err := p.Cancel(t.Context(), ann, first.ID); err != nil {
			t.Fatal(err)
		}
		if next := ordered(t, p, ann, oncePerUser, ""); next.ID == first.ID {
			t.Error("got the cancelled order, want a new one")
		}
	})
}

func TestAKeyReturnsItsFirstOrderForADay(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		p, other := w.process(t), w.process(t)
		for _, voucher := range []int64{anyTimes, oncePerUser} {
			first := ordered(t, p, ann, voucher, "k")
			if again := ordered(t, other, ann, voucher, "k"); again.ID != first.ID {
				t.Errorf("retry: got order %d, want %d", again.ID, first.ID)
			}
			if other := ordered(t, p, bob, voucher, "k"); other.ID == first.ID {
				t.Error("the same key of another user found the order")
			}
			if _, err := p.Cancel(t.Context(), ann, first.ID); err != nil {
				t.Fatal(err)
			}
			if again := ordered(t, p, ann, voucher, "k"); again.ID != first.ID || again.Status != Cancelled {
				t.Errorf("retry after the cancellation: got %+v, want order %d", again, first.ID)
			}
			w.vouchers[voucher].Off = true
			if again := ordered(t, p, ann, voucher, "k"); again.ID != first.ID {
				t.Errorf("retry after the end of sale: got %+v, want order %d", again, first.ID)
			}
			w.vouchers[voucher].Off = false

			w.advance(23 * time.Hour)
			sweep := func() {
				t.Helper()
				if err := p.clearDigests(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			sweep()
			if again := ordered(t, p, ann, voucher, "k"); again.ID != first.ID {
				t.Error("retry within the day: got another order")
			}
			w.advance(2 * time.Hour)
			sweep()
			next := ordered(t, p, ann, voucher, "k")
			if next.ID == first.ID {
				t.Error("the key still finds the order after a day")
			}
			if again := ordered(t, p, ann, voucher, "k"); again.ID != next.ID {
				t.Error("the key does not find the second order")
			}
		}
	})
}

func TestOnlyOldDigestsAreCleared(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		p := w.process(t)
		if err := p.clearDigests(t.Context()); err != nil { // on an empty table
			t.Fatal(err)
		}
		const old = 2*digestBatch + 7
		begin := w.now().Add(-48 * time.Hour)
		var rows []*ent.OrderCreate
		for i := range old + 5 {
			at := begin.Add(time.Duration(i/3) * time.Millisecond)
			if i >= old {
				at = w.now()
			}
			rows = append(rows, p.db.Order.Create().SetID(w.number(ordinary)).SetUserID(ann).SetVoucherID(1).SetShopID(1).
				SetStatus(entorder.StatusCANCELLED).SetOnePerUser(false).SetFlash(false).SetPayValue(1).
				SetIdempotency(digest(ann, 1, decimal(int64(i)))).SetCreatedAt(at.UnixMilli()).SetPayBefore(0))
			if len(rows) == 200 {
				p.db.Order.CreateBulk(rows...).ExecX(t.Context())
				rows = nil
			}
		}
		p.db.Order.CreateBulk(rows...).ExecX(t.Context())
		if err := p.clearDigests(t.Context()); err != nil {
			t.Fatal(err)
		}
		if left := p.db.Order.Query().Where(entorder.IdempotencyNotNil()).CountX(t.Context()); left != 5 {
			t.Errorf("got %d digests, want 5", left)
		}
	})
}

func TestPlaceReturnsTheAnswerOfTheSale(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		p := w.process(t)
		p.seed(t)
		live := p.insertOrder(t, w, Unpaid, func(c *ent.OrderCreate) { c.SetOnePerUser(true) })
		dead := p.insertOrder(t, w, Cancelled)
		fail := func(code apierror.Code) *Order {
			return p.insertOrder(t, w, Failed, func(c *ent.OrderCreate) { c.SetFailure(string(code)) })
		}
		broken, late, second := fail(NotCompleted), fail(OutOfStock), fail(AlreadyOrdered)
		at := time.UnixMilli(1_800_000_000_000)
		waiting := &Order{ID: w.number(3), UserID: ann, VoucherID: flash, ShopID: shopID, Status: Queued, PayValue: 1000, CreatedAt: at}
		w.entries[waiting.ID] = waiting
		failed := *waiting
		failed.ID, failed.Status, failed.FailureCode = w.number(3), Failed, NotCompleted
		for _, tt := range []struct {
			name   string
			answer sale.Response
			order  *Order
			code   apierror.Code
		}{
			{"stored", sale.Response{Result: sale.Stored, Order: live.ID, At: at}, live, ""},
			{"queued", sale.Response{Result: sale.Queued, Order: waiting.ID, At: at}, waiting, ""},
			{"held, stored", sale.Response{Result: sale.Held, Order: live.ID}, live, AlreadyOrdered},
			{"held, queued", sale.Response{Result: sale.Held, Order: waiting.ID}, waiting, AlreadyOrdered},
			{"repeated, cancelled", sale.Response{Result: sale.Repeated, Order: dead.ID}, dead, ""},
			{"repeated, queued", sale.Response{Result: sale.Repeated, Order: waiting.ID}, waiting, ""},
			{"failed", sale.Response{Result: sale.Failed, Order: broken.ID, At: at}, broken, NotCompleted},
			{"failed, sold out", sale.Response{Result: sale.Failed, Order: late.ID, At: at}, late, OutOfStock},
			{"failed, already ordered", sale.Response{Result: sale.Failed, Order: second.ID, At: at}, live, AlreadyOrdered},
			{"failed, not visible yet", sale.Response{Result: sale.Failed, Order: failed.ID, At: at}, &failed, NotCompleted},
			{"not started", sale.Response{Result: sale.NotStarted}, nil, SaleNotStarted},
			{"ended", sale.Response{Result: sale.Ended}, nil, SaleEnded},
			{"off sale", sale.Response{Result: sale.OffSale}, nil, OffSale},
			{"out of stock", sale.Response{Result: sale.OutOfStock}, nil, OutOfStock},
		} {
			t.Run(tt.name, func(t *testing.T) {
				w.answer(tt.answer)
				w.advance(time.Second) // reset the rate limit
				got, err := p.Place(t.Context(), ann, flash, "k")
				if codes(err) != string(tt.code) {
					t.Errorf("got %v, want %s", err, tt.code)
				}
				if diff := cmp.Diff(tt.order, got); diff != "" {
					t.Error(diff)
				}
			})
		}
		want := sale.Request{UserID: ann, VoucherID: flash, ShopID: shopID, Price: 1000, Partition: 3, Buckets: 2, Key: digest(ann, flash, "k")}
		if diff := cmp.Diff(want, w.requests[0]); diff != "" || len(want.Key) != 43 {
			t.Errorf("request (-want +got):\n%s\nkey of %d bytes, want 43", diff, len(want.Key))
		}
		w.answer()
		w.advance(time.Second)
		if _, err := p.Place(t.Context(), ann, flash, ""); err == nil || apierror.KindOf(err) != apierror.Internal {
			t.Errorf("failing sale: got %v, want %s", err, apierror.Internal)
		}
	})
}

func TestQueuedOrdersAreFoundThenTheirRows(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		p, other := w.process(t), w.process(t)
		p.seed(t)
		id := w.number(3)
		ask := func() (*Order, error) { return other.ByID(t.Context(), Viewer{UserID: ann}, id) }
		if _, err := ask(); !errors.Is(err, apierror.ErrNotFound) {
			t.Fatal(err)
		}
		w.entries[id] = &Order{ID: id, UserID: ann, ShopID: shopID, Status: Queued}
		if o, err := ask(); err != nil || o.Status != Queued {
			t.Fatalf("got %v, %v", o, err)
		}
		delete(w.entries, id)
		row := p.insertOrder(t, w, Unpaid, func(c *ent.OrderCreate) { c.SetID(id) })
		if o, err := ask(); err != nil || o.Status != Unpaid { // now the row exists
			t.Fatalf("got %v, %v", o, err)
		}
		p.AfterCommit(t.Context(), []StoredOrder{{Order: id, User: ann, Voucher: flash, At: row.CreatedAt}}, nil)
		rows, err := other.rows.GetMany(t.Context(), []int64{id})
		if o, ok := rows[id]; err != nil || !ok || o.Status != Unpaid {
			t.Errorf("got %v, %v from the cache, want %s", rows, err, Unpaid)
		}
	})
}

func TestUsersAreLimitedToFiveTriesASecond(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		still := time.Now()
		p := w.process(t, func(c *Config) {
			c.Now = func() time.Time { return still.Add(time.Duration(w.clock.Load()) * time.Millisecond) }
		})
		try := func(user int64) error {
			_, err := p.Place(t.Context(), user, anyTimes, "")
			return err
		}
		for range 5 {
			if err := try(ann); err != nil {
				t.Fatal(err)
			}
		}
		limited, ok := errors.AsType[*apierror.Error](try(ann))
		if !ok || limited.Kind != apierror.RateLimited || limited.RetryAfter != 200*time.Millisecond {
			t.Fatalf("got %+v, want %s for 200 ms", limited, apierror.RateLimited)
		}
		if err := try(bob); err != nil {
			t.Errorf("another user: got %v", err)
		}
		w.advance(limited.RetryAfter)
		if err := try(ann); err != nil {
			t.Errorf("after the wait: %v", err)
		}
	})
}

func TestConcurrentTriesMakeOneOrder(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		var ahead time.Duration // avoids the rate limit
		var mu sync.Mutex
		clock := func(c *Config) {
			c.Now = func() time.Time {
				mu.Lock()
				defer mu.Unlock()
				ahead += 200 * time.Millisecond
				return time.Now().Add(ahead)
			}
		}
		both := []process{w.process(t, clock), w.process(t, clock)}
		orders, errs := make([]*Order, 50), make([]error, 50)
		var g sync.WaitGroup
		for i := range orders {
			g.Go(func() { orders[i], errs[i] = both[i%2].Place(t.Context(), ann, oncePerUser, "") })
		}
		g.Wait()
		made := 0
		for i, o := range orders {
			switch codes(errs[i]) {
			case "":
				made++
			case string(AlreadyOrdered):
			default:
				t.Error(errs[i])
			}
			if o == nil || orders[0] == nil || o.ID != orders[0].ID {
				t.Errorf("try %d: got order %v, want %v", i, o, orders[0])
			}
		}
		if rows := both[0].db.Order.Query().CountX(t.Context()); made != 1 || rows != 1 {
			t.Errorf("got %d successful orders and %d rows, want 1 each", made, rows)
		}
	})
}

func TestHeldLocksDoNotBlockOrders(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		p := w.process(t)
		locks, err := lock.NewRedis([]redis.UniversalClient{p.rdb}, lock.Options{Prefix: storetest.Prefix})
		if err != nil {
			t.Fatal(err)
		}
		lease, err := locks.Acquire(t.Context(), "order:"+decimal(oncePerUser)+":"+decimal(ann))
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = lease.Release(context.WithoutCancel(t.Context()))
			_ = locks.Close(context.WithoutCancel(t.Context()))
		}()
		begin := time.Now()
		first := ordered(t, p, ann, oncePerUser, "")
		if waited := time.Since(begin); waited < lockWait {
			t.Errorf("waited %s for the lock, want %s", waited, lockWait)
		}
		again, err := p.Place(t.Context(), ann, oncePerUser, "")
		if codes(err) != string(AlreadyOrdered) || again == nil || again.ID != first.ID {
			t.Errorf("got %v, %v", again, err)
		}
	})
}

// failingRedis is a Redis that does not answer.
type failingRedis struct{}

func (failingRedis) DialHook(next redis.DialHook) redis.DialHook { return next }

func (failingRedis) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(context.Context, redis.Cmder) error { return errAway }
}

func (failingRedis) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(context.Context, []redis.Cmder) error { return errAway }
}

var errAway = errors.New("redis is unavailable")

func TestOrdinaryOrdersWorkWithoutRedis(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		p, other := w.process(t), w.process(t)
		p.rdb.AddHook(failingRedis{})
		first := ordered(t, p, ann, oncePerUser, "k")
		again, err := p.Place(t.Context(), ann, oncePerUser, "")
		if codes(err) != string(AlreadyOrdered) || again == nil || again.ID != first.ID {
			t.Errorf("got %v, %v", again, err)
		}
		if o := ordered(t, p, ann, oncePerUser, "k"); o.ID != first.ID {
			t.Errorf("retry: got %v, want order %d", o, first.ID)
		}
		if o, err := p.Cancel(t.Context(), ann, first.ID); err != nil || o.Status != Cancelled {
			t.Errorf("got %v, %v", o, err)
		}
		storetest.Relay(t, other.box) // another process updates Redis
		waitFor(t, func() bool { return other.pendingJobs(t) == 0 })
		if o, err := other.ByID(t.Context(), Viewer{UserID: ann}, first.ID); err != nil || o.Status != Cancelled {
			t.Errorf("got %v, %v", o, err)
		}
	})
}

// Only the sale knows a queued order of a key.
func TestKeysFindQueuedOrdersAfterTheSale(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		p := w.process(t)
		w.vouchers[flash].Off = true
		number := w.number(3)
		w.answer(sale.Response{Result: sale.Repeated, Order: number}, sale.Response{Result: sale.OffSale})
		if o, err := p.Place(t.Context(), ann, flash, "k"); err != nil || o.ID != number || o.Status != Queued {
			t.Errorf("retry: got %+v, %v, want order %d %s", o, err, number, Queued)
		}
		if o, err := p.Place(t.Context(), bob, flash, ""); o != nil || codes(err) != string(OffSale) {
			t.Errorf("another user: got %+v, %v, want %s", o, err, OffSale)
		}
	})
}
