package ratelimit

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// manualClock is a clock that only advance moves.
type manualClock struct{ at atomic.Int64 }

func (c *manualClock) now() time.Time          { return time.Unix(1_700_000_000, c.at.Load()) }
func (c *manualClock) advance(d time.Duration) { c.at.Add(int64(d)) }

func TestTakeAllowsBurstThenRate(t *testing.T) {
	type step struct {
		After    time.Duration
		Requests int
		Got      int
		Wait     time.Duration // of the first rejected request
	}
	tests := []struct {
		name        string
		rate, burst int
		want        []step
	}{
		{"burst", 10, 3, []step{{0, 5, 3, 100 * time.Millisecond}}},
		{"token after an interval", 10, 3, []step{{0, 3, 3, 0}, {100 * time.Millisecond, 2, 1, 100 * time.Millisecond}}},
		{"no token a nanosecond earlier", 10, 3, []step{{0, 3, 3, 0}, {100*time.Millisecond - 1, 1, 0, 1}}},
		{"partial interval counts", 10, 3, []step{{0, 3, 3, 0}, {150 * time.Millisecond, 2, 1, 50 * time.Millisecond}}},
		{"bucket overflows", 10, 3, []step{{0, 3, 3, 0}, {time.Hour, 5, 3, 100 * time.Millisecond}}},
		{"long run", 1000, 2000, []step{{0, 2001, 2000, time.Millisecond}, {time.Second, 1001, 1000, time.Millisecond}}},
		{"burst of zero is one", 1, 0, []step{{0, 2, 1, time.Second}}},
		{"zero rate is no limit", 0, 5, []step{{0, 1000, 1000, 0}}},
		{"negative rate is no limit", -1, -1, []step{{0, 1000, 1000, 0}}},
		{"several tokens per nanosecond", 1 << 40, 2, []step{{0, 3, 2, 1}, {1, 2, 1, 1}}},
		{"unlimited burst", 1, 1 << 62, []step{{0, 1000, 1000, 0}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var clock manualClock
			b := New(tt.rate, tt.burst, clock.now)
			var got []step
			for _, s := range tt.want {
				clock.advance(s.After)
				s.Got, s.Wait = 0, 0
				for range s.Requests {
					empty := b.Empty("ann")
					wait, ok := b.Take("ann")
					if ok == empty {
						t.Errorf("got Empty %v and Take %v, want opposites", empty, ok)
					}
					if ok {
						s.Got++
					} else if s.Wait == 0 {
						s.Wait = wait
					}
				}
				got = append(got, s)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func TestTokenIsAvailableAfterReturnedWait(t *testing.T) {
	for _, rate := range []int{1, 3, 7, 200, 999, 1000} {
		var clock manualClock
		b := New(rate, 5, clock.now)
		for range 5 {
			b.Take("ann")
		}
		wait, ok := b.Take("ann")
		if ok {
			t.Fatalf("rate %d: a burst of 5 allowed 6 requests", rate)
		}
		clock.advance(wait - 1)
		if _, ok := b.Take("ann"); ok {
			t.Errorf("rate %d: got a token before the wait of %v ended", rate, wait)
		}
		clock.advance(1)
		if _, ok := b.Take("ann"); !ok {
			t.Errorf("rate %d: got no token after the wait of %v", rate, wait)
		}
	}
}

func TestKeysHaveSeparateBuckets(t *testing.T) {
	var clock manualClock
	b := New(1, 1, clock.now)
	for _, key := range []string{"ann", "bob", ""} {
		if _, ok := b.Take(key); !ok {
			t.Errorf("%q: got no token, want one", key)
		}
		if _, ok := b.Take(key); ok {
			t.Errorf("%q: got two tokens, want one", key)
		}
	}
}

// textbookBucket is a plain token bucket as a reference. It counts tokens in
// nanoseconds of the rate.
type textbookBucket struct{ tokens, last time.Duration }

func (l *textbookBucket) take(at, interval, span time.Duration) bool {
	l.tokens, l.last = min(span, l.tokens+at-l.last), at
	if l.tokens < interval {
		return false
	}
	l.tokens -= interval
	return true
}

func TestRotationLosesNoBucketState(t *testing.T) {
	tests := []struct {
		name        string
		rate, burst int
		pause       time.Duration // maximum between two requests
	}{
		{"window of burst and rate", 1, 20, 500 * time.Millisecond},
		{"window of a second", 100, 10, 5 * time.Millisecond},
		{"small burst", 1, 3, 500 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 0))
			var clock manualClock
			b := New(tt.rate, tt.burst, clock.now)
			span := time.Duration(tt.burst) * b.interval
			levels := map[string]*textbookBucket{}
			rotations, refused, generation := 0, 0, b.nextRotation
			for i := range 50_000 {
				clock.advance(time.Duration(random.Int64N(int64(tt.pause))))
				// Some keys are frequent and run out of tokens, others appear once in several generations.
				key := strconv.Itoa(int(random.ExpFloat64() * 2))
				at := time.Duration(clock.at.Load())
				l := levels[key]
				if l == nil {
					l = &textbookBucket{tokens: span, last: at}
					levels[key] = l
				}
				want := l.take(at, b.interval, span)
				if _, ok := b.Take(key); ok != want {
					t.Fatalf("request %d of %s after %v: got %v, want %v", i, key, at, ok, want)
				}
				if !want {
					refused++
				}
				if b.nextRotation != generation {
					generation = b.nextRotation
					rotations++
				}
			}
			if rotations < 100 || refused < 100 {
				t.Errorf("got %d rotations and %d rejections, want at least 100 of each", rotations, refused)
			}
		})
	}
}

func TestMemoryIsBoundedByTwoGenerations(t *testing.T) {
	var clock manualClock
	b := New(1000, 2000, clock.now) // a window of 2 s
	maxSeen := 0
	for i := range 200_000 {
		b.Take(strconv.Itoa(i))
		b.Take(strconv.Itoa(i / 2)) // a known key
		clock.advance(20 * time.Microsecond)
		if len(b.young) > maxKeys {
			t.Fatalf("step %d: got %d keys in a generation, want at most %d", i, len(b.young), maxKeys)
		}
		maxSeen = max(maxSeen, len(b.young)+len(b.old))
	}
	if maxSeen > 2*maxKeys || maxSeen < maxKeys {
		t.Errorf("got %d keys at once, want %d to %d", maxSeen, maxKeys, 2*maxKeys)
	}
	for range 2 {
		clock.advance(2 * time.Second)
		b.Take("ann")
	}
	if got := len(b.young) + len(b.old); got > 2 {
		t.Errorf("got %d keys after two generations with one key, want at most 2", got)
	}
}

func TestRushOfUsersHasOwnBuckets(t *testing.T) {
	var clock manualClock
	rate := NewPerUser(5, 5, clock.now)
	for i := range MaxUsers / 2 { // at the same instant
		if _, ok := rate.Allow(strconv.Itoa(i)); !ok {
			t.Fatalf("user %d: the first action was rejected", i)
		}
	}
	for range 5 {
		rate.Allow("late")
		rate.Allow("later")
	}
	if _, ok := rate.Allow("later"); ok {
		t.Error("excess users have no limit")
	}
	if _, ok := NewPerUser(0, 0, clock.now).Allow("ann"); !ok {
		t.Error("a rate of 0 limits the user")
	}
}

func TestExcessKeysShareOneBucket(t *testing.T) {
	var clock manualClock
	b := New(1, 3, clock.now)
	b.Take("ann")
	clock.advance(4 * time.Second)
	b.Take("bob") // a new generation
	for i := range maxKeys {
		b.Take(fmt.Sprint("flood ", i))
	}
	got := map[string]bool{}
	for _, key := range []string{"carl", "dora"} { // the flood has emptied the shared bucket
		_, got[key] = b.Take(key)
		got[key+" empty"] = b.Empty(key)
	}
	for _, key := range []string{"ann", "bob"} { // of the last and the current generation
		_, got[key] = b.Take(key)
		_, got[key+" again"] = b.Take(key)
	}
	clock.advance(time.Second)
	_, got["carl a second later"] = b.Take("carl")
	_, got["dora a second later"] = b.Take("dora")
	clock.advance(3 * time.Second)
	_, got["carl in the next generation"] = b.Take("carl")
	_, got["dora in the next generation"] = b.Take("dora")
	want := map[string]bool{
		"carl": false, "carl empty": true, "carl a second later": true, "carl in the next generation": true,
		"dora": false, "dora empty": true, "dora a second later": false, "dora in the next generation": true,
		"ann": true, "ann again": true, "bob": true, "bob again": true,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestConcurrentTakesGetExactlyTheBurst(t *testing.T) {
	var clock manualClock
	b := New(10, 500, clock.now)
	var got [4]atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 4 * 400 {
				if _, ok := b.Take(strconv.Itoa(i % 4)); ok {
					got[i%4].Add(1)
				}
				b.Empty("0")
			}
		})
	}
	all.Wait()
	for i := range got {
		if n := got[i].Load(); n != 500 {
			t.Errorf("key %d: got %d tokens, want 500", i, n)
		}
	}
}

func BenchmarkTake(b *testing.B) {
	keys := make([]string, maxKeys/2)
	for i := range keys {
		keys[i] = fmt.Sprintf("a:2001:db8:%x:%x::/64", i/256, i%256)
	}
	for _, n := range []int{1, 1000, len(keys)} {
		b.Run(fmt.Sprintf("keys=%d", n), func(b *testing.B) {
			buckets := New(1000, 2000, time.Now)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				buckets.Take(keys[i%n])
			}
		})
		b.Run(fmt.Sprintf("parallel/keys=%d", n), func(b *testing.B) {
			buckets := New(1000, 2000, time.Now)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for i := rand.IntN(n); pb.Next(); i++ {
					buckets.Take(keys[i%n])
				}
			})
		})
	}
}

func TestBudgetRefillsAfterSpend(t *testing.T) {
	type step struct {
		After time.Duration
		Spend int
		Wait  time.Duration // of Left afterwards; 0 if there is a token
	}
	const tick = time.Second // between two of 60 tokens per minute
	tests := []struct {
		name string
		n    int
		want []step
	}{
		{"whole budget", 60, []step{{0, 0, 0}, {0, 59, 0}, {0, 1, tick}}},
		{"one token returns", 60, []step{{0, 60, tick}, {tick - 1, 0, 1}, {1, 0, 0}, {0, 1, tick}}},
		{"all tokens return in a minute", 60, []step{{0, 60, tick}, {time.Minute, 59, 0}, {0, 1, tick}}},
		{"bucket does not overflow", 60, []step{{0, 60, tick}, {time.Hour, 60, tick}}},
		{"debt delays the next token", 60, []step{{0, 70, 11 * tick}, {10 * tick, 0, tick}, {tick, 0, 0}}},
		{"debt grows", 60, []step{{0, 70, 11 * tick}, {0, 5, 16 * tick}}},
		{"debt beyond a minute is forgiven", 60, []step{{0, 1 << 60, 61 * tick}, {0, 100, 61 * tick}, {61 * tick, 0, 0}}},
		{"zero and negative costs", 60, []step{{0, 0, 0}, {0, -5, 0}, {0, 60, tick}}},
		{"fifty per minute", 50, []step{{0, 49, 0}, {0, 1, 1200 * time.Millisecond}}},
		{"one per minute", 1, []step{{0, 1, time.Minute}, {time.Minute, 100, 2 * time.Minute}}},
		{"no limit", 0, []step{{0, 1 << 60, 0}}},
		{"negative limit is no limit", -1, []step{{0, 1 << 60, 0}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var clock manualClock
			b := NewBudget(tt.n, time.Minute, clock.now)
			var got []step
			for _, s := range tt.want {
				clock.advance(s.After)
				b.Spend("ann", s.Spend)
				wait, ok := b.Left("ann")
				if ok != (wait == 0) {
					t.Errorf("got Left %v with a wait of %v", ok, wait)
				}
				if other, ok := b.Left("bob"); !ok {
					t.Errorf("bob: got a wait of %v, want none", other)
				}
				s.Wait = wait
				got = append(got, s)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

// textbookBudget is a plain token bucket as a reference. Its tokens, in nanoseconds,
// may be negative.
type textbookBudget struct{ tokens, last time.Duration }

func (l *textbookBudget) spend(at, cost, span time.Duration) {
	l.tokens, l.last = min(span, l.tokens+at-l.last), at
	l.tokens = max(l.tokens-cost, -span)
}

func TestRotationLosesNoDebt(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var clock manualClock
	b := NewBudget(6, time.Second, clock.now)
	budgets := map[string]*textbookBudget{}
	rotations, owing, generation := 0, 0, b.nextRotation
	for i := range 50_000 {
		clock.advance(time.Duration(random.Int64N(int64(100 * time.Millisecond))))
		key := strconv.Itoa(int(random.ExpFloat64() * 4))
		at := time.Duration(clock.at.Load())
		l := budgets[key]
		if l == nil {
			l = &textbookBudget{tokens: b.span, last: at}
			budgets[key] = l
		}
		n := random.IntN(4) * random.IntN(4)
		b.Spend(key, n)
		l.spend(at, time.Duration(n)*b.interval, b.span)
		wait, _ := b.Left(key)
		if want := max(0, b.interval-l.tokens); wait != want {
			t.Fatalf("step %d of %s after %v: got a wait of %v, want %v", i, key, at, wait, want)
		}
		if l.tokens < 0 {
			owing++
		}
		if b.nextRotation != generation {
			generation = b.nextRotation
			rotations++
		}
	}
	if rotations < 100 || owing < 100 {
		t.Errorf("got %d rotations and %d debts, want at least 100 of each", rotations, owing)
	}
}

func TestFloodDoesNotSpendOtherBudgets(t *testing.T) {
	var clock manualClock
	b := NewBudget(3, time.Minute, clock.now)
	b.Spend("ann", 3)
	for i := range 2 * maxKeys {
		b.Spend(fmt.Sprint("flood ", i), 3)
	}
	for key, want := range map[string]bool{"ann": false, "flood 0": false, "flood 99999": true, "new caller": true} {
		if _, ok := b.Left(key); ok != want {
			t.Errorf("%s: got Left %v, want %v", key, ok, want)
		}
	}
	if n := len(b.young) + len(b.old); n > maxKeys {
		t.Errorf("got %d keys, want at most %d", n, maxKeys)
	}
}
