package feed

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// slowNotes blocks reads until they are released. Note 404 is missing.
type slowNotes struct {
	Notes
	release chan struct{}
	err     error

	mu    sync.Mutex
	reads [][]int64
}

func (n *slowNotes) Rows(ctx context.Context, ids []int64) (map[int64]any, error) {
	n.mu.Lock()
	n.reads = append(n.reads, ids)
	n.mu.Unlock()
	select {
	case <-n.release:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	found := map[int64]any{}
	for _, id := range ids {
		if id != 404 {
			found[id] = -id
		}
	}
	return found, n.err
}

func TestCallersShareTheNextReadOfNotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		notes := &slowNotes{release: make(chan struct{})}
		r := newNoteLoader(notes)
		var all sync.WaitGroup
		for id, want := range map[int64]any{1: int64(-1), 404: nil} {
			all.Go(func() {
				for range 2 {
					if row, err := r.read(t.Context(), id); err != nil || row != want {
						t.Errorf("note %d: got %v, %v, want %v", id, row, err, want)
					}
				}
			})
		}
		all.Go(func() {
			ctx, leave := context.WithCancel(t.Context())
			go leave()
			if _, err := r.read(ctx, 7); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want %v", err, context.Canceled)
			}
		})
		synctest.Wait()
		close(notes.release)
		all.Wait()
		r.reads.Wait()
		if n := len(notes.reads); n > 4 {
			t.Errorf("got %d reads, want at most 4: %v", n, notes.reads)
		}
	})
}

func TestFullReadOfNotesDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		notes := &slowNotes{release: make(chan struct{})}
		r := newNoteLoader(notes)
		for id := range int64(1 + 2*maxReadRows + 1) {
			go func() { _, _ = r.read(t.Context(), id) }()
			synctest.Wait()
		}
		var sizes []int
		for _, ids := range notes.reads {
			sizes = append(sizes, len(ids))
		}
		if diff := cmp.Diff([]int{1, maxReadRows, maxReadRows}, sizes); diff != "" {
			t.Error(diff)
		}
		close(notes.release)
		synctest.Wait()
	})
}

func TestFailedReadOfNotesFailsAllItsCallers(t *testing.T) {
	errRead := errors.New("database unavailable")
	synctest.Test(t, func(t *testing.T) {
		notes := &slowNotes{release: make(chan struct{}), err: errRead}
		r := newNoteLoader(notes)
		var all sync.WaitGroup
		for id := range int64(4) {
			all.Go(func() {
				if _, err := r.read(t.Context(), id); !errors.Is(err, errRead) {
					t.Errorf("got %v, want %v", err, errRead)
				}
			})
			synctest.Wait()
		}
		close(notes.release)
		all.Wait()
		if n := len(notes.reads); n != 2 {
			t.Errorf("got %d reads, want 2", n)
		}
	})
}

func TestSlowReadOfNotesEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newNoteLoader(&slowNotes{})
		begin := time.Now()
		_, err := r.read(t.Context(), 1)
		if took := time.Since(begin); !errors.Is(err, context.DeadlineExceeded) || took != rowsTimeout {
			t.Errorf("got %v after %v, want a timeout after %v", err, took, rowsTimeout)
		}
	})
}

func TestPublishedNotesNeedNoRead(t *testing.T) {
	notes := &slowNotes{release: make(chan struct{})}
	close(notes.release)
	r := newNoteLoader(notes)
	for id := range int64(maxCachedNotes + 1) {
		r.add(id, "published")
	}
	for id, want := range map[int64]any{0: int64(0), 1: "published", maxCachedNotes: "published"} {
		if row, err := r.read(t.Context(), id); err != nil || row != want {
			t.Errorf("note %d: got %v, %v, want %v", id, row, err, want)
		}
	}
	r.forget()
	if row, err := r.read(t.Context(), 1); err != nil || row != int64(-1) {
		t.Errorf("note 1: got %v, %v, want -1", row, err)
	}
	if diff := cmp.Diff([][]int64{{0}, {1}}, notes.reads); diff != "" {
		t.Error(diff)
	}
}
