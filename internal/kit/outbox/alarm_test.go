package outbox

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAnAlarmRingsForEachMomentThatWasSet(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name string
		set  []time.Duration // all at once, at the beginning
		most time.Duration
		want []time.Duration // when wait returns, three times
	}{
		{"none: after the longest wait", nil, 100 * ms, []time.Duration{100 * ms, 200 * ms, 300 * ms}},
		{"one, then the longest wait", []time.Duration{15 * ms}, 100 * ms, []time.Duration{20 * ms, 120 * ms, 220 * ms}},
		{"many of one moment are one", []time.Duration{15 * ms, 11 * ms, 19 * ms, 20 * ms}, 100 * ms, []time.Duration{20 * ms, 120 * ms, 220 * ms}},
		{"a later one is not forgotten", []time.Duration{35 * ms, 15 * ms}, 100 * ms, []time.Duration{20 * ms, 40 * ms, 140 * ms}},
		{"one beyond the longest wait", []time.Duration{150 * ms}, 100 * ms, []time.Duration{100 * ms, 150 * ms, 250 * ms}},
		{"at once", []time.Duration{0}, 100 * ms, []time.Duration{0, 100 * ms, 200 * ms}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin, a := time.Now(), newAlarm()
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

func TestAnAlarmThatIsSetWhileSomebodyWaitsIsHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin, a := time.Now(), newAlarm()
		a.set(500 * time.Millisecond)
		go func() {
			time.Sleep(100 * time.Millisecond)
			a.set(15 * time.Millisecond)
		}()
		a.wait(t.Context(), time.Hour)
		if d := time.Since(begin); d != 120*time.Millisecond {
			t.Errorf("it rang after %v, want 120ms", d)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		a.wait(ctx, time.Hour)
		if d := time.Since(begin); d != 170*time.Millisecond {
			t.Errorf("it ended after %v, want 170ms, with its context", d)
		}
	})
}

func TestThePauseDoublesUpToItsMost(t *testing.T) {
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
			d := b.pause(n, b.o.MaxPause)
			low, high = min(low, d), max(high, d)
		}
		if low < want/2 || high > want || high-low < want/4 {
			t.Errorf("after failure %d the pauses lie between %v and %v, want them spread over the half of %v and all of it", n, low, high, want)
		}
	}
}
