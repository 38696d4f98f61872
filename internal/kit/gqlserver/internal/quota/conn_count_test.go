package quota

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCountsRefuseOneTooMany(t *testing.T) {
	tests := []struct {
		name  string
		limit int
		keys  []string
		want  []bool
	}{
		{"up to the limit", 2, []string{"ann", "ann", "ann"}, []bool{true, true, false}},
		{"each key for itself", 1, []string{"ann", "bob", "ann", "bob"}, []bool{true, true, false, false}},
		{"no limit", 0, []string{"ann", "ann", "ann"}, []bool{true, true, true}},
		{"a limit below zero is none", -1, []string{"ann", "ann", "ann"}, []bool{true, true, true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := NewConnCounter(tt.limit)
			var got []bool
			var leaves []func()
			for _, key := range tt.keys {
				leave, ok := c.Acquire(key)
				got = append(got, ok)
				if ok {
					leaves = append(leaves, leave)
				}
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			for _, leave := range leaves {
				leave()
			}
			if len(c.by) != 0 {
				t.Errorf("%v take memory when all have left", c.by)
			}
		})
	}
}

func TestCountsGoDownOnceHoweverOftenOneLeaves(t *testing.T) {
	c := NewConnCounter(2)
	leave, _ := c.Acquire("ann")
	c.Acquire("ann")
	for range 3 {
		leave()
	}
	_, second := c.Acquire("ann")
	_, third := c.Acquire("ann")
	if !second || third {
		t.Errorf("entered is %v, %v; want room for one", second, third)
	}
}

func TestCountsOfManyAtOnceNeverExceedTheLimit(t *testing.T) {
	const limit = 3
	c := NewConnCounter(limit)
	var use useAtOnce
	var refused atomic.Int64
	var all sync.WaitGroup
	for g := range 16 {
		all.Go(func() {
			key := g % len(use.by)
			for range 1000 {
				leave, ok := c.Acquire(strconv.Itoa(key))
				if !ok {
					refused.Add(1)
					continue
				}
				use.hold(t, key, 1, limit*len(use.by), limit)
				leave()
				leave()
			}
		})
	}
	all.Wait()
	if len(c.by) != 0 {
		t.Errorf("%v are left", c.by)
	}
	t.Logf("%d refused", refused.Load())
}

func TestSeatsOfTheOldestGoToTheNewest(t *testing.T) {
	type step struct {
		Sit, Leave string // a name of three letters and a number
		Evicted    []string
	}
	tests := []struct {
		name  string
		limit int
		want  []step
	}{
		{"up to the limit", 2, []step{{Sit: "ann 1"}, {Sit: "ann 2"}}},
		{"the oldest goes", 2, []step{{Sit: "ann 1"}, {Sit: "ann 2"}, {Sit: "ann 3", Evicted: []string{"ann 1"}}, {Sit: "ann 4", Evicted: []string{"ann 2"}}}},
		{"one seat", 1, []step{{Sit: "ann 1"}, {Sit: "ann 2", Evicted: []string{"ann 1"}}}},
		{"who left made room", 2, []step{{Sit: "ann 1"}, {Sit: "ann 2"}, {Leave: "ann 1"}, {Sit: "ann 3"}, {Sit: "ann 4", Evicted: []string{"ann 2"}}}},
		{"leaving twice makes room once", 2, []step{{Sit: "ann 1"}, {Sit: "ann 2"}, {Leave: "ann 2"}, {Leave: "ann 2"}, {Sit: "ann 3"}, {Sit: "ann 4", Evicted: []string{"ann 1"}}}},
		{"who was evicted has nothing to leave", 1, []step{{Sit: "ann 1"}, {Sit: "ann 2", Evicted: []string{"ann 1"}}, {Leave: "ann 1"}, {Sit: "ann 3", Evicted: []string{"ann 2"}}}},
		{"each user alone", 1, []step{{Sit: "ann 1"}, {Sit: "bob 1"}, {Sit: "ann 2", Evicted: []string{"ann 1"}}}},
		{"no limit", 0, []step{{Sit: "ann 1"}, {Sit: "ann 2"}, {Leave: "ann 1"}, {Sit: "ann 3"}}},
		{"a limit below zero is none", -1, []step{{Sit: "ann 1"}, {Sit: "ann 2"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := NewEvictingLimiter(tt.limit)
			leaves := map[string]func(){}
			var got []step
			var evicted []string
			for _, do := range tt.want {
				evicted = nil
				if do.Sit != "" {
					leaves[do.Sit] = s.Acquire(do.Sit[:3], func() { evicted = append(evicted, do.Sit) })
				} else {
					leaves[do.Leave]()
				}
				do.Evicted = evicted
				got = append(got, do)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			for _, leave := range leaves {
				leave()
			}
			if len(s.by) != 0 {
				t.Errorf("%v take memory when all have left", s.by)
			}
		})
	}
}

func TestSeatsCallEvictWithoutTheirLock(t *testing.T) {
	s := NewEvictingLimiter(1)
	var leave func()
	leave = s.Acquire("ann", func() {
		leave()
		s.Acquire("bob", func() {})
	})
	s.Acquire("ann", func() {})()
	if got := len(s.by); got != 1 {
		t.Errorf("%d users sit, want bob", got)
	}
}

func TestSeatsOfManyAtOnceEvictAllButTheNewest(t *testing.T) {
	const limit, sitters, rounds = 3, 8, 500
	s := NewEvictingLimiter(limit)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	evicted := make([]atomic.Int64, sitters*rounds)
	left := make([]bool, sitters*rounds)
	var leaves [sitters * rounds]func()
	var all sync.WaitGroup
	for g := range sitters {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(g)))
			for i := range rounds {
				me := g*rounds + i
				leaves[me] = s.Acquire("ann", func() { evicted[me].Add(1) })
				if random.IntN(4) == 0 {
					left[me] = true
					leaves[me]()
					leaves[me]()
				}
				s.mu.Lock()
				if n := len(s.by["ann"]); n > limit {
					t.Errorf("%d seats, more than %d", n, limit)
				}
				s.mu.Unlock()
			}
		})
	}
	all.Wait()
	sitting := 0
	for me := range evicted {
		n := evicted[me].Load()
		if n > 1 {
			t.Errorf("seat %d was evicted %d times", me, n)
		}
		if n == 0 && !left[me] {
			sitting++
		}
	}
	if want := len(s.by["ann"]); sitting != want {
		t.Errorf("%d neither left nor were evicted, and %d sit", sitting, want)
	}
	for _, leave := range leaves {
		leave()
	}
	if len(s.by) != 0 {
		t.Errorf("%v are left", s.by)
	}
}
