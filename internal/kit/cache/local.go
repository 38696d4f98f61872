package cache

import (
	"hash/maphash"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/maypok86/otter/v2"
)

// local is one cache's part of the process's own memory (L1): decoded values,
// bounded by bytes, in an otter, which admits by frequency, so that a flood of
// keys that are read once does not empty it.
//
// An entry says itself how long it is good. What otter would add for expiry
// costs a hit more than all of ours.
type local[K comparable, V any] struct {
	entries bounded[K]
	clock   *syncClock
	policy  Policy
	early   int64 // by how much the policy trusts a sync for less than the hub
	seed    maphash.Seed
	stripes [256]versionStripe
	pins    pinnedKeys[K]

	maxBytes uint64       // bytes
	evicted  atomic.Int64 // entries, because others needed the bytes
}

// entry is a value as it was some moment ago. It is never changed.
type entry[V any] struct {
	v             V
	version       int64 // 0: none. Of a list it is the generation
	absent        bool
	salt          uint8  // says when its hits are counted
	name          string // the key in Redis
	readAt        int64  // tick before Redis was asked or the load began: nothing that was invalidated before it is in here
	unsyncedUntil int64  // tick until which it is good without hearing of invalidations
	until         int64  // tick until which it is good in sync
	weight        uint32 // bytes, roughly
	cost          uint32 // of the bytes: 0 while it is pinned, so that it is never evicted
}

func (old *entry[V]) bytes() uint32 { return old.cost }

// overhead is what an entry takes beside its payload, roughly.
const overhead = 256

// versionStripe orders puts of entries and invalidations of their keys.
type versionStripe struct {
	mu            sync.Mutex
	invalidations atomic.Uint64 // invalidations of keys of this stripe
	_             [40]byte      // a cache line of its own
}

// stamp is the moment, in invalidations of the key's stripe and in time, before
// which nothing is known of what a read will find.
type stamp struct {
	invalidations uint64
	tick          int64
}

// localOf is the policy's part of what the hub's local caches may have, nil if it
// has none.
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

// peek returns an entry, whether it is good or not.
func (l *local[K, V]) peek(k K) (*entry[V], bool) {
	found, ok := l.entries.get(k)
	if !ok {
		return nil, false
	}
	e, ok := found.(*entry[V])
	return e, ok
}

// remove drops an entry, and nothing that reads under way will find.
func (l *local[K, V]) remove(k K) { l.entries.remove(k) }

// usage is what is kept, as it was a moment ago. Evictions are counted where they are
// made, not by otter's statistics, which would cost every hit something.
func (l *local[K, V]) usage() (bytes, most, evicted int64) {
	return int64(l.entries.weight()), int64(l.maxBytes), l.evicted.Load()
}

// get returns an entry and whether it is good now, and when that is.
func (l *local[K, V]) get(k K) (e *entry[V], now int64, good bool) {
	e, ok := l.peek(k)
	if !ok {
		return nil, 0, false
	}
	now = l.clock.now.Load()
	return e, now, now < e.until && (now < e.unsyncedUntil || now+l.early < l.clock.synced.Load())
}

// stale returns an entry that may be served because nothing better can be had.
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

// stamp is to be taken before Redis is asked, and handed to put.
func (l *local[K, V]) stamp(k K) stamp {
	return stamp{l.stripe(k).invalidations.Load(), l.clock.now.Load()}
}

// put keeps what was found, unless the key was invalidated since the stamp: the
// answer of Redis may have been on its way meanwhile.
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
	case ok || e.until > l.clock.now.Load(): // over an older entry also what is over
		e.cost = l.weigh(k, e)
		l.entries.set(k, e)
	}
}

// isNewer reports whether an entry is to stay where e comes. The answers of two
// reads may arrive in another order than Redis gave them: who saw the newer one
// must not see the older one after it. Of two whose versions do not tell, the one
// that was asked for later stays; of one version asked for at once, which a
// refresh brings beside a read, the one that lives longer.
func (old *entry[V]) isNewer(e *entry[V]) bool {
	switch {
	case old.version != 0 && e.version != 0 && old.version != e.version:
		return old.version > e.version
	case old.readAt != e.readAt:
		return old.readAt > e.readAt
	}
	return old.version != 0 && old.version == e.version && old.until > e.until
}

// isOlder reports whether an entry may be older than what was found in this
// version, 0 for unknown, and is not kept: who got that must not see this entry
// after it.
func (old *entry[V]) isOlder(version int64) bool {
	return version == 0 || old.version < version
}

// discard is to be told of what was found and is not to be kept.
func (l *local[K, V]) discard(k K, version int64) {
	if old, ok := l.peek(k); ok && old.isOlder(version) {
		l.drop(k)
	}
}

// drop forgets a key, and what reads under way will find for it.
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

// weigh is what an entry costs of the bytes: nothing while it is pinned, so that
// it is never the one to be evicted.
func (l *local[K, V]) weigh(k K, e *entry[V]) uint32 {
	if l.pins.holds(k, l.clock.now.Load()) {
		return 0
	}
	return e.weight
}

// pinnedKeys are the keys that stay until a time.
type pinnedKeys[K comparable] struct {
	mu    sync.RWMutex
	until map[K]int64 // ticks
}

func (p *pinnedKeys[K]) holds(k K, now int64) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return now < p.until[k]
}

// set pins keys; the later end of two counts. It returns those that were not pinned.
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

// split returns those that are pinned and those whose time is over, which it
// forgets.
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

// bounded keeps entries of one cache within some bytes. It is an otter, behind an interface
// and without the type of the values: an otter is three times as much code as a cache, and
// the compiler would repeat it in every package that knows a struct with a cache in it.
type bounded[K comparable] interface {
	get(k K) (weighted, bool)
	set(k K, e weighted)
	remove(k K)
	removeAll()
	// weight returns the bytes of all entries that are not pinned.
	weight() uint64
	// all returns all entries, after those without room were evicted. It is for tests.
	all() iter.Seq2[K, weighted]
}

// weighted is an entry of any value.
type weighted interface{ bytes() uint32 }

// newBounded makes one that counts the entries that it evicts.
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

// These are compiled in this package alone: callers must not see an otter, nor its code.

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

// boxed has keys of other types, each in an interface.
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
