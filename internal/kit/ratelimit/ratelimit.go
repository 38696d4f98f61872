// Package ratelimit limits how often something happens, for each of many keys,
// with token buckets in bounded memory.
package ratelimit

import (
	"math"
	"sync"
	"time"
)

// Keys of one generation of buckets. Newcomers get only the first half of it,
// so that a flood of them does not cost those their bucket who were there
// before.
const maxKeys = 50_000

// MaxUsers is the same for buckets of users who are signed in. Nobody makes those up, and
// at the beginning of a sale more of them may come in a second than networks ever do.
const MaxUsers = 500_000

// Limiter are token buckets, one per key: each holds burst tokens, gets rate
// new ones a second, and gives one to each request. They are safe for
// concurrent use.
//
// A bucket is kept as the one instant at which it will be full again, which
// says all (GCRA, the generic cell rate algorithm of ITU-T I.371, as a virtual
// scheduler). One that is full needs no memory. Therefore there are two
// generations of them: those used since the last rotation, and those used in
// the generation before it. The older is dropped when all in it must be full
// again, so nothing is forgotten that matters.
//
// A generation has at most 50 000 keys, or 500 000 of users. Those for whom there is no
// place share one bucket with each other.
type Limiter struct {
	interval time.Duration // between two tokens; 0 is no limit
	span     time.Duration // from an empty bucket to a full one
	debt     time.Duration // how much later than that spend may make it full
	places   int           // keys of a generation
	now      func() time.Time
	epoch    time.Time // the instants below count from here

	mu           sync.Mutex
	young, old   map[string]time.Duration // when the bucket is full again
	crowd        time.Duration            // the same, of the one for all others
	nextRotation time.Duration
}

// New returns full buckets. A rate of no more than 0 is no limit; a burst
// is at least 1.
func New(rate, burst int, now func() time.Time) *Limiter {
	if rate <= 0 {
		return &Limiter{}
	}
	interval := max(time.Second/time.Duration(rate), 1)
	tokens := min(max(int64(burst), 1), math.MaxInt64/4/int64(interval))
	return (&Limiter{interval: interval, span: time.Duration(tokens) * interval, places: maxKeys, now: now}).open()
}

// NewForUsers is [New] for users who are signed in.
func NewForUsers(rate, burst int, now func() time.Time) *Limiter {
	b := New(rate, burst, now)
	b.places = MaxUsers
	return b
}

// NewBudget returns full buckets of n tokens, which get n new ones in each
// period. They are for what is known only afterwards: see Left and Spend. No more
// than 0 is no limit.
func NewBudget(n int, period time.Duration, now func() time.Time) *Limiter {
	if n <= 0 {
		return &Limiter{}
	}
	interval := max(period/time.Duration(n), 1)
	span := time.Duration(n) * interval
	return (&Limiter{interval: interval, span: span, debt: span, places: maxKeys, now: now}).open()
}

// A PerUser limits how often something is done, for each user who is signed in by
// itself. It is safe for concurrent use, and its memory is bounded: beyond 250 000 users
// of a second, the others share one limit.
type PerUser struct{ limiter *Limiter }

// NewPerUser allows so many times a second, and up to burst at once. A rate of no more
// than 0 is no limit.
func NewPerUser(perSecond, burst int, now func() time.Time) *PerUser {
	return &PerUser{NewForUsers(perSecond, burst, now)}
}

// Allow counts one time for a user. If that is one too many, it is not counted, and
// wait is how long until it would be.
func (r *PerUser) Allow(user string) (wait time.Duration, ok bool) { return r.limiter.Take(user) }

// open begins the first generation.
func (b *Limiter) open() *Limiter {
	b.epoch, b.young = b.now(), map[string]time.Duration{}
	b.nextRotation = b.window()
	return b
}

// Take takes one token. If there is none, it returns false and how long until
// there is one.
func (b *Limiter) Take(key string) (wait time.Duration, ok bool) {
	if b.interval == 0 {
		return 0, true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	at := b.now().Sub(b.epoch)
	b.rotate(at)
	full, own := b.find(key)
	full = max(full, at) + b.interval
	if wait := full - b.span - at; wait > 0 {
		return wait, false
	}
	if own {
		b.young[key] = full
	} else {
		b.crowd = full
	}
	return 0, true
}

// Empty reports whether take would find no token now.
func (b *Limiter) Empty(key string) bool {
	_, ok := b.Left(key)
	return !ok
}

// Left reports whether take would find a token now, and if not, how long until
// there is one.
func (b *Limiter) Left(key string) (wait time.Duration, ok bool) {
	if b.interval == 0 {
		return 0, true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	at := b.now().Sub(b.epoch)
	b.rotate(at)
	full, _ := b.find(key)
	if wait := max(full, at) + b.interval - b.span - at; wait > 0 {
		return wait, false
	}
	return 0, true
}

// Spend takes n tokens, whether they are there or not. What is missing is owed,
// up to as many as a bucket holds; more is forgiven. Of somebody for whom there is
// no place nothing is taken, not even from the bucket for all others: who comes
// later and asks for nothing wrong must not pay for a flood.
func (b *Limiter) Spend(key string, n int) {
	if b.interval == 0 || n <= 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	at := b.now().Sub(b.epoch)
	b.rotate(at)
	if full, own := b.find(key); own {
		n = min(n, int((b.span+b.debt)/b.interval)) // a product that cannot overflow
		b.young[key] = min(max(full, at)+time.Duration(n)*b.interval, at+b.span+b.debt)
	}
}

// find returns when the key's bucket is full again, and whether it is its own.
func (b *Limiter) find(key string) (full time.Duration, own bool) {
	if full, ok := b.young[key]; ok {
		return full, true
	}
	places := b.places / 2
	full, known := b.old[key]
	if known {
		places = b.places
	}
	if len(b.young) >= places {
		return b.crowd, false
	}
	return full, true
}

// rotate starts a new generation when it is time. What it drops was last taken
// from before the rotation before this, at least a window ago, and must be full again.
func (b *Limiter) rotate(at time.Duration) {
	if at < b.nextRotation {
		return
	}
	b.old, b.young = b.young, map[string]time.Duration{}
	b.nextRotation = at + b.window()
}

// Capacity returns how many keys of one generation have a bucket of their own.
func (b *Limiter) Capacity() int { return b.places }

// window is how long a generation is young at least: as long as any bucket can
// take to be full again.
func (b *Limiter) window() time.Duration { return max(b.span+b.debt, time.Second) }
