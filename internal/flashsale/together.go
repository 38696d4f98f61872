package flashsale

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Bounds of what is asked together: a further round trip begins beside those under way
// when so many wait.
const (
	mostTrips = 4
	manyAsk   = 16
	mostAsk   = 128 // in one round trip: all of them wait for its end
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

func newTogether(ask func(ctx context.Context, all []*asked)) *together {
	t := &together{ask: ask}
	t.ended.L = &t.mu
	return t
}

// do has an admission asked for. If ctx ends first, its error comes back, and the
// admission is asked for all the same, or was.
func (t *together) do(ctx context.Context, a *asked) error {
	a.ctx, a.done = context.WithoutCancel(ctx), make(chan struct{})
	t.mu.Lock()
	t.waiting = append(t.waiting, a)
	t.start()
	t.mu.Unlock()
	select {
	case <-a.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
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
