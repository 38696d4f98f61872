package shop

import (
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/geo"
	"github.com/tandian-dev/tandian/internal/kit/optional"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// jobs is how many jobs of the outbox wait for somebody.
func jobs(t *testing.T, s *Service) int64 {
	t.Helper()
	return storetest.Waiting(t, s.outbox)
}

func TestAnEditHoldsWhileRedisIsAwayAndIsToldByAnotherProcess(t *testing.T) {
	eachWire(t, func(t *testing.T, process func(*wire) *Service) {
		var w wire
		s, other := process(&w), process(nil) // the other still reaches Redis
		ann, d := user(t, s), noodles(kinds(t, s)["cafe"])
		entries := geo.Point{Lat: 21.05, Lng: 105.81}
		old := create(t, s, ann, d)
		settledWithin(t, other, 0, *near(d.At))
		settledWithin(t, other, d.TypeID, *near(d.At))
		read(t, other, old.ID) // into the cache
		if n := jobs(t, s); n != 0 {
			t.Fatalf("%d jobs wait though Redis was told", n)
		}

		w.become(cut)
		d.At = geo.Point{Lat: 21.06, Lng: 105.79} // in the same cell
		made := create(t, s, ann, d)
		update(t, s, old, Changes{At: optional.Set(entries)})
		if n := jobs(t, s); n != 2 {
			t.Errorf("%d jobs wait, want one for each edit", n)
		}
		if finds(t, other, made.ID, Query{Near: near(d.At)}) || read(t, other, old.ID).At == entries {
			t.Fatal("Redis was told after all: the test tests nothing")
		}
		storetest.Relay(t, other.outbox)
		testkit.Eventually(t, 20*time.Second, func() bool {
			return finds(t, other, made.ID, Query{Near: near(d.At)}) && finds(t, other, old.ID, Query{Near: near(entries), TypeID: d.TypeID})
		})
		if len(other.cells.queue) > 0 {
			t.Error("a cell was missing: the rows answered, not the cells")
		}
		if got := read(t, other, old.ID).At; got != entries {
			t.Errorf("readers see the shop at %v", got)
		}
		testkit.Eventually(t, 20*time.Second, func() bool { return jobs(t, other) == 0 })
	})
}

func TestAnEditIsQuickEnoughWhenRedisNeverAnswers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		on.Redis.Timeout = 500 * time.Millisecond // as long as a server waits, or longer
		var w wire
		s := processes(t, on)(&w)
		ann, d := user(t, s), noodles(kinds(t, s)["cafe"])
		w.become(mute)
		defer w.become(cut)
		begin := time.Now()
		create(t, s, ann, d)
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
		if n := jobs(t, s); n != 1 {
			t.Errorf("%d jobs are left to the outbox", n)
		}
	})
}

// A Redis that forgot an edit, as a replica that was promoted and lagged behind,
// is told of it again.
func TestAnEditThatRedisForgotIsToldAgain(t *testing.T) {
	eachWire(t, func(t *testing.T, process func(*wire) *Service) {
		s := process(nil)
		ann, d := user(t, s), noodles(kinds(t, s)["cafe"])
		shop := create(t, s, ann, d)
		settledWithin(t, s, 0, *near(d.At))
		read(t, s, shop.ID)
		rdb, key := s.cells.rdb, storetest.Prefix+":cache:shop:{"+decimal(shop.ID)+"}"
		before, err := rdb.Get(t.Context(), key).Bytes()
		if err != nil {
			t.Fatal(err)
		}
		update(t, s, shop, Changes{Name: optional.Set("Renamed")})
		if n := jobs(t, s); n != 0 {
			t.Fatalf("%d jobs are left to the outbox", n)
		}
		if err := rdb.Set(t.Context(), key, before, time.Minute).Err(); err != nil {
			t.Fatal(err)
		}
		if got := read(t, s, shop.ID).Name; got != d.Name {
			t.Fatalf("Redis says %q: the test tests nothing", got)
		}
		if n, err := s.outbox.Replay(t.Context(), time.Minute); err != nil || n < 2 {
			t.Errorf("%d jobs were done again, %v", n, err)
		}
		if got := read(t, s, shop.ID).Name; got != "Renamed" {
			t.Errorf("after that it says %q", got)
		}
	})
}
