package quota

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestBudgetGivesNoMoreThanTheTotalAndTheShare(t *testing.T) {
	type step struct {
		Key string
		N   int // below 0: given back
		OK  bool
	}
	tests := []struct {
		name         string
		total, share int
		want         []step
	}{
		{"a whole share", 10, 4, []step{{"ann", 4, true}, {"ann", 1, false}, {"bob", 4, true}}},
		{"more than a share", 10, 4, []step{{"ann", 5, false}, {"ann", 4, true}}},
		{"no more than the total", 10, 4, []step{{"ann", 4, true}, {"bob", 4, true}, {"carl", 3, false}, {"carl", 2, true}, {"dora", 1, false}}},
		{"what was given back", 10, 4, []step{{"ann", 4, true}, {"ann", -1, true}, {"ann", 2, false}, {"ann", 1, true}}},
		{"what another gave back", 4, 4, []step{{"ann", 4, true}, {"bob", 1, false}, {"ann", -4, true}, {"bob", 4, true}}},
		{"nothing, when all is gone", 4, 4, []step{{"ann", 4, true}, {"bob", 0, true}}},
		{"no share is the total", 4, 0, []step{{"ann", 4, true}, {"ann", 1, false}}},
		{"a share above the total", 4, 9, []step{{"ann", 5, false}, {"ann", 4, true}}},
		{"no total is no limit", 0, 4, []step{{"ann", 1 << 62, true}, {"ann", 1 << 62, true}, {"ann", 1 << 62, true}}},
		{"a total below zero is no limit", -1, -1, []step{{"ann", 1 << 62, true}, {"ann", -5, true}, {"ann", 1 << 62, true}}},
		{"more than an int has bits", 10, 4, []step{{"ann", 1, true}, {"ann", 1<<63 - 1, false}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := NewByteBudget(tt.total, tt.share)
			var got []step
			for _, s := range tt.want {
				if s.N < 0 {
					b.Give(s.Key, -s.N)
				} else {
					s.OK = b.Take(s.Key, s.N)
				}
				got = append(got, s)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func TestBudgetPanicsWhenMoreIsGivenBackThanWasTaken(t *testing.T) {
	b := NewByteBudget(10, 5)
	b.Take("ann", 3)
	b.Take("bob", 3)
	defer func() {
		if recover() == nil {
			t.Error("ann gave back what bob has")
		}
		if b.used != 6 {
			t.Errorf("%d are used, want 6", b.used)
		}
	}()
	b.Give("ann", 4)
}

func TestBudgetOfManyAtOnceIsNeverExceeded(t *testing.T) {
	const total, share = 100, 30
	b := NewByteBudget(total, share)
	var use useAtOnce
	var refused atomic.Int64
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(g)))
			key := g % len(use.by)
			for range 2000 {
				n := 1 + random.IntN(share)
				if !b.Take(strconv.Itoa(key), n) {
					refused.Add(1)
					continue
				}
				use.hold(t, key, n, total, share)
				first := random.IntN(n + 1) // in two pieces, one of which may be nothing
				b.Give(strconv.Itoa(key), first)
				b.Give(strconv.Itoa(key), n-first)
			}
		})
	}
	all.Wait()
	if b.used != 0 || len(b.by) != 0 {
		t.Errorf("%d are used by %v after all was given back", b.used, b.by)
	}
	t.Logf("%d refused", refused.Load())
}

// useAtOnce counts what is used at a moment, by all and by each key.
type useAtOnce struct {
	all atomic.Int64
	by  [4]atomic.Int64
}

// hold uses n for a moment, and fails if that makes too much.
func (u *useAtOnce) hold(t *testing.T, key, n, total, share int) {
	t.Helper()
	if got := u.all.Add(int64(n)); got > int64(total) {
		t.Errorf("%d used by all, more than %d", got, total)
	}
	if got := u.by[key].Add(int64(n)); got > int64(share) {
		t.Errorf("%d used by key %d, more than %d", got, key, share)
	}
	runtime.Gosched()
	u.all.Add(int64(-n))
	u.by[key].Add(int64(-n))
}

func TestPlacesAreWaitedForWhenTheShareOrTheTotalIsTaken(t *testing.T) {
	type entry struct {
		key string
		n   int
	}
	tests := []struct {
		name         string
		total, share int
		inside       []entry
		next         entry
		waits        bool
	}{
		{"a free place", 10, 4, nil, entry{"ann", 4}, false},
		{"the rest of a share", 10, 4, []entry{{"ann", 3}}, entry{"ann", 1}, false},
		{"a taken share", 10, 4, []entry{{"ann", 3}}, entry{"ann", 2}, true},
		{"another's share", 10, 4, []entry{{"ann", 4}}, entry{"bob", 4}, false},
		{"a taken total", 10, 4, []entry{{"ann", 4}, {"bob", 4}}, entry{"carl", 3}, true},
		{"the rest of the total", 10, 4, []entry{{"ann", 4}, {"bob", 4}}, entry{"carl", 2}, false},
		{"heavier than a share, alone", 10, 4, nil, entry{"ann", 1000}, false},
		{"heavier than a share, not alone", 10, 4, []entry{{"ann", 1}}, entry{"ann", 1000}, true},
		{"beside what is heavier than a share", 10, 4, []entry{{"ann", 1000}}, entry{"ann", 1}, true},
		{"no weight is one", 1, 1, []entry{{"ann", 0}}, entry{"bob", -5}, true},
		{"no share is the total", 10, 0, []entry{{"ann", 9}}, entry{"ann", 1}, false},
		{"a share above the total", 10, 50, []entry{{"ann", 9}}, entry{"ann", 2}, true},
		{"no total is no limit", 0, 4, []entry{{"ann", 1 << 62}, {"ann", 1 << 62}}, entry{"ann", 1 << 62}, false},
		{"a total below zero is no limit", -1, -1, []entry{{"ann", 9}}, entry{"ann", 9}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := NewWeightedLimiter(tt.total, tt.share)
				var leaves []func()
				for _, e := range tt.inside {
					leaves = append(leaves, mustEnter(t, p, e.key, e.n))
				}
				entered := false
				go func() {
					leave, err := p.acquireFunc(t.Context(), tt.next.key, tt.next.n)
					if err != nil {
						t.Error(err)
						return
					}
					entered = true
					leave()
				}()
				synctest.Wait()
				if entered == tt.waits {
					t.Errorf("entered is %v, want %v", entered, !tt.waits)
				}
				for _, leave := range leaves {
					leave()
				}
				synctest.Wait()
				if !entered {
					t.Error("did not enter when all others were gone")
				}
				wantAllFree(t, p, tt.total)
			})
		})
	}
}

// acquireFunc is Acquire for a permit that any goroutine may release, more than once.
func (p *WeightedLimiter) acquireFunc(ctx context.Context, key string, n int) (leave func(), err error) {
	at, err := p.Acquire(ctx, key, n)
	if err != nil {
		return nil, err
	}
	return sync.OnceFunc(at.Release), nil
}

func mustEnter(t *testing.T, p *WeightedLimiter, key string, n int) (leave func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	leave, err := p.acquireFunc(ctx, key, n)
	if err != nil {
		t.Fatalf("enter %s with %d: %v", key, n, err)
	}
	return leave
}

// wantAllFree fails unless nobody has a place or waits for one.
func wantAllFree(t *testing.T, p *WeightedLimiter, total int) {
	t.Helper()
	if len(p.byKey) != 0 {
		t.Errorf("%d keys take memory though nobody is inside", len(p.byKey))
	}
	for i := range total {
		defer mustEnter(t, p, strconv.Itoa(i), 1)()
	}
	if total > 0 && p.all.TryAcquire(1) {
		t.Errorf("more than %d places", total)
	}
}

func TestPlacesOfAKeyWithAHundredWaitingDoNotDelayAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewWeightedLimiter(8, 2)
		var hundred sync.WaitGroup
		for range 100 {
			hundred.Go(func() {
				leave, err := p.acquireFunc(t.Context(), "many", 2)
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(time.Second) // of the bubble
				leave()
			})
		}
		synctest.Wait()
		start := time.Now()
		for range 3 {
			mustEnter(t, p, "one", 2)()
		}
		if waited := time.Since(start); waited != 0 {
			t.Errorf("another key waited for %v", waited)
		}
		hundred.Wait()
		if took := time.Since(start); took != 100*time.Second {
			t.Errorf("a hundred, one after another, took %v", took)
		}
		wantAllFree(t, p, 8)
	})
}

func TestPlacesThatAreAllTakenGoToEachKeyInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewWeightedLimiter(8, 2)
		var all sync.WaitGroup
		for i := range 400 {
			all.Go(func() {
				leave, err := p.acquireFunc(t.Context(), strconv.Itoa(i%5), 2)
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(time.Second) // of the bubble
				leave()
			})
		}
		synctest.Wait()
		start := time.Now()
		for range 3 {
			mustEnter(t, p, "one", 2)()
		}
		// Before each, five keys with one operation each are in the queue for four places.
		if waited := time.Since(start); waited > 6*time.Second {
			t.Errorf("three operations behind 400 waited for %v", waited)
		}
		all.Wait()
		wantAllFree(t, p, 8)
	})
}

func TestPlacesOfAKeyAreTakenInTheOrderOfAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewWeightedLimiter(8, 2)
		first := mustEnter(t, p, "ann", 2)
		var got []int
		for i, n := range []int{1, 2, 1, 2} { // what is light does not pass what is heavy
			go func() {
				leave, err := p.acquireFunc(t.Context(), "ann", n)
				if err != nil {
					t.Error(err)
					return
				}
				got = append(got, i)
				time.Sleep(time.Second) // of the bubble
				leave()
			}()
			synctest.Wait()
		}
		first()
		time.Sleep(time.Minute)
		synctest.Wait()
		if d := cmp.Diff([]int{0, 1, 2, 3}, got); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
	})
}

func TestPlacesLeakNothingWhenSomebodyGivesUp(t *testing.T) {
	tests := []struct {
		name   string
		inside string // key that holds its share
		others int    // keys that hold the rest
		next   string
	}{
		{"waiting for its share", "ann", 0, "ann"},
		{"waiting for the total", "ann", 3, "bob"},
		{"waiting for both", "ann", 3, "ann"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := NewWeightedLimiter(8, 2)
				leaves := []func(){mustEnter(t, p, tt.inside, 2)}
				for i := range tt.others {
					leaves = append(leaves, mustEnter(t, p, strconv.Itoa(i), 2))
				}
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				var all sync.WaitGroup
				for range 10 {
					all.Go(func() {
						leave, err := p.acquireFunc(ctx, tt.next, 2)
						if !errors.Is(err, context.DeadlineExceeded) {
							t.Errorf("got the error %v, want the end of the time", err)
						}
						if leave != nil {
							t.Error("got something to leave too")
						}
					})
				}
				start := time.Now()
				all.Wait()
				if waited := time.Since(start); waited != 2*time.Second {
					t.Errorf("gave up after %v, want 2s", waited)
				}
				for _, leave := range leaves {
					leave()
				}
				wantAllFree(t, p, 8)
			})
		})
	}
}

func TestPlacesGiveBackTheShareOfWhoGivesUpWaitingForTheTotal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewWeightedLimiter(4, 3)
		ann, bob := mustEnter(t, p, "ann", 1), mustEnter(t, p, "bob", 3)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.acquireFunc(ctx, "ann", 2); err == nil {
			t.Fatal("six points of a total of four")
		}
		bob()
		mustEnter(t, p, "ann", 2)() // while the first is still inside
		ann()
		wantAllFree(t, p, 4)
	})
}

func TestPlacesRefuseAContextThatHasEnded(t *testing.T) {
	p := NewWeightedLimiter(8, 2)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.acquireFunc(ctx, "ann", 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	wantAllFree(t, p, 8)
}

func TestPlacesAreFreedOnceHoweverOftenTheyAreLeft(t *testing.T) {
	p := NewWeightedLimiter(8, 4)
	first := mustEnter(t, p, "ann", 2)
	mustEnter(t, p, "ann", 2)
	for range 3 {
		first()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	mustEnter(t, p, "ann", 2)
	if own := p.byKey["ann"]; own.users != 2 || own.TryAcquire(1) {
		t.Errorf("%d have places of ann's, and some are free; want 2, and none", own.users)
	}
	if _, err := p.acquireFunc(ctx, "ann", 1); err == nil {
		t.Error("a fifth point of a share of four")
	}
}

func TestPlacesOfManyAtOnceAreNeverExceeded(t *testing.T) {
	const total, share = 10, 4
	p := NewWeightedLimiter(total, share)
	var use useAtOnce
	var gaveUp atomic.Int64
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var all sync.WaitGroup
	for g := range 16 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(g)))
			key := g % len(use.by)
			for range 500 {
				n := 1 + random.IntN(share)
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(100))*time.Microsecond)
				leave, err := p.acquireFunc(ctx, strconv.Itoa(key), n)
				if err != nil {
					gaveUp.Add(1)
				} else {
					use.hold(t, key, n, total, share)
					leave()
				}
				cancel()
			}
		})
	}
	all.Wait()
	wantAllFree(t, p, total)
	t.Logf("%d gave up", gaveUp.Load())
}

func BenchmarkPlaces(b *testing.B) {
	p := NewWeightedLimiter(1000, 250)
	b.ReportAllocs()
	for b.Loop() {
		leave, err := p.acquireFunc(b.Context(), "u:1", 20)
		if err != nil {
			b.Fatal(err)
		}
		leave()
	}
}
