package cache

import (
	"context"
	"crypto/sha256"
	_ "embed" // the script
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/generation.lua
var generationLua string

var generationScript = redis.NewScript(generationLua)

// Table is a database table whose list queries are cached. Each write to it invalidates all of
// its lists, because the affected ones are unknown in general. It is safe for concurrent use.
type Table struct {
	client     *Client
	name       string
	generation string // the key of the counter

	mu     sync.Mutex
	forget []func() // of its queries
}

// Table returns a table. Use the same name in all processes, and one Table per name and client.
// It panics if the name is empty or contains a brace.
func (c *Client) Table(name string) *Table {
	if name == "" || strings.ContainsAny(name, "{}") {
		panic(fmt.Sprintf("cache: invalid table name %q", name))
	}
	t := &Table{client: c, name: name, generation: c.root + "cache-generation:{" + name + "}"}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tables[name] = append(c.tables[name], t)
	return t
}

// Invalidate removes all cached lists of the table. Call it after the commit of every write to
// the table. Freshness and errors are those of [Cache.Invalidate].
func (t *Table) Invalidate(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	t.forgetAll()
	_, err := t.runGeneration(ctx, "raise")
	t.forgetAll()
	if err != nil {
		return fmt.Errorf("raise generation of table %s: %w", t.name, err)
	}
	if err := t.client.publish(ctx, busMessage{Table: t.name}); err != nil {
		return fmt.Errorf("invalidate table %s: %w", t.name, err)
	}
	return nil
}

func (t *Table) forgetAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, forget := range t.forget {
		forget()
	}
}

func (t *Table) runGeneration(ctx context.Context, op string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, t.client.timeout)
	defer cancel()
	text, err := generationScript.Run(ctx, t.client.rdb, []string{t.generation}, op).Text()
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// QueryCache caches the results of one kind of list query on a table. A holds the arguments of
// a query; R is an item of a list, usually a row id. Rows have their own cache. A write to the
// table invalidates all lists.
//
// It is a [Cache] of lists with all options of a policy. A record is valid only under the
// current generation of the table, which the same round trip reads. It is safe for concurrent
// use.
type QueryCache[A comparable, R any] struct {
	lists *Cache[A, []R]
}

// NewQueryCache returns the cache of one kind of query. The function statement returns query
// and arguments as text, the same in every process. The function load runs the query and
// follows the rules of [Loader]. NewQueryCache panics like [New].
func NewQueryCache[A comparable, R any](t *Table, p Policy, statement func(A) string, load func(ctx context.Context, args A) ([]R, error)) *QueryCache[A, R] {
	return NewBatchQueryCache(t, p, statement, func(ctx context.Context, all []A) (map[A][]R, error) {
		found := make(map[A][]R, len(all))
		for _, args := range all {
			list, err := load(ctx, args)
			if err != nil {
				return nil, err
			}
			found[args] = list
		}
		return found, nil
	})
}

// NewBatchQueryCache is [NewQueryCache] with a load for several queries, for
// [QueryCache.GetMany]. A query that load omits has an empty list.
func NewBatchQueryCache[A comparable, R any](t *Table, p Policy, statement func(A) string, load func(ctx context.Context, all []A) (map[A][]R, error)) *QueryCache[A, R] {
	lists := build(t.client, p, Source[A, []R]{
		Key: func(args A) string {
			sum := sha256.Sum256([]byte(statement(args)))
			return hex.EncodeToString(sum[:16])
		},
		Load: func(ctx context.Context, all []A) (map[A][]R, error) {
			loaded, err := load(ctx, all)
			if err != nil {
				return nil, err
			}
			found := make(map[A][]R, len(all))
			for _, args := range all {
				found[args] = loaded[args]
			}
			return found, nil
		},
	}, t)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget = append(t.forget, lists.core.forgetAll)
	return &QueryCache[A, R]{lists}
}

// Get returns the list of a query. Freshness and errors are those of [Cache.Get], with
// [Table.Invalidate] as invalidation.
func (q *QueryCache[A, R]) Get(ctx context.Context, args A) ([]R, error) {
	list, err := q.lists.Get(ctx, args)
	if err != nil {
		return nil, fmt.Errorf("read list: %w", err)
	}
	return list, nil
}

// GetMany returns the lists of several queries, as fresh as [QueryCache.Get], at the cost of
// [Cache.GetMany].
func (q *QueryCache[A, R]) GetMany(ctx context.Context, all []A) (map[A][]R, error) {
	lists, err := q.lists.GetMany(ctx, all)
	if err != nil {
		return lists, fmt.Errorf("read lists: %w", err)
	}
	return lists, nil
}

// Pin is [Cache.Pin] for the lists of some queries. After a write to the table they are
// reloaded within about a second.
func (q *QueryCache[A, R]) Pin(ctx context.Context, until time.Time, all ...A) error {
	if err := q.lists.Pin(ctx, until, all...); err != nil {
		return fmt.Errorf("pin %d lists: %w", len(all), err)
	}
	return nil
}

func (c *core[K, V]) forgetAll() {
	c.flights.forgetAll()
	if c.local != nil {
		c.local.dropAll()
	}
}
