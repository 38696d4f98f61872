package cache

import (
	"context"
	"errors"
	"sync"
)

// want is one key that a read must find.
type want[K comparable] struct {
	k        K
	name     string // its key in Redis
	stamp    stamp  // before the Redis read
	rejected []byte // first bytes of a record that counts as absent; nil: none
	direct   bool   // load without a lease, do not store
	filtered bool   // passed the existence filter

	generation int64 // of the table at the Redis read; 0: none
}

// load is one detached acquire, load and store of some keys.
type load struct {
	ctx        context.Context
	cancel     context.CancelFunc
	stores     bool // takes leases: its result is useful without readers
	background bool // no reader waits for it
	readers    int  // waiting for any of its flights; guarded by flights.mu
}

// flight is one key in a load. Readers of the same key in this process join it instead of
// reading Redis repeatedly.
//
// A flight has rounds: each command or call that may decide its outcome starts one. The
// outcome counts for readers that joined before the deciding round, because the data was read
// after they came. Later readers read again: an invalidation may have returned in between.
type flight[K comparable, V any] struct {
	want[K]
	load  *load
	round int // guarded by flights.mu; only the load writes it
	done  chan struct{}

	// The outcome, once done is closed.
	outcome[V]
	decided int // deciding round; 0 if the outcome does not count for readers that joined
}

type outcome[V any] struct {
	v     V
	state recordKind // value, negative, or nothing with an error
	err   error
}

// flights holds the running flights of one cache by key.
type flights[K comparable, V any] struct {
	mu    sync.Mutex
	byKey map[K]*flight[K, V]
}

// waiter is one reader in a flight.
type waiter[K comparable, V any] struct {
	*flight[K, V]
	original want[K] // the reader's want, unchanged by the flight
	own      bool    // the flight began for this reader
	since    int     // the round in which the reader joined
}

// join returns a waiter for each want, in a running flight or in one of a new load. The new
// load is nil if none was needed. A reader does not join a flight of another generation, whose
// list may be outdated, nor a cancelled one.
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
		started.stores = started.stores || !w.direct
		fl := newFlight[K, V](w, started)
		f.byKey[w.k] = fl
		own = append(own, fl)
		waiters = append(waiters, waiter[K, V]{flight: fl, original: w, own: true})
	}
	return waiters, own, started
}

// newLoad returns a load with the values of ctx that does not end with ctx.
func newLoad(ctx context.Context) *load {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	return &load{ctx: ctx, cancel: cancel}
}

func newFlight[K comparable, V any](w want[K], l *load) *flight[K, V] {
	return &flight[K, V]{want: w, load: l, done: make(chan struct{})}
}

// leave removes a waiter. It cancels a load without waiters whose result would not be stored.
func (f *flights[K, V]) leave(s waiter[K, V]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s.load.readers--
	if s.load.readers == 0 && !s.load.stores {
		s.load.cancel()
	}
}

func (f *flights[K, V]) abandoned(l *load) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return l.readers == 0
}

// begin starts a round. Call it before each step that may decide the outcome of these flights.
func (f *flights[K, V]) begin(list []*flight[K, V]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, fl := range list {
		fl.round++
	}
}

// end sets the outcome of a flight, once. It first detaches the flight, so no reader can join.
func (f *flights[K, V]) end(fl *flight[K, V], o outcome[V], decided int) {
	f.detach([]*flight[K, V]{fl})
	fl.outcome, fl.decided = o, decided
	close(fl.done)
}

// forget prevents new readers from joining the running flights of these keys.
func (f *flights[K, V]) forget(wants []want[K]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, w := range wants {
		delete(f.byKey, w.k)
	}
}

func (f *flights[K, V]) forgetAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.byKey)
}

func (f *flights[K, V]) detach(list []*flight[K, V]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, fl := range list {
		if f.byKey[fl.k] == fl {
			delete(f.byKey, fl.k)
		}
	}
}

func (fl *flight[K, V]) over() bool {
	select {
	case <-fl.done:
		return true
	default:
		return false
	}
}

// isValid reports whether the outcome may be returned to this reader.
func (s waiter[K, V]) isValid() bool { return s.own || s.since < s.decided }

var (
	errExited    = errors.New("loader goroutine exited")
	errAbandoned = errors.New("load abandoned by all readers")
)
