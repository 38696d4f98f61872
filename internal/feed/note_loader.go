package feed

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/batch"
)

const (
	rowsTimeout    = 4 * time.Second // per read
	maxReadRows    = 200             // notes per read
	maxReads       = 8               // concurrent reads; beyond the first, each starts with maxReadRows callers
	maxWaiting     = 20_000          // waiting callers; more fail
	maxCachedNotes = 256             // notes, of at most 8 KB each
)

// A noteLoader reads notes one by one for live feeds. Callers that arrive during a read share the
// next one. It is safe for concurrent use.
type noteLoader struct {
	reads *batch.Batcher[int64, any]

	mu     sync.Mutex
	cached map[int64]any // newly published notes
	order  []int64       // keys of cached, oldest first
}

func newNoteLoader(notes Notes) *noteLoader {
	read := func(ctx context.Context, calls []*batch.Call[int64, any]) (func(), error) {
		ids := make([]int64, len(calls))
		for i, c := range calls {
			ids[i] = c.In
		}
		found, err := notes.Rows(ctx, ids)
		if err != nil {
			return nil, fmt.Errorf("read notes for live feeds: %w", err)
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

// add caches a newly published note. Live feeds may show a note as it was published.
func (r *noteLoader) add(id int64, row any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cached == nil {
		r.cached = make(map[int64]any, maxCachedNotes)
	}
	if len(r.order) == maxCachedNotes {
		delete(r.cached, r.order[0])
		r.order = append(r.order[:0], r.order[1:]...)
	}
	r.cached[id] = row
	r.order = append(r.order, id)
}

// forget drops all cached notes, because the log may differ.
func (r *noteLoader) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cached, r.order = nil, nil
}

// read returns a note as it was published or as it is now, nil if there is none. The caller checks
// whether it was deleted.
func (r *noteLoader) read(ctx context.Context, id int64) (any, error) {
	r.mu.Lock()
	row, ok := r.cached[id]
	r.mu.Unlock()
	if ok {
		return row, nil
	}
	return r.reads.Join(ctx, id)
}
