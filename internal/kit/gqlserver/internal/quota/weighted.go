// Package quota bounds what callers use at once: bytes, the weight of running
// operations, and connections. Each caller has a share of the total.
package quota

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// WeightedLimiter bound the weight of what runs at once: of all callers together, and of
// each. Who finds no place waits. They are safe for concurrent use.
//
// A caller waits for its own share first, and only with that in hand among the
// others for the total. So it never has more than its share in the queue that
// it has in common with others, however much it asks for.
type WeightedLimiter struct {
	share int
	all   *semaphore.Weighted // nil is no limit

	mu    sync.Mutex
	byKey map[string]*keyShare
	spare []*keyShare // of which nothing is held
}

// keyShare are one key's share. They are there as long as somebody holds or
// waits for a part of it.
type keyShare struct {
	*semaphore.Weighted
	users int
}

// NewWeightedLimiter returns free places. A total of no more than 0 is no limit. A share
// of no more than 0 is the total.
func NewWeightedLimiter(total, share int) *WeightedLimiter {
	if total <= 0 {
		return &WeightedLimiter{}
	}
	return &WeightedLimiter{
		share: clampShare(total, share),
		all:   semaphore.NewWeighted(int64(total)),
		byKey: map[string]*keyShare{},
	}
}

// maxSpare is how many shares that nobody uses are kept for who comes next.
const maxSpare = 256

// A Permit is held by what runs. The zero place is none.
type Permit struct {
	in     *WeightedLimiter
	own    *keyShare
	key    string
	weight int64
}

// Release frees the place; calls after the first do nothing. It is not safe for concurrent
// use.
func (at *Permit) Release() {
	if p := at.in; p != nil {
		at.in = nil
		p.all.Release(at.weight)
		at.own.Release(at.weight)
		p.drop(at.key, at.own)
	}
}

// Acquire waits until something of weight n may run. A weight counts as 1 at least, and
// as the whole share at most, so a heavier one runs alone. Waiters are served in order,
// those of a key and the keys among each other. The error is that of ctx; then nothing is
// held.
func (p *WeightedLimiter) Acquire(ctx context.Context, key string, n int) (Permit, error) {
	if p.all == nil {
		return Permit{}, nil
	}
	at := Permit{in: p, own: p.use(key), key: key, weight: p.weight(n)}
	if err := at.own.Acquire(ctx, at.weight); err != nil {
		p.drop(key, at.own)
		return Permit{}, err
	}
	if err := p.all.Acquire(ctx, at.weight); err != nil {
		at.own.Release(at.weight)
		p.drop(key, at.own)
		return Permit{}, err
	}
	return at, nil
}

// TryAcquire is wait for who finds a place at once, and before whom nobody waits; else ok is
// false.
func (p *WeightedLimiter) TryAcquire(key string, n int) (_ Permit, ok bool) {
	if p.all == nil {
		return Permit{}, true
	}
	at := Permit{in: p, own: p.use(key), key: key, weight: p.weight(n)}
	if !at.own.TryAcquire(at.weight) {
		p.drop(key, at.own)
		return Permit{}, false
	}
	if !p.all.TryAcquire(at.weight) {
		at.own.Release(at.weight)
		p.drop(key, at.own)
		return Permit{}, false
	}
	return at, true
}

// AcquireWithin is Acquire with a limit on the wait; a negative limit is none.
func (p *WeightedLimiter) AcquireWithin(ctx context.Context, limit time.Duration, key string, n int) (Permit, error) {
	if limit >= 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	return p.Acquire(ctx, key, n)
}

// Free reports whether weight n of the total is free now.
func (p *WeightedLimiter) Free(n int) bool {
	if p.all == nil {
		return true
	}
	if !p.all.TryAcquire(int64(n)) {
		return false
	}
	p.all.Release(int64(n))
	return true
}

// Keys returns how many keys hold or wait for a permit.
func (p *WeightedLimiter) Keys() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.byKey)
}

// Users returns how many permits a key holds or waits for.
func (p *WeightedLimiter) Users(key string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if own := p.byKey[key]; own != nil {
		return own.users
	}
	return 0
}

func (p *WeightedLimiter) weight(n int) int64 { return int64(min(max(n, 1), p.share)) }

func (p *WeightedLimiter) use(key string) *keyShare {
	p.mu.Lock()
	defer p.mu.Unlock()
	own := p.byKey[key]
	if own == nil {
		if last := len(p.spare) - 1; last >= 0 {
			own, p.spare = p.spare[last], p.spare[:last]
		} else {
			own = &keyShare{Weighted: semaphore.NewWeighted(int64(p.share))}
		}
		p.byKey[key] = own
	}
	own.users++
	return own
}

func (p *WeightedLimiter) drop(key string, own *keyShare) {
	p.mu.Lock()
	defer p.mu.Unlock()
	own.users--
	if own.users == 0 {
		delete(p.byKey, key)
		if len(p.spare) < maxSpare {
			p.spare = append(p.spare, own)
		}
	}
}

func clampShare(total, share int) int {
	if share <= 0 {
		return total
	}
	return min(share, total)
}
