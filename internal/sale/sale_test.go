package sale

import "testing"

func TestResultsHaveNames(t *testing.T) {
	seen := map[string]bool{"": true}
	for r := Stored; r <= OutOfStock; r++ {
		if seen[r.String()] {
			t.Errorf("result %d: got name %q", int(r), r)
		}
		seen[r.String()] = true
	}
	for _, r := range []Result{-1, 0, OutOfStock + 1} {
		if got := r.String(); got == "" || seen[got] {
			t.Errorf("result %d: got name %q", int(r), got)
		}
	}
}
