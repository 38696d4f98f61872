package account

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestAddCounts(t *testing.T) {
	storetest.Each(t, func(t *testing.T, stores storetest.Stores) {
		s := open(t, stores, Config{})
		ids, err := s.BulkInsert(t.Context(), []Draft{{ExternalID: "a", Nickname: "Ann", Role: Customer}, {ExternalID: "b", Nickname: "Bob", Role: Customer}}, func(int) {})
		if err != nil {
			t.Fatal(err)
		}
		ann, ben := ids[0], ids[1]
		add := func(more map[int64]Counts) map[int64]Counts {
			t.Helper()
			var now map[int64]Counts
			var jobs []outbox.JobRef
			if err := ent.WithTx(t.Context(), s.db, func(tx *ent.Tx) (err error) {
				now, jobs, err = s.AddCounts(t.Context(), tx, more, false)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			s.AfterCommit(t.Context(), []int64{ann, ben}, jobs)
			return now
		}
		const nobody = 1 << 40
		now := add(map[int64]Counts{ann: {FolloweeCount: 2, NoteCount: 1}, ben: {FollowerCount: 1}, nobody: {NoteCount: 1}})
		if diff := cmp.Diff(map[int64]Counts{ann: {FolloweeCount: 2, NoteCount: 1}, ben: {FollowerCount: 1}}, now); diff != "" {
			t.Error(diff)
		}
		add(map[int64]Counts{ann: {FolloweeCount: -1}, ben: {}})
		for id, want := range map[int64]Counts{ann: {FolloweeCount: 1, NoteCount: 1}, ben: {FollowerCount: 1}} {
			u, err := s.ByID(t.Context(), id)
			if err != nil || u.Counts != want {
				t.Errorf("user %d: got %+v, %v, want %+v", id, u, err, want)
			}
		}
		for id, want := range map[int64]int64{ann: 2, ben: 0} { // the version changes only with the followees
			if row := s.db.User.GetX(t.Context(), id); row.FollowVersion != want {
				t.Errorf("user %d: got follow version %d, want %d", id, row.FollowVersion, want)
			}
		}
	})
}
