// Package quota limits concurrent use: bytes, the weight of running operations,
// and connections. Each caller has a share of the total.
package quota

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// WeightedLimiter limits the weight of concurrent operations, in total and per
// key. Operations beyond a limit wait. It is safe for concurrent use.
//
// An operation waits for the share of its key first, and then for the total. So a
// key never has more than its share in the common queue, whatever its load.
type WeightedLimiter struct {
	share int
	all   *semaphore.Weighted // nil means no limit

	mu    sync.Mutex
	byKey map[string]*keyShare
	spare []*keyShare // unused shares, for reuse
}

// keyShare is the share of one key. It exists while permits of the key are held or
// waited for.
type keyShare struct {
	*semaphore.Weighted
	users int
}

// NewWeightedLimiter returns an unused limiter. A total of 0 or less means no
// limit. A share of 0 or less means the total.
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

// maxSpare limits the unused shares that are retained for reuse.
const maxSpare = 256

// Permit is the right of one operation to run. The zero Permit holds nothing.
type Permit struct {
	limiter *WeightedLimiter
	own     *keyShare
	key     string
	weight  int64
}

// Release ends the permit. Calls after the first do nothing. It is not safe for
// concurrent use.
func (permit *Permit) Release() {
	if p := permit.limiter; p != nil {
		permit.limiter = nil
		p.all.Release(permit.weight)
		permit.own.Release(permit.weight)
		p.releaseShare(permit.key, permit.own)
	}
}

// Acquire waits until an operation of weight n may run. Weights count as at least
// 1 and at most the share of a key, so a heavier operation runs alone for its key.
// Waiters of one key are served in order, and so are the keys. If ctx ends first,
// Acquire returns its error and holds nothing.
func (p *WeightedLimiter) Acquire(ctx context.Context, key string, n int) (Permit, error) {
	if p.all == nil {
		return Permit{}, nil
	}
	permit := Permit{limiter: p, own: p.acquireShare(key), key: key, weight: p.weight(n)}
	if err := permit.own.Acquire(ctx, permit.weight); err != nil {
		p.releaseShare(key, permit.own)
		return Permit{}, err
	}
	if err := p.all.Acquire(ctx, permit.weight); err != nil {
		permit.own.Release(permit.weight)
		p.releaseShare(key, permit.own)
		return Permit{}, err
	}
	return permit, nil
}

// TryAcquire is like [WeightedLimiter.Acquire] but never waits. It returns false if
// the limits are reached or other operations wait.
func (p *WeightedLimiter) TryAcquire(key string, n int) (_ Permit, ok bool) {
	if p.all == nil {
		return Permit{}, true
	}
	permit := Permit{limiter: p, own: p.acquireShare(key), key: key, weight: p.weight(n)}
	if !permit.own.TryAcquire(permit.weight) {
		p.releaseShare(key, permit.own)
		return Permit{}, false
	}
	if !p.all.TryAcquire(permit.weight) {
		permit.own.Release(permit.weight)
		p.releaseShare(key, permit.own)
		return Permit{}, false
	}
	return permit, true
}

// AcquireWithin is like [WeightedLimiter.Acquire] with a maximum wait. A negative
// limit means no maximum.
func (p *WeightedLimiter) AcquireWithin(ctx context.Context, limit time.Duration, key string, n int) (Permit, error) {
	if limit >= 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	return p.Acquire(ctx, key, n)
}

// Free reports whether weight n of the total is free now and no operation waits for it.
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

// Keys returns the number of keys that hold or wait for a permit.
func (p *WeightedLimiter) Keys() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.byKey)
}

// Users returns the number of permits that a key holds or waits for.
func (p *WeightedLimiter) Users(key string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if own := p.byKey[key]; own != nil {
		return own.users
	}
	return 0
}

func (p *WeightedLimiter) weight(n int) int64 { return int64(min(max(n, 1), p.share)) }

func (p *WeightedLimiter) acquireShare(key string) *keyShare {
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

func (p *WeightedLimiter) releaseShare(key string, own *keyShare) {
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
