package notify

import (
	"context"
	"sync"

	"github.com/tandian-dev/tandian/internal/kit/broadcast"
)

// SharedUpdates lets all who follow the state of a key share one [Updates] of it: each state
// is read once, however many wait for it. It is safe for concurrent use.
type SharedUpdates[T any] struct {
	hub *Hub

	mu   sync.Mutex
	open map[string]*state[T]
}

// NewSharedUpdates builds one. It starts nothing as long as nobody follows.
func NewSharedUpdates[T any](h *Hub) *SharedUpdates[T] {
	return &SharedUpdates[T]{hub: h, open: make(map[string]*state[T])}
}

// Of is the state of a key as a source: the present one, at once, then each changed
// one, until one is final. Who is slow is told the newest. All sources of one key must
// read the same. The error of following is [ErrFull].
func (s *SharedUpdates[T]) Of(key string, o UpdateOptions[T]) broadcast.Source {
	return stateSource[T]{s, key, o}
}

type stateSource[T any] struct {
	of  *SharedUpdates[T]
	key string
	o   UpdateOptions[T]
}

// A state is a key that somebody follows.
type state[T any] struct {
	of     *SharedUpdates[T]
	key    string
	cancel context.CancelFunc

	mu        sync.Mutex // held while receivers are called
	last      *broadcast.Update
	ended     bool
	receivers map[*stateFollowing[T]]struct{}
}

type stateFollowing[T any] struct {
	state *state[T]
	r     broadcast.Receiver
}

// Subscribe implements [Source].
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
		st = &state[T]{of: s.of, key: s.key, cancel: cancel, receivers: make(map[*stateFollowing[T]]struct{})}
		s.of.open[s.key] = st
		s.of.hub.updates.Go(func() { st.run(states) })
	}
	return st.add(r), nil
}

// add is for those who hold the mutex of States.
func (st *state[T]) add(r broadcast.Receiver) broadcast.Subscription {
	f := &stateFollowing[T]{st, r}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.receivers[f] = struct{}{}
	if st.last != nil {
		r.Push(st.last)
	}
	return f
}

// run tells what is read until that ends.
func (st *state[T]) run(states <-chan T) {
	defer st.cancel()
	for value := range states {
		st.tell(value)
	}
	st.leave()
	st.mu.Lock()
	defer st.mu.Unlock()
	st.ended = true
	for f := range st.receivers {
		f.r.End(nil)
	}
}

func (st *state[T]) tell(value T) {
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

// leave has the next who follows the key begin anew.
func (st *state[T]) leave() {
	st.of.mu.Lock()
	defer st.of.mu.Unlock()
	if st.of.open[st.key] == st {
		delete(st.of.open, st.key)
	}
}

// Resume implements [Subscription].
func (f *stateFollowing[T]) Resume(after int64) {
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

// Close implements [Subscription]. With the last one the reading ends.
func (f *stateFollowing[T]) Close() {
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
