package follow

import (
	"slices"
	"testing"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// store100 stores a hundred users from an id on.
func (p process) store100(t *testing.T, from int64) {
	t.Helper()
	users := make([]*ent.UserCreate, 100)
	for i := range users {
		users[i] = p.db.User.Create().SetID(from + int64(i)).SetNickname("somebody")
	}
	p.db.User.CreateBulk(users...).ExecX(t.Context())
}

func TestSeedsPlantFollowsOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		a, b := openTwo(t, on)
		ctx := t.Context()
		a.db.FeedHead.Update().SetSeq(7).ExecX(ctx)
		a.follows(t, ann, bob)
		a.followed(t, ann) // her set is there
		drafts := []Draft{{ann, dan}, {ann, bob}, {ann, cid}, {bob, ann}, {ann, ann}, {ann, nobody}, {nobody, ann}, {ann, dan}}
		for i, want := range []int{3, 0} {
			if n, err := []process{b, a}[i].BulkInsert(ctx, drafts); n != want || err != nil {
				t.Errorf("%d planted, %v, want %d", n, err, want)
			}
			a.wantCounted(t, ann, 1, 3)
			a.wantCounted(t, bob, 1, 1)
			a.wantCounted(t, cid, 1, 0)
			a.wantCounted(t, dan, 1, 0)
			same(t, "whom Ann follows", []int64{cid, dan, bob}, a.followeesOf(t, ann).all(t, 2))
			same(t, "who follows Ann", []int64{bob}, a.followersOf(t, ann).all(t, 2))
		}
		for _, row := range a.db.Follow.Query().AllX(ctx) {
			if row.SinceSeq != 7 {
				t.Errorf("a follow began at %d", row.SinceSeq)
			}
		}
		same(t, "who was told of", []int64{ann, bob, cid, dan}, b.people.told)
		if n, err := a.BulkInsert(ctx, nil); n != 0 || err != nil {
			t.Errorf("%d of no drafts, %v", n, err)
		}
		b.box.Wait() // their jobs lie in one table
		if n := a.waits(t); n != 0 {
			t.Errorf("%d jobs wait, and all was told", n)
		}
	})
}

// More than one statement takes, and more users than one statement locks.
func TestSeedsPlantManyFollowsInTheirOrder(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := openOne(t, on)
		p.populate600(t)
		var drafts []Draft
		var want []int64
		for id := int64(201); id <= 800; id++ {
			drafts = append(drafts, Draft{ann, id}, Draft{id, bob})
			want = append(want, id)
		}
		slices.Reverse(want)
		if n, err := p.BulkInsert(t.Context(), drafts); n != 1200 || err != nil {
			t.Fatalf("%d planted, %v", n, err)
		}
		p.wantCounted(t, ann, 0, 600)
		p.wantCounted(t, bob, 600, 0)
		p.wantCounted(t, 800, 1, 1)
		same(t, "whom Ann follows", want, p.followeesOf(t, ann).all(t, 100))
		same(t, "who follows Bob", want, p.followersOf(t, bob).all(t, 100))
		if n := p.waits(t); n != 0 {
			t.Errorf("%d jobs wait, and all was told", n)
		}
	})
}
