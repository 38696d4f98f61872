package feed

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	rowsTimeout = 4 * time.Second // of one read
	rowsAtOnce  = 200             // notes of one read
	mostKept    = 256             // notes at hand, of 8 KB at most
)

// rows reads notes for live feeds, which need them one by one: who asks while a read is
// under way shares the next one. It is safe for concurrent use.
type rows struct {
	notes Notes
	reads sync.WaitGroup

	mu     sync.Mutex
	next   *rowsRead // nil if nobody waits for one
	flying bool
	kept   map[int64]any // of notes that were just published
	order  []int64       // the notes of kept, the oldest first
}

// keep has a note at hand that was just published: no read of it would show another row, as
// rows of notes do not change.
func (r *rows) keep(id int64, row any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept == nil {
		r.kept = make(map[int64]any, mostKept)
	}
	if len(r.order) == mostKept {
		delete(r.kept, r.order[0])
		r.order = append(r.order[:0], r.order[1:]...)
	}
	r.kept[id] = row
	r.order = append(r.order, id)
}

// A rowsRead is one read for all who wait for it.
type rowsRead struct {
	ids   []int64
	done  chan struct{}
	found map[int64]any
	err   error
}

// forget lets go of all that keep has: the log may be another one.
func (r *rows) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept, r.order = nil, nil
}

// read returns a note, nil if there is none. It is as it was published, or not older than
// the call; who calls knows whether it was deleted.
func (r *rows) read(ctx context.Context, id int64) (any, error) {
	r.mu.Lock()
	if row, ok := r.kept[id]; ok {
		r.mu.Unlock()
		return row, nil
	}
	if r.next == nil {
		r.next = &rowsRead{done: make(chan struct{})}
	}
	one := r.next
	if one.ids = append(one.ids, id); len(one.ids) == rowsAtOnce {
		r.next = nil
		r.reads.Go(func() { one.run(context.WithoutCancel(ctx), r.notes) })
	} else if !r.flying {
		r.flying = true
		r.reads.Go(func() { r.fly(context.WithoutCancel(ctx)) })
	}
	r.mu.Unlock()
	select {
	case <-one.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if one.err != nil {
		return nil, fmt.Errorf("read the notes of live feeds: %w", one.err)
	}
	return one.found[id], nil
}

// fly reads until nobody waits.
func (r *rows) fly(ctx context.Context) {
	for {
		r.mu.Lock()
		one := r.next
		r.next, r.flying = nil, one != nil
		r.mu.Unlock()
		if one == nil {
			return
		}
		one.run(ctx, r.notes)
	}
}

func (r *rowsRead) run(ctx context.Context, notes Notes) {
	ctx, cancel := context.WithTimeout(ctx, rowsTimeout)
	defer cancel()
	defer close(r.done)
	r.found, r.err = notes.Rows(ctx, r.ids)
}
