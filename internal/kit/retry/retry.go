// Package retry keeps what could not be done, and does it later.
package retry

import (
	"context"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// A Queue holds, in this process alone, what a store could not be told of. It is
// for what may be late and is mended otherwise, if later still, when the process
// ends first. It is safe for concurrent use.
type Queue[T any] struct {
	items chan T
	pause time.Duration
}

// NewQueue returns a queue with room for size items, which pauses after each
// failure.
func NewQueue[T any](size int, pause time.Duration) *Queue[T] {
	return &Queue[T]{make(chan T, size), pause}
}

// Add leaves an item to [Queue.Run]. It reports false when there is no room.
func (q *Queue[T]) Add(item T) bool {
	select {
	case q.items <- item:
		return true
	default:
		return false
	}
}

// Len is how many items wait.
func (q *Queue[T]) Len() int { return len(q.items) }

// Run does work for each item until ctx ends. One for which it fails goes behind
// the others, because the nodes of a cluster fail one by one; failed hears of
// it, and whether there was room. What is left at the end is there for the next
// Run. Several may run at once.
func (q *Queue[T]) Run(ctx context.Context, work func(context.Context, T) error, failed func(item T, err error, kept bool)) {
	for ctx.Err() == nil { // first: select takes either of two that are ready
		select {
		case <-ctx.Done():
		case item := <-q.items:
			if err := work(ctx, item); err != nil {
				failed(item, err, q.Add(item))
				_ = clock.Sleep(ctx, q.pause) // the loop sees that ctx ended
			}
		}
	}
}
