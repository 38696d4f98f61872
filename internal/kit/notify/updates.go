package notify

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// UpdateOptions tunes [Updates]. Read is required.
type UpdateOptions[T any] struct {
	// Read returns the current state, with all changes notified before the call. Its context
	// ends after Timeout.
	Read    func(ctx context.Context) (T, error)
	Same    func(a, b T) bool // reports whether b need not be sent after a; nil: false
	Final   func(T) bool      // reports whether this state is the last; nil: false
	Every   time.Duration     // shortest time between the starts of two reads; 0: limited by Options.Debounce
	Refresh time.Duration     // longest time without a read, ±10 %; 0: unlimited
	Timeout time.Duration     // of a read; default 5 s
}

const (
	firstRetry = 100 * time.Millisecond // after a failed read
	maxRetry   = 5 * time.Second        // after many failed reads
)

// Updates sends the current state at once, and then each changed one, until ctx ends or a state
// is final. Then it closes the channel. It watches the key before it reads, so it misses no
// change. It may skip states between two reads. A slow receiver first gets the state that it did
// not receive in time, and then the newest. The last state always arrives.
//
// A failed or panicking read is counted, logged at most every ten seconds, and retried with
// growing pauses. The only error that Updates returns is [ErrFull].
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
	began time.Time // start of the last read
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

// read retries until it succeeds. It reports false if ctx ended.
func (u *updates[T]) read(ctx context.Context) (state T, ok bool) {
	for pause := firstRetry; ctx.Err() == nil; pause = min(2*pause, maxRetry) {
		select { // this read covers the hint
		case <-u.watch.C():
		default:
		}
		u.began = time.Now()
		state, err := u.readOnce(ctx)
		if err == nil {
			return state, true
		}
		if ctx.Err() == nil {
			u.watch.hub.recordFailure(ctx, reading, err)
		}
		_ = clock.Sleep(ctx, max(clock.Jitter(pause), u.Every))
	}
	return state, false
}

func (u *updates[T]) readOnce(ctx context.Context) (state T, err error) {
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

// await waits until the next read is due. It reports false if ctx ended.
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
