package dblock

import (
	"context"
	"sync"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/lock"
)

// local holds the locks of one process.
type local struct {
	mu   sync.Mutex
	held map[string]chan struct{} // by name; closed by Release
}

// NewLocal returns a [lock.Locker] for the only process of a database, as with SQLite.
func NewLocal(o lock.Options) (*lock.Locker, error) {
	return lock.New(&local{held: make(map[string]chan struct{})}, o)
}

func (s *local) Try(_ context.Context, r lock.Request) (lock.Grant, error) {
	g, _, err := s.take(r)
	return g, err
}

func (s *local) take(r lock.Request) (_ lock.Grant, released <-chan struct{}, err error) {
	if r.Shared {
		return nil, nil, lock.ErrNotShared
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if released := s.held[r.Name]; released != nil {
		return nil, released, &lock.BusyError{Name: r.Name}
	}
	g := &localGrant{s, r, make(chan struct{})}
	s.held[r.Name] = g.released
	return g, nil, nil
}

func (s *local) Acquire(ctx context.Context, r lock.Request) (lock.Grant, error) {
	for {
		g, released, err := s.take(r)
		if released == nil {
			return g, err
		}
		select {
		case <-released:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

type localGrant struct {
	s *local
	lock.Request
	released chan struct{}
}

func (g *localGrant) Until() time.Time { return time.Now().Add(g.TTL) }

func (g *localGrant) Extend(context.Context) (time.Time, error) { return g.Until(), nil }

func (g *localGrant) Release(context.Context) error {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	if g.s.held[g.Name] != g.released {
		return lock.ErrGone
	}
	delete(g.s.held, g.Name)
	close(g.released)
	return nil
}

func (g *localGrant) Expire() { _ = g.Release(context.Background()) }
