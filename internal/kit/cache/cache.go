package cache

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
)

// ErrNotFound reports that the loader has no value for the key, or had none at the last load.
var ErrNotFound = errors.New("cache: not found")

// ErrBusy reports that a value is not cached and cannot be fetched now. Either all load slots
// are taken, or this process exceeded its limit of Redis reads. Clients may see it; other
// parts of their request are unaffected.
var ErrBusy = apierror.New(apierror.Unavailable, "The server is busy at the moment. Please try again.")

// A Loader reads values from the source of truth, for instance rows from a database. It omits
// keys without a value. Values of other keys are ignored. An error counts for all keys of the
// call.
//
// A Loader must read after it is called and never return earlier reads: freshness depends on
// it. Its ctx has the values of the reader's context and ends after the policy's LoadTimeout.
// A load whose result will be stored outlives its reader. Calls may run concurrently.
type Loader[K comparable, V any] func(ctx context.Context, keys []K) (map[K]V, error)

// Source loads the values of a cache. Key and Load are required; each other field enables an
// option.
type Source[K comparable, V any] struct {
	// Key returns a unique text for each key, the same in every process.
	Key  func(K) string
	Load Loader[K, V]

	// Version returns the commit order of the versions of one value. It is positive, for
	// instance a column that every update increments. Put requires it.
	Version func(V) int64
	// All yields every existing key. It enables a Bloom filter that answers most reads of
	// absent keys without Redis and database. It runs in the background.
	All func(ctx context.Context) iter.Seq2[K, error]
	// Parse is the inverse of Key. It enables [Cache.Warm]: Redis stores the most-read keys.
	// It also lets other processes invalidate single keys.
	Parse func(string) (K, error)
	// Ephemeral excludes the keys from Warm, because they are useless a day later.
	Ephemeral bool
}

// Cache stores values of one kind. It is safe for concurrent use. Callers must not modify
// returned values: several readers may share one.
type Cache[K comparable, V any] struct {
	core cacheCore[K, *V]
}

// cacheCore is the part of core that Cache uses. The interface saves build time: the compiler
// repeats the methods of a generic struct in importing packages, but not those behind an
// interface.
type cacheCore[K comparable, P any] interface {
	find(ctx context.Context, k K) (P, error)
	findMany(ctx context.Context, ks []K) (map[K]P, error)
	invalidate(ctx context.Context, ks []K) error
	putIn(p *Pipeline, ks []K, ps []P, stored func(n int))
	pipeline() *Pipeline
	markExisting(ks []K)
	pin(ctx context.Context, until time.Time, ks []K) error
	forgetAll()
	limits() *loadLimiter
	Warm(ctx context.Context) (read int, err error)
	Stats() Stats
}

// New returns a cache under one policy. It stores a string or []byte as it is and any other
// value as JSON. A stored value lacks the fields that JSON omits.
//
// New panics on programming errors: an invalid policy, a policy name that this client already
// has, or local shares above 1 in total.
func New[K comparable, V any](client *Client, p Policy, s Source[K, V]) *Cache[K, V] {
	return build(client, p, s, nil)
}

// build is New, optionally for lists of a table.
func build[K comparable, V any](client *Client, p Policy, s Source[K, V], t *Table) *Cache[K, V] {
	from := pointerSource[K, *V]{
		key: s.Key, all: s.All, parse: s.Parse, ephemeral: s.Ephemeral,
		load: func(ctx context.Context, ks []K) (map[K]*V, error) {
			found, err := s.Load(ctx, ks)
			return Pointers(found), err
		},
		pack:   func(v *V) (byte, []byte, error) { return pack(*v) },
		unpack: func(codec byte, payload []byte) (*V, error) { return unpack[V](codec, payload) },
	}
	if s.Version != nil {
		from.version = func(v *V) int64 { return s.Version(*v) }
	}
	return &Cache[K, V]{newCore(client, p, from, t)}
}

// Get returns the value of one key, or [ErrNotFound].
//
// A value from Redis or the loader is never older than the last [Cache.Invalidate] of the key
// that returned before Get began. A value from the memory of this process may miss
// invalidations by other processes from the last MaxAge ([Local]). While the bus works, it
// misses only messages in transit. If no newer value can be read, it may be older by up to
// StaleIfError.
//
// Get also returns wrapped loader errors, [ErrBusy] and the error of ctx. If Redis is
// unavailable, Get calls the loader.
func (c *Cache[K, V]) Get(ctx context.Context, k K) (v V, err error) {
	p, err := c.core.find(ctx, k)
	if err != nil {
		return v, err
	}
	return *p, nil
}

// Ref is [Cache.Get] without a copy: it may return a pointer into the memory of this process.
// The caller must not modify the value.
func (c *Cache[K, V]) Ref(ctx context.Context, k K) (*V, error) { return c.core.find(ctx, k) }

// GetMany returns the values of those keys that have one, as fresh as [Cache.Get]. Keys may
// repeat. Up to 500 keys cost one round trip if all are stored, otherwise usually three and
// one loader call.
//
// GetMany returns the first loader error, [ErrBusy] or the error of ctx. The map then holds
// the values that were available, and a missing key may have a value.
func (c *Cache[K, V]) GetMany(ctx context.Context, ks []K) (map[K]V, error) {
	found, err := c.core.findMany(ctx, ks)
	values := make(map[K]V, len(found))
	for k, p := range found {
		values[k] = *p
	}
	return values, err
}

// Refs is [Cache.GetMany] with pointers, as Ref is to Get.
func (c *Cache[K, V]) Refs(ctx context.Context, ks []K) (map[K]*V, error) {
	return c.core.findMany(ctx, ks)
}

// Pointers returns the values of a map by pointer.
func Pointers[K comparable, V any](found map[K]V) map[K]*V {
	out := make(map[K]*V, len(found))
	for k, v := range found {
		out[k] = &v
	}
	return out
}

// Invalidate removes keys from Redis and from this process, including stored absences. Running
// loads of these keys cannot store their results. The existence filter lets the keys pass. Call
// it after the commit of every insert, update and delete of loaded data, never before.
//
// After it returns nil, no later read returns an older value, within the limits of
// [Cache.Get]. After an error some keys may still have one: repeat the call until it succeeds.
// Invalidate ignores cancellation of ctx, because a commit outlives its request. Each round
// trip of 500 keys has the deadline RedisTimeout.
func (c *Cache[K, V]) Invalidate(ctx context.Context, ks ...K) error {
	return c.core.invalidate(ctx, ks)
}

// MarkExisting adds keys to the existence filter. Use it for rows that were read past the
// cache: the filter may have missed their inserts.
func (c *Cache[K, V]) MarkExisting(ks ...K) { c.core.markExisting(ks) }

// Put stores a value that was just committed, so that a hot key needs no load after its
// update. It requires Source.Version. Of any number of Puts for one key, in any order and from
// any process, the newest version remains. If Redis has no older version to compare with, Put
// invalidates the key. It reports whether it stored the value.
//
// Freshness, errors and deadline are those of [Cache.Invalidate]. Put and Invalidate may be
// mixed for one key.
func (c *Cache[K, V]) Put(ctx context.Context, k K, v V) (stored bool, err error) {
	p := c.core.pipeline()
	c.core.putIn(p, []K{k}, []*V{&v}, func(n int) { stored = n == 1 })
	err = p.Exec(ctx)
	return stored, err
}

// PutMany is [Cache.Put] for many values. Each 500 keys cost one round trip and one bus
// message. After an error, Redis may have stored some of the values.
func (c *Cache[K, V]) PutMany(ctx context.Context, values map[K]V) error {
	p := c.core.pipeline()
	c.PutIn(p, values)
	return p.Exec(ctx)
}

// PutIn adds [Cache.PutMany] to a pipeline.
func (c *Cache[K, V]) PutIn(p *Pipeline, values map[K]V) {
	ks, vs := make([]K, 0, len(values)), make([]*V, 0, len(values))
	for k, v := range values {
		ks, vs = append(ks, k), append(vs, &v)
	}
	c.core.putIn(p, ks, vs, func(int) {})
}

// Pin protects keys from eviction from the memory of this process until the given time. A
// running client reloads them before they expire. Pin does not read a key that is already
// pinned; the later end counts. Without a local cache, Pin only reads the keys once. It
// returns the error of its reads.
func (c *Cache[K, V]) Pin(ctx context.Context, until time.Time, ks ...K) error {
	return c.core.pin(ctx, until, ks)
}

// Warm reads the most-read keys of all processes: up to a thousand of yesterday and a thousand
// of today, the hottest first. It returns the number of keys that it read. It does nothing
// without Source.Parse or for ephemeral keys, and skips keys that do not parse. See
// [Client.Warm].
func (c *Cache[K, V]) Warm(ctx context.Context) (read int, err error) { return c.core.Warm(ctx) }

// Stats returns the counters of this cache since the process started.
func (c *Cache[K, V]) Stats() Stats { return c.core.Stats() }

type skipLocalKey struct{}

// SkipLocal returns a context whose reads bypass the memory and the existence filter of this
// process. They observe every invalidation that returned before, in any process.
func SkipLocal(ctx context.Context) context.Context {
	return context.WithValue(ctx, skipLocalKey{}, true)
}

type warmupKey struct{}

// ForWarmup returns a context for reads ahead of demand. They do not make a key hot. Otherwise
// each start would read the hot keys, count these reads, and keep the keys hot forever.
func ForWarmup(ctx context.Context) context.Context { return context.WithValue(ctx, warmupKey{}, true) }

func isForWarmup(ctx context.Context) bool {
	warmup, _ := ctx.Value(warmupKey{}).(bool)
	return warmup
}

// AllowLocal reverts [SkipLocal]. Use it for data that cannot have changed or that is checked
// again elsewhere.
func AllowLocal(ctx context.Context) context.Context {
	if !skipsLocal(ctx) {
		return ctx
	}
	return context.WithValue(ctx, skipLocalKey{}, false)
}

func skipsLocal(ctx context.Context) bool {
	skips, _ := ctx.Value(skipLocalKey{}).(bool)
	return skips
}
