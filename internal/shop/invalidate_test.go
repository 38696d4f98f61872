package shop

import (
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/geo"
	"github.com/tandian-dev/tandian/internal/kit/optional"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// waitingJobs returns the number of waiting outbox jobs.
func waitingJobs(t *testing.T, s *Service) int64 {
	t.Helper()
	return storetest.CountWaiting(t, s.outbox)
}

func TestEditWithoutRedisIsPublishedByAnotherProcess(t *testing.T) {
	eachWire(t, func(t *testing.T, process func(*wire) *Service) {
		var w wire
		s, other := process(&w), process(nil) // only the first loses Redis
		ann, d := user(t, s), noodles(typeIDs(t, s)["cafe"])
		moved := geo.Point{Lat: 21.05, Lng: 105.81}
		old := create(t, s, ann, d)
		searchBuilt(t, other, 0, *near(d.At))
		searchBuilt(t, other, d.TypeID, *near(d.At))
		read(t, other, old.ID) // fills the cache
		if n := waitingJobs(t, s); n != 0 {
			t.Fatalf("got %d waiting jobs, want none", n)
		}

		w.set(cut)
		d.At = geo.Point{Lat: 21.06, Lng: 105.79} // in the same cell
		made := create(t, s, ann, d)
		update(t, s, old, Changes{At: optional.Set(moved)})
		if n := waitingJobs(t, s); n != 2 {
			t.Errorf("got %d waiting jobs, want one per edit", n)
		}
		if finds(t, other, made.ID, Query{Near: near(d.At)}) || read(t, other, old.ID).At == moved {
			t.Fatal("invalid test: Redis was updated")
		}
		storetest.Relay(t, other.outbox)
		testkit.Eventually(t, 20*time.Second, func() bool {
			return finds(t, other, made.ID, Query{Near: near(d.At)}) && finds(t, other, old.ID, Query{Near: near(moved), TypeID: d.TypeID})
		})
		if len(other.cells.queue) > 0 {
			t.Error("a cell was missing, so the rows were read")
		}
		if got := read(t, other, old.ID).At; got != moved {
			t.Errorf("got position %v", got)
		}
		testkit.Eventually(t, 20*time.Second, func() bool { return waitingJobs(t, other) == 0 })
	})
}

func TestEditIsFastWhenRedisHangs(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		on.Redis.Timeout = 500 * time.Millisecond // at least the timeout of a server
		var w wire
		s := processes(t, on)(&w)
		ann, d := user(t, s), noodles(typeIDs(t, s)["cafe"])
		w.set(mute)
		defer w.set(cut)
		begin := time.Now()
		create(t, s, ann, d)
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("got duration %v, want at most 5s", took)
		}
		if n := waitingJobs(t, s); n != 1 {
			t.Errorf("got %d waiting jobs, want 1", n)
		}
	})
}

// A promoted replica that lagged behind has lost an edit. The replay restores it.
func TestReplayRestoresEditLostByRedis(t *testing.T) {
	eachWire(t, func(t *testing.T, process func(*wire) *Service) {
		s := process(nil)
		ann, d := user(t, s), noodles(typeIDs(t, s)["cafe"])
		shop := create(t, s, ann, d)
		searchBuilt(t, s, 0, *near(d.At))
		read(t, s, shop.ID)
		rdb, key := s.cells.rdb, storetest.Prefix+":cache:shop:{"+decimal(shop.ID)+"}"
		before, err := rdb.Get(t.Context(), key).Bytes()
		if err != nil {
			t.Fatal(err)
		}
		update(t, s, shop, Changes{Name: optional.Set("Renamed")})
		if n := waitingJobs(t, s); n != 0 {
			t.Fatalf("got %d waiting jobs, want none", n)
		}
		if err := rdb.Set(t.Context(), key, before, time.Minute).Err(); err != nil {
			t.Fatal(err)
		}
		if got := read(t, s, shop.ID).Name; got != d.Name {
			t.Fatalf("invalid test: Redis has %q", got)
		}
		if n, err := s.outbox.Replay(t.Context(), time.Minute); err != nil || n < 2 {
			t.Errorf("got %d replayed jobs, %v", n, err)
		}
		if got := read(t, s, shop.ID).Name; got != "Renamed" {
			t.Errorf("after the replay: got %q", got)
		}
	})
}
