package door

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// A byteBudget is an amount of something that all callers have together, and of
// which each may have a share: bytes, for example. Nobody waits for it. It is
// safe for concurrent use.
type byteBudget struct {
	total, share int

	mu   sync.Mutex
	used int
	by   map[string]int // keys that have something
}

// newBudget returns a budget of which nothing is taken. A total of no more than
// 0 is no limit. A share of no more than 0 is the total.
func newBudget(total, share int) *byteBudget {
	return &byteBudget{total: total, share: clampShare(total, share), by: map[string]int{}}
}

// take takes n, or nothing and returns false if that is more than is left of
// the total or of the key's share. What was taken must be given back.
func (b *byteBudget) take(key string, n int) bool {
	if b.total <= 0 || n <= 0 {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.total-b.used || n > b.share-b.by[key] {
		return false
	}
	b.used += n
	b.by[key] += n
	return true
}

// give gives back n of what was taken, at once or in pieces. It panics if the
// key does not have as much. A negative n takes as much, also beyond the total
// and the share: what others find is less then.
func (b *byteBudget) give(key string, n int) {
	if b.total <= 0 || n == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	left := b.by[key] - n
	if left < 0 {
		panic("door: more given back than was taken")
	}
	b.used -= n
	if left == 0 {
		delete(b.by, key)
	} else {
		b.by[key] = left
	}
}

// weightedLimiter bound the weight of what runs at once: of all callers together, and of
// each. Who finds no place waits. They are safe for concurrent use.
//
// A caller waits for its own share first, and only with that in hand among the
// others for the total. So it never has more than its share in the queue that
// it has in common with others, however much it asks for.
type weightedLimiter struct {
	share int
	all   *semaphore.Weighted // nil is no limit

	mu    sync.Mutex
	byKey map[string]*ownPlaces
	spare []*ownPlaces // of which nothing is held
}

// ownPlaces are one key's share. They are there as long as somebody holds or
// waits for a part of it.
type ownPlaces struct {
	*semaphore.Weighted
	users int
}

// newWeightedLimiter returns free places. A total of no more than 0 is no limit. A share
// of no more than 0 is the total.
func newWeightedLimiter(total, share int) *weightedLimiter {
	if total <= 0 {
		return &weightedLimiter{}
	}
	return &weightedLimiter{
		share: clampShare(total, share),
		all:   semaphore.NewWeighted(int64(total)),
		byKey: map[string]*ownPlaces{},
	}
}

// maxSpare is how many shares that nobody uses are kept for who comes next.
const maxSpare = 256

// A place is held by what runs. The zero place is none.
type place struct {
	in     *weightedLimiter
	own    *ownPlaces
	key    string
	weight int64
}

// leave frees the place; calls after the first do nothing. It is not safe for concurrent
// use.
func (at *place) leave() {
	if p := at.in; p != nil {
		at.in = nil
		p.all.Release(at.weight)
		at.own.Release(at.weight)
		p.drop(at.key, at.own)
	}
}

// enter waits until something of weight n may run. A weight counts as 1 at
// least, and as the whole share at most: what is too heavy runs alone. Who
// came first goes first, among those of a key and among keys.
//
// leave frees the place; calls after the first do nothing. The error is that of
// ctx, and then nothing is held and leave is nil.
func (p *weightedLimiter) enter(ctx context.Context, key string, n int) (leave func(), err error) {
	at, err := p.wait(ctx, key, n)
	if err != nil {
		return nil, err
	}
	return sync.OnceFunc(at.leave), nil
}

// wait is enter for one goroutine, which leaves by itself.
func (p *weightedLimiter) wait(ctx context.Context, key string, n int) (place, error) {
	if p.all == nil {
		return place{}, nil
	}
	at := place{in: p, own: p.use(key), key: key, weight: p.weight(n)}
	if err := at.own.Acquire(ctx, at.weight); err != nil {
		p.drop(key, at.own)
		return place{}, err
	}
	if err := p.all.Acquire(ctx, at.weight); err != nil {
		at.own.Release(at.weight)
		p.drop(key, at.own)
		return place{}, err
	}
	return at, nil
}

// try is wait for who finds a place at once, and before whom nobody waits; else ok is
// false.
func (p *weightedLimiter) try(key string, n int) (_ place, ok bool) {
	if p.all == nil {
		return place{}, true
	}
	at := place{in: p, own: p.use(key), key: key, weight: p.weight(n)}
	if !at.own.TryAcquire(at.weight) {
		p.drop(key, at.own)
		return place{}, false
	}
	if !p.all.TryAcquire(at.weight) {
		at.own.Release(at.weight)
		p.drop(key, at.own)
		return place{}, false
	}
	return at, true
}

func (p *weightedLimiter) weight(n int) int64 { return int64(min(max(n, 1), p.share)) }

func (p *weightedLimiter) use(key string) *ownPlaces {
	p.mu.Lock()
	defer p.mu.Unlock()
	own := p.byKey[key]
	if own == nil {
		if last := len(p.spare) - 1; last >= 0 {
			own, p.spare = p.spare[last], p.spare[:last]
		} else {
			own = &ownPlaces{Weighted: semaphore.NewWeighted(int64(p.share))}
		}
		p.byKey[key] = own
	}
	own.users++
	return own
}

func (p *weightedLimiter) drop(key string, own *ownPlaces) {
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
