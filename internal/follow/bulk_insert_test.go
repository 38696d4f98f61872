package follow

import (
	"slices"
	"testing"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// store100 inserts a hundred users, starting at an id.
func (p process) store100(t *testing.T, from int64) {
	t.Helper()
	users := make([]*ent.UserCreate, 100)
	for i := range users {
		users[i] = p.db.User.Create().SetID(from + int64(i)).SetNickname("user")
	}
	p.db.User.CreateBulk(users...).ExecX(t.Context())
}

func TestBulkInsertIsIdempotent(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		a, b := openTwo(t, on)
		ctx := t.Context()
		a.db.FeedHead.Update().SetSeq(7).ExecX(ctx)
		a.mustFollow(t, ann, bob)
		a.followed(t, ann) // cache the set
		drafts := []Draft{{ann, dan}, {ann, bob}, {ann, cid}, {bob, ann}, {ann, ann}, {ann, missingUser}, {missingUser, ann}, {ann, dan}}
		for i, want := range []int{3, 0} {
			if n, err := []process{b, a}[i].BulkInsert(ctx, drafts); n != want || err != nil {
				t.Errorf("got %d inserted, %v, want %d", n, err, want)
			}
			a.wantCounts(t, ann, 1, 3)
			a.wantCounts(t, bob, 1, 1)
			a.wantCounts(t, cid, 1, 0)
			a.wantCounts(t, dan, 1, 0)
			wantEqual(t, "followees of Ann", []int64{cid, dan, bob}, a.followeesOf(t, ann).all(t, 2))
			wantEqual(t, "followers of Ann", []int64{bob}, a.followersOf(t, ann).all(t, 2))
		}
		for _, row := range a.db.Follow.Query().AllX(ctx) {
			if row.SinceSeq != 7 {
				t.Errorf("got a follow at number %d, want 7", row.SinceSeq)
			}
		}
		wantEqual(t, "notified users", []int64{ann, bob, cid, dan}, b.users.notified)
		if n, err := a.BulkInsert(ctx, nil); n != 0 || err != nil {
			t.Errorf("no drafts: got %d, %v, want 0", n, err)
		}
		b.box.Wait() // both processes share the job table
		if n := a.pendingJobs(t); n != 0 {
			t.Errorf("got %d pending jobs, want 0", n)
		}
	})
}

// The drafts exceed one insert statement, and the users one lock statement.
func TestBulkInsertKeepsOrderAcrossStatements(t *testing.T) {
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
			t.Fatalf("got %d inserted, %v, want 1200", n, err)
		}
		p.wantCounts(t, ann, 0, 600)
		p.wantCounts(t, bob, 600, 0)
		p.wantCounts(t, 800, 1, 1)
		wantEqual(t, "followees of Ann", want, p.followeesOf(t, ann).all(t, 100))
		wantEqual(t, "followers of Bob", want, p.followersOf(t, bob).all(t, 100))
		if n := p.pendingJobs(t); n != 0 {
			t.Errorf("got %d pending jobs, want 0", n)
		}
	})
}
