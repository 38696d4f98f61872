package feed

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/batch"
)

const (
	rowsTimeout = 4 * time.Second // of one read
	maxReadRows = 200             // notes of one read
	maxReads    = 8               // at once: a further one starts when maxReadRows wait
	maxWaiting  = 20_000          // calls beyond those; more fail
	maxKept     = 256             // notes in memory, of 8 KB at most
)

// noteLoader reads notes for live feeds, which need them one by one. Callers that arrive while a
// read is under way share the next one. It is safe for concurrent use.
type noteLoader struct {
	reads *batch.Batcher[int64, any]

	mu    sync.Mutex
	kept  map[int64]any // of notes that were just published
	order []int64       // the notes of kept, the oldest first
}

func newRows(notes Notes) *noteLoader {
	read := func(ctx context.Context, calls []*batch.Call[int64, any]) (func(), error) {
		ids := make([]int64, len(calls))
		for i, c := range calls {
			ids[i] = c.In
		}
		found, err := notes.Rows(ctx, ids)
		if err != nil {
			return nil, fmt.Errorf("read the notes of live feeds: %w", err)
		}
		for _, c := range calls {
			c.Out = found[c.In]
		}
		return nil, nil
	}
	return &noteLoader{reads: batch.New(read, batch.Config{
		Max: maxReadRows, MaxWaiting: maxWaiting, Groups: maxReads, Timeout: rowsTimeout,
		Leave: true, Shared: func(error) bool { return true },
	})}
}

// keep stores a note that was just published. No read of it would return another row, since
// rows of notes do not change.
func (r *noteLoader) keep(id int64, row any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept == nil {
		r.kept = make(map[int64]any, maxKept)
	}
	if len(r.order) == maxKept {
		delete(r.kept, r.order[0])
		r.order = append(r.order[:0], r.order[1:]...)
	}
	r.kept[id] = row
	r.order = append(r.order, id)
}

// forget drops all that keep stored: the log may be another one.
func (r *noteLoader) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept, r.order = nil, nil
}

// read returns a note, nil if there is none. It is as it was published, or not older than
// the call. The caller knows whether it was deleted.
func (r *noteLoader) read(ctx context.Context, id int64) (any, error) {
	r.mu.Lock()
	row, ok := r.kept[id]
	r.mu.Unlock()
	if ok {
		return row, nil
	}
	return r.reads.Join(ctx, id)
}
