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

// A tally is what came to a bucket.
type tally struct {
	views    int64
	visitors map[string]struct{}
}

// waiting is what was recorded and not flushed. It is safe for concurrent use.
type waiting struct {
	most int                // visitors and buckets
	full prometheus.Counter // visits that there was no room for

	mu      sync.Mutex
	buckets map[bucket]*tally
	held    int // visitors and buckets
}

func newWaiting(most int, full prometheus.Counter) *waiting {
	return &waiting{most: most, full: full, buckets: map[bucket]*tally{}}
}

// add counts a view. Where there is no room for a visitor who is new, nothing is counted.
func (w *waiting) add(b bucket, visitor string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.join(b, visitor) {
		w.buckets[b].views++
	} else {
		w.full.Inc()
	}
}

// join adds a visitor to a bucket, and reports false if there is no room. The caller has mu.
func (w *waiting) join(b bucket, visitor string) bool {
	t := w.buckets[b]
	if t != nil {
		if _, known := t.visitors[visitor]; known {
			return true
		}
	}
	if w.held >= w.most {
		return false
	}
	if t == nil {
		t = &tally{visitors: map[string]struct{}{}}
		w.buckets[b] = t
		w.held++
	}
	t.visitors[visitor] = struct{}{}
	w.held++
	return true
}

// take returns all that waits, and leaves nothing.
func (w *waiting) take() map[bucket]*tally {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.buckets
	w.buckets, w.held = map[bucket]*tally{}, 0
	return all
}

// giveBack adds what was taken and could not be flushed, as far as there is room.
func (w *waiting) giveBack(b bucket, t *tally) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.buckets[b]
	if now == nil {
		now = &tally{visitors: map[string]struct{}{}}
		w.buckets[b] = now
		w.held++ // one too many is none: a bucket that was there before stays
	}
	now.views += t.views
	for visitor := range t.visitors {
		if !w.join(b, visitor) {
			w.full.Inc()
		}
	}
}
