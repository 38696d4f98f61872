package sequence

import (
	"testing"
	"time"
)

func TestPermutationIsBijective(t *testing.T) {
	for _, bits := range []uint{8, 16, 20} {
		p := newPermutation(-42, bits)
		seen := make([]bool, 1<<bits)
		for n := range uint32(1 << bits) {
			to := p.apply(n)
			if int(to) >= len(seen) || seen[to] {
				t.Fatalf("%d bits: %d maps to %d, out of range or taken", bits, n, to)
			}
			seen[to] = true
		}
	}
}

// Processes of different versions share cycles.
func TestPermutationNeverChanges(t *testing.T) {
	p := newPermutation(1, positionBits)
	got := [4]uint32{p.apply(0), p.apply(1), p.apply(2), p.apply(positions - 1)}
	if want := [4]uint32{55164938, 51707162, 23874561, 26128770}; got != want {
		t.Errorf("got %d, want %d", got, want)
	}
}

func TestPermutationDependsOnItsKey(t *testing.T) {
	a, b, same := newPermutation(1, positionBits), newPermutation(2, positionBits), 0
	for n := range uint32(100_000) {
		if a.apply(n) == b.apply(n) {
			same++
		}
	}
	if same > 10 {
		t.Errorf("got %d of 100 000 equal positions under another key", same)
	}
}

// The sequences of two numbers do not reveal how many were made between them: for each
// distance the differences are evenly distributed.
func TestDifferencesDoNotRevealDistance(t *testing.T) {
	p := newPermutation(7, positionBits)
	for _, distance := range []uint32{1, 2, 10, 1000, 1 << 13, 1 << 20} {
		const samples, bins = 64_000, 64
		var in [bins]int
		for n := range uint32(samples) {
			n *= 997 // not only the first ones
			in[(p.apply((n+distance)%positions)-p.apply(n%positions))%positions/(positions/bins)]++
		}
		chi := 0.0 // 63 degrees of freedom: mean 63, deviation 11
		for _, n := range in {
			chi += float64((n-samples/bins)*(n-samples/bins)) / (samples / bins)
		}
		if chi > 63+6*11.3 {
			t.Errorf("distance %d: differences are uneven, χ² is %.0f", distance, chi)
		}
	}
}

func TestNextSize(t *testing.T) {
	tests := []struct {
		name   string
		size   int64
		lasted time.Duration
		want   int64
	}{
		{"the first", 0, 0, minSize},
		{"used up at once", 1024, time.Millisecond, 2048},
		{"used up at once, the greatest", maxSize, time.Millisecond, maxSize},
		{"used up in seconds", 8192, 10 * time.Second, 8192},
		{"unused for long", 8192, time.Hour, 4096},
		{"unused for long, the least", minSize, time.Hour, minSize},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := nextSize(tt.size, tt.lasted); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}
