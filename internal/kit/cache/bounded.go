package cache

import (
	"iter"
	"sync/atomic"

	"github.com/maypok86/otter/v2"
)

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
	// settled returns all entries, after those without room were evicted. It is for tests.
	settled() iter.Seq2[K, weighted]
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

func (b boxed[K]) settled() iter.Seq2[K, weighted] {
	return func(yield func(K, weighted) bool) {
		for k, e := range b.in.settled() {
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

func (o *otterOf[K]) settled() iter.Seq2[K, weighted] {
	o.entries.CleanUp()
	return o.entries.All()
}
