package cache

import (
	"hash/maphash"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/maypok86/otter/v2"
)

// local is the memory of one cache in this process (L1): decoded values, bounded by bytes. An
// otter cache admits them by frequency, so a flood of keys that are read once does not evict
// the others.
//
// An entry holds its own expiry: the expiry of otter costs more per hit than all of this code.
type local[K comparable, V any] struct {
	entries bounded[K]
	clock   *syncClock
	policy  Policy
	early   int64 // how much shorter the policy trusts a sync than the client
	seed    maphash.Seed
	stripes [256]versionStripe
	pins    pinnedKeys[K]

	maxBytes uint64       // bytes
	evicted  atomic.Int64 // entries
}

// entry is a value as of some moment. It is immutable.
type entry[V any] struct {
	v             V
	version       int64 // 0: none; for a list its generation
	absent        bool
	salt          uint8  // selects the ticks in which hits count
	name          string // the key in Redis
	readAt        int64  // tick before the Redis read or the load: the value includes all earlier invalidations
	unsyncedUntil int64  // tick until which it is valid without bus messages
	until         int64  // tick until which it is valid in sync
	weight        uint32 // bytes, roughly
	cost          uint32 // weight for eviction: 0 while pinned
}

func (old *entry[V]) bytes() uint32 { return old.cost }

// overhead is the approximate size of an entry without its payload.
const overhead = 256

// versionStripe orders stores of entries and invalidations of their keys.
type versionStripe struct {
	mu            sync.Mutex
	invalidations atomic.Uint64 // invalidations of keys of this stripe
	_             [40]byte      // fills the cache line
}

// stamp is the moment before a read.
type stamp struct {
	invalidations uint64 // of the key's stripe
	tick          int64
}

// localOf returns the memory for a policy, or nil if its share is empty.
func localOf[K comparable, V any](h *Client, p Policy) *local[K, V] {
	bytes := uint64(float64(h.localBytes) * max(p.Local.Share, 0))
	if bytes == 0 {
		return nil
	}
	l := newLocal[K, V](p, bytes, &h.clock)
	l.early = int64(max(h.maxAge-p.Local.MaxAge, 0))
	return l
}

func newLocal[K comparable, V any](p Policy, bytes uint64, clock *syncClock) *local[K, V] {
	l := &local[K, V]{clock: clock, policy: p, maxBytes: bytes, seed: maphash.MakeSeed(), pins: pinnedKeys[K]{until: make(map[K]int64)}}
	l.entries = newBounded[K](bytes, &l.evicted)
	return l
}

// peek returns an entry, valid or not.
func (l *local[K, V]) peek(k K) (*entry[V], bool) {
	found, ok := l.entries.get(k)
	if !ok {
		return nil, false
	}
	e, ok := found.(*entry[V])
	return e, ok
}

// remove drops an entry. Running reads may store a new one.
func (l *local[K, V]) remove(k K) { l.entries.remove(k) }

// usage lags slightly. It counts evictions itself: otter's statistics would slow down hits.
func (l *local[K, V]) usage() (bytes, most, evicted int64) {
	return int64(l.entries.weight()), int64(l.maxBytes), l.evicted.Load()
}

func (l *local[K, V]) get(k K) (e *entry[V], now int64, good bool) {
	e, ok := l.peek(k)
	if !ok {
		return nil, 0, false
	}
	now = l.clock.now.Load()
	return e, now, now < e.until && (now < e.unsyncedUntil || now+l.early < l.clock.synced.Load())
}

func (l *local[K, V]) stale(k K) (*entry[V], bool) {
	if l.policy.StaleIfError == 0 {
		return nil, false
	}
	e, ok := l.peek(k)
	if !ok || e.absent {
		return nil, false
	}
	return e, l.clock.now.Load() < min(e.until, max(e.unsyncedUntil, l.clock.synced.Load()))+int64(l.policy.StaleIfError)
}

func (l *local[K, V]) hash(k K) uint64 { return maphash.Comparable(l.seed, k) }

func (l *local[K, V]) stripe(k K) *versionStripe { return &l.stripes[l.hash(k)%uint64(len(l.stripes))] }

// stamp must be taken before the Redis read and passed to put.
func (l *local[K, V]) stamp(k K) stamp {
	return stamp{l.stripe(k).invalidations.Load(), l.clock.now.Load()}
}

// put stores a result unless the key was invalidated after the stamp: it may be older then.
func (l *local[K, V]) put(k K, s stamp, e *entry[V]) {
	if s.tick == stopped {
		return
	}
	e.readAt = s.tick
	e.salt = uint8(l.hash(k) >> 8)
	e.unsyncedUntil = s.tick + int64(l.policy.Local.MaxAge)
	if l.policy.Local.Criteria&RarelyChanged == 0 {
		e.until = min(e.until, e.unsyncedUntil)
	}
	at := l.stripe(k)
	at.mu.Lock()
	defer at.mu.Unlock()
	old, ok := l.peek(k)
	switch {
	case ok && old.isNewer(e):
	case at.invalidations.Load() != s.invalidations:
		if ok && old.isOlder(e.version) {
			l.remove(k)
		}
	case ok || e.until > l.clock.now.Load(): // an expired result still replaces an older entry
		e.cost = l.weigh(k, e)
		l.entries.set(k, e)
	}
}

// isNewer reports whether old must stay instead of e. Replies may arrive in another order than
// Redis sent them, and a reader of the newer one must not see the older one later. If versions
// do not decide, the later read wins. For one version and tick, the later expiry wins.
func (old *entry[V]) isNewer(e *entry[V]) bool {
	switch {
	case old.version != 0 && e.version != 0 && old.version != e.version:
		return old.version > e.version
	case old.readAt != e.readAt:
		return old.readAt > e.readAt
	}
	return old.version != 0 && old.version == e.version && old.until > e.until
}

// isOlder reports whether old may be older than a result of this version (0: unknown) that is
// not stored. A reader of that result must not see old later.
func (old *entry[V]) isOlder(version int64) bool {
	return version == 0 || old.version < version
}

// discard handles a result of this version that is not stored: it drops an older entry.
func (l *local[K, V]) discard(k K, version int64) {
	if old, ok := l.peek(k); ok && old.isOlder(version) {
		l.drop(k)
	}
}

// drop removes a key and prevents running reads from storing it.
func (l *local[K, V]) drop(k K) {
	at := l.stripe(k)
	at.mu.Lock()
	defer at.mu.Unlock()
	at.invalidations.Add(1)
	l.remove(k)
}

// dropAll is drop for every key.
func (l *local[K, V]) dropAll() {
	for i := range l.stripes {
		at := &l.stripes[i]
		at.mu.Lock()
		at.invalidations.Add(1)
		at.mu.Unlock()
	}
	l.entries.removeAll()
}

// weigh returns the weight for eviction. A pinned entry has none, so it is never evicted.
func (l *local[K, V]) weigh(k K, e *entry[V]) uint32 {
	if l.pins.holds(k, l.clock.now.Load()) {
		return 0
	}
	return e.weight
}

// pinnedKeys holds the ends of pins.
type pinnedKeys[K comparable] struct {
	mu    sync.RWMutex
	until map[K]int64 // ticks
}

func (p *pinnedKeys[K]) holds(k K, now int64) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return now < p.until[k]
}

// set pins keys until a tick, or their current end if later. It returns those not pinned before.
func (p *pinnedKeys[K]) set(now, until int64, ks []K) (added []K) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range ks {
		if now >= p.until[k] {
			added = append(added, k)
		}
		p.until[k] = max(p.until[k], until)
	}
	return added
}

// split returns the pinned keys and those whose pin is over, which it removes.
func (p *pinnedKeys[K]) split(now int64) (held, over []K) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k, until := range p.until {
		if now < until {
			held = append(held, k)
		} else {
			over = append(over, k)
			delete(p.until, k)
		}
	}
	return held, over
}

// bounded holds entries of one cache within a number of bytes. The interface hides otter and
// the type of the values. Otherwise the compiler would repeat the code of otter, three times
// that of a cache, in every package that uses a cache.
type bounded[K comparable] interface {
	get(k K) (weighted, bool)
	set(k K, e weighted)
	remove(k K)
	removeAll()
	// weight returns the bytes of all entries that are not pinned.
	weight() uint64
	// all evicts entries above the limit and returns the rest. It is for tests.
	all() iter.Seq2[K, weighted]
}

// weighted is an entry of any value.
type weighted interface{ bytes() uint32 }

// newBounded returns a bounded that counts its evictions in evicted.
func newBounded[K comparable](bytes uint64, evicted *atomic.Int64) bounded[K] {
	var made any
	switch any(*new(K)).(type) {
	case int64:
		made = boundedInt64(bytes, evicted)
	case string:
		made = boundedString(bytes, evicted)
	}
	if b, ok := made.(bounded[K]); ok {
		return b
	}
	return boxed[K]{boundedAny(bytes, evicted)}
}

// noinline keeps the code of otter out of other packages.

//go:noinline
func boundedInt64(bytes uint64, evicted *atomic.Int64) bounded[int64] {
	return newOtter[int64](bytes, evicted)
}

//go:noinline
func boundedString(bytes uint64, evicted *atomic.Int64) bounded[string] {
	return newOtter[string](bytes, evicted)
}

//go:noinline
func boundedAny(bytes uint64, evicted *atomic.Int64) bounded[any] {
	return newOtter[any](bytes, evicted)
}

// boxed supports keys of other types, each in an interface.
type boxed[K comparable] struct{ in bounded[any] }

func (b boxed[K]) get(k K) (weighted, bool) { return b.in.get(k) }
func (b boxed[K]) set(k K, e weighted)      { b.in.set(k, e) }
func (b boxed[K]) remove(k K)               { b.in.remove(k) }
func (b boxed[K]) removeAll()               { b.in.removeAll() }
func (b boxed[K]) weight() uint64           { return b.in.weight() }

func (b boxed[K]) all() iter.Seq2[K, weighted] {
	return func(yield func(K, weighted) bool) {
		for k, e := range b.in.all() {
			if k, ok := k.(K); ok && !yield(k, e) {
				return
			}
		}
	}
}

type otterOf[K comparable] struct{ entries *otter.Cache[K, weighted] }

func newOtter[K comparable](bytes uint64, evicted *atomic.Int64) *otterOf[K] {
	return &otterOf[K]{otter.Must(&otter.Options[K, weighted]{
		MaximumWeight: bytes,
		Weigher:       func(_ K, e weighted) uint32 { return e.bytes() },
		Executor:      func(work func()) { work() },
		OnDeletion: func(e otter.DeletionEvent[K, weighted]) {
			if e.WasEvicted() {
				evicted.Add(1)
			}
		},
	})}
}

func (o *otterOf[K]) get(k K) (weighted, bool) { return o.entries.GetIfPresent(k) }
func (o *otterOf[K]) set(k K, e weighted)      { o.entries.Set(k, e) }
func (o *otterOf[K]) remove(k K)               { o.entries.Invalidate(k) }
func (o *otterOf[K]) removeAll()               { o.entries.InvalidateAll() }
func (o *otterOf[K]) weight() uint64           { return o.entries.WeightedSize() }

func (o *otterOf[K]) all() iter.Seq2[K, weighted] {
	o.entries.CleanUp()
	return o.entries.All()
}
