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

// handClock is a clock that stands still until it is moved.
type handClock struct{ at atomic.Int64 }

func (c *handClock) now() time.Time       { return time.Unix(1_700_000_000, c.at.Load()) }
func (c *handClock) move(d time.Duration) { c.at.Add(int64(d)) }

func TestBucketGivesABurstAndThenTheRate(t *testing.T) {
	type step struct {
		After time.Duration
		Asked int
		Got   int
		Wait  time.Duration // of the first that was refused
	}
	tests := []struct {
		name        string
		rate, burst int
		want        []step
	}{
		{"a burst at once", 10, 3, []step{{0, 5, 3, 100 * time.Millisecond}}},
		{"a token after an interval", 10, 3, []step{{0, 3, 3, 0}, {100 * time.Millisecond, 2, 1, 100 * time.Millisecond}}},
		{"none a nanosecond earlier", 10, 3, []step{{0, 3, 3, 0}, {100*time.Millisecond - 1, 1, 0, 1}}},
		{"what a part of an interval gave is kept", 10, 3, []step{{0, 3, 3, 0}, {150 * time.Millisecond, 2, 1, 50 * time.Millisecond}}},
		{"a bucket overflows", 10, 3, []step{{0, 3, 3, 0}, {time.Hour, 5, 3, 100 * time.Millisecond}}},
		{"a long run", 1000, 2000, []step{{0, 2001, 2000, time.Millisecond}, {time.Second, 1001, 1000, time.Millisecond}}},
		{"a burst of none is one", 1, 0, []step{{0, 2, 1, time.Second}}},
		{"no rate is no limit", 0, 5, []step{{0, 1000, 1000, 0}}},
		{"a rate below zero is no limit", -1, -1, []step{{0, 1000, 1000, 0}}},
		{"more than a nanosecond can count", 1 << 40, 2, []step{{0, 3, 2, 1}, {1, 2, 1, 1}}},
		{"a burst without end", 1, 1 << 62, []step{{0, 1000, 1000, 0}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var clock handClock
			b := New(tt.rate, tt.burst, clock.now)
			var got []step
			for _, s := range tt.want {
				clock.move(s.After)
				s.Got, s.Wait = 0, 0
				for range s.Asked {
					refusing := b.Empty("ann")
					wait, ok := b.Take("ann")
					if ok == refusing {
						t.Errorf("empty said %v, and take %v", refusing, ok)
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

func TestBucketHasATokenAfterTheWaitThatWasTold(t *testing.T) {
	for _, rate := range []int{1, 3, 7, 200, 999, 1000} {
		var clock handClock
		b := New(rate, 5, clock.now)
		for range 5 {
			b.Take("ann")
		}
		wait, ok := b.Take("ann")
		if ok {
			t.Fatalf("rate %d: a sixth request of a burst of 5", rate)
		}
		clock.move(wait - 1)
		if _, ok := b.Take("ann"); ok {
			t.Errorf("rate %d: a token before the wait of %v was over", rate, wait)
		}
		clock.move(1)
		if _, ok := b.Take("ann"); !ok {
			t.Errorf("rate %d: none after a wait of %v", rate, wait)
		}
	}
}

func TestBucketOfOneKeyIsNotThatOfAnother(t *testing.T) {
	var clock handClock
	b := New(1, 1, clock.now)
	for _, key := range []string{"ann", "bob", ""} {
		if _, ok := b.Take(key); !ok {
			t.Errorf("%q got nothing", key)
		}
		if _, ok := b.Take(key); ok {
			t.Errorf("%q got two", key)
		}
	}
}

// textbookBucket is the token bucket of the textbooks, which forgets nothing: what is in
// it, in nanoseconds of its rate.
type textbookBucket struct{ inside, last time.Duration }

func (l *textbookBucket) take(at, interval, span time.Duration) bool {
	l.inside, l.last = min(span, l.inside+at-l.last), at
	if l.inside < interval {
		return false
	}
	l.inside -= interval
	return true
}

func TestBucketsForgetNothingWhenGenerationsRotate(t *testing.T) {
	tests := []struct {
		name        string
		rate, burst int
		pause       time.Duration // longest between two requests
	}{
		{"a window of burst and rate", 1, 20, 500 * time.Millisecond},
		{"a window of a second", 100, 10, 5 * time.Millisecond},
		{"a small burst", 1, 3, 500 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 0))
			var clock handClock
			b := New(tt.rate, tt.burst, clock.now)
			span := time.Duration(tt.burst) * b.interval
			levels := map[string]*textbookBucket{}
			rotations, refused, generation := 0, 0, b.nextRotation
			for i := range 50_000 {
				clock.move(time.Duration(random.Int64N(int64(tt.pause))))
				// Some keys come often and run dry, some come once in several generations.
				key := strconv.Itoa(int(random.ExpFloat64() * 2))
				at := time.Duration(clock.at.Load())
				l := levels[key]
				if l == nil {
					l = &textbookBucket{inside: span, last: at}
					levels[key] = l
				}
				want := l.take(at, b.interval, span)
				if _, ok := b.Take(key); ok != want {
					t.Fatalf("request %d, of %s after %v: got %v, want %v", i, key, at, ok, want)
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
				t.Errorf("only %d rotations and %d refusals: the test shows nothing", rotations, refused)
			}
		})
	}
}

func TestBucketsKeepAtMostTwoGenerationsOfKeys(t *testing.T) {
	var clock handClock
	b := New(1000, 2000, clock.now) // a window of 2 s
	most := 0
	for i := range 200_000 {
		b.Take(strconv.Itoa(i))
		b.Take(strconv.Itoa(i / 2)) // somebody who was there before
		clock.move(20 * time.Microsecond)
		if len(b.young) > maxKeys {
			t.Fatalf("%d keys in a generation after %d", len(b.young), i)
		}
		most = max(most, len(b.young)+len(b.old))
	}
	if most > 2*maxKeys || most < maxKeys {
		t.Errorf("%d keys at once, want between %d and %d", most, maxKeys, 2*maxKeys)
	}
	for range 2 {
		clock.move(2 * time.Second)
		b.Take("ann")
	}
	if got := len(b.young) + len(b.old); got > 2 {
		t.Errorf("%d keys are still there when only one came in two generations", got)
	}
}

func TestARushOfUsersFindsPlaces(t *testing.T) {
	var clock handClock
	rate := NewPerUser(5, 5, clock.now)
	for i := range MaxUsers / 2 { // in no time
		if _, ok := rate.Allow(strconv.Itoa(i)); !ok {
			t.Fatalf("the first try of user %d was refused", i)
		}
	}
	for range 5 {
		rate.Allow("late")
		rate.Allow("later")
	}
	if _, ok := rate.Allow("later"); ok {
		t.Error("those for whom there is no place have no limit")
	}
	if _, ok := NewPerUser(0, 0, clock.now).Allow("ann"); !ok {
		t.Error("no limit is one")
	}
}

func TestBucketsAreSharedByThoseWhoFindNoPlace(t *testing.T) {
	var clock handClock
	b := New(1, 3, clock.now)
	b.Take("ann")
	clock.move(4 * time.Second)
	b.Take("bob") // a new generation
	for i := range maxKeys {
		b.Take(fmt.Sprint("flood ", i))
	}
	got := map[string]bool{}
	for _, key := range []string{"carl", "dora"} { // the flood has drunk all that is for strangers
		_, got[key] = b.Take(key)
		got[key+" empty"] = b.Empty(key)
	}
	for _, key := range []string{"ann", "bob"} { // of the last generation, and of this one
		_, got[key] = b.Take(key)
		_, got[key+" again"] = b.Take(key)
	}
	clock.move(time.Second)
	_, got["carl a second later"] = b.Take("carl")
	_, got["dora a second later"] = b.Take("dora")
	clock.move(3 * time.Second)
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

func TestBucketsOfManyAtOnceGiveExactlyTheBurst(t *testing.T) {
	var clock handClock
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
			t.Errorf("key %d got %d, want 500", i, n)
		}
	}
}

func BenchmarkBuckets(b *testing.B) {
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

func TestABudgetIsSpentAfterwardsAndComesBackWithTime(t *testing.T) {
	type step struct {
		After time.Duration
		Spend int
		Wait  time.Duration // what left says then; 0 is that there is some
	}
	const tick = time.Second // between two tokens of 60 a minute
	tests := []struct {
		name string
		n    int
		want []step
	}{
		{"all of it", 60, []step{{0, 0, 0}, {0, 59, 0}, {0, 1, tick}}},
		{"one comes back", 60, []step{{0, 60, tick}, {tick - 1, 0, 1}, {1, 0, 0}, {0, 1, tick}}},
		{"all come back in a minute", 60, []step{{0, 60, tick}, {time.Minute, 59, 0}, {0, 1, tick}}},
		{"no more than all come back", 60, []step{{0, 60, tick}, {time.Hour, 60, tick}}},
		{"what is owed must be waited for", 60, []step{{0, 70, 11 * tick}, {10 * tick, 0, tick}, {tick, 0, 0}}},
		{"a debt grows", 60, []step{{0, 70, 11 * tick}, {0, 5, 16 * tick}}},
		{"more than another minute is forgiven", 60, []step{{0, 1 << 60, 61 * tick}, {0, 100, 61 * tick}, {61 * tick, 0, 0}}},
		{"nothing spent costs nothing", 60, []step{{0, 0, 0}, {0, -5, 0}, {0, 60, tick}}},
		{"fifty a minute", 50, []step{{0, 49, 0}, {0, 1, 1200 * time.Millisecond}}},
		{"one a minute", 1, []step{{0, 1, time.Minute}, {time.Minute, 100, 2 * time.Minute}}},
		{"no limit", 0, []step{{0, 1 << 60, 0}}},
		{"a limit below none is none", -1, []step{{0, 1 << 60, 0}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var clock handClock
			b := NewBudget(tt.n, time.Minute, clock.now)
			var got []step
			for _, s := range tt.want {
				clock.move(s.After)
				b.Spend("ann", s.Spend)
				wait, ok := b.Left("ann")
				if ok != (wait == 0) {
					t.Errorf("left said %v, and to wait %v", ok, wait)
				}
				if other, ok := b.Left("bob"); !ok {
					t.Errorf("somebody else has to wait %v", other)
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

// textbookBudget is the bucket that forgets nothing: what is in it, in
// nanoseconds, which may be less than nothing.
type textbookBudget struct{ inside, last time.Duration }

func (l *textbookBudget) spend(at, cost, span time.Duration) {
	l.inside, l.last = min(span, l.inside+at-l.last), at
	l.inside = max(l.inside-cost, -span)
}

func TestBudgetsForgetNoDebtWhenGenerationsRotate(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var clock handClock
	b := NewBudget(6, time.Second, clock.now)
	budgets := map[string]*textbookBudget{}
	rotations, owing, generation := 0, 0, b.nextRotation
	for i := range 50_000 {
		clock.move(time.Duration(random.Int64N(int64(100 * time.Millisecond))))
		key := strconv.Itoa(int(random.ExpFloat64() * 4))
		at := time.Duration(clock.at.Load())
		l := budgets[key]
		if l == nil {
			l = &textbookBudget{inside: b.span, last: at}
			budgets[key] = l
		}
		n := random.IntN(4) * random.IntN(4)
		b.Spend(key, n)
		l.spend(at, time.Duration(n)*b.interval, b.span)
		wait, _ := b.Left(key)
		if want := max(0, b.interval-l.inside); wait != want {
			t.Fatalf("step %d, of %s after %v: to wait %v, want %v", i, key, at, wait, want)
		}
		if l.inside < 0 {
			owing++
		}
		if b.nextRotation != generation {
			generation = b.nextRotation
			rotations++
		}
	}
	if rotations < 100 || owing < 100 {
		t.Errorf("only %d rotations and %d debts: the test shows nothing", rotations, owing)
	}
}

// Those who find nothing wrong must not pay for a flood of others.
func TestAFloodOfCallersTakesNobodysBudget(t *testing.T) {
	var clock handClock
	b := NewBudget(3, time.Minute, clock.now)
	b.Spend("ann", 3)
	for i := range 2 * maxKeys {
		b.Spend(fmt.Sprint("flood ", i), 3)
	}
	for key, want := range map[string]bool{"ann": false, "flood 0": false, "flood 99999": true, "a stranger": true} {
		if _, ok := b.Left(key); ok != want {
			t.Errorf("%s: something left %v, want %v", key, ok, want)
		}
	}
	if n := len(b.young) + len(b.old); n > maxKeys {
		t.Errorf("%d callers are kept", n)
	}
}
