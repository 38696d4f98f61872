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

// scanOf runs a scan of a room.
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

// findsAndMends wants a dry run to find so much and to change nothing, the next run to
// mend all of it, and the one after to find nothing.
func findsAndMends(t *testing.T, s *Service, p storetest.Process, name string, want int) {
	t.Helper()
	before := storetest.Snapshot(t, p.SQL.DB, p.Redis)
	if dry := scanOf(t, s, name, true); dry.Found != want || dry.Repaired != 0 || dry.Compared == 0 {
		t.Errorf("the dry run: %+v, want %d findings", dry, want)
	}
	if d := cmp.Diff(before, storetest.Snapshot(t, p.SQL.DB, p.Redis)); d != "" {
		t.Errorf("the dry run changed something (-before +after):\n%s", d)
	}
	if run := scanOf(t, s, name, false); run.Found != want || run.Repaired != want {
		t.Errorf("the run: %+v, want %d findings and all of them mended", run, want)
	}
	if again := scanOf(t, s, name, false); again.Found != 0 {
		t.Errorf("afterwards: %+v, want nothing", again)
	}
}

// anHour is a clock that shows an hour after the orders of most tests.
func anHour() time.Time { return time.UnixMilli(someDay).Add(time.Hour) }

func TestTheScanMendsListsOfWhoOrderedInTheLastDay(t *testing.T) {
	member := func(n int64) string { return at(n, n).entry().Member }
	cases := []struct {
		name  string
		rows  int64                               // orders 1, 2 … before the list is read; it holds ten
		harm  func(t *testing.T, sh *shelf) error // of the list, or of the rows behind its back
		found int
	}{
		{"a right one", 3, nil, 0},
		{"one that is not in Redis", 3, func(t *testing.T, sh *shelf) error {
			return sh.lists.window.Invalidate(t.Context(), ann)
		}, 0},
		{"one that goes on below", 15, nil, 0},
		{"an order is missing", 5, func(t *testing.T, sh *shelf) error {
			return sh.p.Redis.ZRem(t.Context(), sh.listKey(ann), member(3)).Err()
		}, 1},
		{"two are in each other's place", 5, func(t *testing.T, sh *shelf) error {
			return sh.p.Redis.ZAdd(t.Context(), sh.listKey(ann),
				redis.Z{Score: float64(someDay + 4), Member: member(3)}, redis.Z{Score: float64(someDay + 3), Member: member(4)}).Err()
		}, 1},
		{"it says that it is whole, and is not", 15, func(t *testing.T, sh *shelf) error {
			return sh.p.Redis.ZAddXX(t.Context(), sh.listKey(ann), redis.Z{Score: math.Inf(-1), Member: ""}).Err()
		}, 1},
		{"it says that there are none, and there is one", 0, func(t *testing.T, sh *shelf) error {
			sh.insert(t, at(1, 1))
			return nil
		}, 1},
		{"it has an order that there is not", 5, func(t *testing.T, sh *shelf) error {
			return sh.lists.add(t.Context(), []listEntry{{ann, 99, someDay + 3}})
		}, 1},
		{"an order may be on its way", 5, func(t *testing.T, sh *shelf) error {
			sh.insert(t, at(6, (59*time.Minute+30*time.Second).Milliseconds()))
			return nil
		}, 0},
		{"the user has not ordered for a day", 5, func(t *testing.T, sh *shelf) error {
			sh.db.Order.Delete().ExecX(t.Context()) // what is left is for the walk over all lists
			sh.insert(t, at(1, (-24*time.Hour).Milliseconds()))
			sh.insert(t, Order{ID: 7, UserID: bob, CreatedAt: time.UnixMilli(someDay)})
			return nil
		}, 0},
	}
	storetest.EachAndCluster(t, func(t *testing.T, on storetest.Stores) {
		sh := openShelf(t, on, Config{ListSize: 10, Now: anHour})
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				sh.clear(t)
				for n := range c.rows {
					sh.insert(t, at(n+1, n+1))
				}
				sh.page(t, ann, Filter{})
				if c.harm != nil {
					sh.must(t, c.harm(t, sh))
				}
				findsAndMends(t, sh.Service, sh.p, "order-lists", c.found)
			})
		}
	})
}

func TestTheScanComparesEachListOfManyPagesOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		sh := openShelf(t, on, Config{ListSize: 10, Now: anHour})
		const users = 700 // with two orders each, in one millisecond
		var rows []*ent.OrderCreate
		for n := range int64(2 * users) {
			rows = append(rows, create(sh.db.Order.Create(), Order{ID: n + 1, UserID: n%users + 1, CreatedAt: time.UnixMilli(someDay)}))
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
			t.Errorf("%+v, want %d lists compared and 5 of them mended", o, users)
		}
	})
}

func TestTheScanForgetsMarksOfOrdersThatHaveRows(t *testing.T) {
	storetest.EachAndCluster(t, func(t *testing.T, on storetest.Stores) {
		sh := openShelf(t, on, Config{Now: anHour})
		stored, waits, refused := at(1, 1), at(2, 2), at(3, 3)
		sh.insert(t, stored)
		sh.hint(t, stored)
		sh.enqueue(t, waits)
		sh.hint(t, refused)
		findsAndMends(t, sh.Service, sh.p, "order-lists", 1)
		if d := cmp.Diff([]string{"2", "3"}, sh.queuedNow(t, ann)); d != "" {
			t.Errorf("what is marked (-want +got):\n%s", d)
		}
	})
}

// All five tries after a commit fail, the deletion of the list fails too, and the job
// that its transaction holds is never done: the order is missing from its user's list,
// until the scan looks.
func TestAnOrderThatTriesAndOutboxLostIsMendedByTheScan(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		var wire looseWire
		reader, writer := openShelf(t, on, Config{Now: anHour}), openShelf(t, wire.through(on), Config{Now: anHour})
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
			t.Fatalf("%d failures, want five adds, or fewer once the breaker is open, and a deletion", n)
		}
		writer.box.Wait()
		if n := reader.db.OutboxJob.Delete().ExecX(t.Context()); n != 1 {
			t.Fatalf("%d jobs were lost, want the one of the list", n)
		}
		reader.wantShown(t, Filter{}, 1) // wrong, and nobody is left to tell it

		findsAndMends(t, reader.Service, reader.p, "order-lists", 1)
		reader.wantShown(t, Filter{}, 2, 1)
	})
}

func TestTheScansMendWhatOrdersAreCountedInto(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newTown(on)
		p := w.process(t)
		p.furnish(t)
		ctx := t.Context()
		for range 3 {
			p.plant(t, w, Paid, func(c *ent.OrderCreate) { c.SetPayValue(250) }) // two points each
		}
		p.plant(t, w, Unpaid)
		if _, err := p.tally(ctx); err != nil {
			t.Fatal(err)
		}
		check := func(sold, points int) {
			t.Helper()
			if got := p.db.Shop.GetX(ctx, shopID).Sold; got != sold {
				t.Errorf("%d are sold, want %d", got, sold)
			}
			if got := p.db.User.GetX(ctx, ann).Points; got != points {
				t.Errorf("Ann has %d points, want %d", got, points)
			}
		}
		check(3, 6)
		findsAndMends(t, p.Service, p.from, "sold", 0)
		findsAndMends(t, p.Service, p.from, "points", 0)

		p.plant(t, w, Paid) // not tallied yet: it is no difference
		p.db.Shop.UpdateOneID(shopID).AddSold(1).ExecX(ctx)
		p.db.User.UpdateOneID(ann).AddPoints(-1).ExecX(ctx)
		p.db.User.UpdateOneID(bob).AddPoints(7).ExecX(ctx)
		findsAndMends(t, p.Service, p.from, "sold", 1)
		findsAndMends(t, p.Service, p.from, "points", 2)
		check(3, 6)
		if got := p.db.User.GetX(ctx, bob).Points; got != 0 {
			t.Errorf("Bob has %d points, want none", got)
		}
		// Check-ins earn points too.
		p.db.CheckInMonth.Create().SetUserID(ann).SetMonth(202610).SetDays(1 << 31).SetPoints(5).ExecX(ctx)
		p.db.CheckInMonth.Create().SetUserID(ann).SetMonth(202611).SetDays(6).SetPoints(10).ExecX(ctx)
		p.db.CheckInMonth.Create().SetUserID(bob).SetMonth(202611).SetDays(2).SetPoints(5).ExecX(ctx)
		p.db.User.UpdateOneID(ann).AddPoints(15).ExecX(ctx)
		if o := scanOf(t, p.Service, "points", true); !slices.Equal(o.Lines, []string{fmt.Sprintf("user %d: it has 0 points, and orders and check-ins say 5", bob)}) {
			t.Errorf("it found %v", o.Lines)
		}
		findsAndMends(t, p.Service, p.from, "points", 1)
		check(3, 21)
		if got := p.db.User.GetX(ctx, bob).Points; got != 5 {
			t.Errorf("Bob has %d points, want 5", got)
		}
		// What is refunded is counted out of it.
		p.db.Order.Update().Where(entorder.Tallied(true)).SetStatus(entorder.StatusREFUNDED).ExecX(ctx)
		if _, err := p.tally(ctx); err != nil {
			t.Fatal(err)
		}
		check(1, 25)
		findsAndMends(t, p.Service, p.from, "sold", 0)
		findsAndMends(t, p.Service, p.from, "points", 0)
	})
}

// While orders are tallied, the scans find nothing, and mend nothing away.
func TestTheScansOfCountersDisturbNoTally(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newTown(on)
		p := w.process(t)
		p.furnish(t)
		done := make(chan error, 1)
		go func() {
			for range 40 {
				p.plant(t, w, Paid)
				if _, err := p.tally(t.Context()); err != nil {
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
					t.Errorf("it found %v", o.Lines)
				}
			}
		}
		if got := p.db.Shop.GetX(t.Context(), shopID).Sold; got != 40 {
			t.Errorf("%d are sold, want 40", got)
		}
	})
}

func TestAWrongListIsDescribed(t *testing.T) {
	sh := openShelf(t, storetest.Real(t), Config{ListSize: 10, Now: anHour})
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
		{"right", is(3, 2, 1), true, ""},
		{"right, and goes on below", is(3, 2), false, ""},
		{"not all", is(3, 2), true, "it ends before order " + zeros + "1, and says that it is whole"},
		{"more", is(3, 2, 1, 0), true, "it has order " + zeros + "0, and there are no more than 3"},
		{"a hole", is(3, 1), false, "in place 2 it has order " + zeros + "1, and should have " + zeros + "2"},
	} {
		got, err := sh.flawOf(t.Context(), sh.db, cache.WindowSnapshot[int64]{Key: ann, Entries: c.list, Whole: c.whole})
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}

// Who orders while the lists are compared is left for the next time: else a scan would
// not end as long as more people order than it compares.
func TestTheScanOfListsEndsWhilePeopleOrder(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		now := anHour()
		sh := openShelf(t, on, Config{Now: func() time.Time { return now }})
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
			t.Errorf("%+v, %v, want the %d lists of those who had ordered", o, err, 2*scanPage)
		}
	})
}

// deadlines is a database that is asked until when it may take.
type deadlines struct{ left time.Duration }

func (d *deadlines) QueryContext(ctx context.Context, _ string, _ ...any) (*sql.Rows, error) {
	if end, ok := ctx.Deadline(); ok {
		d.left = time.Until(end)
	}
	return nil, errors.New("asked")
}

func TestCountersAreCountedInTime(t *testing.T) {
	var db deadlines
	if _, err := (counter{}).page(context.Background(), &db, 0, scanPage); err == nil || db.left <= 0 || db.left > countLimit {
		t.Errorf("a page may take %v: %v", db.left, err)
	}
}
