package cache

import (
	"context"
	"maps"
	"strconv"
	"sync"
	"testing"
	"time"
)

// row is the cached value of the tests.
type row struct {
	ID, Version int
}

// table stands for a database table.
type table struct {
	mu    sync.Mutex
	rows  map[int]row
	calls [][]int // keys of each load
}

func newTable(ids ...int) *table {
	t := &table{rows: make(map[int]row)}
	for _, id := range ids {
		t.commit(id)
	}
	return t
}

// commit inserts or updates a row, increments its version and returns it.
func (t *table) commit(id int) row {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows[id] = row{id, t.rows[id].Version + 1}
	return t.rows[id]
}

func (t *table) load(_ context.Context, ids []int) (map[int]row, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls = append(t.calls, ids)
	found := make(map[int]row)
	for _, id := range ids {
		if r, ok := t.rows[id]; ok {
			found[id] = r
		}
	}
	return found, nil
}

func (t *table) loads() [][]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([][]int(nil), t.calls...)
}

func (t *table) all() map[int]row {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.rows)
}

// paused is a load that has read the table and waits. It returns with the error that is sent
// to end, or with its rows for nil.
type paused struct {
	ctx context.Context
	end chan error
}

// pausing returns a loader whose calls read the table and then pause, and a function that
// waits for the next such call.
func (t *table) pausing(test *testing.T) (Loader[int, row], func() paused) {
	loads, over := make(chan paused), test.Context()
	load := func(ctx context.Context, ids []int) (map[int]row, error) {
		found, _ := t.load(ctx, ids)
		p := paused{ctx, make(chan error)}
		var err error
		select {
		case loads <- p:
		case <-over.Done():
			return nil, over.Err()
		}
		select {
		case err = <-p.end:
		case <-over.Done():
			err = over.Err()
		}
		return found, err
	}
	return load, func() paused { return receive(test, loads) }
}

// receive receives a value, with a timeout.
func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(10 * time.Second):
		t.Fatal("nothing came within 10 seconds")
		panic("unreachable")
	}
}

func newCache[K comparable, V any](h *Client, p Policy, key func(K) string, load Loader[K, V]) *Cache[K, V] {
	return New(h, p, Source[K, V]{Key: key, Load: load})
}

// cacheOf returns a cache of rows for one process. Nothing expires unless a test sets it.
func cacheOf(h *Client, load Loader[int, row], p Policy) *Cache[int, row] {
	p.Name = "row"
	return newCache(h, p.withTestTimes(), strconv.Itoa, load)
}

func (p Policy) withTestTimes() Policy {
	p.LoadTimeout = positiveOr(p.LoadTimeout, longTime)
	p.LeaseTTL = positiveOr(p.LeaseTTL, longTime)
	return p
}

// getResult is the result of a Get in the background.
type getResult struct {
	row row
	err error
}

func getLater(ctx context.Context, c *Cache[int, row], id int) <-chan getResult {
	done := make(chan getResult, 1)
	go func() {
		r, err := c.Get(ctx, id)
		done <- getResult{r, err}
	}()
	return done
}

func mustGet(t *testing.T, c *Cache[int, row], id int) row {
	t.Helper()
	r, err := c.Get(t.Context(), id)
	if err != nil {
		t.Fatalf("Get(%d): %v", id, err)
	}
	return r
}

func mustInvalidate(t *testing.T, c *Cache[int, row], ids ...int) {
	t.Helper()
	if err := c.Invalidate(t.Context(), ids...); err != nil {
		t.Fatalf("Invalidate(%d): %v", ids, err)
	}
}
