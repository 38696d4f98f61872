package shop

import (
	"testing"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
)

func TestSoldCountIsVisibleInEveryProcess(t *testing.T) {
	eachStack(t, func(t *testing.T, process func() *Service) {
		s, other := process(), process()
		owner := user(t, s)
		one, two := create(t, s, owner, noodles(typeIDs(t, s)["cafe"])), create(t, s, owner, noodles(typeIDs(t, s)["cafe"]))
		read(t, other, one.ID) // cached
		add := func(sold map[int64]int) {
			t.Helper()
			var jobs []outbox.JobRef
			err := ent.WithTx(t.Context(), s.db, func(tx *ent.Tx) (err error) {
				jobs, err = s.AddSold(t.Context(), tx, sold)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			s.AfterCommit(t.Context(), []int64{one.ID, two.ID}, jobs)
		}
		add(map[int64]int{one.ID: 3, two.ID: 3, 1 << 40: 1})
		add(map[int64]int{one.ID: -1, two.ID: 2})
		add(nil)
		for id, want := range map[int64]int{one.ID: 2, two.ID: 5} {
			if got := read(t, other, id); got.Sold != want || got.Version != 3 {
				t.Errorf("shop %d: got %d sold in version %d, want %d in 3", id, got.Sold, got.Version, want)
			}
		}
		for id, want := range map[int64]bool{one.ID: true, 1 << 40: false} {
			got, ok, err := other.OwnerOf(t.Context(), id)
			if err != nil || ok != want || ok && *got != owner {
				t.Errorf("shop %d: got owner %v, %t, %v", id, got, ok, err)
			}
		}
	})
}
