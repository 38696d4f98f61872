package cache

import (
	"context"
	"errors"
	"sync"
)

// want is one key that a read has to find.
type want[K comparable] struct {
	k        K
	name     string // its key in Redis
	stamp    stamp  // before Redis was asked
	rejected []byte // what a record begins with that counts as absent, not nil if there is one
	direct   bool   // to be loaded without a lease and not stored
	filtered bool   // the guard let it through

	generation int64 // of the table when Redis was asked; 0: none
}

// load is one detached run of acquire, load and store for some keys.
type load struct {
	ctx        context.Context
	cancel     context.CancelFunc
	keeps      bool // it takes leases: what it loads is of use when all readers are gone
	background bool // nobody waits for it
	readers    int  // that wait for any of its flights; guarded by flights.mu
}

// flight is the way of one key through a load. Readers of the same key in this
// process join it instead of asking Redis again and again.
//
// A flight proceeds in rounds: each command or call that may decide its outcome
// begins one. The outcome counts for those who joined before the round that
// decided it, for it was read after they came. Who came later reads again: an
// invalidation may have returned in between.
type flight[K comparable, V any] struct {
	want[K]
	load  *load
	round int // guarded by flights.mu; written by the load alone
	done  chan struct{}

	// The outcome, once done is closed.
	outcome[V]
	decided int // the round; 0 if the outcome counts for nobody who joined
}

type outcome[V any] struct {
	v     V
	state recordKind // value, negative, or nothing with an error
	err   error
}

// flights are those under way in one cache, by key.
type flights[K comparable, V any] struct {
	mu    sync.Mutex
	byKey map[K]*flight[K, V]
}

// waiter is a reader's place in a flight.
type waiter[K comparable, V any] struct {
	*flight[K, V]
	original want[K] // what the reader wants, as it was before the flight
	own      bool    // the flight began for this reader
	since    int     // the round in which the reader joined
}

// join finds a seat for each want, in a flight under way or in one of a new
// load, which is nil if none had to begin. Nobody joins a flight of another
// generation, for what counts for the one may be over for the other, nor one
// that was given up.
func (f *flights[K, V]) join(ctx context.Context, wants []want[K]) (waiters []waiter[K, V], own []*flight[K, V], started *load) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, w := range wants {
		if fl, ok := f.byKey[w.k]; ok && fl.generation == w.generation && fl.load.ctx.Err() == nil {
			fl.load.readers++
			waiters = append(waiters, waiter[K, V]{flight: fl, original: w, since: fl.round})
			continue
		}
		if started == nil {
			started = newLoad(ctx)
		}
		started.readers++
		started.keeps = started.keeps || !w.direct
		fl := newFlight[K, V](w, started)
		f.byKey[w.k] = fl
		own = append(own, fl)
		waiters = append(waiters, waiter[K, V]{flight: fl, original: w, own: true})
	}
	return waiters, own, started
}

// newLoad begins a load that has the reader's values and does not end with it.
func newLoad(ctx context.Context) *load {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	return &load{ctx: ctx, cancel: cancel}
}

func newFlight[K comparable, V any](w want[K], l *load) *flight[K, V] {
	return &flight[K, V]{want: w, load: l, done: make(chan struct{})}
}

// leave gives a seat back. A load that nobody waits for any more, and that would
// keep nothing, ends.
func (f *flights[K, V]) leave(s waiter[K, V]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s.load.readers--
	if s.load.readers == 0 && !s.load.keeps {
		s.load.cancel()
	}
}

// abandoned reports whether nobody waits for a load any more.
func (f *flights[K, V]) abandoned(l *load) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return l.readers == 0
}

// begin is to be called before what may decide the outcome of these flights.
func (f *flights[K, V]) begin(list []*flight[K, V]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, fl := range list {
		fl.round++
	}
}

// end settles a flight, once. It takes it out first: nobody joins what is over.
func (f *flights[K, V]) end(fl *flight[K, V], o outcome[V], decided int) {
	f.detach([]*flight[K, V]{fl})
	fl.outcome, fl.decided = o, decided
	close(fl.done)
}

// forget keeps new readers from joining what is under way for these keys.
func (f *flights[K, V]) forget(wants []want[K]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, w := range wants {
		delete(f.byKey, w.k)
	}
}

// forgetAll is forget for every key.
func (f *flights[K, V]) forgetAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.byKey)
}

// detach keeps new readers from joining these flights.
func (f *flights[K, V]) detach(list []*flight[K, V]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, fl := range list {
		if f.byKey[fl.k] == fl {
			delete(f.byKey, fl.k)
		}
	}
}

// over reports whether a flight is settled.
func (fl *flight[K, V]) over() bool {
	select {
	case <-fl.done:
		return true
	default:
		return false
	}
}

// isValid reports whether the outcome may be served to the reader in this seat.
func (s waiter[K, V]) isValid() bool { return s.own || s.since < s.decided }

var (
	errExited    = errors.New("the loader's goroutine exited")
	errAbandoned = errors.New("nobody waits for this load any more")
)
