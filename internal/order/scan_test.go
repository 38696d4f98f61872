package order

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/ent"
	entorder "github.com/tandian-dev/tandian/ent/order"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/reconcile"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// scanOf runs a scan once.
func scanOf(t *testing.T, s *Service, name string, dry bool) reconcile.Outcome {
	t.Helper()
	scans := reconcile.New(prometheus.NewRegistry(), nil)
	scans.Add(s.Scans()...)
	found, err := scans.ByName(name)
	if err != nil {
		t.Fatal(err)
	}
	o, err := scans.RunOnce(t.Context(), found[0], reconcile.Options{DryRun: dry})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// wantRepairs checks three runs. A dry run finds want differences and changes nothing, the
// next run repairs all of them, and the last run finds none.
func wantRepairs(t *testing.T, s *Service, p storetest.Process, name string, want int) {
	t.Helper()
	before := storetest.Snapshot(t, p.SQL.DB, p.Redis)
	if dry := scanOf(t, s, name, true); dry.Found != want || dry.Repaired != 0 || dry.Compared == 0 {
		t.Errorf("dry run: got %+v, want %d findings", dry, want)
	}
	if d := cmp.Diff(before, storetest.Snapshot(t, p.SQL.DB, p.Redis)); d != "" {
		t.Errorf("dry run changed the stores (-before +after):\n%s", d)
	}
	if run := scanOf(t, s, name, false); run.Found != want || run.Repaired != want {
		t.Errorf("run: got %+v, want %d findings, all repaired", run, want)
	}
	if again := scanOf(t, s, name, false); again.Found != 0 {
		t.Errorf("second run: got %+v, want no findings", again)
	}
}

// hourLater returns a time an hour after the orders of most tests.
func hourLater() time.Time { return time.UnixMilli(baseMs).Add(time.Hour) }

func TestScanRepairsRecentLists(t *testing.T) {
	member := func(n int64) string { return at(n, n).entry().Member }
	cases := []struct {
		name   string
		rows   int64                                     // orders 1, 2 … before the list is read; maximum ten
		change func(t *testing.T, sh *listFixture) error // changes the list, or rows without it
		found  int
	}{
		{"correct", 3, nil, 0},
		{"not in Redis", 3, func(t *testing.T, sh *listFixture) error {
			return sh.lists.window.Invalidate(t.Context(), ann)
		}, 0},
		{"more orders below", 15, nil, 0},
		{"order missing", 5, func(t *testing.T, sh *listFixture) error {
			return sh.p.Redis.ZRem(t.Context(), sh.listKey(ann), member(3)).Err()
		}, 1},
		{"two orders swapped", 5, func(t *testing.T, sh *listFixture) error {
			return sh.p.Redis.ZAdd(t.Context(), sh.listKey(ann),
				redis.Z{Score: float64(baseMs + 4), Member: member(3)}, redis.Z{Score: float64(baseMs + 3), Member: member(4)}).Err()
		}, 1},
		{"wrongly marked complete", 15, func(t *testing.T, sh *listFixture) error {
			return sh.p.Redis.ZAddXX(t.Context(), sh.listKey(ann), redis.Z{Score: math.Inf(-1), Member: ""}).Err()
		}, 1},
		{"wrongly empty", 0, func(t *testing.T, sh *listFixture) error {
			sh.insert(t, at(1, 1))
			return nil
		}, 1},
		{"unknown order", 5, func(t *testing.T, sh *listFixture) error {
			return sh.lists.add(t.Context(), []listEntry{{ann, 99, baseMs + 3}})
		}, 1},
		{"young order missing", 5, func(t *testing.T, sh *listFixture) error {
			sh.insert(t, at(6, (59*time.Minute+30*time.Second).Milliseconds()))
			return nil
		}, 0},
		{"no order in the last day", 5, func(t *testing.T, sh *listFixture) error {
			sh.db.Order.Delete().ExecX(t.Context()) // order.lists covers the rest
			sh.insert(t, at(1, (-24*time.Hour).Milliseconds()))
			sh.insert(t, Order{ID: 7, UserID: bob, CreatedAt: time.UnixMilli(baseMs)})
			return nil
		}, 0},
	}
	storetest.EachAndCluster(t, func(t *testing.T, on storetest.Stores) {
		sh := newListFixture(t, on, Config{ListSize: 10, Now: hourLater})
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				sh.clear(t)
				for n := range c.rows {
					sh.insert(t, at(n+1, n+1))
				}
				sh.page(t, ann, Filter{})
				if c.change != nil {
					sh.must(t, c.change(t, sh))
				}
				wantRepairs(t, sh.Service, sh.p, "order-lists", c.found)
			})
		}
	})
}

func TestScanComparesEachListOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		sh := newListFixture(t, on, Config{ListSize: 10, Now: hourLater})
		const users = 700 // two orders each, in one millisecond
		var rows []*ent.OrderCreate
		for n := range int64(2 * users) {
			rows = append(rows, create(sh.db.Order.Create(), Order{ID: n + 1, UserID: n%users + 1, CreatedAt: time.UnixMilli(baseMs)}))
		}
		for len(rows) > 0 {
			sh.db.Order.CreateBulk(rows[:100]...).ExecX(t.Context())
			rows = rows[100:]
		}
		for _, user := range []int64{1, 499, 500, 501, 700} {
			sh.page(t, user, Filter{})
			sh.must(t, sh.p.Redis.ZRem(t.Context(), sh.listKey(user), listKey{Number: user}.entry().Member).Err())
		}
		if o := scanOf(t, sh.Service, "order-lists", false); o.Compared != users || o.Found != 5 || o.Repaired != 5 {
			t.Errorf("got %+v, want %d lists compared and 5 repaired", o, users)
		}
	})
}

func TestScanRemovesMarksOfStoredOrders(t *testing.T) {
	storetest.EachAndCluster(t, func(t *testing.T, on storetest.Stores) {
		sh := newListFixture(t, on, Config{Now: hourLater})
		stored, waiting, refused := at(1, 1), at(2, 2), at(3, 3)
		sh.insert(t, stored)
		sh.markQueued(t, stored)
		sh.enqueue(t, waiting)
		sh.markQueued(t, refused)
		wantRepairs(t, sh.Service, sh.p, "order-lists", 1)
		if d := cmp.Diff([]string{"2", "3"}, sh.queuedNow(t, ann)); d != "" {
			t.Errorf("marks (-want +got):\n%s", d)
		}
	})
}

// All five adds after a commit fail, the deletion of the list fails, and the job of the
// transaction is lost. The order is missing from its list until the scan.
func TestScanListsOrdersThatTheOutboxLost(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		var wire cuttableWire
		reader, writer := newListFixture(t, on, Config{Now: hourLater}), newListFixture(t, wire.through(on), Config{Now: hourLater})
		reader.order(t, at(1, 1))
		reader.wantShown(t, Filter{}, 1)

		o := at(2, 2)
		var job []outbox.JobRef
		err := ent.WithTx(t.Context(), writer.p.DB, func(tx *ent.Tx) (err error) {
			if err = create(tx.Order.Create(), o).Exec(t.Context()); err == nil {
				job, err = writer.EnqueueJobs(t.Context(), tx, []int64{o.ID})
			}
			return err
		})
		reader.must(t, err)
		wire.set(true)
		before := writer.lists.window.Stats().RedisErrors
		writer.AfterCommit(t.Context(), []StoredOrder{changedFrom(o)}, job)
		wire.set(false)
		if n := writer.lists.window.Stats().RedisErrors - before; n < 3+1 || n > 5+1 {
			t.Fatalf("got %d failures, want 4 to 6", n)
		}
		writer.box.Wait()
		if n := reader.db.OutboxJob.Delete().ExecX(t.Context()); n != 1 {
			t.Fatalf("deleted %d jobs, want 1", n)
		}
		reader.wantShown(t, Filter{}, 1) // wrong until the scan

		wantRepairs(t, reader.Service, reader.p, "order-lists", 1)
		reader.wantShown(t, Filter{}, 2, 1)
	})
}

func TestScansRepairCounters(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		p := w.process(t)
		p.seed(t)
		ctx := t.Context()
		for range 3 {
			p.insertOrder(t, w, Paid, func(c *ent.OrderCreate) { c.SetPayValue(250) }) // two points each
		}
		p.insertOrder(t, w, Unpaid)
		if _, err := p.countOrders(ctx); err != nil {
			t.Fatal(err)
		}
		check := func(sold, points int) {
			t.Helper()
			if got := p.db.Shop.GetX(ctx, shopID).Sold; got != sold {
				t.Errorf("got %d sales, want %d", got, sold)
			}
			if got := p.db.User.GetX(ctx, ann).Points; got != points {
				t.Errorf("got %d points of Ann, want %d", got, points)
			}
		}
		check(3, 6)
		wantRepairs(t, p.Service, p.from, "sold", 0)
		wantRepairs(t, p.Service, p.from, "points", 0)

		p.insertOrder(t, w, Paid) // not counted yet, so no difference
		p.db.Shop.UpdateOneID(shopID).AddSold(1).ExecX(ctx)
		p.db.User.UpdateOneID(ann).AddPoints(-1).ExecX(ctx)
		p.db.User.UpdateOneID(bob).AddPoints(7).ExecX(ctx)
		wantRepairs(t, p.Service, p.from, "sold", 1)
		wantRepairs(t, p.Service, p.from, "points", 2)
		check(3, 6)
		if got := p.db.User.GetX(ctx, bob).Points; got != 0 {
			t.Errorf("got %d points of Bob, want 0", got)
		}
		// Check-ins also earn points.
		p.db.CheckInMonth.Create().SetUserID(ann).SetMonth(202610).SetDays(1 << 31).SetPoints(5).ExecX(ctx)
		p.db.CheckInMonth.Create().SetUserID(ann).SetMonth(202611).SetDays(6).SetPoints(10).ExecX(ctx)
		p.db.CheckInMonth.Create().SetUserID(bob).SetMonth(202611).SetDays(2).SetPoints(5).ExecX(ctx)
		p.db.User.UpdateOneID(ann).AddPoints(15).ExecX(ctx)
		if o := scanOf(t, p.Service, "points", true); !slices.Equal(o.Lines, []string{fmt.Sprintf("user %d: has 0 points, want 5 according to orders and check-ins", bob)}) {
			t.Errorf("got findings %v", o.Lines)
		}
		wantRepairs(t, p.Service, p.from, "points", 1)
		check(3, 21)
		if got := p.db.User.GetX(ctx, bob).Points; got != 5 {
			t.Errorf("got %d points of Bob, want 5", got)
		}
		// Refunded orders are subtracted.
		p.db.Order.Update().Where(entorder.Tallied(true)).SetStatus(entorder.StatusREFUNDED).ExecX(ctx)
		if _, err := p.countOrders(ctx); err != nil {
			t.Fatal(err)
		}
		check(1, 25)
		wantRepairs(t, p.Service, p.from, "sold", 0)
		wantRepairs(t, p.Service, p.from, "points", 0)
	})
}

// While orders are counted, the scans find nothing and repair nothing.
func TestCounterScansDoNotDisturbCounting(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		p := w.process(t)
		p.seed(t)
		done := make(chan error, 1)
		go func() {
			for range 40 {
				p.insertOrder(t, w, Paid)
				if _, err := p.countOrders(t.Context()); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
		for running := true; running; {
			select {
			case err := <-done:
				if err != nil {
					t.Error(err)
				}
				running = false
			default:
			}
			for _, name := range []string{"sold", "points"} {
				if o := scanOf(t, p.Service, name, false); o.Found != 0 {
					t.Errorf("got findings %v", o.Lines)
				}
			}
		}
		if got := p.db.Shop.GetX(t.Context(), shopID).Sold; got != 40 {
			t.Errorf("got %d sales, want 40", got)
		}
	})
}

func TestWrongListsAreDescribed(t *testing.T) {
	sh := newListFixture(t, storetest.Real(t), Config{ListSize: 10, Now: hourLater})
	for n := range int64(3) {
		sh.insert(t, at(n+1, n+1))
	}
	is := func(ns ...int64) (list []cache.Entry) {
		for _, n := range ns {
			list = append(list, at(n, n).entry())
		}
		return list
	}
	const zeros = "000000000000000000"
	for _, c := range []struct {
		name  string
		list  []cache.Entry
		whole bool
		want  string
	}{
		{"correct", is(3, 2, 1), true, ""},
		{"more orders below", is(3, 2), false, ""},
		{"incomplete", is(3, 2), true, "ends before order " + zeros + "1 but is marked complete"},
		{"extra order", is(3, 2, 1, 0), true, "has order " + zeros + "0 after all 3 orders"},
		{"gap", is(3, 1), false, "has order " + zeros + "1 at position 2, want " + zeros + "2"},
	} {
		got, err := sh.flawOf(t.Context(), sh.db, cache.WindowSnapshot[int64]{Key: ann, Entries: c.list, Whole: c.whole})
		if err != nil || got != c.want {
			t.Errorf("%s: got %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}

// The scan skips users with new orders; otherwise it would not end while orders arrive faster
// than it compares.
func TestListScanEndsDuringNewOrders(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		now := hourLater()
		sh := newListFixture(t, on, Config{Now: func() time.Time { return now }})
		user := int64(0)
		order := func(n int) {
			for range n / 100 {
				rows := make([]*ent.OrderCreate, 100)
				for i := range rows {
					user++
					rows[i] = create(sh.db.Order.Create(), Order{ID: user, UserID: user, CreatedAt: now.Add(-90 * time.Second)})
				}
				sh.db.Order.CreateBulk(rows...).ExecX(t.Context())
			}
		}
		order(2 * scanPage)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		scans := reconcile.New(prometheus.NewRegistry(), nil)
		o, err := scans.RunOnce(ctx, reconcile.Scan{Name: "order-lists", Run: sh.scanLists}, reconcile.Options{OnProgress: func(n int) {
			if n > 4*scanPage {
				cancel()
				return
			}
			now = now.Add(2 * time.Minute)
			order(scanPage)
		}})
		if err != nil || o.Compared != 2*scanPage {
			t.Errorf("got %+v, %v, want %d lists compared", o, err, 2*scanPage)
		}
	})
}

// A deadlines is a database that records the deadline of queries.
type deadlines struct{ left time.Duration }

func (d *deadlines) QueryContext(ctx context.Context, _ string, _ ...any) (*sql.Rows, error) {
	if end, ok := ctx.Deadline(); ok {
		d.left = time.Until(end)
	}
	return nil, errors.New("queried")
}

func TestCounterPagesHaveADeadline(t *testing.T) {
	var db deadlines
	if _, err := (counter{}).page(context.Background(), &db, 0, scanPage); err == nil || db.left <= 0 || db.left > countTimeout {
		t.Errorf("got timeout %v and %v, want at most %v", db.left, err, countTimeout)
	}
}
