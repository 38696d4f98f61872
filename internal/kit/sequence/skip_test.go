package sequence_test

import (
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/sequence"
)

// A process continues with positions leased in commits that a promoted standby lacks.
// Both clocks show the same second, which is the worst case.
func TestSkipPreventsDuplicatesAfterLostCommits(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		at := time.Now()
		process := func() *sequence.Sequence {
			q, err := sequence.New(s.DB, sequence.Options{Dialect: s.Dialect, Name: name, Now: func() time.Time { return at }})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(q.Wait)
			return q
		}
		first, seen := process(), map[int64]bool{}
		take := func(q *sequence.Sequence, n int) (twice int) {
			t.Helper()
			for range n {
				number, err := q.Next(t.Context(), 3)
				if err != nil {
					t.Fatal(err)
				}
				if seen[number] {
					twice++
				}
				seen[number] = true
			}
			return twice
		}
		take(first, 1)
		var next, second int64
		if err := s.QueryRowContext(t.Context(), "SELECT next, second FROM id_segments").Scan(&next, &second); err != nil {
			t.Fatal(err)
		}
		lost := process()
		take(lost, 100)
		lost.Wait()
		back := func() {
			if _, err := s.ExecContext(t.Context(), "UPDATE id_segments SET next = $1, second = $2", next, second); err != nil {
				t.Fatal(err)
			}
		}
		back()
		if twice := take(process(), 100); twice != 100 {
			t.Errorf("got %d duplicates without Skip: the test proves nothing", twice)
		}
		back()
		if err := first.Skip(t.Context()); err != nil {
			t.Fatal(err)
		}
		if twice := take(process(), 5000) + take(lost, 2000); twice > 0 {
			t.Errorf("got %d duplicates", twice)
		}
	})
}
