package quota

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestConnCounterEnforcesLimit(t *testing.T) {
	tests := []struct {
		name  string
		limit int
		keys  []string
		want  []bool
	}{
		{"up to the limit", 2, []string{"ann", "ann", "ann"}, []bool{true, true, false}},
		{"separate keys", 1, []string{"ann", "bob", "ann", "bob"}, []bool{true, true, false, false}},
		{"no limit", 0, []string{"ann", "ann", "ann"}, []bool{true, true, true}},
		{"negative limit is no limit", -1, []string{"ann", "ann", "ann"}, []bool{true, true, true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := NewConnCounter(tt.limit)
			var got []bool
			var releases []func()
			for _, key := range tt.keys {
				release, ok := c.Acquire(key)
				got = append(got, ok)
				if ok {
					releases = append(releases, release)
				}
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			for _, release := range releases {
				release()
			}
			if len(c.counts) != 0 {
				t.Errorf("got counts %v after all releases, want none", c.counts)
			}
		})
	}
}

func TestConnCounterReleasesOnce(t *testing.T) {
	c := NewConnCounter(2)
	release, _ := c.Acquire("ann")
	c.Acquire("ann")
	for range 3 {
		release()
	}
	_, second := c.Acquire("ann")
	_, third := c.Acquire("ann")
	if !second || third {
		t.Errorf("got %v, %v; want true, false", second, third)
	}
}

func TestConcurrentConnectionsStayWithinLimit(t *testing.T) {
	const limit = 3
	c := NewConnCounter(limit)
	var use concurrentUse
	var refused atomic.Int64
	var all sync.WaitGroup
	for g := range 16 {
		all.Go(func() {
			key := g % len(use.byKey)
			for range 1000 {
				release, ok := c.Acquire(strconv.Itoa(key))
				if !ok {
					refused.Add(1)
					continue
				}
				use.hold(t, key, 1, limit*len(use.byKey), limit)
				release()
				release()
			}
		})
	}
	all.Wait()
	if len(c.counts) != 0 {
		t.Errorf("got counts %v after all releases, want none", c.counts)
	}
	t.Logf("%d rejected", refused.Load())
}

func TestNewestConnectionEvictsOldest(t *testing.T) {
	type step struct {
		Acquire, Release string // a user of three letters and a number
		Evicted          []string
	}
	tests := []struct {
		name  string
		limit int
		want  []step
	}{
		{"up to the limit", 2, []step{{Acquire: "ann 1"}, {Acquire: "ann 2"}}},
		{"oldest is evicted", 2, []step{{Acquire: "ann 1"}, {Acquire: "ann 2"}, {Acquire: "ann 3", Evicted: []string{"ann 1"}}, {Acquire: "ann 4", Evicted: []string{"ann 2"}}}},
		{"one slot", 1, []step{{Acquire: "ann 1"}, {Acquire: "ann 2", Evicted: []string{"ann 1"}}}},
		{"release frees a slot", 2, []step{{Acquire: "ann 1"}, {Acquire: "ann 2"}, {Release: "ann 1"}, {Acquire: "ann 3"}, {Acquire: "ann 4", Evicted: []string{"ann 2"}}}},
		{"second release frees nothing", 2, []step{{Acquire: "ann 1"}, {Acquire: "ann 2"}, {Release: "ann 2"}, {Release: "ann 2"}, {Acquire: "ann 3"}, {Acquire: "ann 4", Evicted: []string{"ann 1"}}}},
		{"release after eviction", 1, []step{{Acquire: "ann 1"}, {Acquire: "ann 2", Evicted: []string{"ann 1"}}, {Release: "ann 1"}, {Acquire: "ann 3", Evicted: []string{"ann 2"}}}},
		{"separate users", 1, []step{{Acquire: "ann 1"}, {Acquire: "bob 1"}, {Acquire: "ann 2", Evicted: []string{"ann 1"}}}},
		{"no limit", 0, []step{{Acquire: "ann 1"}, {Acquire: "ann 2"}, {Release: "ann 1"}, {Acquire: "ann 3"}}},
		{"negative limit is no limit", -1, []step{{Acquire: "ann 1"}, {Acquire: "ann 2"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := NewEvictingLimiter(tt.limit)
			releases := map[string]func(){}
			var got []step
			var evicted []string
			for _, do := range tt.want {
				evicted = nil
				if do.Acquire != "" {
					releases[do.Acquire] = s.Acquire(do.Acquire[:3], func() { evicted = append(evicted, do.Acquire) })
				} else {
					releases[do.Release]()
				}
				do.Evicted = evicted
				got = append(got, do)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			for _, release := range releases {
				release()
			}
			if len(s.slots) != 0 {
				t.Errorf("got slots %v after all releases, want none", s.slots)
			}
		})
	}
}

func TestEvictRunsWithoutLock(t *testing.T) {
	s := NewEvictingLimiter(1)
	var release func()
	release = s.Acquire("ann", func() {
		release()
		s.Acquire("bob", func() {})
	})
	s.Acquire("ann", func() {})()
	if got := len(s.slots); got != 1 {
		t.Errorf("got %d users, want bob", got)
	}
}

func TestConcurrentAcquiresEvictOldest(t *testing.T) {
	const limit, users, rounds = 3, 8, 500
	s := NewEvictingLimiter(limit)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	evicted := make([]atomic.Int64, users*rounds)
	left := make([]bool, users*rounds)
	var releases [users * rounds]func()
	var all sync.WaitGroup
	for g := range users {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(g)))
			for i := range rounds {
				id := g*rounds + i
				releases[id] = s.Acquire("ann", func() { evicted[id].Add(1) })
				if random.IntN(4) == 0 {
					left[id] = true
					releases[id]()
					releases[id]()
				}
				s.mu.Lock()
				if n := len(s.slots["ann"]); n > limit {
					t.Errorf("got %d slots, want at most %d", n, limit)
				}
				s.mu.Unlock()
			}
		})
	}
	all.Wait()
	holding := 0
	for id := range evicted {
		n := evicted[id].Load()
		if n > 1 {
			t.Errorf("slot %d: got %d evictions, want at most 1", id, n)
		}
		if n == 0 && !left[id] {
			holding++
		}
	}
	if want := len(s.slots["ann"]); holding != want {
		t.Errorf("got %d slots neither released nor evicted, want %d", holding, want)
	}
	for _, release := range releases {
		release()
	}
	if len(s.slots) != 0 {
		t.Errorf("got slots %v after all releases, want none", s.slots)
	}
}
