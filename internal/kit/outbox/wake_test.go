package outbox

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTimerEndsWaitAtEarliestMoment(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name string
		set  []time.Duration // all at the start
		most time.Duration
		want []time.Duration // when wait returns, three times
	}{
		{"none: after the limit", nil, 100 * ms, []time.Duration{100 * ms, 200 * ms, 300 * ms}},
		{"one, then the limit", []time.Duration{15 * ms}, 100 * ms, []time.Duration{15 * ms, 115 * ms, 215 * ms}},
		{"the earliest of several", []time.Duration{35 * ms, 15 * ms, 19 * ms}, 100 * ms, []time.Duration{15 * ms, 115 * ms, 215 * ms}},
		{"one beyond the limit", []time.Duration{150 * ms}, 100 * ms, []time.Duration{100 * ms, 150 * ms, 250 * ms}},
		{"at once", []time.Duration{0}, 100 * ms, []time.Duration{0, 100 * ms, 200 * ms}},
		{"soon, before any wait", []time.Duration{soon}, 100 * ms, []time.Duration{soon, soon + 100*ms, soon + 200*ms}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin, a := time.Now(), newWakeTimer()
				for _, d := range tt.set {
					a.set(d)
				}
				var got []time.Duration
				for range 3 {
					a.wait(t.Context(), tt.most)
					got = append(got, time.Since(begin))
				}
				if d := cmp.Diff(tt.want, got); d != "" {
					t.Errorf("(-want +got)\n%s", d)
				}
			})
		})
	}
}

func TestFrequentlySetTimerLimitsPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin, a := time.Now(), newWakeTimer()
		pending := 0
		for ; time.Since(begin) < time.Second; pending++ {
			a.set(soon)
			a.set(soon)
			a.wait(t.Context(), time.Hour)
		}
		if pending != 101 { // the first one at once
			t.Errorf("got %d waits in a second, want 101", pending)
		}
		a.set(soon)
		a.set(0) // ignores minInterval
		begin = time.Now()
		a.wait(t.Context(), time.Hour)
		if d := time.Since(begin); d != 0 {
			t.Errorf("the wait took %v, want 0", d)
		}
	})
}

func TestTimerSetDuringWaitEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin, a := time.Now(), newWakeTimer()
		a.set(500 * time.Millisecond)
		go func() {
			time.Sleep(100 * time.Millisecond)
			a.set(15 * time.Millisecond)
		}()
		a.wait(t.Context(), time.Hour)
		if d := time.Since(begin); d != 115*time.Millisecond {
			t.Errorf("wait ended after %v, want 115ms", d)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		a.wait(ctx, time.Hour)
		if d := time.Since(begin); d != 165*time.Millisecond {
			t.Errorf("wait ended after %v, want 165ms, with its context", d)
		}
	})
}

func TestRetryDelayDoublesUpToLimit(t *testing.T) {
	b, err := New(nil, Options{Dialect: "sqlite3"})
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]time.Duration{
		1: 100 * time.Millisecond, 2: 200 * time.Millisecond, 5: 1600 * time.Millisecond, 9: 25600 * time.Millisecond,
		10: 30 * time.Second, 29: 30 * time.Second, 30: 30 * time.Second, 1 << 30: 30 * time.Second,
	} {
		low, high := want, time.Duration(0)
		for range 2000 {
			d := b.retryDelay(n, b.o.MaxRetryDelay)
			low, high = min(low, d), max(high, d)
		}
		if low < want/2 || high > want || high-low < want/4 {
			t.Errorf("pauses after failure %d: got %v to %v, want half of %v up to all of it", n, low, high, want)
		}
	}
}
