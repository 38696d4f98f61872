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

// queue is a flash sale of which only what is queued matters.
type queue struct {
	Sales // nothing else is called

	mu     sync.Mutex
	orders map[int64]*Order
	err    error
	asked  func() // before each answer; may be nil
}

func (q *queue) Entries(_ context.Context, numbers []int64) (map[int64]*Order, error) {
	if q.asked != nil {
		q.asked()
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

// owners are shops, by id, with their owners.
type owners map[int64]int64

func (o owners) OwnerOf(_ context.Context, shop int64) (*int64, bool, error) {
	owner, ok := o[shop]
	return &owner, ok, nil
}

func (owners) AddSold(context.Context, *ent.Tx, map[int64]int) ([]outbox.JobRef, error) {
	return nil, nil
}
func (owners) AfterCommit(context.Context, []int64, []outbox.JobRef) {}

// shelf is one process with lists of orders.
type shelf struct {
	*Service
	p     storetest.Process
	box   *outbox.Box
	queue *queue
}

// patience is what a wait that should succeed may take on a busy machine.
const patience = 20 * time.Second

func openShelf(t *testing.T, on storetest.Stores, cfg Config) *shelf {
	t.Helper()
	on.Redis.Timeout, on.Redis.PoolTimeout = patience, patience
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
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		if err := locks.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	sh := &shelf{p: p, box: p.NewOutbox(t), queue: &queue{orders: map[int64]*Order{}}}
	cfg.Redis, cfg.Locks, cfg.Registerer, cfg.Log = p.Redis, locks, p.Registry, p.Log
	cfg.Prefix, cfg.Sales, cfg.StockKey = storetest.Prefix, sh.queue, stockKey
	if cfg.Shops == nil {
		cfg.Shops = owners{}
	}
	if cfg.Users == nil {
		cfg.Users = usersRoom{}
	}
	sh.Service = New(p.DB, hub, sh.box, cfg)
	sh.lists.wait = patience
	return sh
}

const someDay = int64(1_700_000_000_000) // milliseconds; long ago

// insert commits an order, and tells nobody.
func (sh *shelf) insert(t *testing.T, o Order) {
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

// order commits an order and has it listed, as everybody who makes one does.
func (sh *shelf) order(t *testing.T, o Order) {
	t.Helper()
	sh.insert(t, o)
	if err := sh.announce(t.Context(), []StoredOrder{changedFrom(o)}); err != nil {
		t.Fatal(err)
	}
}

func changedFrom(o Order) StoredOrder {
	return StoredOrder{Order: o.ID, User: o.UserID, Voucher: o.VoucherID, At: o.CreatedAt}
}

// enqueue admits an order that waits for its commit.
func (sh *shelf) enqueue(t *testing.T, o Order) {
	t.Helper()
	o.Status = Queued
	sh.queue.mu.Lock()
	sh.queue.orders[o.ID] = &o
	sh.queue.mu.Unlock()
	sh.hint(t, o)
}

func (sh *shelf) hint(t *testing.T, o Order) {
	t.Helper()
	// The clock of who asks is not that of who admits.
	key := sh.QueuedKey(o.UserID)
	if err := sh.p.Redis.ZAdd(t.Context(), key, redis.Z{Score: float64(o.CreatedAt.UnixMilli() + 3), Member: decimal(o.ID)}).Err(); err != nil {
		t.Fatal(err)
	}
	if err := sh.p.Redis.PExpire(t.Context(), key, 10*time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
}

// dequeue has the sale forget an order.
func (sh *shelf) dequeue(number int64) {
	sh.queue.mu.Lock()
	defer sh.queue.mu.Unlock()
	delete(sh.queue.orders, number)
}

// at is an order of ann's, by the milliseconds of its admission.
func at(number, ms int64) Order {
	return Order{ID: number, UserID: ann, CreatedAt: time.UnixMilli(someDay + ms)}
}

// shown returns the numbers of a page.
func shown(p *Page) []int64 {
	numbers := []int64{}
	for _, e := range p.Edges {
		numbers = append(numbers, e.Node.ID)
	}
	return numbers
}

func (sh *shelf) page(t *testing.T, user int64, f Filter) *Page {
	t.Helper()
	f.First = cmp.Or(f.First, 20)
	p, err := sh.ByUser(t.Context(), user, f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (sh *shelf) wantShown(t *testing.T, f Filter, want ...int64) {
	t.Helper()
	if d := gocmp.Diff(append([]int64{}, want...), shown(sh.page(t, ann, f))); d != "" {
		t.Errorf("the list (-want +got):\n%s", d)
	}
}

func (sh *shelf) queuedNow(t *testing.T, user int64) []string {
	t.Helper()
	members, err := sh.p.Redis.ZRange(t.Context(), sh.QueuedKey(user), 0, -1).Result()
	if err != nil {
		t.Fatal(err)
	}
	return members
}

func (sh *shelf) listKey(user int64) string {
	return storetest.Prefix + ":" + listName + ":{" + decimal(user) + "}"
}

func TestAListShowsWhatWasOrdered(t *testing.T) {
	cases := []struct {
		name string
		run  func(t *testing.T, sh *shelf)
	}{
		{"an empty list is remembered, and the first order is its only one", func(t *testing.T, sh *shelf) {
			sh.wantShown(t, Filter{})
			sh.order(t, at(1, 1))
			sh.wantShown(t, Filter{}, 1)
			if n := sh.lists.window.Stats().Loads; n != 1 {
				t.Errorf("%d reads of the rows, want the one of the empty list", n)
			}
		}},
		{"an order that is added to a list that is not there does not look like the list", func(t *testing.T, sh *shelf) {
			sh.insert(t, at(1, 1))
			sh.order(t, at(2, 2))
			if n := sh.p.Redis.Exists(t.Context(), sh.listKey(ann)).Val(); n != 0 {
				t.Error("the add made a list")
			}
			sh.wantShown(t, Filter{}, 2, 1)
		}},
		{"a list that was evicted is read again", func(t *testing.T, sh *shelf) {
			sh.order(t, at(1, 1))
			sh.wantShown(t, Filter{}, 1)
			sh.p.Redis.Del(t.Context(), sh.listKey(ann))
			sh.order(t, at(2, 2))
			sh.wantShown(t, Filter{}, 2, 1)
		}},
		{"an order that was admitted before another, and committed after it, stands below", func(t *testing.T, sh *shelf) {
			sh.wantShown(t, Filter{})
			sh.order(t, at(5, 20))
			sh.order(t, at(6, 10))
			sh.wantShown(t, Filter{}, 5, 6)
		}},
		{"orders of one millisecond are paged by their numbers (W20)", func(t *testing.T, sh *shelf) {
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
		{"numbers of any size keep their order", func(t *testing.T, sh *shelf) {
			sh.wantShown(t, Filter{})
			for _, n := range []int64{99, 1<<63 - 1, 100, 1 << 60} {
				sh.order(t, at(n, 1))
			}
			sh.wantShown(t, Filter{}, 1<<63-1, 1<<60, 100, 99)
		}},
		{"a failed order is among them", func(t *testing.T, sh *shelf) {
			o := at(1, 1)
			o.Status = Failed
			sh.order(t, o)
			sh.wantShown(t, Filter{}, 1)
		}},
		{"a list with what has no row is dropped, and the rows answer", func(t *testing.T, sh *shelf) {
			sh.order(t, at(1, 1))
			sh.wantShown(t, Filter{}, 1)
			if err := sh.lists.add(t.Context(), []listEntry{{ann, 9, someDay + 9}}); err != nil {
				t.Fatal(err)
			}
			sh.wantShown(t, Filter{}, 1)
			if n := sh.p.Redis.Exists(t.Context(), sh.listKey(ann)).Val(); n != 0 {
				t.Error("the list is still there")
			}
		}},
		{"a list with what is somebody else's shows nothing of it", func(t *testing.T, sh *shelf) {
			o := at(1, 1)
			o.UserID = bob
			sh.insert(t, o)
			sh.wantShown(t, Filter{})
			if err := sh.lists.add(t.Context(), []listEntry{{ann, 1, someDay + 1}}); err != nil {
				t.Fatal(err)
			}
			sh.wantShown(t, Filter{})
		}},
		{"a key of another type is a list that is read from the rows", func(t *testing.T, sh *shelf) {
			sh.order(t, at(1, 1))
			sh.p.Redis.Set(t.Context(), sh.listKey(ann), "a string", time.Minute)
			sh.wantShown(t, Filter{}, 1)
		}},
		{"orders of many users are listed, and taken from the queued, at once", manyUsersAtOnce},
		{"an order that is committed during a rebuild is not lost", addDuringRebuild},
	}
	storetest.EachAndCluster(t, func(t *testing.T, on storetest.Stores) {
		sh := openShelf(t, on, Config{ListSize: 10})
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				sh.clear(t)
				c.run(t, sh)
			})
		}
	})
}

// clear begins a case: no orders, and no lists of them.
func (sh *shelf) clear(t *testing.T) {
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

func manyUsersAtOnce(t *testing.T, sh *shelf) {
	const users = 500
	var changed []StoredOrder
	for u := range int64(users) {
		o := Order{ID: 1000 + u, UserID: 10_000 + u, CreatedAt: time.UnixMilli(someDay)}
		if u%100 == 0 {
			sh.page(t, o.UserID, Filter{}) // there are lists for some
			sh.hint(t, o)
		}
		sh.insert(t, o)
		changed = append(changed, changedFrom(o))
	}
	if err := sh.lists.enlist(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	for u := int64(0); u < users; u += 50 {
		if d := gocmp.Diff([]int64{1000 + u}, shown(sh.page(t, 10_000+u, Filter{}))); d != "" {
			t.Errorf("the list of user %d (-want +got):\n%s", u, d)
		}
		if left := sh.queuedNow(t, 10_000+u); len(left) > 0 {
			t.Errorf("queued of user %d: %v", u, left)
		}
	}
}

// addDuringRebuild has a rebuild read the rows, then an order committed and added,
// then the rebuild store what it read.
func addDuringRebuild(t *testing.T, sh *shelf) {
	sh.insert(t, at(1, 1))
	read := sh.lists.read
	defer func() { sh.lists.read = read }()
	sh.lists.read = func(ctx context.Context, user int64, limit int) ([]cache.Entry, error) {
		sh.lists.read = read
		entries, err := read(ctx, user, limit)
		sh.order(t, at(2, 2)) //nolint:contextcheck // it is the test's
		return entries, err
	}
	sh.page(t, ann, Filter{}) // what it shows was true when it was asked for
	sh.wantShown(t, Filter{}, 2, 1)
	sh.wantShown(t, Filter{}, 2, 1)
}

// A loose wire is a way to Redis that can be cut and mended.
type looseWire struct {
	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

func (w *looseWire) through(on storetest.Stores) storetest.Stores {
	dial := on.Redis.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	on.Redis.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.cut {
			return nil, errors.New("the wire is cut")
		}
		conn, err := dial(ctx, network, addr)
		if err == nil {
			w.conns = append(w.conns, conn)
		}
		return conn, err
	}
	return on
}

func (w *looseWire) set(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.conns = nil
}

func TestAnOrderThatRedisWasNotToldOfIsListedByTheOutbox(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		var wire looseWire
		reader, writer := openShelf(t, on, Config{}), openShelf(t, wire.through(on), Config{})
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
		if took := time.Since(begin); took > announceTimeout+time.Second {
			t.Errorf("it took %v", took)
		}
		// Until the Redis is cut off, after which there is one add more, and a deletion.
		if n := writer.lists.window.Stats().RedisErrors - before; n < 2 || n > 5+1 {
			t.Errorf("%d failures, want some adds, five at most, and a deletion", n)
		}
		reader.wantShown(t, Filter{}, 1) // nobody told Redis yet
		writer.wantShown(t, Filter{}, 2, 1)

		wire.set(false)
		storetest.Relay(t, writer.box)
		for end := time.Now().Add(patience); len(shown(reader.page(t, ann, Filter{}))) < 2; {
			if time.Now().After(end) {
				t.Fatal("the outbox did not list it")
			}
		}
		reader.wantShown(t, Filter{}, 2, 1)
	})
}

func TestListsAreReadFromTheRowsWhenRedisIsAway(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		var wire looseWire
		sh := openShelf(t, wire.through(on), Config{ListSize: 10})
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

// Users wait for it: without Redis the database decides, and lists are told before they
// are.
func TestNobodyWaitsForListsWhileRedisIsKnownToBeAway(t *testing.T) {
	on := storetest.Real(t)
	on.Redis.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("away") }
	sh := openShelf(t, on, Config{})
	testkit.Eventually(t, patience, func() bool { return errors.Is(sh.p.Redis.Ping(t.Context()).Err(), redisdb.ErrBreakerOpen) })
	shortest := time.Hour // of several: others use the machine
	for range 10 {
		begin := time.Now()
		if err := sh.lists.add(t.Context(), []listEntry{{ann, 1, someDay}}); !errors.Is(err, redisdb.ErrBreakerOpen) {
			t.Errorf("got %v, want %v", err, redisdb.ErrBreakerOpen)
		}
		shortest = min(shortest, time.Since(begin))
	}
	if pauses := 15 * addPause; shortest > pauses/2 {
		t.Errorf("it took %v at least: the pauses between five tries are %v", shortest, pauses)
	}
}

// TestColdListsAreReadOncePerUserAndFewAtATime has three processes read the lists of
// the same users, none of which is in Redis.
func TestColdListsAreReadOncePerUserAndFewAtATime(t *testing.T) {
	const users, readers, stripes = 1000, 12, 8
	on := storetest.Real(t)
	var now, most atomic.Int64
	var mu sync.Mutex
	reads := map[int64]int{}
	var shelves []*shelf
	for range 3 {
		sh := openShelf(t, on, Config{Stripes: stripes})
		read := sh.lists.read
		sh.lists.read = func(ctx context.Context, user int64, limit int) ([]cache.Entry, error) {
			n := now.Add(1)
			defer now.Add(-1)
			mu.Lock()
			reads[user]++
			mu.Unlock()
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			time.Sleep(2 * time.Millisecond) // readers that nothing holds back are here together
			return read(ctx, user, limit)
		}
		shelves = append(shelves, sh)
	}
	shelves[0].insert(t, at(1, 1))
	var all sync.WaitGroup
	for i, sh := range shelves {
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
		t.Errorf("the lists of %d users were read, want %d", len(reads), users)
	}
	for u, n := range reads {
		if n != 1 {
			t.Errorf("the list of user %d was read %d times", u, n)
		}
	}
	if n := most.Load(); n > stripes {
		t.Errorf("%d reads at a time, want at most %d", n, stripes)
	}
	t.Logf("%d reads at a time at most", most.Load())
}

func TestALockThatIsNotFreeInTimeIsDoneWithout(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		sh, other := openShelf(t, on, Config{}), openShelf(t, on, Config{})
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
			t.Errorf("%d reads, want the one without the lock", n)
		}
	})
}

func TestUsersAreSpreadOverTheLocks(t *testing.T) {
	n := map[string]int{}
	for u := range int64(128 * 100) {
		n[lockOf(u, 128)]++
	}
	if most := slices.Max(slices.Collect(maps.Values(n))); len(n) != 128 || most > 150 {
		t.Errorf("%d locks, at most %d users on one", len(n), most)
	}
}
