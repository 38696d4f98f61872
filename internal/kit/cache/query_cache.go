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

// Table is a table of the database whose list queries are cached. All that is
// known of its lists ends with the next write to it: which lists a write changes
// is more than anybody can say in general, and objects are read far more often
// than lists. It is safe for concurrent use.
type Table struct {
	client     *Client
	name       string
	generation string // the key of the counter

	mu     sync.Mutex
	forget []func() // of its queries
}

// Table returns a table. All processes name it alike; a name cannot have a brace.
// Of one name there should be one Table in a hub.
func (c *Client) Table(name string) *Table {
	if name == "" || strings.ContainsAny(name, "{}") {
		panic(fmt.Sprintf("cache: %q cannot be the name of a table", name))
	}
	t := &Table{client: c, name: name, generation: c.root + "cache-generation:{" + name + "}"}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tables[name] = append(c.tables[name], t)
	return t
}

// Invalidate forgets all cached lists of the table. Call it after the commit of
// every write to it. Its promise and its error are those of [Cache.Invalidate].
func (t *Table) Invalidate(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	t.forgetAll()
	_, err := t.runGeneration(ctx, "raise")
	t.forgetAll()
	if err != nil {
		return fmt.Errorf("raise the generation of table %s: %w", t.name, err)
	}
	if err := t.client.publish(ctx, busMessage{Table: t.name}); err != nil {
		return fmt.Errorf("table %s changed: %w", t.name, err)
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

func (t *Table) runGeneration(ctx context.Context, what string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, t.client.timeout)
	defer cancel()
	text, err := generationScript.Run(ctx, t.client.rdb, []string{t.generation}, what).Text()
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// QueryCache caches what list queries of a table return: the ids of rows in their
// order, or what else places a row in a list, never the rows themselves, which
// come from their own cache. A list is kept under the statement and the
// arguments that A stands for; a write to the table ends them all.
//
// It is a [Cache] of lists, with all that a policy can say, in which a record
// also counts only under the table's present generation: one round trip reads
// both. It is safe for concurrent use.
type QueryCache[A comparable, R any] struct {
	lists *Cache[A, []R]
}

// NewQueryCache builds the cache of one kind of query. The function statement names
// the query and its arguments in a text, the same in every process; load runs
// it, as a [Loader] would: it must begin to read after it is called.
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

// NewBatchQueryCache is [NewQueryCache] with a load that runs several queries at once,
// for [QueryCache.GetMany]. A list that it leaves out is empty.
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

// Get returns the list of a query. It is as fresh, and its errors are those, of
// [Cache.Get]; what [Cache.Invalidate] is there, [Table.Invalidate] is here.
func (q *QueryCache[A, R]) Get(ctx context.Context, args A) ([]R, error) {
	list, err := q.lists.Get(ctx, args)
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	return list, nil
}

// GetMany returns the lists of several queries, each as fresh as [QueryCache.Get]
// would return it, with as many round trips and loader calls as [Cache.GetMany].
func (q *QueryCache[A, R]) GetMany(ctx context.Context, all []A) (map[A][]R, error) {
	lists, err := q.lists.GetMany(ctx, all)
	if err != nil {
		return lists, fmt.Errorf("list: %w", err)
	}
	return lists, nil
}

// Pin is [Cache.Pin] for the lists of some queries. After a write to the table they are
// read anew within a second or so.
func (q *QueryCache[A, R]) Pin(ctx context.Context, until time.Time, all ...A) error {
	if err := q.lists.Pin(ctx, until, all...); err != nil {
		return fmt.Errorf("pin %d lists: %w", len(all), err)
	}
	return nil
}

// forgetAll drops all that this process knows.
func (c *core[K, V]) forgetAll() {
	c.flights.forgetAll()
	if c.local != nil {
		c.local.dropAll()
	}
}
