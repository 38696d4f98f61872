package account

import (
	"testing"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestLevelThresholds(t *testing.T) {
	begins := []int{0, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000}
	for level, points := range begins {
		if got := Level(points); got != level {
			t.Errorf("%d points: got level %d, want %d", points, got, level)
		}
		if got := Level(points - 1); got != max(level-1, 0) {
			t.Errorf("%d points: got level %d", points-1, got)
		}
	}
}

func TestPointsAreVisibleInEveryProcess(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		s, other := open(t, on, Config{}), open(t, on, Config{})
		ids, err := s.BulkInsert(t.Context(), []Draft{{ExternalID: "a", Nickname: "Ann", Role: Customer}, {ExternalID: "b", Nickname: "Bob", Role: Customer}}, func(int) {})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.ByIDs(t.Context(), ids); err != nil { // cached
			t.Fatal(err)
		}
		for _, points := range []map[int64]int{{ids[0]: 45, ids[1]: 45, 1 << 40: 9}, {ids[0]: -5, ids[1]: 10}, nil} {
			var jobs []outbox.JobRef
			err := ent.WithTx(t.Context(), s.db, func(tx *ent.Tx) (err error) {
				jobs, err = s.AddPoints(t.Context(), tx, points)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			s.AfterCommit(t.Context(), ids, jobs)
		}
		found, err := other.ByIDs(t.Context(), ids)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []int{40, 55} {
			if got := found[ids[i]]; got.Points != want || got.Version != 3 {
				t.Errorf("user %d: got %d points in version %d, want %d in 3", i, got.Points, got.Version, want)
			}
		}
	})
}
