// Package ratelimit limits the rate of events per key, with token buckets in
// bounded memory.
package ratelimit

import (
	"math"
	"sync"
	"time"
)

// maxKeys limits the keys of one generation of buckets. New keys get only the
// first half, so that a flood of them does not displace the known ones.
const maxKeys = 50_000

// MaxUsers is the limit of keys for signed-in users. Clients cannot invent users,
// and the start of a sale brings more users per second than networks.
const MaxUsers = 500_000

// Limiter holds one token bucket per key. A bucket holds up to burst tokens and
// gets rate new ones per second. Each request takes one. Limiter is safe for
// concurrent use.
//
// A bucket is stored as the instant at which it is full again. This is GCRA, the
// generic cell rate algorithm of ITU-T I.371, as a virtual scheduler. A full
// bucket needs no memory, so there are two generations: the buckets used since
// the last rotation, and those of the generation before. The older generation is
// dropped when all of its buckets are full.
//
// A generation has at most 50 000 keys, or 500 000 users, and new keys get only the
// first half. All further keys share one bucket.
type Limiter struct {
	interval time.Duration // between two tokens; 0 means no limit
	span     time.Duration // from an empty bucket to a full one
	maxDebt  time.Duration // how far Spend may overdraw an empty bucket
	capacity int           // keys per generation
	now      func() time.Time
	epoch    time.Time // zero of the instants below

	mu           sync.Mutex
	young, old   map[string]time.Duration // when the bucket is full again
	shared       time.Duration            // the same, for the bucket of all further keys
	nextRotation time.Duration
}

// New returns a Limiter of full buckets. A rate of 0 or less means no limit. The
// burst is at least 1.
func New(rate, burst int, now func() time.Time) *Limiter {
	if rate <= 0 {
		return &Limiter{}
	}
	interval := max(time.Second/time.Duration(rate), 1)
	tokens := min(max(int64(burst), 1), math.MaxInt64/4/int64(interval))
	return (&Limiter{interval: interval, span: time.Duration(tokens) * interval, capacity: maxKeys, now: now}).start()
}

// NewForUsers is like [New], with up to [MaxUsers] keys per generation.
func NewForUsers(rate, burst int, now func() time.Time) *Limiter {
	b := New(rate, burst, now)
	b.capacity = MaxUsers
	return b
}

// NewBudget returns a Limiter of full buckets that hold n tokens and get n new ones
// per period. It is for costs that are known only afterwards: see [Limiter.Left]
// and [Limiter.Spend]. If n is 0 or less, there is no limit.
func NewBudget(n int, period time.Duration, now func() time.Time) *Limiter {
	if n <= 0 {
		return &Limiter{}
	}
	interval := max(period/time.Duration(n), 1)
	span := time.Duration(n) * interval
	return (&Limiter{interval: interval, span: span, maxDebt: span, capacity: maxKeys, now: now}).start()
}

// PerUser limits the rate of an action for each signed-in user. Its memory is
// bounded: beyond 250 000 users per generation, new ones share one limit. It is
// safe for concurrent use.
type PerUser struct{ limiter *Limiter }

// NewPerUser returns a limit of perSecond actions per second and up to burst at
// once. If perSecond is 0 or less, there is no limit.
func NewPerUser(perSecond, burst int, now func() time.Time) *PerUser {
	return &PerUser{NewForUsers(perSecond, burst, now)}
}

// Allow counts one action of a user. If the limit is reached, it counts nothing
// and returns false and the time until the next allowed action.
func (r *PerUser) Allow(user string) (wait time.Duration, ok bool) { return r.limiter.Take(user) }

func (b *Limiter) start() *Limiter {
	b.epoch, b.young = b.now(), map[string]time.Duration{}
	b.nextRotation = b.window()
	return b
}

// Take takes one token. If there is none, it returns false and the time until the
// next one.
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
		b.shared = full
	}
	return 0, true
}

// Empty reports whether the bucket of a key has no token now.
func (b *Limiter) Empty(key string) bool {
	_, ok := b.Left(key)
	return !ok
}

// Left reports whether the bucket of a key has a token now. If not, wait is the
// time until the next one.
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

// Spend takes n tokens, even if the bucket has fewer. A bucket of [NewBudget] then
// owes up to its size; the rest is forgiven. A key without its own bucket pays
// nothing, not even from the shared bucket: other keys must not pay for a flood.
func (b *Limiter) Spend(key string, n int) {
	if b.interval == 0 || n <= 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	at := b.now().Sub(b.epoch)
	b.rotate(at)
	if full, own := b.find(key); own {
		n = min(n, int((b.span+b.maxDebt)/b.interval)) // avoids an overflow of the product
		b.young[key] = min(max(full, at)+time.Duration(n)*b.interval, at+b.span+b.maxDebt)
	}
}

// find returns when the key's bucket is full again, and whether it is the key's
// own bucket. The caller must hold b.mu.
func (b *Limiter) find(key string) (full time.Duration, own bool) {
	if full, ok := b.young[key]; ok {
		return full, true
	}
	capacity := b.capacity / 2
	full, known := b.old[key]
	if known {
		capacity = b.capacity
	}
	if len(b.young) >= capacity {
		return b.shared, false
	}
	return full, true
}

// rotate starts a new generation when it is due. The dropped buckets were last
// used at least a window ago, so they are full. The caller must hold b.mu.
func (b *Limiter) rotate(at time.Duration) {
	if at < b.nextRotation {
		return
	}
	b.old, b.young = b.young, map[string]time.Duration{}
	b.nextRotation = at + b.window()
}

// Capacity returns the maximum number of buckets per generation.
func (b *Limiter) Capacity() int { return b.capacity }

// window returns the minimum age of a generation at its rotation. Every bucket
// fills up in that time.
func (b *Limiter) window() time.Duration { return max(b.span+b.maxDebt, time.Second) }
