package follow

import (
	"fmt"
	"testing"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/page"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestListsAreOrderedByFollow(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		a, b := openTwo(t, on)
		a.mustFollow(t, ann, dan, bob, 9, cid)
		a.mustUnfollow(t, ann, dan)
		b.mustFollow(t, ann, dan)
		a.mustFollow(t, cid, bob)
		b.mustFollow(t, dan, bob)
		for _, p := range []process{a, b} {
			for _, first := range []int{1, 2, 3, 4, 100} {
				in := fmt.Sprintf(", in pages of %d", first)
				wantEqual(t, "followees of Ann"+in, []int64{dan, cid, 9, bob}, p.followeesOf(t, ann).all(t, first))
				wantEqual(t, "followers of Bob"+in, []int64{dan, cid, ann}, p.followersOf(t, bob).all(t, first))
			}
			wantEqual(t, "followees of a missing user", []int64{}, p.followeesOf(t, missingUser).all(t, 5))
			wantEqual(t, "followers of a missing user", []int64{}, p.followersOf(t, missingUser).all(t, 5))
		}
		// Pages of many users equal those of each.
		many := []int64{ann, bob, cid, dan, bob, missingUser}
		followers, err := a.Followers(t.Context(), many, 2, "")
		must(t, err)
		followees, err := a.Followees(t.Context(), many, 2, "")
		must(t, err)
		if len(followers) != 5 || len(followees) != 5 {
			t.Errorf("got %d and %d pages, want 5 each", len(followers), len(followees))
		}
		for _, user := range many {
			one, err := a.followersOf(t, user)(2, "")
			must(t, err)
			wantEqual(t, fmt.Sprintf("followers of user %d", user), one, followers[user])
			one, err = a.followeesOf(t, user)(2, "")
			must(t, err)
			wantEqual(t, fmt.Sprintf("followees of user %d", user), one, followees[user])
		}
	})
}

// A list that is read page by page shows each lasting entry once and in order, despite changes.
func TestPagesAreStableUnderChanges(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		a, b := openTwo(t, on)
		for id := int64(2); id <= 10; id++ {
			a.mustFollow(t, ann, id)
			a.mustFollow(t, id, ann)
		}
		turn := int64(0)
		followees := a.followeesOf(t, ann).all(t, 2, func() {
			turn++
			b.mustFollow(t, ann, 10+turn) // before the remaining entries
			b.mustUnfollow(t, ann, []int64{10, 8, 2, 3}[turn-1])
		})
		wantEqual(t, "followees of Ann", []int64{10, 9, 8, 7, 6, 5, 4, 3}, followees)
		turn = 0
		followers := a.followersOf(t, ann).all(t, 2, func() {
			turn++
			b.mustFollow(t, 10+turn, ann)
			b.mustUnfollow(t, []int64{10, 8, 2, 3}[turn-1], ann)
		})
		wantEqual(t, "followers of Ann", []int64{10, 9, 8, 7, 6, 5, 4, 3}, followers)
	})
}

// The rows continue below the newest fifty followers.
func TestFollowersContinueBelowCachedHead(t *testing.T) {
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
			t.Fatalf("got %d inserted, %v, want 79", n, err)
		}
		for _, first := range []int{20, 49, 50, 51, 79, 100} {
			wantEqual(t, fmt.Sprintf("followers of Ann in pages of %d", first), want, p.followersOf(t, ann).all(t, first))
		}
	})
}

func TestInvalidPagesAreRejected(t *testing.T) {
	p := openOne(t, storetest.Real(t))
	p.mustFollow(t, ann, bob)
	lists := map[string]lister{
		followersOrder: p.followersOf(t, bob), followeesOrder: p.followeesOf(t, ann), commonOrder: p.commonOf(t, ann, bob),
	}
	for order, list := range lists {
		for other := range lists {
			_, err := list(1, page.Encode(other, 7))
			if other == order && err != nil || other != order && apierror.KindOf(err) != apierror.BadUserInput {
				t.Errorf("cursor of %s in %s: got %v", other, order, err)
			}
		}
		for _, after := range []page.Cursor{"?", page.Encode(order), page.Encode(order, "seven"), page.Encode(order, 7, 7)} {
			if _, err := list(1, after); apierror.KindOf(err) != apierror.BadUserInput {
				t.Errorf("cursor %q in %s: got %v, want BAD_USER_INPUT", after, order, err)
			}
		}
		for _, first := range []int{-1, 0, page.Max + 1} {
			if _, err := list(first, ""); apierror.KindOf(err) != apierror.BadUserInput {
				t.Errorf("page of %d in %s: got %v, want BAD_USER_INPUT", first, order, err)
			}
		}
		for _, far := range []any{-7, 0, int64(1) << 62} {
			if _, err := list(1, page.Encode(order, far)); err != nil {
				t.Errorf("cursor at %v in %s: got %v, want nil", far, order, err)
			}
		}
	}
}
