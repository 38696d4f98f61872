package lock

import (
	"context"
	"sync"
)

// mutexes are Go mutexes, one for each name.
//
// Right in one process, and by far the cheapest there. Wrong: a second server has its own (S4).
type mutexes struct {
	mu    sync.Mutex
	names map[string]chan struct{} // full while locked
}

func newMutexes(Process) (Scheme, error) {
	return &mutexes{names: make(map[string]chan struct{})}, nil
}

func (s *mutexes) of(name string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names[name] == nil {
		s.names[name] = make(chan struct{}, 1)
	}
	return s.names[name]
}

func (s *mutexes) Try(_ context.Context, name string) (Holding, error) {
	m := s.of(name)
	select {
	case m <- struct{}{}:
		return mutexHeld(m), nil
	default:
		return nil, ErrBusy
	}
}

func (s *mutexes) Lock(ctx context.Context, name string) (Holding, error) {
	m := s.of(name)
	select {
	case m <- struct{}{}:
		return mutexHeld(m), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (*mutexes) Close(context.Context) error { return nil }

type mutexHeld chan struct{}

func (m mutexHeld) Unlock(context.Context) error {
	<-m
	return nil
}
