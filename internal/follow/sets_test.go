package follow

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	entfollow "github.com/tandian-dev/tandian/ent/follow"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// TestSets runs all tests of the sets on every kind of Redis.
func TestSets(t *testing.T) {
	storetest.EachAndCluster(t, func(t *testing.T, on storetest.Stores) {
		a, b := openTwo(t, on)
		small := open(t, on, nil, limit(5)) // with sets smaller than some lists
		for _, one := range []struct {
			name  string
			test  func(*testing.T, process, process)
			small bool // with sets of five
		}{
			{"unfollow removes member", unfollowRemoves, false},
			{"late invalidation", lateInvalidation, false},
			{"incomplete sets", incompleteSets, true},
			{"common followees", commonFollowees, false},
			{"cost of reading", costOfReading, false},
			{"cost of common followees", costOfCommon, true},
			{"hammer", hammer, false},
			{"repair", repairSets, true},
		} {
			t.Run(one.name, func(t *testing.T) {
				a, b := a, b
				if one.small {
					a, b = small, small
				}
				a.clear(t)
				one.test(t, a, b)
			})
		}
	})
}

func unfollowRemoves(t *testing.T, a, b process) {
	a.mustFollow(t, ann, bob, cid, dan)
	wantEqual(t, "followees of Ann", []int64{bob, cid, dan}, a.followed(t, ann))
	wantEqual(t, "set of Ann", a.storedSet(t, ann), a.cachedSet(t, ann))
	b.mustUnfollow(t, ann, cid)
	want := a.storedSet(t, ann)
	if len(want) != 2 {
		t.Fatalf("got %d rows, want 2", len(want))
	}
	// The set loses the member without being reloaded.
	wantEqual(t, "set after the unfollow", want, a.cachedSet(t, ann))
	wantEqual(t, "followees of Ann then", []int64{bob, dan}, a.followed(t, ann))
	a.mustUnfollow(t, ann, bob, dan)
	wantEqual(t, "empty set", map[string]int64{}, a.cachedSet(t, ann))
	a.mustFollow(t, ann, bob)
	wantEqual(t, "set after another follow", map[string]int64(nil), a.cachedSet(t, ann))
	wantEqual(t, "final followees of Ann", []int64{bob}, b.followed(t, ann))
}

// The outbox may invalidate a follow, or its end, long after. Later changes must survive.
func lateInvalidation(t *testing.T, a, _ process) {
	a.mustFollow(t, ann, bob)
	first := a.storedSet(t, ann)[decimal(bob)]
	a.mustUnfollow(t, ann, bob)
	began, ended := change{ann, bob}, change{ann, bob, first}
	for _, late := range [][]change{{began}, {ended}, {began, ended}, {ended, began}} {
		a.followed(t, ann)
		for _, c := range late {
			must(t, a.invalidate(t.Context(), c))
		}
		wantEqual(t, fmt.Sprintf("followees of Ann after %v", late), []int64(nil), a.followed(t, ann))
	}
	a.mustFollow(t, ann, bob)
	for _, late := range [][]change{{began}, {ended}, {ended, began}} {
		a.followed(t, ann)
		must(t, a.invalidate(t.Context(), late...))
		wantEqual(t, fmt.Sprintf("followees of Ann after another follow and %v", late), []int64{bob}, a.followed(t, ann))
	}
}

// A user follows more than the set holds. The rows have the rest.
func incompleteSets(t *testing.T, a, _ process) {
	var want []int64
	for id := bob; id <= 9; id++ {
		a.store(t, ann, id)
		want = append(want, id)
	}
	for range 2 { // cold, warm
		wantEqual(t, "followees of Ann", want, a.followed(t, ann))
	}
	if n := len(a.cachedSet(t, ann)); n != 5 {
		t.Errorf("got %d members, want 5", n)
	}
	newest := slices.Clone(want)
	slices.Reverse(newest)
	for _, first := range []int{1, 2, 3, 5, 7, 20} {
		wantEqual(t, fmt.Sprintf("followees of Ann in pages of %d", first), newest, a.followeesOf(t, ann).all(t, first))
	}
	a.mustUnfollow(t, ann, 2, 8)
	wantEqual(t, "followees of Ann after two unfollows", []int64{3, 4, 5, 6, 7, 9}, a.followed(t, ann))
	wantEqual(t, "listed followees", []int64{9, 7, 6, 5, 4, 3}, a.followeesOf(t, ann).all(t, 2))
	for id := int64(3); id <= 12; id++ {
		a.store(t, bob, id)
	}
	wantEqual(t, "common followees", []int64{9, 7, 6, 5, 4, 3}, a.commonOf(t, bob, ann).all(t, 4))
}

// Common followees are correct whichever set is smaller, with both, one or no set in Redis, and page
// by page.
func commonFollowees(t *testing.T, a, b process) {
	a.mustFollow(t, ann, 12, 7, 9, 3, 15, 20)
	a.mustFollow(t, bob, 20, 3, 4, 5, 12, 9, 6, 8)
	a.mustFollow(t, 16, 20, 3, 9)
	want := map[[2]int64][]int64{
		{ann, bob}: {20, 12, 9, 3}, {bob, ann}: {20, 12, 9, 3},
		{16, bob}: {20, 9, 3}, {ann, 16}: {20, 9, 3},
		{ann, dan}: {}, {dan, ann}: {}, {0, ann}: {}, {ann, missingUser}: {}, {ann, ann}: {20, 15, 12, 9, 7, 3},
	}
	for pair, users := range want {
		for _, cold := range [][]int64{{pair[0], pair[1]}, {pair[0]}, {pair[1]}, nil} {
			must(t, a.followees.Invalidate(t.Context(), cold...))
			for _, first := range []int{1, 2, 4, 20} {
				wantEqual(t, fmt.Sprintf("common followees of %v, %v cold, in pages of %d", pair, cold, first), users, b.commonOf(t, pair[0], pair[1]).all(t, first))
			}
		}
	}
	// Pages are stable while both users follow others.
	turn := 0
	got := a.commonOf(t, ann, bob).all(t, 1, func() {
		switch turn++; turn {
		case 1: // after 20
			b.mustUnfollow(t, ann, 20)
			a.mustFollow(t, ann, 10)
		case 2: // after 12
			a.mustFollow(t, ann, 19)
			b.mustFollow(t, bob, 19, 10)
		}
	})
	wantEqual(t, "common followees during changes", []int64{20, 12, 10, 9, 3}, got)
	wantEqual(t, "common followees then", []int64{19, 12, 10, 9, 3}, a.commonOf(t, ann, bob).all(t, 20))
}

func costOfReading(t *testing.T, p, _ process) {
	p.mustFollow(t, ann, bob, cid, dan)
	ctx := t.Context()
	ten := allUsers()[:10]
	followed := func() error { _, err := p.IsFollowed(ctx, ann, ten); return err }
	followees := func() error { _, err := p.Followees(ctx, ten, 2, ""); return err }
	followers := func() error { _, err := p.Followers(ctx, ten, 2, ""); return err }
	must(t, followed()) // load the scripts
	must(t, followees())
	must(t, followers())
	p.box.Wait()
	p.cost(t)
	for _, step := range []struct {
		name string
		do   func() error
		want string
	}{
		{"ten users, warm", followed, "1 round trips, 0 statements"},
		{"no viewer", func() error { _, err := p.IsFollowed(ctx, 0, ten); return err }, "0 round trips, 0 statements"},
		{"followees of ten", followees, "1 round trips, 0 statements"},
		{"followers of ten", followers, "1 round trips, 0 statements"},
		{"drop all sets", func() error { return p.followees.Invalidate(ctx, ten...) }, "1 round trips, 0 statements"},
		{"ten users, cold", followed, "3 round trips, 1 statements"},
		{"followees of ten, nine of them cold: four sets of 5000 are loaded at a time", followees, "4 round trips, 3 statements"},
		{"repeated follow, which invalidates again", func() error { return p.Follow(ctx, ann, bob) }, "2 round trips, 1 statements"},
	} {
		must(t, step.do())
		if got := p.cost(t); got != step.want {
			t.Errorf("%s: got %s, want %s", step.name, got, step.want)
		}
	}
}

// costOfCommon uses sets of five. Reading the larger list as a whole would need its rows.
func costOfCommon(t *testing.T, p, _ process) {
	for id := int64(10); id < 18; id++ {
		p.store(t, ann, id)
	}
	for id := int64(14); id < 17; id++ {
		p.store(t, 5, id)
	}
	for _, pair := range [][2]int64{{ann, 5}, {5, ann}} {
		common := func() {
			wantEqual(t, "common followees", []int64{16, 15, 14}, p.commonOf(t, pair[0], pair[1]).all(t, 10))
		}
		common()
		p.box.Wait()
		p.cost(t)
		common()
		if got, want := p.cost(t), "2 round trips, 1 statements"; got != want { // the statement is fakeUsers.Followees
			t.Errorf("%v: got %s, want %s: read the smaller set, probe the larger one", pair, got, want)
		}
	}
}

// hammer makes users follow and unfollow each other at random, from two processes. Some pairs
// belong to one goroutine each, which checks its changes in the other process. The others are
// shared. In the end rows, counts, sets and results must agree.
func hammer(t *testing.T, a, b process) { hammerBy(t, a, b, 6, 50) }

func hammerBy(t *testing.T, a, b process, workers, steps int) {
	t.Helper()
	seed := testkit.Seed(t)
	owner := func(x, y int64) int {
		if (x+y)%3 == 0 {
			return workers // shared
		}
		return int(x*7+y) % workers
	}
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(worker)))
			for range steps {
				x, y := rng.Int64N(population)+1, rng.Int64N(population)+1
				if x == y || owner(x, y) != workers && owner(x, y) != worker {
					continue
				}
				here, there := a, b
				if rng.IntN(2) == 0 {
					here, there = b, a
				}
				begin := rng.IntN(5) < 3
				if err := act(t.Context(), here, begin, x, y); err != nil {
					t.Errorf("user %d and user %d: %v", x, y, err)
				}
				found, err := there.IsFollowed(t.Context(), x, []int64{y})
				if err != nil || owner(x, y) == worker && found[y] != begin {
					t.Errorf("user %d follows user %d: got %v, %v, want %v", x, y, found[y], err, begin)
				}
				if rng.IntN(10) == 0 {
					if _, err := there.BulkInsert(t.Context(), []Draft{{15, 18}, {18, 15}, {3, 6}}); err != nil { // shared
						t.Errorf("bulk insert: %v", err)
					}
				}
			}
		})
	}
	wg.Wait()
	wantConsistent(t, a, b)
}

func act(ctx context.Context, p process, begin bool, x, y int64) error {
	if begin {
		return p.Follow(ctx, x, y)
	}
	return p.Unfollow(ctx, x, y)
}

// wantConsistent checks that rows, counts, sets and the results of both processes agree.
func wantConsistent(t *testing.T, a, b process) {
	t.Helper()
	rows := a.db.Follow.Query().Order(entfollow.ByID()).AllX(t.Context())
	if len(rows) < 10 {
		t.Fatalf("got %d follows, want at least 10", len(rows))
	}
	followees, followers := map[int64][]int64{}, map[int64][]int64{}
	for _, row := range rows {
		followees[row.FollowerID] = append([]int64{row.FolloweeID}, followees[row.FollowerID]...)
		followers[row.FolloweeID] = append([]int64{row.FollowerID}, followers[row.FolloweeID]...)
	}
	for _, user := range allUsers() {
		want, wantFollowers := append([]int64{}, followees[user]...), append([]int64{}, followers[user]...)
		a.wantCounts(t, user, len(wantFollowers), len(want))
		for name, p := range map[string]process{"one process": a, "the other": b} {
			about := fmt.Sprintf("user %d in %s", user, name)
			wantEqual(t, "followees of "+about, want, p.followeesOf(t, user).all(t, 7))
			wantEqual(t, "followers of "+about, wantFollowers, p.followersOf(t, user).all(t, 7))
			wantEqual(t, "IsFollowed of "+about, len(want), len(p.followed(t, user)))
		}
		wantEqual(t, fmt.Sprintf("set of user %d", user), a.storedSet(t, user), a.cachedSet(t, user))
		wantEqual(t, fmt.Sprintf("members of user %d", user), slices.Sorted(maps.Keys(a.storedSet(t, user))), slices.Sorted(maps.Keys(b.cachedSet(t, user))))
	}
	b.box.Wait() // both processes share the job table
	if n := a.pendingJobs(t); n != 0 {
		t.Errorf("got %d pending jobs, want 0", n)
	}
}
