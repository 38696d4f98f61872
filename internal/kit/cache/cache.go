package cache

import (
	"cmp"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrNotFound says that the loader has no value for the key, now or as it was
// remembered since the last invalidation.
var ErrNotFound = errors.New("cache: not found")

// Loader reads values from the truth, for instance rows from a database. A key
// without a value is left out of the map; keys that were not asked for are
// overlooked. An error counts for all keys of the call.
//
// It must begin to read after it is called, never hand out what it read earlier:
// freshness rests on that. Its ctx has the reader's values and ends after the
// policy's LoadTimeout; a load whose result will be kept outlives its reader. It
// may run many times at once.
type Loader[K comparable, V any] func(ctx context.Context, keys []K) (map[K]V, error)

// Cache keeps values of one kind. It is safe for concurrent use. The values that
// it returns are for reading only: several readers may hold the same one.
type Cache[K comparable, V any] struct {
	hub    *Hub
	policy Policy
	prefix string
	key    func(K) string
	load   Loader[K, V]
	counts *counters
}

// New builds a cache under one policy. The function key gives each K a text of
// its own, the same in every process; values travel as JSON, so what JSON leaves
// out is missing in a value that was kept.
//
// New panics if the policy's name cannot stand in a key or is taken in this hub:
// both are mistakes in the program.
func New[K comparable, V any](hub *Hub, p Policy, key func(K) string, load Loader[K, V]) *Cache[K, V] {
	return &Cache[K, V]{
		hub:    hub,
		policy: p.withDefaults(),
		prefix: hub.prefix + p.Name + ":{",
		key:    key,
		load:   load,
		counts: hub.join(p),
	}
}

// Get returns the value of one key, or [ErrNotFound]. It is never older than the
// last [Cache.Invalidate] of the key that returned before Get was called. Any
// other error is the loader's, wrapped, or that of ctx; when Redis is away, Get
// asks the loader.
func (c *Cache[K, V]) Get(ctx context.Context, k K) (V, error) {
	w := want[K]{k: k, name: c.nameOf(k)}
	r := c.hub.get(ctx, w.name)
	if r.err != nil && !ended(ctx) {
		c.redisFailed(ctx, r.err)
	}
	v, a := c.look(ctx, &w, r)
	switch a {
	case value:
		return v, nil
	case negative:
		return v, ErrNotFound
	case nothing, bare: // to be loaded
	}
	found := make(map[K]V, 1)
	if err := c.fill(ctx, []want[K]{w}, found); err != nil {
		return v, err
	}
	v, ok := found[k]
	if !ok {
		return v, ErrNotFound
	}
	return v, nil
}

// GetMany returns the values of those keys that have one, each as fresh as
// [Cache.Get] would return it. A key may stand in ks more than once. Up to 500
// keys cost one round trip if all are there, and one loader call with three more
// if none is.
//
// With an error, the loader's or that of ctx, the map holds the values that could
// be had all the same, and a key that is missing may have one.
func (c *Cache[K, V]) GetMany(ctx context.Context, ks []K) (map[K]V, error) {
	found := make(map[K]V, len(ks))
	var missing []want[K]
	for part := range slices.Chunk(c.wants(ks), batch) {
		var failed error
		for i, r := range c.hub.getMany(ctx, names(part)) {
			failed = cmp.Or(failed, r.err)
			switch v, a := c.look(ctx, &part[i], r); a {
			case value:
				found[part[i].k] = v
			case nothing, bare:
				missing = append(missing, part[i])
			case negative: // known to have none
			}
		}
		if failed != nil && !ended(ctx) {
			c.redisFailed(ctx, failed)
		}
	}
	if len(missing) == 0 {
		return found, nil
	}
	return found, c.fill(ctx, missing, found)
}

// Pointers is what GetMany found, for those who hand out pointers.
func Pointers[K comparable, V any](found map[K]V) map[K]*V {
	out := make(map[K]*V, len(found))
	for k, v := range found {
		out[k] = &v
	}
	return out
}

// Invalidate forgets the keys in Redis, values and "there is none" alike, and
// makes loads under way unable to store what they read. Call it after the commit
// of every insert, update and delete of what the loader reads, never before it.
//
// Once it returned nil, no read that begins later sees an older value. With an
// error some keys may still hold one: repeat the call until it succeeds. It does
// not end with ctx, whose request may be gone when the commit is not; its round
// trips have the hub's deadline, one for each 500 keys.
func (c *Cache[K, V]) Invalidate(ctx context.Context, ks ...K) error {
	ctx = context.WithoutCancel(ctx)
	for part := range slices.Chunk(c.wants(ks), batch) {
		if err := c.hub.remove(ctx, names(part)); err != nil {
			c.counts.redisErrors.Add(1)
			return fmt.Errorf("invalidate %d keys of cache %s: %w", len(ks), c.policy.Name, err)
		}
	}
	return nil
}

// Stats returns what this cache did in this process so far.
func (c *Cache[K, V]) Stats() Stats { return c.counts.snapshot() }

// want is one key that a read has to find.
type want[K comparable] struct {
	k      K
	name   string // its key in Redis
	garble string // SHA-1 of a record that could not be decoded, for acquire.lua
	direct bool   // to be loaded without a lease and not stored
}

// wants names the keys, each once.
func (c *Cache[K, V]) wants(ks []K) []want[K] {
	seen := make(map[K]struct{}, len(ks))
	list := make([]want[K], 0, len(ks))
	for _, k := range ks {
		if _, twice := seen[k]; !twice {
			seen[k] = struct{}{}
			list = append(list, want[K]{k: k, name: c.nameOf(k)})
		}
	}
	return list
}

func names[K comparable](wants []want[K]) []string {
	list := make([]string, len(wants))
	for i, w := range wants {
		list[i] = w.name
	}
	return list
}

// nameOf is the key in Redis. Its text is the hash tag that keeps value and
// lease in one slot; a tag must not be empty, so a text that would make it so
// gets an underscore, and so does one that begins with an underscore already.
func (c *Cache[K, V]) nameOf(k K) string {
	text := c.key(k)
	if text == "" || text[0] == '}' || text[0] == '_' {
		text = "_" + text
	}
	return c.prefix + text + "}"
}

func leaseOf(name string) string { return name + ":l" }

// look takes the first answer of Redis for one key and counts it.
func (c *Cache[K, V]) look(ctx context.Context, w *want[K], r reply) (V, answer) {
	v, a := c.read(ctx, w, r)
	switch a {
	case value:
		c.counts.hits.Add(1)
	case negative:
		c.counts.negativeHits.Add(1)
	default:
		c.counts.misses.Add(1)
	}
	return v, a
}

// read understands an answer of Redis for one key, and marks in w how to go on
// when it does not hold the value.
func (c *Cache[K, V]) read(ctx context.Context, w *want[K], r reply) (v V, a answer) {
	if r.err != nil {
		w.direct = true
		return v, nothing
	}
	if !r.there {
		return v, nothing
	}
	v, a, err := decode[V](r.record)
	if err != nil {
		c.counts.undecodable.Add(1)
		c.hub.complain(ctx, "reading a record", c.policy.Name, err)
		sum := sha1.Sum(r.record)
		w.garble = hex.EncodeToString(sum[:])
	}
	w.direct = a == bare
	return v, a
}

// ended reports whether ctx is over. A socket may see its deadline a moment
// before the context's own timer does.
func ended(ctx context.Context) bool {
	at, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(at)
}

// redisFailed notes a failure that no reader hears of.
func (c *Cache[K, V]) redisFailed(ctx context.Context, err error) {
	c.counts.redisErrors.Add(1)
	c.hub.complain(ctx, "asking Redis", c.policy.Name, err)
}
