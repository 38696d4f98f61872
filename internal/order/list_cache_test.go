package order

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/ent"
	entorder "github.com/tandian-dev/tandian/ent/order"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/lock"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// A queue is a flash sale that only has queued orders.
type queue struct {
	Sales // other methods are not called

	mu           sync.Mutex
	orders       map[int64]*Order
	err          error
	beforeAnswer func() // called before each answer; may be nil
}

func (q *queue) Entries(_ context.Context, numbers []int64) (map[int64]*Order, error) {
	if q.beforeAnswer != nil {
		q.beforeAnswer()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	found := map[int64]*Order{}
	for _, n := range numbers {
		if o := q.orders[n]; o != nil {
			queued := *o
			found[n] = &queued
		}
	}
	return found, q.err
}

// fakeOwners maps shop ids to their owners.
type fakeOwners map[int64]int64

func (o fakeOwners) OwnerOf(_ context.Context, shop int64) (*int64, bool, error) {
	owner, ok := o[shop]
	return &owner, ok, nil
}

func (fakeOwners) AddSold(context.Context, *ent.Tx, map[int64]int) ([]outbox.JobRef, error) {
	return nil, nil
}
func (fakeOwners) AfterCommit(context.Context, []int64, []outbox.JobRef) {}

// A listFixture is one process with order lists.
type listFixture struct {
	*Service
	p     storetest.Process
	box   *outbox.Box
	queue *queue
}

// maxWait is the timeout of waits that should succeed on a busy machine.
const maxWait = 20 * time.Second

func newListFixture(t *testing.T, on storetest.Stores, cfg Config) *listFixture {
	t.Helper()
	on.Redis.Timeout, on.Redis.PoolTimeout = maxWait, maxWait
	p := storetest.Open(t, on)
	hub, err := cache.NewClient(p.Redis, cache.Options{Prefix: storetest.Prefix, RedisTimeout: on.Redis.Timeout, Log: p.Log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Wait)
	locks, err := lock.NewRedis([]redis.UniversalClient{p.Redis}, lock.Options{Prefix: storetest.Prefix, Log: p.Log, NodeTimeout: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), maxWait)
		defer cancel()
		if err := locks.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	sh := &listFixture{p: p, box: p.NewOutbox(t), queue: &queue{orders: map[int64]*Order{}}}
	cfg.Redis, cfg.Locks, cfg.Registerer, cfg.Log = p.Redis, locks, p.Registry, p.Log
	cfg.Prefix, cfg.Sales, cfg.StockKey = storetest.Prefix, sh.queue, stockKey
	if cfg.Shops == nil {
		cfg.Shops = fakeOwners{}
	}
	if cfg.Users == nil {
		cfg.Users = fakeUsers{}
	}
	sh.Service = New(p.DB, hub, sh.box, cfg)
	sh.lists.wait = maxWait
	return sh
}

const baseMs = int64(1_700_000_000_000) // milliseconds

// insert commits an order without publishing it.
func (sh *listFixture) insert(t *testing.T, o Order) {
	t.Helper()
	if err := create(sh.p.DB.Order.Create(), o).Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func create(c *ent.OrderCreate, o Order) *ent.OrderCreate {
	c.SetID(o.ID).SetUserID(o.UserID).SetVoucherID(cmp.Or(o.VoucherID, 1)).SetShopID(cmp.Or(o.ShopID, 1)).
		SetStatus(entorder.Status(cmp.Or(o.Status, Unpaid))).SetOnePerUser(false).SetFlash(false).SetPayValue(o.PayValue).
		SetCreatedAt(o.CreatedAt.UnixMilli()).SetPayBefore(o.CreatedAt.Add(time.Hour).UnixMilli())
	if o.PaidAt != nil {
		c.SetPaidAt(o.PaidAt.UnixMilli())
	}
	return c
}

// order commits an order and publishes it.
func (sh *listFixture) order(t *testing.T, o Order) {
	t.Helper()
	sh.insert(t, o)
	if err := sh.publish(t.Context(), []StoredOrder{changedFrom(o)}); err != nil {
		t.Fatal(err)
	}
}

func changedFrom(o Order) StoredOrder {
	return StoredOrder{Order: o.ID, User: o.UserID, Voucher: o.VoucherID, At: o.CreatedAt}
}

// enqueue admits an order that waits for its commit.
func (sh *listFixture) enqueue(t *testing.T, o Order) {
	t.Helper()
	o.Status = Queued
	sh.queue.mu.Lock()
	sh.queue.orders[o.ID] = &o
	sh.queue.mu.Unlock()
	sh.markQueued(t, o)
}

func (sh *listFixture) markQueued(t *testing.T, o Order) {
	t.Helper()
	// The clocks of the requesting and of the admitting server differ.
	key := sh.QueuedKey(o.UserID)
	if err := sh.p.Redis.ZAdd(t.Context(), key, redis.Z{Score: float64(o.CreatedAt.UnixMilli() + 3), Member: decimal(o.ID)}).Err(); err != nil {
		t.Fatal(err)
	}
	if err := sh.p.Redis.PExpire(t.Context(), key, 10*time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
}

// dequeue removes an order from the sale.
func (sh *listFixture) dequeue(number int64) {
	sh.queue.mu.Lock()
	defer sh.queue.mu.Unlock()
	delete(sh.queue.orders, number)
}

// at returns an order of Ann, by the milliseconds of its admission.
func at(number, ms int64) Order {
	return Order{ID: number, UserID: ann, CreatedAt: time.UnixMilli(baseMs + ms)}
}

// pageIDs returns the order numbers of a page.
func pageIDs(p *Page) []int64 {
	numbers := []int64{}
	for _, e := range p.Edges {
		numbers = append(numbers, e.Node.ID)
	}
	return numbers
}

func (sh *listFixture) page(t *testing.T, user int64, f Filter) *Page {
	t.Helper()
	f.First = cmp.Or(f.First, 20)
	p, err := sh.ByUser(t.Context(), user, f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (sh *listFixture) wantShown(t *testing.T, f Filter, want ...int64) {
	t.Helper()
	if d := gocmp.Diff(append([]int64{}, want...), pageIDs(sh.page(t, ann, f))); d != "" {
		t.Errorf("the list (-want +got):\n%s", d)
	}
}

func (sh *listFixture) queuedNow(t *testing.T, user int64) []string {
	t.Helper()
	members, err := sh.p.Redis.ZRange(t.Context(), sh.QueuedKey(user), 0, -1).Result()
	if err != nil {
		t.Fatal(err)
	}
	return members
}

func (sh *listFixture) listKey(user int64) string {
	return storetest.Prefix + ":" + listName + ":{" + decimal(user) + "}"
}

func TestListsShowCommittedOrders(t *testing.T) {
	cases := []struct {
		name string
		run  func(t *testing.T, sh *listFixture)
	}{
		{"an empty list is cached", func(t *testing.T, sh *listFixture) {
			sh.wantShown(t, Filter{})
			sh.order(t, at(1, 1))
			sh.wantShown(t, Filter{}, 1)
			if n := sh.lists.window.Stats().Loads; n != 1 {
				t.Errorf("got %d reads of the rows, want 1", n)
			}
		}},
		{"an add does not create a list", func(t *testing.T, sh *listFixture) {
			sh.insert(t, at(1, 1))
			sh.order(t, at(2, 2))
			if n := sh.p.Redis.Exists(t.Context(), sh.listKey(ann)).Val(); n != 0 {
				t.Error("the add created a list")
			}
			sh.wantShown(t, Filter{}, 2, 1)
		}},
		{"an evicted list is read again", func(t *testing.T, sh *listFixture) {
			sh.order(t, at(1, 1))
			sh.wantShown(t, Filter{}, 1)
			sh.p.Redis.Del(t.Context(), sh.listKey(ann))
			sh.order(t, at(2, 2))
			sh.wantShown(t, Filter{}, 2, 1)
		}},
		{"orders are sorted by admission", func(t *testing.T, sh *listFixture) {
			sh.wantShown(t, Filter{})
			sh.order(t, at(5, 20))
			sh.order(t, at(6, 10))
			sh.wantShown(t, Filter{}, 5, 6)
		}},
		{"orders of one millisecond are sorted by number (W20)", func(t *testing.T, sh *listFixture) {
			var want []int64
			for n := int64(25); n > 0; n-- {
				want = append(want, n)
			}
			for _, n := range append([]int64{}, want[3:]...) {
				sh.insert(t, at(n, 1))
			}
			sh.wantShown(t, Filter{First: 3}, 22, 21, 20)
			for _, n := range want[:3] {
				sh.order(t, at(n, 1))
			}
			if d := gocmp.Diff(want, numbersOf(sh.walk(t, Filter{First: 7}, nil))); d != "" {
				t.Errorf("the list (-want +got):\n%s", d)
			}
		}},
		{"numbers of any size keep their order", func(t *testing.T, sh *listFixture) {
			sh.wantShown(t, Filter{})
			for _, n := range []int64{99, 1<<63 - 1, 100, 1 << 60} {
				sh.order(t, at(n, 1))
			}
			sh.wantShown(t, Filter{}, 1<<63-1, 1<<60, 100, 99)
		}},
		{"failed orders are listed", func(t *testing.T, sh *listFixture) {
			o := at(1, 1)
			o.Status = Failed
			sh.order(t, o)
			sh.wantShown(t, Filter{}, 1)
		}},
		{"a list with an unknown order is dropped", func(t *testing.T, sh *listFixture) {
			sh.order(t, at(1, 1))
			sh.wantShown(t, Filter{}, 1)
			if err := sh.lists.add(t.Context(), []listEntry{{ann, 9, baseMs + 9}}); err != nil {
				t.Fatal(err)
			}
			sh.wantShown(t, Filter{}, 1)
			if n := sh.p.Redis.Exists(t.Context(), sh.listKey(ann)).Val(); n != 0 {
				t.Error("the list still exists")
			}
		}},
		{"orders of another user are not shown", func(t *testing.T, sh *listFixture) {
			o := at(1, 1)
			o.UserID = bob
			sh.insert(t, o)
			sh.wantShown(t, Filter{})
			if err := sh.lists.add(t.Context(), []listEntry{{ann, 1, baseMs + 1}}); err != nil {
				t.Fatal(err)
			}
			sh.wantShown(t, Filter{})
		}},
		{"a key of another type is ignored", func(t *testing.T, sh *listFixture) {
			sh.order(t, at(1, 1))
			sh.p.Redis.Set(t.Context(), sh.listKey(ann), "a string", time.Minute)
			sh.wantShown(t, Filter{}, 1)
		}},
		{"orders of many users are added together", manyUsersAtOnce},
		{"a commit during a rebuild is not lost", addDuringRebuild},
	}
	storetest.EachAndCluster(t, func(t *testing.T, on storetest.Stores) {
		sh := newListFixture(t, on, Config{ListSize: 10})
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				sh.clear(t)
				c.run(t, sh)
			})
		}
	})
}

// clear deletes all orders and lists before a case.
func (sh *listFixture) clear(t *testing.T) {
	t.Helper()
	numbers, err := sh.p.DB.Order.Query().IDs(t.Context())
	if err == nil {
		_, err = sh.p.DB.Order.Delete().Exec(t.Context())
	}
	err = errors.Join(err, sh.rows.Invalidate(t.Context(), append(numbers, 1)...), sh.lists.window.Invalidate(t.Context(), ann, bob),
		sh.p.Redis.Unlink(t.Context(), sh.QueuedKey(ann)).Err())
	if err != nil {
		t.Fatal(err)
	}
	sh.queue.orders = map[int64]*Order{}
	before := sh.lists.window.Stats()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("before %+v\nafter %+v", before, sh.lists.window.Stats())
		}
	})
}

func manyUsersAtOnce(t *testing.T, sh *listFixture) {
	const users = 500
	var changed []StoredOrder
	for u := range int64(users) {
		o := Order{ID: 1000 + u, UserID: 10_000 + u, CreatedAt: time.UnixMilli(baseMs)}
		if u%100 == 0 {
			sh.page(t, o.UserID, Filter{}) // some lists exist
			sh.markQueued(t, o)
		}
		sh.insert(t, o)
		changed = append(changed, changedFrom(o))
	}
	if err := sh.lists.addAndUnqueue(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	for u := int64(0); u < users; u += 50 {
		if d := gocmp.Diff([]int64{1000 + u}, pageIDs(sh.page(t, 10_000+u, Filter{}))); d != "" {
			t.Errorf("the list of user %d (-want +got):\n%s", u, d)
		}
		if left := sh.queuedNow(t, 10_000+u); len(left) > 0 {
			t.Errorf("got queued %v of user %d, want none", left, u)
		}
	}
}

// addDuringRebuild commits and adds an order after a rebuild has read the rows and before it
// stores them.
func addDuringRebuild(t *testing.T, sh *listFixture) {
	sh.insert(t, at(1, 1))
	read := sh.lists.read
	defer func() { sh.lists.read = read }()
	sh.lists.read = func(ctx context.Context, user int64, limit int) ([]cache.Entry, error) {
		sh.lists.read = read
		entries, err := read(ctx, user, limit)
		sh.order(t, at(2, 2)) //nolint:contextcheck // the context of the test
		return entries, err
	}
	sh.page(t, ann, Filter{}) // correct at the time of the read
	sh.wantShown(t, Filter{}, 2, 1)
	sh.wantShown(t, Filter{}, 2, 1)
}

// A cuttableWire is a connection to Redis that a test can cut and restore.
type cuttableWire struct {
	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

func (w *cuttableWire) through(on storetest.Stores) storetest.Stores {
	dial := on.Redis.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	on.Redis.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.cut {
			return nil, errors.New("connection is cut")
		}
		conn, err := dial(ctx, network, addr)
		if err == nil {
			w.conns = append(w.conns, conn)
		}
		return conn, err
	}
	return on
}

func (w *cuttableWire) set(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.conns = nil
}

func TestOutboxListsOrdersAfterAnOutage(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		var wire cuttableWire
		reader, writer := newListFixture(t, on, Config{}), newListFixture(t, wire.through(on), Config{})
		reader.order(t, at(1, 1))
		reader.wantShown(t, Filter{}, 1)

		wire.set(true)
		var job []outbox.JobRef
		o := at(2, 2)
		err := ent.WithTx(t.Context(), writer.p.DB, func(tx *ent.Tx) (err error) {
			if err = create(tx.Order.Create(), o).Exec(t.Context()); err == nil {
				job, err = writer.EnqueueJobs(t.Context(), tx, []int64{o.ID})
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		before := writer.lists.window.Stats().RedisErrors
		begin := time.Now()
		writer.AfterCommit(t.Context(), []StoredOrder{changedFrom(o)}, job)
		if took := time.Since(begin); took > afterCommitTimeout+time.Second {
			t.Errorf("AfterCommit took %v, want at most %v", took, afterCommitTimeout)
		}
		// Up to five adds until the breaker is open, and a deletion.
		if n := writer.lists.window.Stats().RedisErrors - before; n < 2 || n > 5+1 {
			t.Errorf("got %d failures, want 2 to 6", n)
		}
		reader.wantShown(t, Filter{}, 1) // Redis is not updated yet
		writer.wantShown(t, Filter{}, 2, 1)

		wire.set(false)
		storetest.Relay(t, writer.box)
		for end := time.Now().Add(maxWait); len(pageIDs(reader.page(t, ann, Filter{}))) < 2; {
			if time.Now().After(end) {
				t.Fatal("the outbox did not list the order")
			}
		}
		reader.wantShown(t, Filter{}, 2, 1)
	})
}

func TestListsAreReadFromRowsWithoutRedis(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		var wire cuttableWire
		sh := newListFixture(t, wire.through(on), Config{ListSize: 10})
		var want []int64
		for n := int64(1); n <= 25; n++ {
			sh.insert(t, at(n, n))
			want = append(want, n)
		}
		slices.Reverse(want)
		sh.wantShown(t, Filter{First: 5}, want[:5]...)
		sh.enqueue(t, at(26, 26))
		wire.set(true)
		if d := gocmp.Diff(want, numbersOf(sh.walk(t, Filter{First: 7}, nil))); d != "" {
			t.Errorf("the list (-want +got):\n%s", d)
		}
		sh.wantShown(t, Filter{First: 2, Status: []Status{Queued, Unpaid}}, want[:2]...)
		wire.set(false)
	})
}

// Buyers wait for this call. Without Redis the database decides, so it must not wait for
// retries.
func TestListsFailFastWithAnOpenBreaker(t *testing.T) {
	on := storetest.Real(t)
	on.Redis.Dial = func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("redis is unavailable")
	}
	sh := newListFixture(t, on, Config{})
	testkit.Eventually(t, maxWait, func() bool { return errors.Is(sh.p.Redis.Ping(t.Context()).Err(), redisdb.ErrBreakerOpen) })
	shortest := time.Hour // of several, because the machine is shared
	for range 10 {
		begin := time.Now()
		if err := sh.lists.add(t.Context(), []listEntry{{ann, 1, baseMs}}); !errors.Is(err, redisdb.ErrBreakerOpen) {
			t.Errorf("got %v, want %v", err, redisdb.ErrBreakerOpen)
		}
		shortest = min(shortest, time.Since(begin))
	}
	if pauses := 15 * addPause; shortest > pauses/2 {
		t.Errorf("add took at least %v, want less than the pauses of %v", shortest, pauses)
	}
}

// Three processes read the lists of the same users; none is in Redis.
func TestColdListsAreReadOncePerUser(t *testing.T) {
	const users, readers, stripes = 1000, 12, 8
	on := storetest.Real(t)
	var now, peak atomic.Int64
	var mu sync.Mutex
	reads := map[int64]int{}
	var fixtures []*listFixture
	for range 3 {
		sh := newListFixture(t, on, Config{Stripes: stripes})
		read := sh.lists.read
		sh.lists.read = func(ctx context.Context, user int64, limit int) ([]cache.Entry, error) {
			n := now.Add(1)
			defer now.Add(-1)
			mu.Lock()
			reads[user]++
			mu.Unlock()
			for old := peak.Load(); n > old && !peak.CompareAndSwap(old, n); old = peak.Load() {
			}
			time.Sleep(2 * time.Millisecond) // unlimited readers overlap here
			return read(ctx, user, limit)
		}
		fixtures = append(fixtures, sh)
	}
	fixtures[0].insert(t, at(1, 1))
	var all sync.WaitGroup
	for i, sh := range fixtures {
		var next atomic.Int64
		for range readers {
			all.Go(func() {
				for u := next.Add(1); u <= users; u = next.Add(1) {
					if _, err := sh.ByUser(t.Context(), u, Filter{First: 20}); err != nil {
						t.Errorf("process %d, user %d: %v", i, u, err)
					}
				}
			})
		}
	}
	all.Wait()
	if len(reads) != users {
		t.Errorf("got lists of %d users, want %d", len(reads), users)
	}
	for u, n := range reads {
		if n != 1 {
			t.Errorf("got %d reads of the list of user %d, want 1", n, u)
		}
	}
	if n := peak.Load(); n > stripes {
		t.Errorf("got %d concurrent reads, want at most %d", n, stripes)
	}
	t.Logf("at most %d concurrent reads", peak.Load())
}

func TestListsAreReadWithoutABusyLock(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		sh, other := newListFixture(t, on, Config{}), newListFixture(t, on, Config{})
		sh.lists.wait = rebuildWait
		sh.insert(t, at(1, 1))
		lease, err := other.cfg.Locks.Try(t.Context(), lockOf(ann, 128))
		if err != nil {
			t.Fatal(err)
		}
		sh.wantShown(t, Filter{}, 1)
		if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
		sh.wantShown(t, Filter{}, 1)
		if n := sh.lists.window.Stats().Loads; n != 1 {
			t.Errorf("got %d reads, want 1", n)
		}
	})
}

func TestUsersAreSpreadOverTheLocks(t *testing.T) {
	n := map[string]int{}
	for u := range int64(128 * 100) {
		n[lockOf(u, 128)]++
	}
	if peak := slices.Max(slices.Collect(maps.Values(n))); len(n) != 128 || peak > 150 {
		t.Errorf("got %d locks with at most %d users, want 128 with at most 150", len(n), peak)
	}
}
