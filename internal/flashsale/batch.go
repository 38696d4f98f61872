package flashsale

import (
	"context"
	"sync"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/fault"
)

// Bounds of the group commit: a second transaction begins beside one that is under
// way when so many wait, or one of them so long. Two about one sale wait for its row one
// after the other, so a second is for many, and for when the first one hangs.
const (
	mostFlights = 2
	manyWait    = 200
	longWait    = 100 * time.Millisecond
	mostWaiting = 2000 // beyond, callers are sent away
)

// errBusy is what callers hear of whom too many wait already.
var errBusy = fault.New(fault.Unavailable, "Too many orders at the moment. Please try again.").In(time.Second)

// A commitGroup decides attempts. Each has an outcome, or an error of its own; after
// is what is left to do when they know.
type commitGroup func(ctx context.Context, batch []attempt) (outcomes []outcome, errs []error, after func())

// A groupCommit has the callers of one moment share one transaction. While it
// runs, the next callers gather. It is safe for concurrent use.
type groupCommit struct {
	commit commitGroup

	mu      sync.Mutex
	waiting []*seat
	flights int
	afters  int       // transactions that are over, but for what is left to do
	landed  sync.Cond // these became fewer
}

// A seat is a caller who waits.
type seat struct {
	ctx context.Context // of the caller, without its end: values for traces
	attempt
	since time.Time
	done  chan struct{} // closed when the rest is there
	outcome
	err error
}

func newGroupCommit(commit commitGroup) *groupCommit {
	g := &groupCommit{commit: commit}
	g.landed.L = &g.mu
	return g
}

// do has an attempt decided. A caller whose context ends leaves; its attempt is
// decided all the same, and the others do not notice.
func (g *groupCommit) do(ctx context.Context, a attempt) (outcome, error) {
	s := &seat{ctx: context.WithoutCancel(ctx), attempt: a, since: time.Now(), done: make(chan struct{})}
	g.mu.Lock()
	if len(g.waiting) >= mostWaiting {
		g.mu.Unlock()
		return outcome{}, errBusy
	}
	g.waiting = append(g.waiting, s)
	g.start()
	g.mu.Unlock()
	select {
	case <-s.done:
		return s.outcome, s.err
	case <-ctx.Done():
		return outcome{}, ctx.Err()
	}
}

// start begins a transaction for those who wait, if it is time. The caller holds mu.
func (g *groupCommit) start() {
	n := min(len(g.waiting), maxBatch)
	if n == 0 || g.flights >= mostFlights {
		return
	}
	if g.flights > 0 && n < manyWait && time.Since(g.waiting[0].since) < longWait {
		return
	}
	batch := g.waiting[:n:n]
	g.waiting = g.waiting[n:]
	if len(g.waiting) == 0 {
		g.waiting = nil
	}
	g.flights++
	go g.fly(batch)
}

// fly commits, in the name of the first of them.
func (g *groupCommit) fly(batch []*seat) {
	attempts := make([]attempt, len(batch))
	for i, s := range batch {
		attempts[i] = s.attempt
	}
	outcomes, errs, after := g.commit(batch[0].ctx, attempts)
	for i, s := range batch {
		s.outcome, s.err = outcomes[i], errs[i]
		close(s.done)
	}
	g.mu.Lock()
	g.flights--
	g.afters++
	g.start()
	g.mu.Unlock()
	after() // beside the next transaction: a Redis that does not answer holds up none
	g.mu.Lock()
	defer g.mu.Unlock()
	g.afters--
	g.landed.Broadcast()
}

// wait returns when no transaction is under way, and nothing is left to do after one.
func (g *groupCommit) wait() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.flights+g.afters > 0 {
		g.landed.Wait()
	}
}
