package visit

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// A bucket is the key of a count: a shop, or the site, and a day.
type bucket struct {
	shop int64
	day  int
}

type dayCount struct {
	views    int64
	visitors map[string]struct{}
}

// A buffer holds the visits that were recorded and not flushed. It is safe for concurrent use.
type buffer struct {
	max  int                // maximum of size
	full prometheus.Counter // visits dropped because the buffer was full

	mu      sync.Mutex
	buckets map[bucket]*dayCount
	size    int // number of visitors and buckets
}

func newBuffer(limit int, full prometheus.Counter) *buffer {
	return &buffer{max: limit, full: full, buckets: map[bucket]*dayCount{}}
}

// add counts a view. If the buffer is full, it drops views of new visitors.
func (w *buffer) add(b bucket, visitor string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.join(b, visitor) {
		w.buckets[b].views++
	} else {
		w.full.Inc()
	}
}

// join adds a visitor to a bucket. It reports false if the buffer is full. The caller holds mu.
func (w *buffer) join(b bucket, visitor string) bool {
	t := w.buckets[b]
	if t != nil {
		if _, known := t.visitors[visitor]; known {
			return true
		}
	}
	if w.size >= w.max {
		return false
	}
	if t == nil {
		t = &dayCount{visitors: map[string]struct{}{}}
		w.buckets[b] = t
		w.size++
	}
	t.visitors[visitor] = struct{}{}
	w.size++
	return true
}

// take returns all buckets and empties the buffer.
func (w *buffer) take() map[bucket]*dayCount {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.buckets
	w.buckets, w.size = map[bucket]*dayCount{}, 0
	return all
}

// restore adds a count that was taken and not flushed, up to the size of the buffer.
func (w *buffer) restore(b bucket, t *dayCount) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.buckets[b]
	if now == nil {
		now = &dayCount{visitors: map[string]struct{}{}}
		w.buckets[b] = now
		w.size++ // it may exceed max by the buckets: their views are not dropped
	}
	now.views += t.views
	for visitor := range t.visitors {
		if !w.join(b, visitor) {
			w.full.Inc()
		}
	}
}
