package cache

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestZeroPolicyHasDefaults(t *testing.T) {
	want := Policy{
		Name: "shop", TTL: 10 * time.Minute, NegativeTTL: 30 * time.Second, LeaseTTL: 3 * time.Second,
		LoadTimeout: 2 * time.Second, Jitter: 0.1, MaxLoads: 32, MaxBytes: 16384, Local: Local{MaxAge: time.Second},
	}
	if diff := cmp.Diff(want, Policy{Name: "shop"}.withDefaults()); diff != "" {
		t.Error(diff)
	}
}

func TestPolicyIsClampedToMilliseconds(t *testing.T) {
	got := Policy{TTL: time.Microsecond, NegativeTTL: 2500 * time.Microsecond, Jitter: 7}.withDefaults()
	if got.TTL != time.Millisecond || got.NegativeTTL != 2*time.Millisecond || got.Jitter != 1 {
		t.Errorf("got %+v, want TTL 1ms, NegativeTTL 2ms and Jitter 1", got)
	}
	if got := (Policy{Jitter: -1}).withDefaults().Jitter; got != 0 {
		t.Errorf("negative jitter became %v, want none", got)
	}
}

// A9: no lifetime is rounded to zero or exceeds the policy.
func TestSpreadStaysInItsRange(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	draw := rand.New(rand.NewPCG(seed, 0))
	const year = 365 * 24 * time.Hour
	check := func(ttl time.Duration, jitter, draw float64) {
		t.Helper()
		p := Policy{TTL: ttl, Jitter: jitter}.withDefaults()
		got := spread(p.TTL, p.Jitter, draw)
		minimum := float64(p.TTL) * (1 - p.Jitter)
		if got < time.Millisecond || got > p.TTL || float64(got) < minimum-1 || got%time.Millisecond != 0 {
			t.Errorf("TTL %v, jitter %v, draw %v: got %v, want whole milliseconds in [%v, %v]", ttl, jitter, draw, got, time.Duration(minimum), p.TTL)
		}
	}
	const almostOne = 1 - 1.0/(1<<53)
	for _, life := range []time.Duration{1, time.Millisecond, 2 * time.Millisecond, time.Second, 10 * time.Second, year} {
		for _, jitter := range []float64{-1, 0.001, 0.1, 0.5, 1} {
			for _, at := range []float64{0, 0.5, almostOne} {
				check(life, jitter, at)
			}
		}
	}
	for range 100_000 {
		// Durations of every magnitude, not only long ones.
		life := time.Duration(draw.Int64N(int64(year) >> draw.IntN(36)))
		check(life+1, draw.Float64(), draw.Float64())
	}
}

func TestSpreadReachesBothEnds(t *testing.T) {
	if got := spread(100*time.Millisecond, 0.1, 0); got != 90*time.Millisecond {
		t.Errorf("got minimum %v, want 90ms", got)
	}
	if got := spread(100*time.Millisecond, 0.1, 0.999); got != 100*time.Millisecond {
		t.Errorf("got maximum %v, want 100ms", got)
	}
	if got := spread(100*time.Millisecond, 0, 0.3); got != 100*time.Millisecond {
		t.Errorf("without jitter: got %v, want 100ms", got)
	}
}
