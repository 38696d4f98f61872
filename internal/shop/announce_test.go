package shop

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/kit/geo"
	"github.com/tandian-dev/tandian/internal/kit/patch"
	"github.com/tandian-dev/tandian/internal/testkit"
)

// announcements are the counts by outcome.
func announcements(t *testing.T, s *Service) map[string]float64 {
	t.Helper()
	reg := prometheus.NewRegistry()
	reg.MustRegister(s.announced)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]float64{}
	for _, m := range families[0].GetMetric() {
		counts[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
	}
	return counts
}

// running runs the Service's work until the returned function is called.
func running(t *testing.T, s *Service) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var work sync.WaitGroup
	work.Go(func() {
		if err := s.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	stop = func() { cancel(); work.Wait() }
	t.Cleanup(stop)
	return stop
}

func TestAnEditHoldsWhileRedisIsAwayAndIsToldLater(t *testing.T) {
	eachWire(t, func(t *testing.T, process func(*wire) *Service) {
		var w wire
		s, other := process(&w), process(nil) // the other still reaches Redis
		ann, d := user(t, s), noodles(kinds(t, s)["cafe"])
		there := geo.Point{Lat: 21.05, Lng: 105.81}
		old := create(t, s, ann, d)
		settledWithin(t, other, 0, *near(d.At))
		settledWithin(t, other, d.TypeID, *near(d.At))
		read(t, other, old.ID) // into the cache

		w.become(cut)
		d.At = geo.Point{Lat: 21.06, Lng: 105.79} // in the same cell
		made := create(t, s, ann, d)
		update(t, s, old, Changes{At: patch.Set(there)})
		if diff := cmp.Diff(map[string]float64{"told": 1, "late": 2, "lost": 0}, announcements(t, s)); diff != "" {
			t.Errorf("announcements (-want +got):\n%s", diff)
		}
		if finds(t, other, made.ID, Query{Near: near(d.At)}) || read(t, other, old.ID).At == there {
			t.Fatal("Redis was told after all: the test tests nothing")
		}
		// A run that cannot tell it leaves it to the next.
		before := w.refused.Load()
		stop := running(t, s)
		testkit.Eventually(t, 10*time.Second, func() bool { return w.refused.Load() > before })
		stop()
		if n := s.late.Len(); n != 2 {
			t.Fatalf("%d shops wait for the next run", n)
		}
		running(t, s)
		w.become(whole)
		testkit.Eventually(t, 20*time.Second, func() bool {
			return finds(t, other, made.ID, Query{Near: near(d.At)}) && finds(t, other, old.ID, Query{Near: near(there), TypeID: d.TypeID})
		})
		if len(other.cells.queue) > 0 {
			t.Error("a cell was missing: the rows answered, not the cells")
		}
		if got := read(t, other, old.ID).At; got != there {
			t.Errorf("readers see the shop at %v", got)
		}
		if diff := cmp.Diff(map[string]float64{"told": 1, "late": 2, "lost": 0}, announcements(t, s)); diff != "" {
			t.Errorf("announcements (-want +got):\n%s", diff)
		}
	})
}

func TestAnEditIsQuickEnoughWhenRedisNeverAnswers(t *testing.T) {
	eachWire(t, func(t *testing.T, process func(*wire) *Service) {
		var w wire
		s := process(&w)
		ann, d := user(t, s), noodles(kinds(t, s)["cafe"])
		w.become(mute)
		defer w.become(cut)
		begin := time.Now()
		create(t, s, ann, d)
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
		if n := s.late.Len(); n != 1 {
			t.Errorf("%d shops are left to be told later", n)
		}
	})
}

func TestWhenTooManyEditsWaitTheNextIsCountedAsLost(t *testing.T) {
	eachWire(t, func(t *testing.T, process func(*wire) *Service) {
		var w wire
		s := process(&w)
		ann, d := user(t, s), noodles(kinds(t, s)["cafe"])
		if diff := cmp.Diff(map[string]float64{"told": 0, "late": 0, "lost": 0}, announcements(t, s)); diff != "" {
			t.Errorf("announcements at the start (-want +got):\n%s", diff)
		}
		w.become(cut)
		for s.late.Add(placed{}) {
		}
		if n := s.late.Len(); n != lateQueue {
			t.Errorf("%d shops wait, want %d", n, lateQueue)
		}
		shop := create(t, s, ann, d)
		if diff := cmp.Diff(map[string]float64{"told": 0, "late": 0, "lost": 1}, announcements(t, s)); diff != "" {
			t.Errorf("announcements (-want +got):\n%s", diff)
		}
		w.become(whole)
		if diff := cmp.Diff(shop, read(t, s, shop.ID)); diff != "" {
			t.Errorf("the shop (-returned +read):\n%s", diff)
		}
	})
}
