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

func TestByteBudgetEnforcesTotalAndShare(t *testing.T) {
	type step struct {
		Key string
		N   int // negative: returned
		OK  bool
	}
	tests := []struct {
		name         string
		total, share int
		want         []step
	}{
		{"whole share", 10, 4, []step{{"ann", 4, true}, {"ann", 1, false}, {"bob", 4, true}}},
		{"more than a share", 10, 4, []step{{"ann", 5, false}, {"ann", 4, true}}},
		{"total", 10, 4, []step{{"ann", 4, true}, {"bob", 4, true}, {"carl", 3, false}, {"carl", 2, true}, {"dora", 1, false}}},
		{"returned bytes", 10, 4, []step{{"ann", 4, true}, {"ann", -1, true}, {"ann", 2, false}, {"ann", 1, true}}},
		{"bytes returned by another key", 4, 4, []step{{"ann", 4, true}, {"bob", 1, false}, {"ann", -4, true}, {"bob", 4, true}}},
		{"zero bytes of a used budget", 4, 4, []step{{"ann", 4, true}, {"bob", 0, true}}},
		{"zero share is the total", 4, 0, []step{{"ann", 4, true}, {"ann", 1, false}}},
		{"share above the total", 4, 9, []step{{"ann", 5, false}, {"ann", 4, true}}},
		{"zero total is no limit", 0, 4, []step{{"ann", 1 << 62, true}, {"ann", 1 << 62, true}, {"ann", 1 << 62, true}}},
		{"negative total is no limit", -1, -1, []step{{"ann", 1 << 62, true}, {"ann", -5, true}, {"ann", 1 << 62, true}}},
		{"no integer overflow", 10, 4, []step{{"ann", 1, true}, {"ann", 1<<63 - 1, false}}},
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

func TestGivePanicsBeyondTakenBytes(t *testing.T) {
	b := NewByteBudget(10, 5)
	b.Take("ann", 3)
	b.Take("bob", 3)
	defer func() {
		if recover() == nil {
			t.Error("Give returned bytes of another key")
		}
		if b.used != 6 {
			t.Errorf("got %d bytes in use, want 6", b.used)
		}
	}()
	b.Give("ann", 4)
}

func TestConcurrentTakesStayWithinBudget(t *testing.T) {
	const total, share = 100, 30
	b := NewByteBudget(total, share)
	var use concurrentUse
	var refused atomic.Int64
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(g)))
			key := g % len(use.byKey)
			for range 2000 {
				n := 1 + random.IntN(share)
				if !b.Take(strconv.Itoa(key), n) {
					refused.Add(1)
					continue
				}
				use.hold(t, key, n, total, share)
				first := random.IntN(n + 1) // in two parts, one of which may be 0
				b.Give(strconv.Itoa(key), first)
				b.Give(strconv.Itoa(key), n-first)
			}
		})
	}
	all.Wait()
	if b.used != 0 || len(b.byKey) != 0 {
		t.Errorf("got %d bytes in use by %v after all were returned", b.used, b.byKey)
	}
	t.Logf("%d rejected", refused.Load())
}

// concurrentUse counts concurrent use, in total and per key.
type concurrentUse struct {
	all   atomic.Int64
	byKey [4]atomic.Int64
}

// hold uses n for a moment, and fails if the total or the share is exceeded.
func (u *concurrentUse) hold(t *testing.T, key, n, total, share int) {
	t.Helper()
	if got := u.all.Add(int64(n)); got > int64(total) {
		t.Errorf("got %d in use, want at most %d", got, total)
	}
	if got := u.byKey[key].Add(int64(n)); got > int64(share) {
		t.Errorf("key %[2]d: got %[1]d in use, want at most %[3]d", got, key, share)
	}
	runtime.Gosched()
	u.all.Add(int64(-n))
	u.byKey[key].Add(int64(-n))
}

func TestAcquireWaitsAtShareOrTotal(t *testing.T) {
	type entry struct {
		key string
		n   int
	}
	tests := []struct {
		name         string
		total, share int
		held         []entry
		next         entry
		wantWait     bool
	}{
		{"free limiter", 10, 4, nil, entry{"ann", 4}, false},
		{"rest of a share", 10, 4, []entry{{"ann", 3}}, entry{"ann", 1}, false},
		{"used share", 10, 4, []entry{{"ann", 3}}, entry{"ann", 2}, true},
		{"share of another key", 10, 4, []entry{{"ann", 4}}, entry{"bob", 4}, false},
		{"used total", 10, 4, []entry{{"ann", 4}, {"bob", 4}}, entry{"carl", 3}, true},
		{"rest of the total", 10, 4, []entry{{"ann", 4}, {"bob", 4}}, entry{"carl", 2}, false},
		{"heavier than a share, alone", 10, 4, nil, entry{"ann", 1000}, false},
		{"heavier than a share, not alone", 10, 4, []entry{{"ann", 1}}, entry{"ann", 1000}, true},
		{"next to heavier than a share", 10, 4, []entry{{"ann", 1000}}, entry{"ann", 1}, true},
		{"zero weight is one", 1, 1, []entry{{"ann", 0}}, entry{"bob", -5}, true},
		{"zero share is the total", 10, 0, []entry{{"ann", 9}}, entry{"ann", 1}, false},
		{"share above the total", 10, 50, []entry{{"ann", 9}}, entry{"ann", 2}, true},
		{"zero total is no limit", 0, 4, []entry{{"ann", 1 << 62}, {"ann", 1 << 62}}, entry{"ann", 1 << 62}, false},
		{"negative total is no limit", -1, -1, []entry{{"ann", 9}}, entry{"ann", 9}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := NewWeightedLimiter(tt.total, tt.share)
				var releases []func()
				for _, e := range tt.held {
					releases = append(releases, mustAcquire(t, p, e.key, e.n))
				}
				acquired := false
				go func() {
					release, err := p.acquireFunc(t.Context(), tt.next.key, tt.next.n)
					if err != nil {
						t.Error(err)
						return
					}
					acquired = true
					release()
				}()
				synctest.Wait()
				if acquired == tt.wantWait {
					t.Errorf("acquired: got %v, want %v", acquired, !tt.wantWait)
				}
				for _, release := range releases {
					release()
				}
				synctest.Wait()
				if !acquired {
					t.Error("got no permit after all others were released")
				}
				wantAllFree(t, p, tt.total)
			})
		})
	}
}

// acquireFunc is like Acquire, but any goroutine may call release, more than once.
func (p *WeightedLimiter) acquireFunc(ctx context.Context, key string, n int) (release func(), err error) {
	permit, err := p.Acquire(ctx, key, n)
	if err != nil {
		return nil, err
	}
	return sync.OnceFunc(permit.Release), nil
}

func mustAcquire(t *testing.T, p *WeightedLimiter, key string, n int) (release func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	release, err := p.acquireFunc(ctx, key, n)
	if err != nil {
		t.Fatalf("acquire %d for %s: %v", n, key, err)
	}
	return release
}

// wantAllFree fails if a key holds or waits for a permit.
func wantAllFree(t *testing.T, p *WeightedLimiter, total int) {
	t.Helper()
	if len(p.byKey) != 0 {
		t.Errorf("got %d keys without permits, want 0", len(p.byKey))
	}
	for i := range total {
		defer mustAcquire(t, p, strconv.Itoa(i), 1)()
	}
	if total > 0 && p.all.TryAcquire(1) {
		t.Errorf("got more than the total of %d", total)
	}
}

func TestManyWaitersDoNotDelayOtherKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewWeightedLimiter(8, 2)
		var hundred sync.WaitGroup
		for range 100 {
			hundred.Go(func() {
				release, err := p.acquireFunc(t.Context(), "many", 2)
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(time.Second) // virtual time
				release()
			})
		}
		synctest.Wait()
		start := time.Now()
		for range 3 {
			mustAcquire(t, p, "one", 2)()
		}
		if waited := time.Since(start); waited != 0 {
			t.Errorf("another key: got a wait of %v, want 0", waited)
		}
		hundred.Wait()
		if took := time.Since(start); took != 100*time.Second {
			t.Errorf("100 operations in turn: got %v, want 100s", took)
		}
		wantAllFree(t, p, 8)
	})
}

func TestWaitingKeysAreServedInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewWeightedLimiter(8, 2)
		var all sync.WaitGroup
		for i := range 400 {
			all.Go(func() {
				release, err := p.acquireFunc(t.Context(), strconv.Itoa(i%5), 2)
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(time.Second) // virtual time
				release()
			})
		}
		synctest.Wait()
		start := time.Now()
		for range 3 {
			mustAcquire(t, p, "one", 2)()
		}
		// Five keys with one operation each wait for four slots before each of these.
		if waited := time.Since(start); waited > 6*time.Second {
			t.Errorf("got a wait of %v for three operations behind 400, want at most 6s", waited)
		}
		all.Wait()
		wantAllFree(t, p, 8)
	})
}

func TestWaitersOfAKeyAreServedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewWeightedLimiter(8, 2)
		first := mustAcquire(t, p, "ann", 2)
		var got []int
		for i, n := range []int{1, 2, 1, 2} { // light operations do not overtake heavy ones
			go func() {
				release, err := p.acquireFunc(t.Context(), "ann", n)
				if err != nil {
					t.Error(err)
					return
				}
				got = append(got, i)
				time.Sleep(time.Second) // virtual time
				release()
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

func TestTimedOutWaitersLeakNothing(t *testing.T) {
	tests := []struct {
		name   string
		held   string // key that holds its share
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
				releases := []func(){mustAcquire(t, p, tt.held, 2)}
				for i := range tt.others {
					releases = append(releases, mustAcquire(t, p, strconv.Itoa(i), 2))
				}
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				var all sync.WaitGroup
				for range 10 {
					all.Go(func() {
						release, err := p.acquireFunc(ctx, tt.next, 2)
						if !errors.Is(err, context.DeadlineExceeded) {
							t.Errorf("got error %v, want %v", err, context.DeadlineExceeded)
						}
						if release != nil {
							t.Error("got a release function with an error")
						}
					})
				}
				start := time.Now()
				all.Wait()
				if waited := time.Since(start); waited != 2*time.Second {
					t.Errorf("got a wait of %v, want 2s", waited)
				}
				for _, release := range releases {
					release()
				}
				wantAllFree(t, p, 8)
			})
		})
	}
}

func TestTimeoutAtTotalReleasesShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewWeightedLimiter(4, 3)
		ann, bob := mustAcquire(t, p, "ann", 1), mustAcquire(t, p, "bob", 3)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.acquireFunc(ctx, "ann", 2); err == nil {
			t.Fatal("got 6 points of a total of 4")
		}
		bob()
		mustAcquire(t, p, "ann", 2)() // while the first permit is held
		ann()
		wantAllFree(t, p, 4)
	})
}

func TestAcquireFailsWithEndedContext(t *testing.T) {
	p := NewWeightedLimiter(8, 2)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.acquireFunc(ctx, "ann", 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	wantAllFree(t, p, 8)
}

func TestRepeatedReleaseFreesOneSlot(t *testing.T) {
	p := NewWeightedLimiter(8, 4)
	first := mustAcquire(t, p, "ann", 2)
	mustAcquire(t, p, "ann", 2)
	for range 3 {
		first()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	mustAcquire(t, p, "ann", 2)
	if own := p.byKey["ann"]; own.users != 2 || own.TryAcquire(1) {
		t.Errorf("got %d permits or a free share, want 2 and none", own.users)
	}
	if _, err := p.acquireFunc(ctx, "ann", 1); err == nil {
		t.Error("got a fifth point of a share of 4")
	}
}

func TestConcurrentPermitsStayWithinLimits(t *testing.T) {
	const total, share = 10, 4
	p := NewWeightedLimiter(total, share)
	var use concurrentUse
	var gaveUp atomic.Int64
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var all sync.WaitGroup
	for g := range 16 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(g)))
			key := g % len(use.byKey)
			for range 500 {
				n := 1 + random.IntN(share)
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(100))*time.Microsecond)
				release, err := p.acquireFunc(ctx, strconv.Itoa(key), n)
				if err != nil {
					gaveUp.Add(1)
				} else {
					use.hold(t, key, n, total, share)
					release()
				}
				cancel()
			}
		})
	}
	all.Wait()
	wantAllFree(t, p, total)
	t.Logf("%d timed out", gaveUp.Load())
}

func BenchmarkAcquire(b *testing.B) {
	p := NewWeightedLimiter(1000, 250)
	b.ReportAllocs()
	for b.Loop() {
		release, err := p.acquireFunc(b.Context(), "u:1", 20)
		if err != nil {
			b.Fatal(err)
		}
		release()
	}
}
