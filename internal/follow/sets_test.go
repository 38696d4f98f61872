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

// All that is done to the sets in Redis, on every kind of it.
func TestSets(t *testing.T) {
	storetest.EachAndCluster(t, func(t *testing.T, on storetest.Stores) {
		a, b := openTwo(t, on)
		small := open(t, on, nil, limit(5)) // whoever follows more has some in the rows alone
		for _, one := range []struct {
			name  string
			test  func(*testing.T, process, process)
			small bool // with sets of five
		}{
			{"an unfollow takes the member out", unfollowRemoves, false},
			{"what is told late brings nothing back", lateTelling, false},
			{"a set that holds not all", incompleteSets, true},
			{"common followees", commonFollowees, false},
			{"the cost of reading", costOfReading, false},
			{"the cost of reading what is not in one set", costOfCommon, true},
			{"a hammer", hammer, false},
			{"the scan of sets", scanOfSets, true},
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
	a.follows(t, ann, bob, cid, dan)
	same(t, "whom Ann follows", []int64{bob, cid, dan}, a.followed(t, ann))
	same(t, "her set", a.rowsOf(t, ann), a.setOf(t, ann))
	b.unfollows(t, ann, cid)
	want := a.rowsOf(t, ann)
	if len(want) != 2 {
		t.Fatalf("Ann has %d rows, want 2", len(want))
	}
	// It is taken out of the set, which stays: nothing is loaded for it.
	same(t, "her set after the unfollow", want, a.setOf(t, ann))
	same(t, "whom Ann follows then", []int64{bob, dan}, a.followed(t, ann))
	a.unfollows(t, ann, bob, dan)
	same(t, "her set when it is empty", map[string]int64{}, a.setOf(t, ann))
	a.follows(t, ann, bob)
	same(t, "her set after another follow", map[string]int64(nil), a.setOf(t, ann))
	same(t, "whom Ann follows at last", []int64{bob}, b.followed(t, ann))
}

// The outbox may tell of a follow, or of its end, long after: what was done since stands.
func lateTelling(t *testing.T, a, _ process) {
	a.follows(t, ann, bob)
	first := a.rowsOf(t, ann)[decimal(bob)]
	a.unfollows(t, ann, bob)
	began, ended := change{ann, bob}, change{ann, bob, first}
	for _, late := range [][]change{{began}, {ended}, {began, ended}, {ended, began}} {
		a.followed(t, ann)
		for _, c := range late {
			must(t, a.tell(t.Context(), c))
		}
		same(t, fmt.Sprintf("whom Ann follows after %v", late), []int64(nil), a.followed(t, ann))
	}
	a.follows(t, ann, bob)
	for _, late := range [][]change{{began}, {ended}, {ended, began}} {
		a.followed(t, ann)
		must(t, a.tell(t.Context(), late...))
		same(t, fmt.Sprintf("whom Ann follows again after %v", late), []int64{bob}, a.followed(t, ann))
	}
}

// Somebody follows more than the set holds: the rows say the rest.
func incompleteSets(t *testing.T, a, _ process) {
	var want []int64
	for id := bob; id <= 9; id++ {
		a.store(t, ann, id)
		want = append(want, id)
	}
	for range 2 { // cold, warm
		same(t, "whom Ann follows", want, a.followed(t, ann))
	}
	if n := len(a.setOf(t, ann)); n != 5 {
		t.Errorf("the set has %d members, want 5", n)
	}
	newest := slices.Clone(want)
	slices.Reverse(newest)
	for _, first := range []int{1, 2, 3, 5, 7, 20} {
		same(t, fmt.Sprintf("whom Ann follows in pages of %d", first), newest, a.followeesOf(t, ann).all(t, first))
	}
	a.unfollows(t, ann, 2, 8)
	same(t, "whom Ann follows after two unfollows", []int64{3, 4, 5, 6, 7, 9}, a.followed(t, ann))
	same(t, "the same, listed", []int64{9, 7, 6, 5, 4, 3}, a.followeesOf(t, ann).all(t, 2))
	for id := int64(3); id <= 12; id++ {
		a.store(t, bob, id)
	}
	same(t, "whom both follow", []int64{9, 7, 6, 5, 4, 3}, a.commonOf(t, bob, ann).all(t, 4))
}

// Common followees are right whichever set is the smaller one, whether Redis has both, one
// or none, and page by page.
func commonFollowees(t *testing.T, a, b process) {
	a.follows(t, ann, 12, 7, 9, 3, 15, 20)
	a.follows(t, bob, 20, 3, 4, 5, 12, 9, 6, 8)
	a.follows(t, 16, 20, 3, 9)
	want := map[[2]int64][]int64{
		{ann, bob}: {20, 12, 9, 3}, {bob, ann}: {20, 12, 9, 3},
		{16, bob}: {20, 9, 3}, {ann, 16}: {20, 9, 3},
		{ann, dan}: {}, {dan, ann}: {}, {0, ann}: {}, {ann, nobody}: {}, {ann, ann}: {20, 15, 12, 9, 7, 3},
	}
	for pair, users := range want {
		for _, cold := range [][]int64{{pair[0], pair[1]}, {pair[0]}, {pair[1]}, nil} {
			must(t, a.out.Invalidate(t.Context(), cold...))
			for _, first := range []int{1, 2, 4, 20} {
				same(t, fmt.Sprintf("whom %v follow, %v cold, in pages of %d", pair, cold, first), users, b.commonOf(t, pair[0], pair[1]).all(t, first))
			}
		}
	}
	// Pages stay where they are while the two follow others.
	turn := 0
	got := a.commonOf(t, ann, bob).all(t, 1, func() {
		switch turn++; turn {
		case 1: // 20 was shown
			b.unfollows(t, ann, 20)
			a.follows(t, ann, 10)
		case 2: // 12 was shown
			a.follows(t, ann, 19)
			b.follows(t, bob, 19, 10)
		}
	})
	same(t, "whom both follow while that changes", []int64{20, 12, 10, 9, 3}, got)
	same(t, "whom both follow then", []int64{19, 12, 10, 9, 3}, a.commonOf(t, ann, bob).all(t, 20))
}

func costOfReading(t *testing.T, p, _ process) {
	p.follows(t, ann, bob, cid, dan)
	ctx := t.Context()
	ten := everybody()[:10]
	followed := func() error { _, err := p.IsFollowed(ctx, ann, ten); return err }
	followees := func() error { _, err := p.Followees(ctx, ten, 2, ""); return err }
	followers := func() error { _, err := p.Followers(ctx, ten, 2, ""); return err }
	must(t, followed()) // the scripts are known then
	must(t, followees())
	must(t, followers())
	p.box.Wait()
	p.cost(t)
	for _, step := range []struct {
		name string
		do   func() error
		want string
	}{
		{"a page of ten that Ann may follow", followed, "1 round trips, 0 statements"},
		{"nobody asks", func() error { _, err := p.IsFollowed(ctx, 0, ten); return err }, "0 round trips, 0 statements"},
		{"whom ten follow", followees, "1 round trips, 0 statements"},
		{"who follows ten", followers, "1 round trips, 0 statements"},
		{"all sets are dropped", func() error { return p.out.Invalidate(ctx, ten...) }, "1 round trips, 0 statements"},
		{"a page of ten, cold", followed, "3 round trips, 1 statements"},
		{"whom ten follow, all cold but one: four sets of 5000 are loaded at a time", followees, "4 round trips, 3 statements"},
		{"following again, which tells again", func() error { return p.Follow(ctx, ann, bob) }, "2 round trips, 1 statements"},
	} {
		must(t, step.do())
		if got := p.cost(t); got != step.want {
			t.Errorf("%s: %s, want %s", step.name, got, step.want)
		}
	}
}

// costOfCommon has sets of five: whoever reads the larger list whole needs the rows for it.
func costOfCommon(t *testing.T, p, _ process) {
	for id := int64(10); id < 18; id++ {
		p.store(t, ann, id)
	}
	for id := int64(14); id < 17; id++ {
		p.store(t, 5, id)
	}
	for _, pair := range [][2]int64{{ann, 5}, {5, ann}} {
		common := func() { same(t, "whom both follow", []int64{16, 15, 14}, p.commonOf(t, pair[0], pair[1]).all(t, 10)) }
		common()
		p.box.Wait()
		p.cost(t)
		common()
		if got, want := p.cost(t), "2 round trips, 1 statements"; got != want { // the statement is that of these tests' users
			t.Errorf("%v: %s, want %s: the smaller set, and a question to the larger one", pair, got, want)
		}
	}
}

// Many follow and unfollow each other at random, from two processes. Some pairs belong to
// one goroutine each, who looks in the other process whether it is as he has left it; the
// others belong to everybody. In the end rows, counts, sets and answers are the same.
func hammer(t *testing.T, a, b process) { hammerBy(t, a, b, 6, 50) }

func hammerBy(t *testing.T, a, b process, hands, steps int) {
	t.Helper()
	seed := testkit.Seed(t)
	owner := func(x, y int64) int {
		if (x+y)%3 == 0 {
			return hands // everybody's
		}
		return int(x*7+y) % hands
	}
	var wg sync.WaitGroup
	for hand := range hands {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(hand)))
			for range steps {
				x, y := rng.Int64N(population)+1, rng.Int64N(population)+1
				if x == y || owner(x, y) != hands && owner(x, y) != hand {
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
				if err != nil || owner(x, y) == hand && found[y] != begin {
					t.Errorf("user %d follows user %d: %v, %v, want %v", x, y, found[y], err, begin)
				}
				if rng.IntN(10) == 0 {
					if _, err := there.BulkInsert(t.Context(), []Draft{{15, 18}, {18, 15}, {3, 6}}); err != nil { // everybody's
						t.Errorf("plant: %v", err)
					}
				}
			}
		})
	}
	wg.Wait()
	agrees(t, a, b)
}

func act(ctx context.Context, p process, begin bool, x, y int64) error {
	if begin {
		return p.Follow(ctx, x, y)
	}
	return p.Unfollow(ctx, x, y)
}

// agrees wants rows, counts, sets and the answers of both processes to be the same.
func agrees(t *testing.T, a, b process) {
	t.Helper()
	rows := a.db.Follow.Query().Order(entfollow.ByID()).AllX(t.Context())
	if len(rows) < 10 {
		t.Fatalf("%d follows are left, which says little", len(rows))
	}
	followees, followers := map[int64][]int64{}, map[int64][]int64{}
	for _, row := range rows {
		followees[row.FollowerID] = append([]int64{row.FolloweeID}, followees[row.FollowerID]...)
		followers[row.FolloweeID] = append([]int64{row.FollowerID}, followers[row.FolloweeID]...)
	}
	for _, user := range everybody() {
		want, wantFollowers := append([]int64{}, followees[user]...), append([]int64{}, followers[user]...)
		a.wantCounted(t, user, len(wantFollowers), len(want))
		for name, p := range map[string]process{"one process": a, "the other": b} {
			about := fmt.Sprintf("user %d in %s", user, name)
			same(t, "whom follows "+about, want, p.followeesOf(t, user).all(t, 7))
			same(t, "who follows "+about, wantFollowers, p.followersOf(t, user).all(t, 7))
			same(t, "whom is said to follow "+about, len(want), len(p.followed(t, user)))
		}
		same(t, fmt.Sprintf("the set of user %d", user), a.rowsOf(t, user), a.setOf(t, user))
		same(t, fmt.Sprintf("the members of user %d", user), slices.Sorted(maps.Keys(a.rowsOf(t, user))), slices.Sorted(maps.Keys(b.setOf(t, user))))
	}
	b.box.Wait() // their jobs lie in one table
	if n := a.waits(t); n != 0 {
		t.Errorf("%d jobs wait, and all was told", n)
	}
}
