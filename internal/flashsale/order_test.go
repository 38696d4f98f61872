package flashsale

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	entorder "github.com/tandian-dev/tandian/ent/order"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/batch"
	"github.com/tandian-dev/tandian/internal/kit/eventbus"
	"github.com/tandian-dev/tandian/internal/sale"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

const patience = 20 * time.Second

// runCertify certifies a rig's Redis until the test ends.
func (r *rig) runCertify(t *testing.T) {
	t.Helper()
	r.run(t, r.Certify)
	r.awaitCertificates(t)
}

func (r *rig) awaitCertificates(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, patience, func() bool {
		for p := range r.admitter.partitions {
			if r.admitter.expected(p) == "" {
				return false
			}
		}
		return true
	})
}

// order requests a unit and fails the test on an error.
func (r *rig) order(t *testing.T, v sale.Request) sale.Response {
	t.Helper()
	a, err := r.Order(t.Context(), v)
	if err != nil {
		t.Error(err)
	}
	return a
}

func (r *rig) awaitEmptyQueues(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, patience, func() bool {
		stats, err := r.Stats(t.Context())
		if err != nil {
			return false
		}
		for _, q := range stats {
			if q.Lag+q.Pending > 0 {
				return false
			}
		}
		return true
	})
}

// checkSale checks the invariants of a sale. Stock and live orders add up to the initial stock,
// Redis has the same buyers, and the streams are empty.
func (r *rig) checkSale(t *testing.T, v sale.Request, initial int) {
	t.Helper()
	r.awaitEmptyQueues(t) // an entry is acknowledged after the result is returned
	counts := r.counts(t, v)
	live := counts[entorder.StatusUNPAID] + counts[entorder.StatusPAID]
	if left := r.stock(t, v); live+left != initial {
		t.Errorf("got %d live orders and %d left, want %d together", live, left, initial)
	}
	stock, buyers := r.redisStock(t, v)
	if stock+buyers != initial || buyers != live {
		t.Errorf("got %d left and %d buyers in Redis, want %d together and %d buyers", stock, buyers, initial, live)
	}
}

func TestASaleSellsOutToEachUserOnce(t *testing.T) {
	storetest.EachAndCluster(t, func(t *testing.T, on storetest.Stores) {
		bus := eventbus.NewMemory()
		shared := rigOptions{cfg: func(c *Config) { c.Bus = bus }}
		a, b := newRig(t, on, shared), newRig(t, on, shared)
		const stock, users = 60, 200
		v := a.open(t, stock)
		a.runCertify(t)
		b.runCertify(t)
		a.run(t, a.Consume)
		b.run(t, b.Consume)
		var all sync.WaitGroup
		var mu sync.Mutex
		results, orders := map[sale.Result]int{}, map[int64]map[int64]bool{}
		for i := range int64(2 * users) {
			user, r := i%users+1, []*rig{a, b}[i%3%2]
			all.Go(func() {
				got := r.order(t, by(v, user))
				mu.Lock()
				defer mu.Unlock()
				results[got.Result]++
				if got.Order != 0 {
					if orders[user] == nil {
						orders[user] = map[int64]bool{}
					}
					orders[user][got.Order] = true
				}
			})
		}
		all.Wait()
		a.awaitEmptyQueues(t)
		if results[sale.Stored]+results[sale.Queued] != stock || results[sale.Failed] > 0 || results[sale.OutOfStock] != 2*users-stock-results[sale.Held] {
			t.Errorf("got results %v, %v and %v bypassed", results,
				counterOf(t, a, "tandian_sale_queue_events_total", eventDirect), counterOf(t, b, "tandian_sale_queue_events_total", eventDirect))
		}
		for r := sale.Stored; r <= sale.OutOfStock; r++ {
			n := counterOf(t, a, "tandian_sale_tries_total", r.String()) + counterOf(t, b, "tandian_sale_tries_total", r.String())
			if n != float64(results[r]) {
				t.Errorf("got %v requests counted as %s, want %d", n, r.String(), results[r])
			}
		}
		for user, all := range orders {
			if len(all) != 1 {
				t.Errorf("user %d: got orders %v, want one", user, all)
			}
		}
		a.checkSale(t, v, stock)
		for user := range orders { // holders get their orders although the sale is sold out
			if got := b.order(t, by(v, user)); got.Result != sale.Held || !orders[user][got.Order] {
				t.Errorf("user %d with orders %v: got %+v", user, orders[user], got)
			}
		}
	})
}

// Window 2: a repeated request, a double click or two tabs, at two servers.
func TestWindow02RepeatedRequestReturnsTheSameOrder(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		bus := eventbus.NewMemory()
		shared := rigOptions{cfg: func(c *Config) { c.Bus = bus }}
		a, b := newRig(t, on, shared), newRig(t, on, shared)
		v := by(a.open(t, 5), 1)
		v.Key = "0123456789012345678901234567890123456789012"
		a.runCertify(t)
		b.runCertify(t)
		a.run(t, a.Consume)
		first := a.order(t, v)
		if first.Result != sale.Stored {
			t.Fatalf("got %+v, want an order", first)
		}
		if again := b.order(t, v); again.Result != sale.Repeated || again.Order != first.Order {
			t.Errorf("same key: got %+v, want order %d", again, first.Order)
		}
		v.Key = ""
		if again := b.order(t, v); again.Result != sale.Held || again.Order != first.Order {
			t.Errorf("without a key: got %+v, want order %d", again, first.Order)
		}
		// requests that bypass Redis get the same answers
		b.suspect(v.Partition)
		b.closedUntil.Store(time.Now().Add(time.Hour).UnixNano())
		b.admitter.certs.current.Store(&certificate{})
		direct := b.group
		for _, key := range []string{"", "0123456789012345678901234567890123456789012"} {
			at := b.attemptOf(t, v)
			at.key, at.direct, at.final = key, true, false
			o, err := direct.Join(t.Context(), at)
			want := map[string]sale.Result{"": sale.Held}[key]
			if key != "" {
				want = sale.Repeated
			}
			if err != nil || o.result != want || o.other != first.Order {
				t.Errorf("direct with key %q: got %+v, %v, want order %d", key, o, err, first.Order)
			}
		}
		a.checkSale(t, v, 5)
	})
}

func TestQueuedOrderIsFoundByAnyProcess(t *testing.T) {
	storetest.EachAndCluster(t, func(t *testing.T, on storetest.Stores) {
		bus := eventbus.NewMemory()
		shared := rigOptions{cfg: func(c *Config) { c.Bus, c.Wait = bus, -1 }}
		a, b := newRig(t, on, shared), newRig(t, on, shared)
		v := by(a.open(t, 5), 7)
		a.runCertify(t)
		got := a.order(t, v)
		if got.Result != sale.Queued || got.Order == 0 || got.At.IsZero() {
			t.Fatalf("got %+v, want queued", got)
		}
		for name, r := range map[string]*rig{"here": a, "elsewhere": b} {
			e, err := r.Entry(t.Context(), got.Order)
			if err != nil || e == nil {
				t.Fatalf("%s: got entry %v, %v", name, e, err)
			}
			want := Entry{Order: got.Order, User: 7, Voucher: v.VoucherID, Shop: v.ShopID, Price: 500, At: got.At}
			if d := cmp.Diff(want, *e); d != "" {
				t.Errorf("%s (-want +got)\n%s", name, d)
			}
		}
		b.run(t, b.Consume)
		b.awaitEmptyQueues(t)
		testkit.Eventually(t, patience, func() bool { _, found := a.pending.entry(got.Order); return !found }) // over the bus
		for name, r := range map[string]*rig{"here": a, "elsewhere": b} {
			if e, err := r.Entry(t.Context(), got.Order); err != nil || e != nil {
				t.Errorf("%s after the commit: got %v, %v", name, e, err)
			}
		}
		if failure, ok := b.orders.outcome(got.Order); !ok || failure != "" {
			t.Errorf("got decision %q, %v", failure, ok)
		}
	})
}

func TestFullQueueIsUnavailable(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		r := newRig(t, on, rigOptions{cfg: func(c *Config) { c.Wait, c.Backlog = -1, 3 }})
		v := r.open(t, 9)
		r.runCertify(t)
		for user := range int64(3) {
			if got := r.order(t, by(v, user+1)); got.Result != sale.Queued {
				t.Errorf("got %+v", got)
			}
		}
		_, err := r.Order(t.Context(), by(v, 9))
		if f, ok := errors.AsType[*apierror.Error](err); !ok || f.Kind != apierror.Unavailable || f.RetryAfter != time.Second {
			t.Errorf("got %v, want unavailable for a second", err)
		}
		if len(r.pending.all) != 3 {
			t.Errorf("got %d watched orders, want 3", len(r.pending.all))
		}
		r.run(t, r.Consume)
		r.awaitEmptyQueues(t)
		if got := r.order(t, by(v, 9)); got.Result != sale.Queued {
			t.Errorf("got %+v after the queue is empty", got)
		}
	})
}

func TestDatabaseSellsWhileRedisIsUnavailable(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		var wire rigWire
		r := newRig(t, on, rigOptions{dial: wire.dialer(on.Redis.Dial)})
		const stock = 30
		v := r.open(t, stock)
		r.runCertify(t)
		stop := r.run(t, r.Consume, r.WatchPending)
		if got := r.order(t, by(v, 1)); got.Result != sale.Stored {
			t.Errorf("before: %+v", got)
		}
		r.awaitEmptyQueues(t)

		wire.set(wireCut)
		var all sync.WaitGroup
		for user := range int64(10) {
			all.Go(func() {
				if got := r.order(t, by(v, user+100)); got.Result != sale.Stored {
					t.Errorf("without Redis: got %+v", got)
				}
			})
		}
		all.Wait()
		if got := r.order(t, by(v, 1)); got.Result != sale.Held {
			t.Errorf("user with an order: got %+v", got)
		}
		if got := r.order(t, by(v, 105)); got.Result != sale.Held {
			t.Errorf("user with a new order: got %+v", got)
		}
		if n := counterOf(t, r, "tandian_sale_queue_events_total", eventDirect); n < 12 {
			t.Errorf("got %v direct orders, want at least 12", n)
		}

		wire.set(wireHealthy)
		storetest.Relay(t, r.box)
		testkit.Eventually(t, patience, func() bool { return r.admitter.expected(v.Partition) != "" })
		if left, buyers := r.redisStock(t, v); left != stock-11 || buyers != 11 {
			t.Errorf("certified Redis: got %d left and %d buyers", left, buyers)
		}
		r.closedUntil.Store(0)
		if got := r.order(t, by(v, 103)); got.Result != sale.Held {
			t.Errorf("user with a bypassed order: got %+v", got)
		}
		if got := r.order(t, by(v, 500)); got.Result != sale.Stored {
			t.Errorf("after: %+v", got)
		}
		r.awaitEmptyQueues(t)
		stop()
		r.checkSale(t, v, stock)
	})
}

func TestUnavailableRedisDelaysNoOrder(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		var wire rigWire
		r := newRig(t, on, rigOptions{dial: wire.dialer(on.Redis.Dial)})
		v := r.open(t, 5)
		r.runCertify(t)
		wire.set(wireCut)
		r.suspect(v.Partition)
		testkit.Eventually(t, patience, func() bool { return r.admitter.certs.isUnreachable(v.Partition) })
		if got := r.order(t, by(v, 1)); got.Result != sale.Stored {
			t.Errorf("without Redis: got %+v", got)
		}
		if r.closedUntil.Load() != 0 {
			t.Error("an order waited for a certificate")
		}
		wire.set(wireHealthy)
		testkit.Eventually(t, patience, func() bool { return !r.admitter.certs.isUnreachable(v.Partition) })
		storetest.Relay(t, r.box)
		r.awaitCertificates(t)
	})
}

func TestOutboxReservesBypassedOrders(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		var wire rigWire
		r := newRig(t, on, rigOptions{dial: wire.dialer(on.Redis.Dial)})
		v := r.open(t, 5)
		wire.set(wireCut)
		if got := r.order(t, by(v, 1)); got.Result != sale.Stored {
			t.Errorf("got %+v", got)
		}
		r.awaitCommits()
		wire.set(wireHealthy)
		storetest.Relay(t, r.box) // no reconciler runs
		testkit.Eventually(t, patience, func() bool { stock, buyers := r.redisStock(t, v); return stock == 4 && buyers == 1 })
	})
}

// Windows 1 and 18: the reply was lost, so the admission is unknown. The database decides about
// the same number.
func TestWindow01LostReplyIsDecidedUnderItsNumber(t *testing.T) {
	for _, units := range []int{5, 0} {
		t.Run(fmt.Sprint(units, " units in the database"), func(t *testing.T) {
			var wire rigWire
			on := storetest.Real(t)
			observer := newRig(t, on, rigOptions{})
			r := newRig(t, on, rigOptions{dial: wire.dialer(on.Redis.Dial), cfg: func(c *Config) { c.Wait = -1 }})
			v := r.open(t, 5)
			if units == 0 { // not in Redis
				r.DB.FlashSale.UpdateOneID(v.VoucherID).SetStock(0).ExecX(t.Context())
			}
			stop := r.run(t, r.Certify)
			r.awaitCertificates(t)
			stop()
			if got := r.order(t, by(v, 99)); got.Result != sale.Queued { // opens a connection of the sale client
				t.Fatalf("got %+v", got)
			}
			wire.set(wireNoReplies)
			r.closedUntil.Store(time.Now().Add(time.Hour).UnixNano())
			got := r.order(t, by(v, 1))
			want := sale.Stored
			if units == 0 {
				want = sale.OutOfStock
			}
			if got.Result != want {
				t.Errorf("got %+v, want %v", got, want)
			}
			wire.set(wireCut)
			wire.set(wireHealthy)
			if n := observer.Redis.XLen(t.Context(), r.admitter.keys.orders(v.Partition)).Val(); n != 2 {
				t.Fatalf("got %d entries in the stream, want 2", n)
			}
			if units == 0 { // so stock for the late order exists
				r.DB.FlashSale.UpdateOneID(v.VoucherID).SetStock(2).ExecX(t.Context())
			}
			observer.run(t, observer.Consume)
			observer.awaitEmptyQueues(t)
			row := r.DB.Order.Query().Where(entorder.UserID(1)).OnlyX(t.Context())
			if (row.Status == entorder.StatusUNPAID) != (units > 0) || units > 0 && row.ID != got.Order {
				t.Errorf("got row %v", row)
			}
			if _, buyers := observer.redisStock(t, v); buyers != map[bool]int{true: 2, false: 1}[units > 0] {
				t.Errorf("got %d buyers in Redis", buyers)
			}
		})
	}
}

// Windows 1 and 20: neither store reports whether there is an order. A client must be able to
// find a returned number even if this process dies, so Order returns none.
func TestWindow20UnstoredNumberIsNotReturned(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		var wire rigWire
		r := newRig(t, on, rigOptions{dial: wire.dialer(on.Redis.Dial), cfg: func(c *Config) { c.Wait = -1 }})
		v := r.open(t, 5)
		stop := r.run(t, r.Certify)
		r.awaitCertificates(t)
		stop()
		r.order(t, by(v, 99)) // opens a connection of the sale client
		r.closedUntil.Store(time.Now().Add(time.Hour).UnixNano())
		group, unavailable := r.group, errors.New("database is unavailable")
		var tried Entry
		r.group = newGroupCommit(func(_ context.Context, calls commitCalls) (func(), error) {
			tried = calls[0].In.Entry
			return nil, unavailable
		})
		wire.set(wireNoReplies)
		if got, err := r.Order(t.Context(), by(v, 1)); !errors.Is(err, unavailable) {
			t.Errorf("without both stores: got %+v, %v", got, err)
		}
		if _, ok := r.pending.entry(tried.Order); !ok {
			t.Error("a number that may be in Redis is not watched")
		}
		r.group = group
		wire.set(wireCut)
		wire.set(wireHealthy)
		if got := r.order(t, by(v, 1)); got.Result != sale.Stored && got.Result != sale.Held && got.Result != sale.Queued {
			t.Errorf("second request: got %+v", got)
		}
	})
}

func TestConcurrentCallersShareTransactions(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		r := newRig(t, on, rigOptions{})
		r.closedUntil.Store(time.Now().Add(time.Hour).UnixNano()) // no certificate: no process certifies
		const users = 600
		v := r.sale(t, 400, -time.Hour, time.Hour)
		var all sync.WaitGroup
		var mu sync.Mutex
		results := map[sale.Result]int{}
		for user := range int64(users) {
			all.Go(func() {
				got := r.order(t, by(v, user+1))
				mu.Lock()
				results[got.Result]++
				mu.Unlock()
			})
		}
		all.Wait()
		if d := cmp.Diff(map[sale.Result]int{sale.Stored: 400, sale.OutOfStock: 200}, results); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
		if n := counterOf(t, r, "tandian_sale_commits_total"); n > users/10 {
			t.Errorf("got %v transactions for %d orders", n, users)
		}
		if left := r.stock(t, v); left != 0 {
			t.Errorf("got %d left, want 0", left)
		}
	})
}

type commitCalls = []*batch.Call[attempt, outcome]

func TestCancelledCallerDoesNotCancelOthers(t *testing.T) {
	release, entered := make(chan struct{}), make(chan commitCalls, 3)
	g := newGroupCommit(func(ctx context.Context, calls commitCalls) (func(), error) {
		entered <- calls
		<-release
		for _, c := range calls {
			c.Out, c.Err = outcome{result: sale.Stored}, ctx.Err()
		}
		return nil, nil
	})
	leaver, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() { _, err := g.Join(leaver, attempt{}); left <- err }()
	<-entered // its transaction runs
	go func() { _, err := g.Join(leaver, attempt{}); left <- err }()
	var stays sync.WaitGroup
	for range 3 {
		stays.Go(func() {
			if o, err := g.Join(t.Context(), attempt{}); err != nil || o.result != sale.Stored {
				t.Errorf("other caller: got %+v, %v", o, err)
			}
		})
	}
	testkit.Eventually(t, patience, func() bool { waiting, running := g.Waiting(); return waiting+len(entered) >= 2 && running >= 1 })
	leave()
	for range 2 {
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled caller: got %v", err)
		}
	}
	close(release)
	stays.Wait()
	g.Wait()
	decided := 1
	for len(entered) > 0 {
		decided += len(<-entered)
	}
	if decided != 5 {
		t.Errorf("got %d decided attempts, want also those of cancelled callers", decided)
	}
}

// blockedPipelines is a Redis hook that blocks pipelines until it is closed.
type blockedPipelines chan struct{}

func (blockedPipelines) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (blockedPipelines) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (h blockedPipelines) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		<-h
		return next(ctx, cmds)
	}
}

// A Redis that does not answer delays the work after a commit, but no other commit.
func TestSilentRedisDelaysNoCommit(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		r := newRig(t, on, rigOptions{})
		v := r.open(t, 3*maxCommits)
		release := make(blockedPipelines)
		r.cfg.State.AddHook(release)
		for i := range int64(3 * maxCommits) {
			a := r.attemptOf(t, by(v, 1+i))
			if o, err := r.group.Join(t.Context(), a); err != nil || o.result != sale.Stored {
				t.Errorf("got %+v, %v", o, err)
			}
		}
		over := make(chan struct{})
		go func() { r.awaitCommits(); close(over) }()
		select {
		case <-over:
			t.Error("awaitCommits did not wait for the reservations")
		default:
		}
		close(release)
		<-over
	})
}

func TestFullGroupCommitIsBusy(t *testing.T) {
	release := make(chan struct{})
	g := newGroupCommit(func(context.Context, commitCalls) (func(), error) {
		<-release
		return nil, nil
	})
	var all sync.WaitGroup
	for range maxCommitQueue + maxCommits*maxBatch {
		all.Go(func() { _, _ = g.Join(t.Context(), attempt{}) })
	}
	testkit.Eventually(t, patience, func() bool { waiting, _ := g.Waiting(); return waiting == maxCommitQueue })
	if _, err := g.Join(t.Context(), attempt{}); !errors.Is(err, errBusy) {
		t.Errorf("got %v, want busy", err)
	}
	close(release)
	all.Wait()
	g.Wait()
}

// Windows 11 and 12: a unit returns once, however often it is released.
func TestWindow12RepeatedReleaseReturnsOneUnit(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		r := newRig(t, on, rigOptions{})
		v := r.open(t, 3)
		r.runCertify(t)
		r.run(t, r.Consume)
		a, b := r.order(t, by(v, 1)), r.order(t, by(v, 2))
		r.awaitEmptyQueues(t)
		hold := sale.Reservation{Order: a.Order, User: 1, Voucher: v.VoucherID}
		var enders sync.WaitGroup
		for range 4 { // a cancellation and an expiry, on two servers
			enders.Go(func() { cancelOrder(t, r, hold) })
		}
		enders.Wait()
		r.AfterRelease(t.Context(), []sale.Reservation{hold}, nil) // and a job of the outbox
		if err := r.retryRelease(t.Context(), reservationJob{hold.Order, hold.User, hold.Voucher}); err != nil {
			t.Error(err)
		}
		if left := r.stock(t, v); left != 2 {
			t.Errorf("got %d left, want 2", left)
		}
		if stock, buyers := r.redisStock(t, v); stock != 2 || buyers != 1 {
			t.Errorf("got %d left and %d buyers in Redis, want 2 and 1", stock, buyers)
		}
		again := r.order(t, by(v, 1))
		if again.Result != sale.Stored || again.Order == a.Order {
			t.Errorf("second order: got %+v", again)
		}
		// A late release of the first order does not affect the second.
		r.AfterRelease(t.Context(), []sale.Reservation{hold}, nil)
		if got := r.order(t, by(v, 1)); got.Result != sale.Held || got.Order != again.Order {
			t.Errorf("got %+v, want order %d", got, again.Order)
		}
		if got := r.order(t, by(v, 2)); got.Result != sale.Held || got.Order != b.Order {
			t.Errorf("got %+v, want order %d", got, b.Order)
		}
		r.awaitEmptyQueues(t)
		r.checkSale(t, v, 3)
	})
}

// Window 11: a user orders again before the release reaches Redis.
func TestWindow11DeadOrderDoesNotBlockANewOne(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		r := newRig(t, on, rigOptions{})
		v := r.open(t, 1)
		r.runCertify(t)
		r.run(t, r.Consume)
		first := r.order(t, by(v, 1))
		r.awaitEmptyQueues(t)
		err := entTx(t, r, func(tx rigTx) error {
			tx.Order.UpdateOneID(first.Order).SetStatus(entorder.StatusCANCELLED).ExecX(t.Context())
			_, err := r.Release(t.Context(), tx, []sale.Reservation{{Order: first.Order, User: 1, Voucher: v.VoucherID}})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.order(t, by(v, 1)); got.Result != sale.Stored || got.Order == first.Order {
			t.Errorf("got %+v, want a new order", got)
		}
		r.awaitEmptyQueues(t)
		r.checkSale(t, v, 1)
	})
}

// cancelOrder ends an order if it is live, like the order service.
func cancelOrder(t *testing.T, r *rig, h sale.Reservation) {
	t.Helper()
	var won bool
	var jobs []jobRef
	err := entTx(t, r, func(tx rigTx) error {
		n, err := tx.Order.Update().Where(entorder.ID(h.Order), entorder.StatusEQ(entorder.StatusUNPAID)).SetStatus(entorder.StatusCANCELLED).Save(t.Context())
		if won = n == 1; err != nil || !won {
			return err
		}
		jobs, err = r.Release(t.Context(), tx, []sale.Reservation{h})
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if won {
		r.AfterRelease(t.Context(), []sale.Reservation{h}, jobs)
	}
}
