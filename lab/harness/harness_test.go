package harness

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTableShowsGoalsAndSkippedMeasurements(t *testing.T) {
	rows := func(rows ...Row) func(context.Context) ([]Row, error) {
		return func(context.Context) ([]Row, error) { return rows, nil }
	}
	var out, progress strings.Builder
	err := Table(t.Context(), "bench x", []Measurement{
		{Name: "a", Measure: rows(Row{What: "fast", Measured: "1", Goal: "≤ 2", Met: true}, Row{What: "slow", Measured: "3", Goal: "≤ 2"})},
		{Name: "b", Measure: rows(Row{What: "another", Measured: "7"})},
		{Name: "c", Without: errors.New("needs a c")},
	}, &out, &progress)
	if err != nil {
		t.Fatal(err)
	}
	want := `what     measured   goal  met
fast     1          ≤ 2   yes
slow     3          ≤ 2   NO
another  7                
c        needs a c        
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff("bench x: a\nbench x: b\n", progress.String()); diff != "" {
		t.Errorf("progress (-want +got)\n%s", diff)
	}
}

func TestTableReturnsMeasurementError(t *testing.T) {
	broken := errors.New("broken")
	err := Table(t.Context(), "bench x", []Measurement{
		{Name: "a", Measure: func(context.Context) ([]Row, error) { return nil, broken }},
	}, io.Discard, io.Discard)
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

func TestPercentile(t *testing.T) {
	hundred := make(Samples, 100)
	for i := range hundred {
		hundred[i] = time.Duration(100 - i)
	}
	tests := []struct {
		name  string
		times Samples
		p     int
		want  time.Duration
	}{
		{"empty", nil, 99, 0},
		{"single", Samples{5}, 50, 5},
		{"the shortest", hundred, 0, 1},
		{"the median", hundred, 50, 50},
		{"one in a hundred is longer", hundred, 99, 99},
		{"the longest", hundred, 100, 100},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.times.Percentile(tt.p); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestRoundsCompareCandidatesInTurns(t *testing.T) {
	var turns strings.Builder
	candidate := func(name string) Candidate {
		return Candidate{Name: name, Once: func(context.Context) error {
			turns.WriteString(name)
			return nil
		}}
	}
	a, b := candidate("a"), candidate("b")
	if _, err := (Rounds{Number: 3, Operations: 2, Goroutines: 1}).Compare(t.Context(), []Candidate{a, b}); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(turns.String(), "aabb"+"bbaa"+"aabb") {
		t.Errorf("got the last turns %q", turns.String()[max(0, turns.Len()-20):])
	}
	broken := errors.New("broken")
	a.Once = func(context.Context) error { return broken }
	if _, err := (Rounds{Number: 1, Operations: 1, Goroutines: 1}).Compare(t.Context(), []Candidate{b, a}); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}
