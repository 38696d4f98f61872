package visit

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// A bucket is what visits are counted by: a shop, or the site, and a day.
type bucket struct {
	shop int64
	day  int
}

// A dayCount is what came to a bucket.
type dayCount struct {
	views    int64
	visitors map[string]struct{}
}

// buffer is what was recorded and not flushed. It is safe for concurrent use.
type buffer struct {
	max  int                // visitors and buckets
	full prometheus.Counter // visits that there was no room for

	mu      sync.Mutex
	buckets map[bucket]*dayCount
	size    int // visitors and buckets
}

func newBuffer(max int, full prometheus.Counter) *buffer {
	return &buffer{max: max, full: full, buckets: map[bucket]*dayCount{}}
}

// add counts a view. Where there is no room for a visitor who is new, nothing is counted.
func (w *buffer) add(b bucket, visitor string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.join(b, visitor) {
		w.buckets[b].views++
	} else {
		w.full.Inc()
	}
}

// join adds a visitor to a bucket, and reports false if there is no room. The caller has mu.
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

// take returns all that waits, and leaves nothing.
func (w *buffer) take() map[bucket]*dayCount {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.buckets
	w.buckets, w.size = map[bucket]*dayCount{}, 0
	return all
}

// restore adds what was taken and could not be flushed, as far as there is room.
func (w *buffer) restore(b bucket, t *dayCount) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.buckets[b]
	if now == nil {
		now = &dayCount{visitors: map[string]struct{}{}}
		w.buckets[b] = now
		w.size++ // one too many is none: a bucket that was there before stays
	}
	now.views += t.views
	for visitor := range t.visitors {
		if !w.join(b, visitor) {
			w.full.Inc()
		}
	}
}
