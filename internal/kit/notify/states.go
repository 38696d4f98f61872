package notify

import (
	"context"
	"sync"

	"github.com/tandian-dev/tandian/internal/kit/broadcast"
)

// SharedUpdates shares one [Updates] between all subscribers of a key: each state is read once.
// It is safe for concurrent use.
type SharedUpdates[T any] struct {
	hub *Hub

	mu   sync.Mutex
	open map[string]*state[T]
}

// NewSharedUpdates returns a SharedUpdates. It starts nothing before the first subscription.
func NewSharedUpdates[T any](h *Hub) *SharedUpdates[T] {
	return &SharedUpdates[T]{hub: h, open: make(map[string]*state[T])}
}

// Of returns the state of a key as a source: the current state at once, then each changed one,
// until one is final. A slow subscriber gets the newest. All sources of a key must read the same
// state. Subscribe returns [ErrFull] if too many watches are open.
func (s *SharedUpdates[T]) Of(key string, o UpdateOptions[T]) broadcast.Source {
	return stateSource[T]{s, key, o}
}

type stateSource[T any] struct {
	of  *SharedUpdates[T]
	key string
	o   UpdateOptions[T]
}

// A state is a key with subscribers.
type state[T any] struct {
	of     *SharedUpdates[T]
	key    string
	cancel context.CancelFunc

	mu        sync.Mutex // held while receivers are called
	last      *broadcast.Update
	ended     bool
	receivers map[*stateSubscription[T]]struct{}
}

type stateSubscription[T any] struct {
	state *state[T]
	r     broadcast.Receiver
}

// Subscribe implements [broadcast.Source].
func (s stateSource[T]) Subscribe(r broadcast.Receiver) (broadcast.Subscription, error) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	st := s.of.open[s.key]
	if st == nil {
		ctx, cancel := context.WithCancel(context.Background())
		states, err := Updates(ctx, s.of.hub, s.key, s.o)
		if err != nil {
			cancel()
			return nil, err
		}
		st = &state[T]{of: s.of, key: s.key, cancel: cancel, receivers: make(map[*stateSubscription[T]]struct{})}
		s.of.open[s.key] = st
		s.of.hub.updates.Go(func() { st.run(states) })
	}
	return st.add(r), nil
}

// add must be called with the mutex of SharedUpdates held.
func (st *state[T]) add(r broadcast.Receiver) broadcast.Subscription {
	f := &stateSubscription[T]{st, r}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.receivers[f] = struct{}{}
	if st.last != nil {
		r.Push(st.last)
	}
	return f
}

func (st *state[T]) run(states <-chan T) {
	defer st.cancel()
	for value := range states {
		st.push(value)
	}
	st.remove()
	st.mu.Lock()
	defer st.mu.Unlock()
	st.ended = true
	for f := range st.receivers {
		f.r.End(nil)
	}
}

func (st *state[T]) push(value T) {
	st.mu.Lock()
	defer st.mu.Unlock()
	u := &broadcast.Update{Seq: 1, Load: func(context.Context) (any, error) { return value, nil }}
	if st.last != nil {
		u.Seq = st.last.Seq + 1
	}
	st.last = u
	for f := range st.receivers {
		f.r.Push(u)
	}
}

// remove makes the next subscriber of the key start new updates.
func (st *state[T]) remove() {
	st.of.mu.Lock()
	defer st.of.mu.Unlock()
	if st.of.open[st.key] == st {
		delete(st.of.open, st.key)
	}
}

// Resume implements [broadcast.Subscription].
func (f *stateSubscription[T]) Resume(after int64) {
	st := f.state
	st.mu.Lock()
	defer st.mu.Unlock()
	if _, follows := st.receivers[f]; !follows {
		return
	}
	f.r.Reset()
	if st.last != nil && st.last.Seq > after {
		f.r.Push(st.last)
	}
	if st.ended {
		f.r.End(nil)
	}
}

// Close implements [broadcast.Subscription]. The last Close ends the reads.
func (f *stateSubscription[T]) Close() {
	st := f.state
	st.of.mu.Lock()
	defer st.of.mu.Unlock()
	st.mu.Lock()
	defer st.mu.Unlock()
	delete(st.receivers, f)
	if len(st.receivers) == 0 {
		st.cancel()
		if st.of.open[st.key] == st {
			delete(st.of.open, st.key)
		}
	}
}
