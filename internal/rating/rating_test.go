package rating

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	entrating "github.com/tandian-dev/tandian/ent/rating"
	"github.com/tandian-dev/tandian/internal/kit/batch"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestRatingReplacesTheEarlierOne(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p, other := open(t, on), open(t, on)
		p.insertShops(t, 2)
		clock := time.UnixMilli(1_700_000_000_123).UTC()
		p.now = func() time.Time { return clock.Add(456 * time.Microsecond) }
		began := clock
		five, four, one := 5, 4, 1
		steps := []struct {
			name    string
			do      func() (*Rating, error)
			want    *Rating // of Ann and shop 1, without ids and time
			changes bool
		}{
			{"none", func() (*Rating, error) { return nil, nil }, nil, false},
			{"rate", func() (*Rating, error) { return p.Rate(t.Context(), ann, Draft{1, 4, &five, nil, &one}) }, &Rating{Stars: 4, Taste: &five, Service: &one}, true},
			{"repeat", func() (*Rating, error) { return p.Rate(t.Context(), ann, Draft{1, 4, &five, nil, &one}) }, &Rating{Stars: 4, Taste: &five, Service: &one}, false},
			{"change one aspect", func() (*Rating, error) { return p.Rate(t.Context(), ann, Draft{1, 4, &five, nil, &four}) }, &Rating{Stars: 4, Taste: &five, Service: &four}, true},
			{"add another", func() (*Rating, error) { return p.Rate(t.Context(), ann, Draft{1, 4, &five, &one, &four}) }, &Rating{Stars: 4, Taste: &five, Environment: &one, Service: &four}, true},
			{"omit aspects", func() (*Rating, error) { return p.Rate(t.Context(), ann, Draft{ShopID: 1, Stars: 4}) }, &Rating{Stars: 4}, true},
			{"change stars", func() (*Rating, error) {
				return p.Rate(t.Context(), ann, Draft{ShopID: 1, Stars: 1, Environment: &one})
			}, &Rating{Stars: 1, Environment: &one}, true},
			{"delete", func() (*Rating, error) { return nil, p.Delete(t.Context(), ann, 1) }, nil, true},
			{"delete again", func() (*Rating, error) { return nil, p.Delete(t.Context(), ann, 1) }, nil, false},
			{"rate again", func() (*Rating, error) { return p.Rate(t.Context(), ann, Draft{ShopID: 1, Stars: 5}) }, &Rating{Stars: 5}, true},
		}
		var last *Rating
		for _, step := range steps {
			clock = clock.Add(time.Minute)
			got, err := step.do()
			if err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
			if step.want != nil {
				step.want.ShopID, step.want.UserID, step.want.UpdatedAt = 1, ann, clock
				if !step.changes {
					step.want.UpdatedAt = last.UpdatedAt
				}
			}
			last = step.want
			if d := cmp.Diff(step.want, got); d != "" {
				t.Errorf("%s: result (-want +got):\n%s", step.name, d)
			}
			for _, reader := range []*process{p, other} {
				found := reader.byPairs(t, Pair{1, ann}, Pair{2, ann}, Pair{1, bob}, Pair{1, 0})
				want := map[Pair]*Rating{}
				if step.want != nil {
					want[Pair{1, ann}] = step.want
				}
				if d := cmp.Diff(want, found); d != "" {
					t.Errorf("%s: read (-want +got):\n%s", step.name, d)
				}
			}
			p.agree(t, 1)
			p.agree(t, 2)
			if step.name == "change stars" { // a changed rating keeps the time of its first version
				row := p.db.Rating.Query().OnlyX(t.Context())
				if got, want := time.UnixMilli(row.CreatedAt).UTC(), began.Add(2*time.Minute); !got.Equal(want) {
					t.Errorf("created at %v, want %v", got, want)
				}
			}
		}
		p.wantNoJobs(t)
	})
}

func TestRatingsAreValidated(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertShops(t, 2)
		number := func(n int) *int { return &n }
		before := storetest.Snapshot(t, p.from.SQL.DB, p.from.Redis)
		for _, tt := range []struct {
			name string
			user int64
			d    Draft
			want []string
		}{
			{"no stars", ann, Draft{ShopID: 1}, []string{"INVALID_INPUT stars"}},
			{"six stars", ann, Draft{ShopID: 1, Stars: 6}, []string{"INVALID_INPUT stars"}},
			{"negative stars", ann, Draft{ShopID: 1, Stars: -1}, []string{"INVALID_INPUT stars"}},
			{"all values are wrong", ann, Draft{1, 0, number(0), number(6), number(-5)}, []string{"INVALID_INPUT stars", "INVALID_INPUT taste", "INVALID_INPUT environment", "INVALID_INPUT service"}},
			{"no such shop", ann, Draft{ShopID: 3, Stars: 5}, []string{"NOT_FOUND shopId"}},
			{"the owner", 1001, Draft{ShopID: 1, Stars: 5}, []string{"OWN_SHOP shopId"}},
		} {
			r, err := p.Rate(t.Context(), tt.user, tt.d)
			if r != nil {
				t.Errorf("%s: got %+v", tt.name, r)
			}
			wantRefused(t, tt.name, err, tt.want...)
		}
		wantRefused(t, "delete for no such shop", p.Delete(t.Context(), ann, 3), "NOT_FOUND shopId")
		if err := p.Delete(t.Context(), 1001, 1); err != nil {
			t.Errorf("delete as the owner, without a rating: %v", err)
		}
		if d := cmp.Diff(before, storetest.Snapshot(t, p.from.SQL.DB, p.from.Redis)); d != "" {
			t.Errorf("data changed (-before +after):\n%s", d)
		}
		p.rate(t, 1001, 2, 5) // of another owner
		for value := 1; value <= 5; value++ {
			if _, err := p.Rate(t.Context(), ann, Draft{1, value, number(value), number(value), number(value)}); err != nil {
				t.Errorf("value %d: %v", value, err)
			}
			p.agree(t, 1)
		}
	})
}

// A user becomes the owner of a shop after the rating.
func TestOwnerCanOnlyDeleteTheRating(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertShops(t, 1)
		p.rate(t, ann, 1, 5)
		p.db.User.Create().SetID(ann).SetNickname("Ann").ExecX(t.Context())
		p.db.Shop.UpdateOneID(1).SetOwnerID(ann).ExecX(t.Context())
		_, err := p.Rate(t.Context(), ann, Draft{ShopID: 1, Stars: 4})
		wantRefused(t, "another rating", err, "OWN_SHOP shopId")
		p.remove(t, ann, 1)
		p.agree(t, 1)
	})
}

func TestRepeatedRatingTakesNoLock(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertShops(t, 1)
		p.rate(t, ann, 1, 4)
		p.shops.hook(func(context.Context) error { return errors.New("unexpected lock") })
		p.shops.takeInvalidated()
		p.rate(t, ann, 1, 4)
		p.remove(t, bob, 1)
		// The caller must see a rating whose writer has not reached Redis yet.
		if d := cmp.Diff([]int64{1}, p.shops.takeInvalidated()); d != "" {
			t.Errorf("invalidated shops (-want +got):\n%s", d)
		}
	})
}

func TestGroupAppliesChangesInOrder(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertShops(t, 3)
		p.rate(t, ann, 1, 2)
		p.rate(t, bob, 1, 3)
		type call struct {
			user, shop int64
			stars      int // 0 to delete
			want       []string
		}
		calls := []call{
			{ann, 1, 5, nil},
			{ann, 1, 2, nil}, // equal to the rating before the group
			{ann, 1, 2, nil}, // a repeat of the call before
			{bob, 1, 0, nil},
			{bob, 1, 4, nil},
			{cid, 2, 1, nil},
			{cid, 2, 0, nil},
			{1002, 2, 5, []string{"OWN_SHOP shopId"}},
			{cid, 404, 5, []string{"NOT_FOUND shopId"}},
			{ann, 2, 3, nil},
			{cid, 3, 0, nil}, // without a rating
		}
		results := make([]*Rating, len(calls))
		doing := make([]func() error, len(calls))
		for i, c := range calls {
			doing[i] = func() (err error) {
				if c.stars == 0 {
					// Delete reads the shop first, which would wait for SQLite's connection of the first group.
					_, err = p.changing.Join(t.Context(), change{Pair{c.shop, c.user}, nil})
					return err
				}
				results[i], err = p.Rate(t.Context(), c.user, Draft{ShopID: c.shop, Stars: c.stars})
				return err
			}
		}
		p.shops.mu.Lock()
		p.shops.locks = 0
		p.shops.mu.Unlock()
		first := func() error { _, err := p.Rate(t.Context(), 50, Draft{ShopID: 3, Stars: 5}); return err }
		errs := storetest.InOneGroup(t, p.shops.hook, p.changing.Waiting, first, doing...)
		if errs[0] != nil {
			t.Error(errs[0])
		}
		for i, c := range calls {
			err := errs[1+i]
			wantRefused(t, fmt.Sprint(c), err, c.want...)
			if got := valueOf(results[i]).Stars; len(c.want) == 0 && got != c.stars || len(c.want) > 0 && results[i] != nil {
				t.Errorf("%v: got %+v", c, results[i])
			}
		}
		for pair, want := range map[Pair]int{{1, ann}: 2, {1, bob}: 4, {2, cid}: 0, {2, ann}: 3, {3, 50}: 5} {
			if got := p.starsOf(t, pair.Shop, pair.User); got != want {
				t.Errorf("%v: got %d stars, want %d", pair, got, want)
			}
		}
		for shop := range int64(3) {
			p.agree(t, shop+1)
		}
		if p.shops.locks != 2 {
			t.Errorf("got %d transactions, want 2", p.shops.locks)
		}
		p.wantNoJobs(t)
	})
}

func TestFailedGroupChangesNothing(t *testing.T) {
	errBroken := errors.New("cannot store counters")
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertShops(t, 2)
		p.rate(t, ann, 1, 2)
		p.box.Wait()
		before := storetest.Snapshot(t, p.from.SQL.DB, nil)
		p.shops.fail(errBroken)
		errs := storetest.InOneGroup(t, p.shops.hook, p.changing.Waiting,
			func() error { _, err := p.Rate(t.Context(), bob, Draft{ShopID: 2, Stars: 5}); return err },
			func() error { _, err := p.Rate(t.Context(), ann, Draft{ShopID: 1, Stars: 5}); return err },
			func() error { _, err := p.Rate(t.Context(), bob, Draft{ShopID: 1, Stars: 5}); return err },
		)
		for _, err := range errs {
			if !errors.Is(err, errBroken) {
				t.Errorf("got %v, want %v", err, errBroken)
			}
		}
		if d := cmp.Diff(before, storetest.Snapshot(t, p.from.SQL.DB, nil)); d != "" {
			t.Errorf("data changed (-before +after):\n%s", d)
		}
		p.shops.fail(storetest.DeadlockError{})
		p.shops.hook(func(context.Context) error { p.shops.fail(nil); return nil }) // for the next transaction
		if got := p.rate(t, ann, 1, 5); got.Stars != 5 {
			t.Errorf("after a deadlock: got %+v", got)
		}
		p.agree(t, 1)
	})
}

func TestOutboxInvalidatesRatingsAfterWriterCrash(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		dying, p := open(t, on), open(t, on)
		p.insertShops(t, 2)
		p.rate(t, ann, 1, 5)
		if p.starsOf(t, 1, ann) != 5 || p.starsOf(t, 2, bob) != 0 {
			t.Fatal("invalid test")
		}
		dying.wire.Down.Store(true) // its invalidations are lost
		dying.remove(t, ann, 1)
		dying.rate(t, bob, 2, 3)
		if p.starsOf(t, 1, ann) != 5 || p.starsOf(t, 2, bob) != 0 {
			t.Fatal("invalid test: the writer reached Redis")
		}
		p.shops.takeInvalidated()
		storetest.Relay(t, p.box)
		testkit.Eventually(t, 20*time.Second, func() bool { return p.starsOf(t, 1, ann) == 0 && p.starsOf(t, 2, bob) == 3 })
		testkit.Eventually(t, 20*time.Second, func() bool { return storetest.CountWaiting(t, p.box) == 0 })
		if d := cmp.Diff([]int64{1, 2}, p.shops.takeInvalidated()); d != "" {
			t.Errorf("invalidated shops (-want +got):\n%s", d)
		}
	})
}

func TestRatingsWorkWithoutRedis(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertShops(t, 2)
		p.rate(t, ann, 1, 5)
		p.wire.Down.Store(true)
		p.rate(t, ann, 1, 3)
		p.rate(t, ann, 2, 4)
		p.remove(t, ann, 2)
		if one, two := p.starsOf(t, 1, ann), p.starsOf(t, 2, ann); one != 3 || two != 0 {
			t.Errorf("got %d and %d stars, want 3 and none", one, two)
		}
		p.agree(t, 1)
		p.agree(t, 2)
		if n := storetest.CountWaiting(t, p.box); n != 3 {
			t.Errorf("got %d waiting jobs, want 3", n)
		}
	})
}

func TestRatingSurvivesRequestCancellation(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertShops(t, 1)
		ctx, leave := context.WithCancel(t.Context())
		p.shops.hook(func(context.Context) error { leave(); return nil })
		if _, err := p.Rate(ctx, ann, Draft{ShopID: 1, Stars: 4}); err != nil {
			t.Fatal(err)
		}
		if got := p.starsOf(t, 1, ann); got != 4 {
			t.Errorf("got %d stars, want 4", got)
		}
		if _, err := p.Rate(ctx, bob, Draft{ShopID: 1, Stars: 4}); !errors.Is(err, context.Canceled) {
			t.Errorf("rating after the cancellation: got %v", err)
		}
	})
}

// Users rate, rate again and delete at random in two processes, during reads.
func TestCountersEqualRowsUnderConcurrency(t *testing.T) {
	const nShops, users, writers, calls = 3, 20, 64, 15
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		seed := testkit.Seed(t)
		processes := []*process{open(t, on), open(t, on)}
		processes[0].insertShops(t, nShops)
		var all, reading sync.WaitGroup
		over := make(chan struct{})
		pairs := make([]Pair, 0, nShops*users)
		for shop := range int64(nShops) {
			for user := range int64(users) {
				pairs = append(pairs, Pair{shop + 1, user + 1})
			}
		}
		for i := range writers {
			p, draw := processes[i%2], rand.New(rand.NewPCG(seed, uint64(i)))
			value := func() *int {
				if n := draw.IntN(6); n > 0 {
					return &n
				}
				return nil
			}
			all.Go(func() {
				for range calls {
					pair := pairs[draw.IntN(len(pairs))]
					var err error
					if draw.IntN(4) == 0 {
						err = p.Delete(t.Context(), pair.User, pair.Shop)
					} else {
						_, err = p.Rate(t.Context(), pair.User, Draft{pair.Shop, 1 + draw.IntN(5), value(), value(), value()})
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		for _, p := range processes {
			reading.Go(func() {
				for {
					select {
					case <-over:
						return
					default:
					}
					if _, err := p.ByPairs(t.Context(), pairs); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		close(over)
		reading.Wait()
		for shop := range int64(nShops) {
			processes[0].agree(t, shop+1)
		}
		want, err := processes[0].find(t.Context(), processes[0].db, pairs)
		if err != nil || len(want) != processes[0].db.Rating.Query().CountX(t.Context()) || len(want) == 0 {
			t.Fatalf("got %d rows, %v", len(want), err)
		}
		for i, p := range processes {
			if d := cmp.Diff(want, p.byPairs(t, pairs...)); d != "" {
				t.Errorf("process %d (-rows +read):\n%s", i, d)
			}
			p.box.Wait()
		}
		processes[0].wantNoJobs(t)
	})
}

func TestPageOfRatingsCostsOneRead(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertShops(t, 20)
		var pairs []Pair
		for shop := range int64(20) {
			pairs = append(pairs, Pair{shop + 1, ann}, Pair{shop + 1, 0})
			if shop%5 == 0 {
				p.rate(t, ann, shop+1, 5)
			}
		}
		p.box.Wait()
		read := func() (trips, statements int) {
			return p.from.CountCalls(t, p.wire, func() {
				if n := len(p.byPairs(t, pairs...)); n != 4 {
					t.Errorf("got %d ratings, want 4", n)
				}
			})
		}
		if _, statements := read(); statements != 1 {
			t.Errorf("cold: got %d statements, want 1", statements)
		}
		if trips, statements := read(); trips != 1 || statements != 0 {
			t.Errorf("warm: got %d trips and %d statements, want 1 and 0", trips, statements)
		}
		if trips, statements := p.from.CountCalls(t, p.wire, func() { p.byPairs(t, Pair{1, 0}) }); trips != 0 || statements != 0 {
			t.Errorf("no user: got %d trips and %d statements", trips, statements)
		}
	})
}

// One statement each: read, lock, read, store, count, enqueue. The fake shops lock with two and
// count with one.
func TestGroupOfRatingsCostsOneTransaction(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertShops(t, 1)
		group := func(first int64, n int) (calls []*batch.Call[change, *Rating]) {
			for i := range n {
				c := &batch.Call[change, *Rating]{In: change{Pair{1, first + int64(i)}, &Draft{ShopID: 1, Stars: 3}}}
				calls = append(calls, c)
			}
			return calls
		}
		cost := func(calls []*batch.Call[change, *Rating]) int {
			_, statements := p.from.CountCalls(t, p.wire, func() {
				if _, err := p.changeAll(t.Context(), calls); err != nil {
					t.Fatal(err)
				}
			})
			p.box.Wait()
			return statements
		}
		if one, many := cost(group(100, 1)), cost(group(200, 50)); one != many {
			t.Errorf("got %d statements for one rating and %d for 50", one, many)
		}
		p.agree(t, 1)
		if n := p.db.Rating.Query().Where(entrating.ShopID(1)).CountX(t.Context()); n != 51 {
			t.Errorf("got %d ratings, want 51", n)
		}
	})
}

func TestRateInTxSharesTheTransaction(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertShops(t, 2)
		p.rate(t, bob, 2, 1)
		p.starsOf(t, 1, ann) // cached
		ratings := []Rating{{ShopID: 1, UserID: ann, Stars: 5}, {ShopID: 1, UserID: 1001, Stars: 5}, {ShopID: 9, UserID: ann, Stars: 5}, {ShopID: 2, UserID: bob, Stars: 1}}
		for _, committed := range []bool{false, true} {
			tx, err := p.db.Tx(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			reasons, done, err := p.RateInTx(t.Context(), tx, ratings)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range [][]string{nil, {"OWN_SHOP shopId"}, {"NOT_FOUND shopId"}, nil} {
				wantRefused(t, fmt.Sprint(ratings[i]), reasons[i], want...)
			}
			end, stars := tx.Rollback, 0
			if committed {
				end, stars = tx.Commit, 5
			}
			if err := end(); err != nil {
				t.Fatal(err)
			}
			done(t.Context(), committed)
			if got := p.starsOf(t, 1, ann); got != stars {
				t.Errorf("committed %v: got %d stars, want %d", committed, got, stars)
			}
			p.agree(t, 1)
			p.agree(t, 2)
		}
		p.wantNoJobs(t)
	})
}

func TestBulkInsertSkipsExistingRatings(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertShops(t, 3)
		p.rate(t, ann, 1, 2)
		p.starsOf(t, 2, bob) // cached
		at := time.UnixMilli(1_600_000_000_000)
		five := 5
		seeds := []Seed{
			{Draft{ShopID: 1, Stars: 5}, ann, at},
			{Draft{ShopID: 2, Stars: 4, Taste: &five}, bob, at},
			{Draft{ShopID: 2, Stars: 1}, bob, at}, // the first one wins
			{Draft{ShopID: 3, Stars: 5}, 1003, at},
			{Draft{ShopID: 404, Stars: 5}, ann, at},
		}
		for i := range int64(1200) { // more than one statement
			seeds = append(seeds, Seed{Draft{ShopID: 1 + i%2, Stars: int(1 + i%5)}, 2000 + i, at})
		}
		for i, want := range []int{1201, 0} {
			if n, err := p.BulkInsert(t.Context(), seeds); n != want || err != nil {
				t.Fatalf("run %d: got %d, %v, want %d", i, n, err, want)
			}
			for shop := range int64(3) {
				p.agree(t, shop+1)
			}
		}
		if got := p.starsOf(t, 1, ann); got != 2 {
			t.Errorf("existing rating: got %d stars, want 2", got)
		}
		want := &Rating{2, bob, 4, &five, nil, nil, at.UTC()}
		if d := cmp.Diff(want, p.byPairs(t, Pair{2, bob})[Pair{2, bob}]); d != "" {
			t.Errorf("seeded rating (-want +got):\n%s", d)
		}
		if n, err := p.BulkInsert(t.Context(), []Seed{{Draft{ShopID: 3, Stars: 5}, ann, at}, {Draft{ShopID: 3, Stars: 9}, bob, at}}); err == nil || n != 0 {
			t.Errorf("invalid stars: got %d, %v", n, err)
		}
		if n, err := p.BulkInsert(t.Context(), nil); n != 0 || err != nil {
			t.Errorf("no seeds: got %d, %v", n, err)
		}
		p.wantNoJobs(t)
	})
}

// A counter that is too low does not block changes.
func TestUncountedRatingCanBeDeleted(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertShops(t, 1)
		two := 2
		if _, err := p.Rate(t.Context(), ann, Draft{1, 3, &two, &two, &two}); err != nil {
			t.Fatal(err)
		}
		p.db.Shop.UpdateOneID(1).SetStars3(0).SetTasteCount(0).SetTasteSum(0).SetServiceSum(1).ExecX(t.Context())
		p.remove(t, ann, 1)
		p.agree(t, 1)
	})
}

func TestKeysOfPairsAreDistinct(t *testing.T) {
	keys := []string{key(Pair{1, 23}), key(Pair{12, 3}), key(Pair{3, 12})}
	slices.Sort(keys)
	if got := slices.Compact(keys); len(got) != 3 {
		t.Errorf("got keys %v", got)
	}
}
