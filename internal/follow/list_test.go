package follow

import (
	"fmt"
	"testing"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/page"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestListsAreInTheOrderOfFollowing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		a, b := openTwo(t, on)
		a.follows(t, ann, dan, bob, 9, cid)
		a.unfollows(t, ann, dan)
		b.follows(t, ann, dan)
		a.follows(t, cid, bob)
		b.follows(t, dan, bob)
		for _, p := range []process{a, b} {
			for _, first := range []int{1, 2, 3, 4, 100} {
				in := fmt.Sprintf(", in pages of %d", first)
				same(t, "whom Ann follows"+in, []int64{dan, cid, 9, bob}, p.followeesOf(t, ann).all(t, first))
				same(t, "who follows Bob"+in, []int64{dan, cid, ann}, p.followersOf(t, bob).all(t, first))
			}
			same(t, "whom nobody follows", []int64{}, p.followeesOf(t, nobody).all(t, 5))
			same(t, "who follows nobody", []int64{}, p.followersOf(t, nobody).all(t, 5))
		}
		// Pages of many at once are those of each.
		many := []int64{ann, bob, cid, dan, bob, nobody}
		followers, err := a.Followers(t.Context(), many, 2, "")
		must(t, err)
		followees, err := a.Followees(t.Context(), many, 2, "")
		must(t, err)
		if len(followers) != 5 || len(followees) != 5 {
			t.Errorf("%d and %d pages, want 5 each", len(followers), len(followees))
		}
		for _, user := range many {
			one, err := a.followersOf(t, user)(2, "")
			must(t, err)
			same(t, fmt.Sprintf("followers of user %d", user), one, followers[user])
			one, err = a.followeesOf(t, user)(2, "")
			must(t, err)
			same(t, fmt.Sprintf("followees of user %d", user), one, followees[user])
		}
	})
}

// A list that is read page by page shows once, and in order, whoever is in it all the
// while, whatever comes and goes.
func TestPagesStayWhileFollowsComeAndGo(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		a, b := openTwo(t, on)
		for id := int64(2); id <= 10; id++ {
			a.follows(t, ann, id)
			a.follows(t, id, ann)
		}
		turn := int64(0)
		followees := a.followeesOf(t, ann).all(t, 2, func() {
			turn++
			b.follows(t, ann, 10+turn) // above all that is still to come
			b.unfollows(t, ann, []int64{10, 8, 2, 3}[turn-1])
		})
		same(t, "whom Ann follows", []int64{10, 9, 8, 7, 6, 5, 4, 3}, followees)
		turn = 0
		followers := a.followersOf(t, ann).all(t, 2, func() {
			turn++
			b.follows(t, 10+turn, ann)
			b.unfollows(t, []int64{10, 8, 2, 3}[turn-1], ann)
		})
		same(t, "who follows Ann", []int64{10, 9, 8, 7, 6, 5, 4, 3}, followers)
	})
}

// Beyond the newest fifty followers the rows go on.
func TestFollowersGoOnBelowTheirHead(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := openOne(t, on)
		p.store100(t, 101)
		var drafts []Draft
		var want []int64
		for id := int64(101); id < 180; id++ {
			drafts = append(drafts, Draft{id, ann})
			want = append([]int64{id}, want...)
		}
		if n, err := p.BulkInsert(t.Context(), drafts); err != nil || n != 79 {
			t.Fatalf("%d planted, %v", n, err)
		}
		for _, first := range []int{20, 49, 50, 51, 79, 100} {
			same(t, fmt.Sprintf("who follows Ann in pages of %d", first), want, p.followersOf(t, ann).all(t, first))
		}
	})
}

func TestPagesThatMakeNoSenseAreFaults(t *testing.T) {
	p := openOne(t, storetest.Real(t))
	p.follows(t, ann, bob)
	lists := map[string]lister{
		followersOrder: p.followersOf(t, bob), followeesOrder: p.followeesOf(t, ann), commonOrder: p.commonOf(t, ann, bob),
	}
	for order, list := range lists {
		for other := range lists {
			_, err := list(1, page.Encode(other, 7))
			if other == order && err != nil || other != order && apierror.KindOf(err) != apierror.BadUserInput {
				t.Errorf("a cursor of %s in %s: %v", other, order, err)
			}
		}
		for _, after := range []page.Cursor{"?", page.Encode(order), page.Encode(order, "seven"), page.Encode(order, 7, 7)} {
			if _, err := list(1, after); apierror.KindOf(err) != apierror.BadUserInput {
				t.Errorf("the cursor %q in %s: %v", after, order, err)
			}
		}
		for _, first := range []int{-1, 0, page.Max + 1} {
			if _, err := list(first, ""); apierror.KindOf(err) != apierror.BadUserInput {
				t.Errorf("a page of %d in %s: %v", first, order, err)
			}
		}
		for _, far := range []any{-7, 0, int64(1) << 62} {
			if _, err := list(1, page.Encode(order, far)); err != nil {
				t.Errorf("a cursor at %v in %s: %v", far, order, err)
			}
		}
	}
}
