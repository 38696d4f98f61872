package cache

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
)

// ErrNotFound says that the loader has no value for the key, now or as it was
// remembered since the last invalidation.
var ErrNotFound = errors.New("cache: not found")

// ErrBusy says that the value was not there and might not be fetched: too many
// loads wait already, or this process has used up its reads of Redis. It is a
// fault that a client may see; the other parts of its request are answered.
var ErrBusy = apierror.New(apierror.Unavailable, "too much is being asked at the moment; try again")

// Loader reads values from the truth, for instance rows from a database. A key
// without a value is left out of the map; keys that were not asked for are
// overlooked. An error counts for all keys of the call.
//
// It must begin to read after it is called, never hand out what it read earlier:
// freshness rests on that. Its ctx has the reader's values and ends after the
// policy's LoadTimeout; a load whose result will be kept outlives its reader. It
// may run many times at once.
type Loader[K comparable, V any] func(ctx context.Context, keys []K) (map[K]V, error)

// Source says where the values of a cache come from. Key and Load are required;
// each of the others makes an option possible.
type Source[K comparable, V any] struct {
	// Key gives each key a text of its own, the same in every process.
	Key  func(K) string
	Load Loader[K, V]

	// Version orders the values of a key by when they were committed; positive,
	// for instance a column that every update raises. Put needs it.
	Version func(V) int64
	// All yields every key that exists. With it, a Bloom filter tells most keys
	// that do not exist without asking anybody. It is called in the background.
	All func(ctx context.Context) iter.Seq2[K, error]
	// Parse is the reverse of Key. With it, the keys that are read most are
	// remembered in Redis, and Warm reads them.
	Parse func(string) (K, error)
	// Ephemeral says that a key is of no use tomorrow: none is remembered.
	Ephemeral bool
}

// Cache keeps values of one kind. It is safe for concurrent use. The values that
// it returns are for reading only: several readers may hold the same one.
type Cache[K comparable, V any] struct {
	core cacheCore[K, *V]
}

// cacheCore is what a Cache asks of its core. The compiler repeats the methods of a generic
// struct in every package that knows a struct with one in it, but not those behind an
// interface: without it, internal/app and graph compile all caches of all services again.
type cacheCore[K comparable, P any] interface {
	find(ctx context.Context, k K) (P, error)
	findMany(ctx context.Context, ks []K) (map[K]P, error)
	invalidate(ctx context.Context, ks []K) error
	putIn(p *Pipeline, ks []K, ps []P, kept func(n int))
	pipeline() *Pipeline
	markExisting(ks []K)
	pin(ctx context.Context, until time.Time, ks []K) error
	forgetAll()
	limits() *loadLimiter
	Warm(ctx context.Context) (read int, err error)
	Stats() Stats
}

// New builds a cache under one policy. A string or []byte travels as it is, any
// other value as JSON, so that what JSON leaves out is missing in a value that
// was kept.
//
// New panics if the policy makes no sense, if its name is taken in this hub, or
// if the shares of the local cache exceed the whole: these are mistakes in the
// program.
func New[K comparable, V any](client *Client, p Policy, s Source[K, V]) *Cache[K, V] {
	return build(client, p, s, nil)
}

// build is New, also of lists of a table.
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

// Get returns the value of one key, or [ErrNotFound]. What Redis or the loader
// answers is never older than the last [Cache.Invalidate] of the key that
// returned before Get was called; what this process holds itself is not either
// if the invalidation was its own or it is in sync, and otherwise it is at most
// the policy's MaxAge old, or StaleIfError more while Redis or the loader does not
// answer.
//
// Any other error is the loader's, wrapped, [ErrBusy], or that of ctx. When Redis
// is away, Get asks the loader.
func (c *Cache[K, V]) Get(ctx context.Context, k K) (v V, err error) {
	p, err := c.core.find(ctx, k)
	if err != nil {
		return v, err
	}
	return *p, nil
}

// Ref is [Cache.Get] for who hands out a pointer: it may be to what this process holds
// itself, which is not copied. So nobody may change what it points to.
func (c *Cache[K, V]) Ref(ctx context.Context, k K) (*V, error) { return c.core.find(ctx, k) }

// GetMany returns the values of those keys that have one, each as fresh as
// [Cache.Get] would return it. A key may stand in ks more than once. Up to 500
// keys cost one round trip if all are there, and one loader call with three more
// if none is.
//
// With an error, the loader's or that of ctx, the map holds the values that could
// be had all the same, and a key that is missing may have one.
func (c *Cache[K, V]) GetMany(ctx context.Context, ks []K) (map[K]V, error) {
	found, err := c.core.findMany(ctx, ks)
	values := make(map[K]V, len(found))
	for k, p := range found {
		values[k] = *p
	}
	return values, err
}

// Refs is [Cache.GetMany] for who hands out pointers, as [Cache.Ref] is Get.
func (c *Cache[K, V]) Refs(ctx context.Context, ks []K) (map[K]*V, error) {
	return c.core.findMany(ctx, ks)
}

// Pointers is what a loader found, for those who hand out pointers.
func Pointers[K comparable, V any](found map[K]V) map[K]*V {
	out := make(map[K]*V, len(found))
	for k, v := range found {
		out[k] = &v
	}
	return out
}

// Invalidate forgets the keys, here and in Redis, values and "there is none"
// alike, makes loads under way unable to keep what they read, and tells the
// guard that the keys may exist. Call it after the commit of every insert,
// update and delete of what the loader reads, never before it.
//
// Once it returned nil, no read that begins later sees an older value, within
// what [Cache.Get] says. With an error some keys may still have one: repeat the
// call until it succeeds. It does not end with ctx, whose request may be gone
// when the commit is not; its round trips have the hub's deadline, one for each
// 500 keys.
func (c *Cache[K, V]) Invalidate(ctx context.Context, ks ...K) error {
	return c.core.invalidate(ctx, ks)
}

// MarkExisting says that keys exist, to the guard alone: for rows that were read past
// the cache, of whose insert it may not have heard.
func (c *Cache[K, V]) MarkExisting(ks ...K) { c.core.markExisting(ks) }

// Put keeps a value that was just committed, so that a key that is read all the
// time needs no load after its update. Source.Version must say its version. Of
// any number of Puts for one key, in whatever order and from whatever process
// they arrive, the newest stays. Where Redis has no older version to compare
// with, Put is an Invalidate; it reports whether the value was kept.
//
// Its promise, its error and its deadline are those of [Cache.Invalidate]. A key
// that is written with Put may be invalidated as well, at any time.
func (c *Cache[K, V]) Put(ctx context.Context, k K, v V) (kept bool, err error) {
	p := c.core.pipeline()
	c.core.putIn(p, []K{k}, []*V{&v}, func(n int) { kept = n == 1 })
	err = p.Exec(ctx)
	return kept, err
}

// PutMany is [Cache.Put] for many values: one round trip and one message on the bus for
// each 500 keys. With an error, Redis may have kept some of the values.
func (c *Cache[K, V]) PutMany(ctx context.Context, values map[K]V) error {
	p := c.core.pipeline()
	c.PutIn(p, values)
	return p.Exec(ctx)
}

// PutIn is [Cache.PutMany] as a part of a pipeline.
func (c *Cache[K, V]) PutIn(p *Pipeline, values map[K]V) {
	ks, vs := make([]K, 0, len(values)), make([]*V, 0, len(values))
	for k, v := range values {
		ks, vs = append(ks, k), append(vs, &v)
	}
	c.core.putIn(p, ks, vs, func(int) {})
}

// Pin keeps these keys in the process's own memory until a time, whatever else is
// read, and reads them anew before they are over. Those that are pinned already are
// not read, and stay until the later end. Without a local cache it only sees to it
// that Redis has them. The error is that of the first read.
func (c *Cache[K, V]) Pin(ctx context.Context, until time.Time, ks ...K) error {
	return c.core.pin(ctx, until, ks)
}

// Warm reads the keys that processes on this Redis read most: the thousand of yesterday,
// and those of today that are not among them, each the hottest first. It returns how many
// keys these were. It needs Source.Parse, and does nothing without, or where keys are
// passing; keys that cannot be parsed are overlooked. See [Client.Warm].
func (c *Cache[K, V]) Warm(ctx context.Context) (read int, err error) { return c.core.Warm(ctx) }

// Stats returns what this cache did in this process so far.
func (c *Cache[K, V]) Stats() Stats { return c.core.Stats() }

type freshKey struct{}

// SkipLocal returns a context in which reads pass over what this process holds
// itself, entries and guard: they see every invalidation that returned before,
// wherever it was made.
func SkipLocal(ctx context.Context) context.Context {
	return context.WithValue(ctx, freshKey{}, true)
}

type warmupKey struct{}

// ForWarmup returns a context of reads that nobody asked for, which are made so that what is
// read is there when somebody does: they do not make a key hot. Else what was hot once
// would be read at each start, be remembered for that, and stay hot for ever.
func ForWarmup(ctx context.Context) context.Context { return context.WithValue(ctx, warmupKey{}, true) }

func isForWarmup(ctx context.Context) bool {
	warmup, _ := ctx.Value(warmupKey{}).(bool)
	return warmup
}

// AllowLocal takes [SkipLocal] back: reads are answered by what this process holds, where it
// does. It is for what cannot have changed, or is asked again elsewhere.
func AllowLocal(ctx context.Context) context.Context {
	if !isFresh(ctx) {
		return ctx
	}
	return context.WithValue(ctx, freshKey{}, false)
}

func isFresh(ctx context.Context) bool {
	fresh, _ := ctx.Value(freshKey{}).(bool)
	return fresh
}
