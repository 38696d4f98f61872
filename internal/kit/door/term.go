package door

import (
	"context"
	"sync"
	"time"
)

// A term is a context that ends with the one that it is made of, when it is ended, or, if
// it has a time, after that.
//
// Nearly all that has one is over before anybody waits for its end. So it has a timer, and
// its parent knows of it, only from when somebody asks for Done; until then an end is found
// by looking. It is safe for concurrent use.
type term struct {
	context.Context           // the parent
	deadline        time.Time // zero for none

	mu     sync.Mutex
	real   context.Context // what others wait for, nil before
	cancel context.CancelCauseFunc
	stop   context.CancelFunc
	over   bool // ended before there was a real one
	cause  error
}

// begin begins a new term of a time, or of none if that is negative. It must be ended.
func (t *term) begin(parent context.Context, of time.Duration) *term {
	t.Context = parent
	if of >= 0 {
		t.deadline = time.Now().Add(of)
	}
	return t
}

// end ends the term, for a reason or for none. Ends after the first do nothing.
func (t *term) end(cause error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.real != nil:
		t.cancel(cause)
		t.stop()
	case !t.over:
		t.over, t.cause = true, cause
	}
}

// waited is what others can wait for.
func (t *term) waited() context.Context {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waitedLocked()
}

func (t *term) waitedLocked() context.Context {
	if t.real != nil {
		return t.real
	}
	t.real, t.cancel = context.WithCancelCause(t.Context)
	if t.over {
		t.cancel(t.cause)
	}
	t.stop = func() {}
	if !t.deadline.IsZero() {
		t.real, t.stop = context.WithDeadline(t.real, t.deadline)
	}
	return t.real
}

// Deadline implements context.Context.
func (t *term) Deadline() (time.Time, bool) {
	deadline, ok := t.Context.Deadline()
	if !t.deadline.IsZero() && (!ok || t.deadline.Before(deadline)) {
		return t.deadline, true
	}
	return deadline, ok
}

// Done implements context.Context.
func (t *term) Done() <-chan struct{} { return t.waited().Done() }

// Err implements context.Context.
func (t *term) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.real == nil && !t.over && t.Context.Err() == nil && (t.deadline.IsZero() || time.Now().Before(t.deadline)) {
		return nil
	}
	return t.waitedLocked().Err()
}

// Value implements context.Context. A pointer to an int is the key by which package context
// finds what it made itself: for [context.Cause], and for contexts below.
func (t *term) Value(key any) any {
	if _, ok := key.(*int); ok {
		return t.waited().Value(key)
	}
	return t.Context.Value(key)
}
