package cache

import (
	"cmp"
	"container/heap"
	"slices"
	"sync"
)

// HotKey is a Redis key with its recent reads in this process.
type HotKey struct {
	Key  string
	Hits int64 // estimated; halved each minute
}

const (
	hotTracked = 512 // keys counted at a time
	hotEnough  = 100 // certain hits of a hot key
)

// topKeys finds the most-read keys in bounded memory. The method is Space-Saving, from
// "Efficient Computation of Frequent and Top-k Elements in Data Streams" (Metwally, Agrawal,
// El Abbadi, ICDT 2005). A new key replaces the rarest one and inherits its count as possible
// error. A key with more than 1/hotTracked of all hits is always tracked. It is safe for
// concurrent use.
type topKeys struct {
	mu    sync.Mutex
	byKey map[string]*counted
	heap  hitHeap
}

type counted struct {
	key   string
	hits  int64 // at most error too many
	error int64
	at    int // in the heap
}

func newTopKeys() *topKeys { return &topKeys{byKey: make(map[string]*counted, hotTracked)} }

func (t *topKeys) add(key string, hits int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.byKey[key]; c != nil {
		c.hits += hits
		heap.Fix(&t.heap, c.at)
		return
	}
	if len(t.heap) < hotTracked {
		c := &counted{key: key, hits: hits}
		t.byKey[key] = c
		heap.Push(&t.heap, c)
		return
	}
	c := t.heap[0]
	delete(t.byKey, c.key)
	c.key, c.error, c.hits = key, c.hits, c.hits+hits
	t.byKey[key] = c
	heap.Fix(&t.heap, 0)
}

func (t *topKeys) hot(key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.byKey[key]
	return c != nil && c.hits-c.error >= hotEnough
}

func (t *topKeys) top(n int) []HotKey {
	return t.list(n, func(c *counted) int64 { return c.hits })
}

// certain returns all keys with their certain hits.
func (t *topKeys) certain() []HotKey {
	return t.list(hotTracked, func(c *counted) int64 { return c.hits - c.error })
}

func (t *topKeys) list(n int, hits func(*counted) int64) []HotKey {
	t.mu.Lock()
	list := make([]HotKey, 0, len(t.heap))
	for _, c := range t.heap {
		list = append(list, HotKey{c.key, hits(c)})
	}
	t.mu.Unlock()
	slices.SortFunc(list, func(a, b HotKey) int {
		return cmp.Or(cmp.Compare(b.Hits, a.Hits), cmp.Compare(a.Key, b.Key))
	})
	return list[:min(n, len(list))]
}

// fade halves all counts, so that keys cool down. The heap order does not change.
func (t *topKeys) fade() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.heap {
		c.hits /= 2
		c.error /= 2
	}
	for len(t.heap) > 0 && t.heap[0].hits == 0 {
		c, _ := heap.Pop(&t.heap).(*counted)
		delete(t.byKey, c.key)
	}
}

// hitHeap is a heap with the rarest key on top.
type hitHeap []*counted

func (r hitHeap) Len() int           { return len(r) }
func (r hitHeap) Less(i, j int) bool { return r[i].hits < r[j].hits }
func (r hitHeap) Swap(i, j int) {
	r[i], r[j] = r[j], r[i]
	r[i].at, r[j].at = i, j
}

func (r *hitHeap) Push(x any) {
	c, _ := x.(*counted)
	c.at = len(*r)
	*r = append(*r, c)
}

func (r *hitHeap) Pop() any {
	last := len(*r) - 1
	c := (*r)[last]
	(*r)[last] = nil
	*r = (*r)[:last]
	return c
}
