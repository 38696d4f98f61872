package notify

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// UpdateOptions says what [Updates] reads and sends. Read is required.
type UpdateOptions[T any] struct {
	// Read returns the present state, as it is after everything that was told before
	// the call. It is given a context that ends after Timeout.
	Read    func(ctx context.Context) (T, error)
	Same    func(a, b T) bool // whether b need not be sent after a; nil: every state that was read is sent
	Final   func(T) bool      // whether no other state comes after this one; nil: none is final
	Every   time.Duration     // two reads begin so far apart; 0: at most one for each time of gathering
	Refresh time.Duration     // reads anew so long after a read without a hint, give or take a tenth; 0: never
	Timeout time.Duration     // of a read; default 5 s
}

const (
	firstRetry = 100 * time.Millisecond // after a read that failed
	maxRetry   = 5 * time.Second        // after many
)

// Updates sends the present state, at once, and then each changed one that it
// finds, until ctx ends or a state is final; then it closes the channel. It
// watches the key before it reads: no change goes unseen. Between two reads there
// may have been other states, and a reader that is slow finds the one that was
// read when it should have come, and then the newest. The last state always comes.
//
// A read that fails, or panics, is counted, logged seldom and tried again, with
// longer and longer pauses. The error is [ErrFull].
func Updates[T any](ctx context.Context, h *Hub, key string, o UpdateOptions[T]) (<-chan T, error) {
	w, err := h.Watch(key)
	if err != nil {
		return nil, err
	}
	o.Timeout = cmp.Or(o.Timeout, 5*time.Second)
	u := &updates[T]{UpdateOptions: o, watch: w, out: make(chan T)}
	h.updates.Go(func() {
		defer close(u.out)
		defer w.Close()
		u.run(ctx)
	})
	return u.out, nil
}

type updates[T any] struct {
	UpdateOptions[T]
	watch *Watch
	out   chan T
	began time.Time // the last read
}

func (u *updates[T]) run(ctx context.Context) {
	var last T
	for first := true; ; {
		state, ok := u.read(ctx)
		if !ok {
			return
		}
		if first || u.Same == nil || !u.Same(last, state) {
			select {
			case u.out <- state:
			case <-ctx.Done():
				return
			}
			first, last = false, state
		}
		if u.Final != nil && u.Final(state) || !u.await(ctx) {
			return
		}
	}
}

// read tries until it can. It reports false when ctx has ended.
func (u *updates[T]) read(ctx context.Context) (state T, ok bool) {
	for pause := firstRetry; ctx.Err() == nil; pause = min(2*pause, maxRetry) {
		select { // this read answers it
		case <-u.watch.C():
		default:
		}
		u.began = time.Now()
		state, err := u.once(ctx)
		if err == nil {
			return state, true
		}
		if ctx.Err() == nil {
			u.watch.hub.complain(ctx, reading, err)
		}
		_ = clock.Sleep(ctx, max(clock.Jitter(pause), u.Every))
	}
	return state, false
}

func (u *updates[T]) once(ctx context.Context) (state T, err error) {
	ctx, cancel := context.WithTimeout(ctx, u.Timeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	u.watch.hub.metrics.reads.Inc()
	return u.Read(ctx)
}

// await waits until it is time for the next read. It reports false when ctx has
// ended.
func (u *updates[T]) await(ctx context.Context) bool {
	if wait := u.Every - time.Since(u.began); wait > 0 && clock.Sleep(ctx, wait) != nil {
		return false
	}
	var refresh <-chan time.Time
	if u.Refresh > 0 {
		t := time.NewTimer(clock.Jitter(u.Refresh) - time.Since(u.began))
		defer t.Stop()
		refresh = t.C
	}
	select {
	case <-u.watch.C():
	case <-refresh:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}
