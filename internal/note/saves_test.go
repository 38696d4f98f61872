package note

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// save adds to the saves of notes. It returns the locked notes.
func (p *process) save(t *testing.T, more map[int64]int) (locked []int64) {
	t.Helper()
	ids := slices.Sorted(maps.Keys(more))
	err := ent.WithTx(t.Context(), p.db, func(tx *ent.Tx) error {
		saves, add, err := p.LockSaves(t.Context(), tx, ids)
		if err != nil {
			return err
		}
		maps.DeleteFunc(more, func(id int64, _ int) bool { _, ok := saves[id]; return !ok })
		locked = slices.Sorted(maps.Keys(saves))
		return add(t.Context(), more)
	})
	if err == nil {
		err = p.InvalidateSaves(t.Context(), locked...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return locked
}

// Saves change neither likes nor the hot rank, and likes do not change saves.
func TestSavesAndLikesAreCountedApart(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		author := p.user(t)
		n, gone := p.publish(t, author, "Tea").ID, p.publish(t, author, "Gone").ID
		if err := p.Delete(t.Context(), Editor{UserID: author}, gone); err != nil {
			t.Fatal(err)
		}
		read := func() Counts {
			t.Helper()
			counts, err := p.Counts(t.Context(), []int64{n})
			if err != nil {
				t.Fatal(err)
			}
			return counts[n]
		}
		p.like(t, n, 2)
		want := read()
		steps := []struct {
			name         string
			do           func()
			likes, saves int
		}{
			{"saves", func() {
				if d := cmp.Diff([]int64{n}, p.save(t, map[int64]int{n: 3, gone: 1, 404: 1})); d != "" {
					t.Errorf("locked notes (-want +got)\n%s", d)
				}
			}, 2, 3},
			{"a like", func() { p.like(t, n, 1) }, 3, 3},
			{"the end of all saves", func() { p.save(t, map[int64]int{n: -3}) }, 3, 0},
			{"another save", func() { p.save(t, map[int64]int{n: 1}) }, 3, 1},
		}
		for _, step := range steps {
			step.do()
			want.Hot += bonus(step.likes) - bonus(want.Likes)
			want.Likes, want.Saves, want.Version = step.likes, step.saves, want.Version+1
			if d := cmp.Diff(want, read()); d != "" {
				t.Errorf("counts after %s (-want +got)\n%s", step.name, d)
			}
		}
		pipeline := p.hub.Pipeline() // counts that package like stored
		p.LikesCounted(pipeline, n, 4, 0, 1, want.Hot, want.Version+1)
		if err := pipeline.Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		want.Likes, want.Version = 4, want.Version+1
		if d := cmp.Diff(want, read()); d != "" {
			t.Errorf("counts after a like in package like (-want +got)\n%s", d)
		}
	})
}
