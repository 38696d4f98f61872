package order

import (
	"errors"
	"fmt"
	"testing"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

type stateError string

func (e stateError) Error() string    { return "state " + string(e) }
func (e stateError) SQLState() string { return string(e) }

func TestDeadlockedTransactionsAreRetriedOnce(t *testing.T) {
	p := storetest.Open(t, storetest.Real(t))
	s := &Service{db: p.DB}
	deadlock, other := fmt.Errorf("update: %w", stateError("40P01")), stateError("23505")
	for _, tt := range []struct {
		name  string
		fails []error // error of each run
		runs  int
		want  error
	}{
		{"nothing fails", []error{nil}, 1, nil},
		{"one deadlock", []error{deadlock, nil}, 2, nil},
		{"two deadlocks", []error{deadlock, deadlock, nil}, 2, deadlock},
		{"another error", []error{other, nil}, 1, other},
	} {
		t.Run(tt.name, func(t *testing.T) {
			runs := 0
			err := s.tx(t.Context(), func(*ent.Tx) error {
				runs++
				return tt.fails[runs-1]
			})
			if runs != tt.runs || !errors.Is(err, tt.want) {
				t.Errorf("got %d runs and %v, want %d and %v", runs, err, tt.runs, tt.want)
			}
		})
	}
}
