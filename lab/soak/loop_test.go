package soak

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// A server that stalls for a second delays all arrivals of that second. Clients that wait for each
// other and measure from the time of sending see the stall once.
func TestAStallDelaysAllArrivalsMeanwhile(t *testing.T) {
	begin := time.Now().Add(50 * time.Millisecond)
	stall, over := begin.Add(500*time.Millisecond), begin.Add(1500*time.Millisecond)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if now := time.Now(); now.After(stall) && now.Before(over) {
			time.Sleep(time.Until(over))
		}
	}))
	defer server.Close()
	api := newClient([]string{server.URL}, nil)
	get := &work{name: "get", weight: 1}
	l := newLoop(1000, func(ctx context.Context, _ arrival) error {
		_, err := api.get(ctx, server.URL)
		return err
	})
	all := inOrder(draw([]*work{get}, 100, 3*time.Second, 1))
	samples := l.run(t.Context(), all, begin)
	if len(samples) != len(all) {
		t.Fatalf("%d samples of %d arrivals", len(samples), len(all))
	}
	took, failed := split(samples)
	slices.Sort(took)
	if len(failed) > 0 {
		t.Fatalf("failed: %v", failed)
	}
	// A third of the arrivals are in that second, evenly.
	if p := percentile(took, 99); p < 900*time.Millisecond {
		t.Errorf("p99 is %v: the stall is left out", p)
	}
	if p := percentile(took, 85); p < 300*time.Millisecond {
		t.Errorf("p85 is %v: only some arrivals of the stall are counted", p)
	}
}

func TestLatencyCountsFromTheIntendedBegin(t *testing.T) {
	get := &work{name: "get"}
	l := newLoop(10, func(context.Context, arrival) error { return nil })
	samples := l.run(t.Context(), []arrival{{at: 0, work: get}}, time.Now().Add(-time.Second))
	if len(samples) != 1 || samples[0].took < time.Second || samples[0].sent < time.Second {
		t.Errorf("a client that is a second late has %+v", samples)
	}
}

func TestExcessArrivalsFailWithoutDelayingOthers(t *testing.T) {
	get := &work{name: "get"}
	var done atomic.Int32
	l := newLoop(2, func(ctx context.Context, _ arrival) error {
		<-ctx.Done()
		done.Add(1)
		return nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	all := make([]arrival, 10)
	for i := range all {
		all[i] = arrival{at: time.Duration(i) * time.Millisecond, work: get}
	}
	samples := l.run(ctx, all, time.Now())
	_, failed := split(samples)
	if failed[dropped] != 8 || done.Load() != 2 || len(samples) != 10 {
		t.Errorf("%v of %d, %d done; want 8 dropped of 10", failed, len(samples), done.Load())
	}
}

func TestPercentilesAreExact(t *testing.T) {
	var all []time.Duration
	for i := range 1000 {
		all = append(all, time.Duration(i+1))
	}
	for p, want := range map[float64]time.Duration{50: 500, 99: 990, 99.9: 999, 100: 1000} {
		if got := percentile(all, p); got != want {
			t.Errorf("p%v is %d, want %d", p, got, want)
		}
	}
}

// series is a value for each second.
func series(n int, of func(second int) float64, hits float64) []moment {
	var all []moment
	for i := range n {
		all = append(all, moment{
			at: time.Duration(i) * time.Second, values: []float64{of(i)},
			caches: map[string]reads{"shop": {hits: float64(i) * hits, all: float64(i) * 100}},
		})
	}
	return all
}

func TestLeaksDifferFromPeaksAndWarmUp(t *testing.T) {
	const n, dur = 100, 100 * time.Second
	for _, tt := range []struct {
		name string
		of   func(second int) float64
		want bool
	}{
		{"steady", func(int) float64 { return 100 }, true},
		{"a leak", func(s int) float64 { return 100 + 2*float64(s) }, false},
		{"a leak from nothing", func(s int) float64 { return 2 * float64(s) }, false},
		{"warming up", func(s int) float64 { return min(100+5*float64(s), 300) }, true},
		{"a peak at the end", func(s int) float64 {
			if s > 90 && s < 95 {
				return 1000
			}
			return 100
		}, true},
	} {
		if l := levelling(series(n, tt.of, 0), 0, dur, 10); l.off != tt.want {
			t.Errorf("%s: %+v, want %v", tt.name, l, tt.want)
		}
	}
	if l := levelling(nil, 0, dur, 10); l.off {
		t.Error("a gauge without samples levels off")
	}
}

func TestALowHitRatioMissesItsGoal(t *testing.T) {
	for hits, want := range map[float64]bool{96: true, 94: false} {
		c := &course{o: Options{Dur: 100 * time.Second}, series: [][]moment{series(100, func(int) float64 { return 1 }, hits)}, live: &audience{}}
		for i := range gauges() { // each has a value
			for j := range c.series[0] {
				if i > 0 {
					c.series[0][j].values = append(c.series[0][j].values, 1)
				}
			}
		}
		found := false
		for _, g := range c.goals() {
			if g.goal == "≥ 95 %" {
				found = true
				if g.met != want {
					t.Errorf("with %v of 100 hits: %+v", hits, g)
				}
			}
		}
		if !found {
			t.Error("no goal for hits")
		}
	}
}

// A cache Redis that returns has to fill: its first minute does not count, like that of the run.
// Any other low time counts.
func TestColdMinuteAfterCacheRestartIsExcluded(t *testing.T) {
	of := make([]moment, 0, 400)
	sum := reads{}
	for i := range 400 {
		sum.all += 100
		if sum.hits += 97; i >= 200 && i < 260 {
			sum.hits -= 90
		}
		of = append(of, moment{at: time.Duration(i) * time.Second, caches: map[string]reads{"shop": sum}})
	}
	ratio := func(harms ...harm) float64 {
		c := &course{o: Options{Dur: 400 * time.Second}, harms: harms}
		return hitRatio([][]moment{of}, c.warmTimes()...)[""].ratio()
	}
	at := func(name string) harm { return harm{name: name, from: 198 * time.Second, till: 200 * time.Second} }
	if r := ratio(at("cache")); r < 0.96 || r > 0.98 {
		t.Errorf("%.3f hit without the cold minute, want 0.97", r)
	}
	if r := ratio(at("state")); r > 0.9 {
		t.Errorf("%.3f hit, but nothing was lost that caches have", r)
	}
}

func TestMetricsAreRead(t *testing.T) {
	m := parse("# HELP a b\na 1\nb{policy=\"shop\",x=\"y\"} 2\nb{policy=\"user\",x=\"y\"} 3e0\nbb{policy=\"shop\"} 5\n")
	if m.sum("a") != 1 || m.sum("b") != 5 || m.byLabel("b", "policy")["user"] != 3 {
		t.Errorf("%v", m)
	}
	const page = "tandian_cache_local_hits_total{policy=\"shop\"} 5\ntandian_cache_hits_total{policy=\"shop\"} 2\n" +
		"tandian_cache_negative_hits_total{policy=\"shop\"} 1\ntandian_cache_misses_total{policy=\"shop\"} 2\n"
	if r := cacheReads(parse(page))["shop"]; r != (reads{hits: 8, all: 10}) {
		t.Errorf("8 of 10 reads hit, and %+v is counted", r)
	}
}
