package flashsale

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Bounds of what is asked together: a further round trip begins beside those under way
// when so many wait.
const (
	mostTrips = 4
	manyAsk   = 16
	mostAsk   = 128  // in one round trip: all of them wait for its end
	mostCrowd = 2000 // that wait; more are sent away
)

// together has the admissions of one moment share a round trip to Redis: while one is
// under way, the next gather. A caller alone is asked for at once. Each has an answer of
// its own, and an error of its own; what a connection fails at, all of a trip fail at.
// It is safe for concurrent use.
type together struct {
	ask func(ctx context.Context, all []*asked)

	mu      sync.Mutex
	waiting []*asked
	trips   int
	ended   sync.Cond // a trip
}

// asked is an admission that waits for its answer.
type asked struct {
	ctx    context.Context // of its caller, without the end: values for traces
	keys   []string
	args   []any
	queued func(ctx context.Context, pipe redis.Pipeliner) // sent behind it; nil is nothing
	done   chan struct{}                                   // closed when cmd has the answer
	cmd    *redis.Cmd
}

// errCrowded says that too many wait. Redis is not to blame.
var errCrowded = errors.New("too many wait to ask Redis")

// notAskedError is the end of a context whose admission Redis was not sent.
type notAskedError struct{ error }

func (notAskedError) Unsent() bool { return true }

func (e notAskedError) Unwrap() error { return e.error }

func newTogether(ask func(ctx context.Context, all []*asked)) *together {
	t := &together{ask: ask}
	t.ended.L = &t.mu
	return t
}

// do has an admission asked for. If ctx ends first, its error comes back: one with an
// Unsent() that is true if nobody asked yet, and nobody will. The error may be errCrowded.
func (t *together) do(ctx context.Context, a *asked) error {
	a.ctx, a.done = context.WithoutCancel(ctx), make(chan struct{})
	t.mu.Lock()
	if len(t.waiting) >= mostCrowd {
		t.mu.Unlock()
		return errCrowded
	}
	t.waiting = append(t.waiting, a)
	t.start() //nolint:contextcheck // each of those asked for has its own
	t.mu.Unlock()
	select {
	case <-a.done:
		return nil
	case <-ctx.Done():
		return t.leave(a, ctx.Err())
	}
}

// leave is for who waits no longer.
func (t *together) leave(a *asked, why error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.waiting, a); i >= 0 {
		t.waiting = slices.Delete(slices.Clone(t.waiting), i, i+1) // what stands before it may be under way
		return notAskedError{why}
	}
	return why
}

// start begins a round trip for those who wait, if it is time. The caller holds mu.
func (t *together) start() {
	n := len(t.waiting)
	if n == 0 || t.trips >= mostTrips || t.trips > 0 && n < manyAsk {
		return
	}
	n = min(n, mostAsk)
	all := t.waiting[:n:n]
	if t.waiting = t.waiting[n:]; len(t.waiting) == 0 {
		t.waiting = nil
	}
	t.trips++
	go t.travel(all)
}

// travel asks, in the name of the first of them.
func (t *together) travel(all []*asked) {
	ctx, cancel := context.WithTimeout(all[0].ctx, tripPatience)
	t.ask(ctx, all)
	cancel()
	for _, a := range all {
		close(a.done)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.trips--
	t.start()
	t.ended.Broadcast()
}

// wait returns when no round trip is under way.
func (t *together) wait() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.trips > 0 {
		t.ended.Wait()
	}
}
