package order

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	entorder "github.com/tandian-dev/tandian/ent/order"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/page"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// walk reads a list page by page and calls between after each page.
func (sh *listFixture) walk(t *testing.T, f Filter, between func()) []*Order {
	t.Helper()
	var all []*Order
	for range 1000 {
		p := sh.page(t, ann, f)
		for _, e := range p.Edges {
			all = append(all, e.Node)
		}
		if !p.Info.HasNextPage {
			return all
		}
		f.After = *p.Info.EndCursor
		if between != nil {
			between()
		}
	}
	t.Fatal("the list does not end")
	return nil
}

func numbersOf(orders []*Order) []int64 {
	numbers := []int64{}
	for _, o := range orders {
		numbers = append(numbers, o.ID)
	}
	return numbers
}

func TestQueuedOrdersAreInTheList(t *testing.T) {
	old := at(1, -time.Hour.Milliseconds())
	cases := []struct {
		name string
		run  func(t *testing.T, sh *listFixture)
	}{
		{"queued orders are first", func(t *testing.T, sh *listFixture) {
			sh.order(t, at(1, 1))
			sh.enqueue(t, at(2, 2))
			sh.wantShown(t, Filter{}, 2, 1)
			if got := sh.page(t, ann, Filter{}).Edges[0].Node.Status; got != Queued {
				t.Errorf("got %s, want %s", got, Queued)
			}
		}},
		{"filters include queued", func(t *testing.T, sh *listFixture) {
			sh.order(t, at(1, 1))
			sh.enqueue(t, at(2, 2))
			sh.wantShown(t, Filter{Status: []Status{Queued}}, 2)
			sh.wantShown(t, Filter{Status: []Status{Paid, Queued, Unpaid}}, 2, 1)
			sh.wantShown(t, Filter{Status: []Status{Unpaid}}, 1)
			sh.wantShown(t, Filter{Status: []Status{Paid, Queued}}, 2)
		}},
		{"a commit between two pages", func(t *testing.T, sh *listFixture) {
			for n := range int64(6) {
				sh.enqueue(t, at(n+1, n/2))
			}
			commit := func() {
				for n := range int64(6) {
					if sh.queue.orders[n+1] != nil {
						sh.order(t, at(n+1, n/2))
						sh.dequeue(n + 1)
						return
					}
				}
			}
			if d := gocmp.Diff([]int64{6, 5, 4, 3, 2, 1}, numbersOf(sh.walk(t, Filter{First: 1}, commit))); d != "" {
				t.Errorf("the list (-want +got):\n%s", d)
			}
		}},
		{"a commit during a read", func(t *testing.T, sh *listFixture) {
			sh.enqueue(t, at(2, 2))
			sh.wantShown(t, Filter{}, 2) // cache the list
			sh.queue.beforeAnswer = func() {
				sh.queue.beforeAnswer = nil
				sh.insert(t, at(2, 2))
				sh.must(t, sh.publish(t.Context(), []StoredOrder{changedFrom(at(2, 2))}))
			}
			p := sh.page(t, ann, Filter{})
			if len(p.Edges) != 1 || p.Edges[0].Node.Status != Unpaid {
				t.Errorf("got page %v, want order 2 as %s", pageIDs(p), Unpaid)
			}
		}},
		{"committed orders are shown before the add", func(t *testing.T, sh *listFixture) {
			sh.wantShown(t, Filter{}) // cache the list
			sh.markQueued(t, at(2, 2))
			if _, err := sh.ByID(t.Context(), Viewer{UserID: ann}, 2); err == nil {
				t.Fatal("the order already exists") // and this read does not cache its absence
			}
			sh.insert(t, at(2, 2))
			for range 2 {
				sh.wantShown(t, Filter{Status: []Status{Queued, Unpaid}}, 2)
			}
			if left := sh.queuedNow(t, ann); len(left) > 0 {
				t.Errorf("got queued %v, want none", left)
			}
			sh.wantShown(t, Filter{}, 2)
		}},
		{"old unknown marks are removed", func(t *testing.T, sh *listFixture) {
			fresh := Order{ID: 2, UserID: ann, CreatedAt: time.Now()}
			sh.markQueued(t, old)
			sh.markQueued(t, fresh)
			sh.wantShown(t, Filter{})
			if d := gocmp.Diff([]string{"2"}, sh.queuedNow(t, ann)); d != "" {
				t.Errorf("queued (-want +got):\n%s", d)
			}
		}},
		{"orders of other users are not shown", func(t *testing.T, sh *listFixture) {
			theirs, stored := at(1, 1), at(2, 2)
			theirs.UserID, stored.UserID = bob, bob
			sh.enqueue(t, theirs)
			sh.insert(t, stored)
			sh.markQueued(t, at(1, 1))
			sh.markQueued(t, at(2, 2))
			sh.wantShown(t, Filter{})
		}},
		{"other orders are shown while sales fail", func(t *testing.T, sh *listFixture) {
			sh.order(t, at(1, 1))
			sh.enqueue(t, at(2, 2))
			sh.queue.err = os.ErrDeadlineExceeded
			defer func() { sh.queue.err = nil }()
			sh.wantShown(t, Filter{}, 1)
			if d := gocmp.Diff([]string{"2"}, sh.queuedNow(t, ann)); d != "" {
				t.Errorf("queued (-want +got):\n%s", d)
			}
		}},
		{"queued orders are active", func(t *testing.T, sh *listFixture) {
			sh.enqueue(t, at(9, 9))
			for i, status := range []Status{Unpaid, Paid, Used, Cancelled, Refunding, Refunded, Failed} {
				o := at(int64(i+1), int64(i+1))
				o.Status = status
				sh.order(t, o)
			}
			live, err := sh.Active(t.Context(), ann)
			sh.must(t, err)
			if d := gocmp.Diff([]int64{9, 5, 2, 1}, numbersOf(live)); d != "" {
				t.Errorf("live (-want +got):\n%s", d)
			}
		}},
	}
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		sh := newListFixture(t, on, Config{ListSize: 10})
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				sh.clear(t)
				c.run(t, sh)
			})
		}
	})
}

// The test reads the list repeatedly while queued orders are committed one by one. Each leaves
// the queue before its list is updated.
func TestOrdersAreListedDuringTheirCommit(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		const orders, readers = 80, 3
		sh := newListFixture(t, on, Config{ListSize: 30})
		var admitted, reads atomic.Int64
		var all sync.WaitGroup
		for range readers {
			all.Go(func() {
				for n := int64(0); n < orders && !t.Failed(); reads.Add(1) {
					n = admitted.Load()
					p, err := sh.ByUser(t.Context(), ann, Filter{First: page.Max})
					if err != nil {
						t.Error(err)
						return
					}
					got := pageIDs(p)
					slices.Sort(got)
					if int64(len(got)) < n || !slices.Equal(got, slices.Compact(slices.Clone(got))) || len(got) > 0 && got[len(got)-1] != int64(len(got)) {
						t.Errorf("got list %v, want the %d orders made", got, n)
					}
				}
			})
		}
		for n := int64(1); n <= orders; n++ {
			sh.enqueue(t, at(n, n))
			admitted.Store(n)
			sh.insert(t, at(n, n))
			sh.dequeue(n)
			sh.must(t, sh.publish(t.Context(), []StoredOrder{changedFrom(at(n, n))}))
		}
		all.Wait()
		t.Logf("%d reads", reads.Load())
	})
}

func (*listFixture) must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestInvalidFiltersAreBadInput(t *testing.T) {
	cases := map[string]Filter{
		"no size":                  {First: 0},
		"too many":                 {First: page.Max + 1},
		"unknown status":           {First: 1, Status: []Status{"SOLD"}},
		"a cursor of another list": {First: 1, After: page.Encode("shops", 1, 2)},
	}
	for name, f := range cases {
		if _, err := new(Service).ByUser(t.Context(), ann, f); apierror.KindOf(err) != apierror.BadUserInput {
			t.Errorf("%s, ByUser: got %v, want %s", name, err, apierror.BadUserInput)
		}
		if _, err := new(Service).ByShop(t.Context(), 1, f); apierror.KindOf(err) != apierror.BadUserInput {
			t.Errorf("%s, ByShop: got %v, want %s", name, err, apierror.BadUserInput)
		}
	}
}

func TestMerchantsSeeOrdersOfTheirShops(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		sh := newListFixture(t, on, Config{Shops: fakeOwners{3: bob}})
		for n := range int64(5) {
			o := at(n+1, n/2)
			o.UserID, o.ShopID, o.Status = 100+n, 3, []Status{Unpaid, Paid}[n%2]
			sh.insert(t, o)
		}
		other := at(9, 9)
		other.ShopID = 4
		sh.insert(t, other)
		get := func(f Filter) *Page {
			p, err := sh.ByShop(t.Context(), 3, f)
			sh.must(t, err)
			return p
		}
		first := get(Filter{First: 2})
		second := get(Filter{First: 3, After: *first.Info.EndCursor})
		if d := gocmp.Diff([]int64{5, 4, 3, 2, 1}, append(pageIDs(first), pageIDs(second)...)); d != "" {
			t.Errorf("the list (-want +got):\n%s", d)
		}
		if !first.Info.HasNextPage || second.Info.HasNextPage || first.Info.HasPreviousPage || !second.Info.HasPreviousPage {
			t.Errorf("got page infos %+v, then %+v", first.Info, second.Info)
		}
		if d := gocmp.Diff([]int64{4, 2}, pageIDs(get(Filter{First: 5, Status: []Status{Paid, Queued}}))); d != "" {
			t.Errorf("paid (-want +got):\n%s", d)
		}
		if got := pageIDs(get(Filter{First: 5, Status: []Status{Queued}})); len(got) != 0 {
			t.Errorf("got queued %v, want none", got)
		}
		allow := map[Viewer]bool{{UserID: bob}: true, {UserID: ann}: false, {UserID: ann, IsAdmin: true}: true, {}: false}
		for v, want := range allow {
			if err := sh.MaySeeShop(t.Context(), v, 3); (err == nil) != want || (err != nil && apierror.KindOf(err) != apierror.Forbidden) {
				t.Errorf("%+v: got %v, want allowed = %v", v, err, want)
			}
		}
		if err := sh.MaySeeShop(t.Context(), Viewer{UserID: bob}, 5); apierror.KindOf(err) != apierror.Forbidden {
			t.Errorf("unknown shop: got %v, want %s", err, apierror.Forbidden)
		}
	})
}

// The test orders, commits, changes and evicts at random while it reads the list in pages of
// any size. TANDIAN_TEST_SEED repeats a run.
func TestEveryOrderIsShownOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		seed := uint64(time.Now().UnixNano())
		if s, err := strconv.ParseUint(os.Getenv("TANDIAN_TEST_SEED"), 10, 64); err == nil {
			seed = s
		}
		t.Logf("seed %d", seed)
		w := &listModel{listFixture: newListFixture(t, on, Config{ListSize: 8}), rand: rand.New(rand.NewPCG(seed, 0)), orders: map[int64]*Order{}}
		for range 40 {
			for range w.rand.IntN(6) {
				w.step(t)
			}
			w.check(t)
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	})
}

// A listModel models Ann's orders in parallel to the stores.
type listModel struct {
	*listFixture

	rand   *rand.Rand
	orders map[int64]*Order
	now    int64 // milliseconds
	last   int64 // number
}

// step makes one random change.
func (w *listModel) step(t *testing.T) {
	t.Helper()
	switch w.rand.IntN(8) {
	case 0, 1, 2: // an order, possibly older than others
		o := w.next(Unpaid)
		w.order(t, *o)
	case 3:
		w.enqueue(t, *w.next(Queued))
	case 4, 5:
		w.change(t)
	case 6:
		w.must(t, w.p.Redis.Del(t.Context(), w.listKey(ann)).Err())
	case 7: // the mark of a refused order
		w.last++
		w.markQueued(t, at(w.last, w.now))
	}
}

func (w *listModel) next(status Status) *Order {
	w.last += 1 + w.rand.Int64N(3)
	w.now += w.rand.Int64N(3)
	o := at(w.last, w.now-w.rand.Int64N(4))
	o.Status = status
	w.orders[o.ID] = &o
	return &o
}

// change changes an order; it commits a queued one.
func (w *listModel) change(t *testing.T) {
	t.Helper()
	for _, o := range w.orders {
		if o.Status == Queued {
			o.Status = Unpaid
			w.insert(t, *o)
			w.dequeue(o.ID)
			if w.rand.IntN(3) > 0 { // otherwise it is not published yet
				w.must(t, w.publish(t.Context(), []StoredOrder{changedFrom(*o)}))
			}
			return
		}
		if w.rand.IntN(4) == 0 {
			o.Status = []Status{Paid, Used, Cancelled, Failed}[w.rand.IntN(4)]
			w.must(t, w.p.DB.Order.UpdateOneID(o.ID).SetStatus(entorder.Status(o.Status)).AddVersion(1).Exec(t.Context()))
			w.must(t, w.rows.Invalidate(t.Context(), o.ID))
			return
		}
	}
}

// check reads the list during changes, and then the lists of several statuses without changes.
func (w *listModel) check(t *testing.T) {
	t.Helper()
	was := map[int64]bool{}
	for n := range w.orders {
		was[n] = true
	}
	got := w.walk(t, Filter{First: 1 + w.rand.IntN(12)}, func() {
		if w.rand.IntN(2) == 0 {
			w.step(t)
		}
	})
	if !slices.IsSortedFunc(got, func(a, b *Order) int { return keyOf(b).compare(keyOf(a)) }) {
		t.Errorf("got %v, want them sorted", numbersOf(got))
	}
	times := map[int64]int{}
	for _, o := range got {
		times[o.ID]++
		if w.orders[o.ID] == nil || times[o.ID] > 1 {
			t.Errorf("got order %d %d times, want once; exists: %v", o.ID, times[o.ID], w.orders[o.ID] != nil)
		}
	}
	for n := range was {
		if times[n] == 0 {
			t.Errorf("order %d is missing: %+v", n, w.orders[n])
		}
	}
	for _, status := range [][]Status{{Queued, Unpaid}, {Paid, Failed}, {Queued}, {Used}} {
		want := []int64{}
		for _, o := range w.orders {
			if slices.Contains(status, o.Status) {
				want = append(want, o.ID)
			}
		}
		slices.SortFunc(want, func(a, b int64) int { return keyOf(w.orders[b]).compare(keyOf(w.orders[a])) })
		if d := gocmp.Diff(want, numbersOf(w.walk(t, Filter{First: 1 + w.rand.IntN(5), Status: status}, nil))); d != "" {
			t.Errorf("%v (-want +got):\n%s", status, d)
		}
	}
}
