package flashsale

import (
	"context"
	"fmt"
	"sync"
	"time"

	"entgo.io/ent/dialect"

	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/store"
)

const (
	lockPause    = 20 * time.Millisecond // between two tries
	lockPatience = 5 * time.Second       // of one try; what is done then has times of its own
)

// names are locks of this process: on SQLite there is no other.
type names struct {
	mu    sync.Mutex
	taken map[string]bool
}

func (n *names) take(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.taken[name] {
		return false
	}
	if n.taken == nil {
		n.taken = map[string]bool{}
	}
	n.taken[name] = true
	return true
}

func (n *names) give(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.taken, name)
}

// alone does what one process should do at a time, and reports false at once if
// another, or another goroutine, is at it. On Postgres that is known by an advisory lock.
func (s *Service) alone(ctx context.Context, name string, do func(context.Context) error) (done bool, err error) {
	if !s.names.take(name) {
		return false, nil
	}
	defer s.names.give(name)
	if s.cfg.Dialect != dialect.Postgres {
		return true, do(ctx)
	}
	ctx, cancel := context.WithCancel(ctx) // no deadline: the transaction lasts as long as the work
	defer cancel()
	late := time.AfterFunc(lockPatience, cancel)
	defer late.Stop()
	tx, err := s.db.Tx(ctx)
	if err != nil {
		return false, fmt.Errorf("lock %s: %w", name, err)
	}
	defer func() { _ = tx.Rollback() }() // gives it up, as does the end of the connection
	ok, err := store.Alone(ctx, tx, name)
	if err != nil || !ok {
		return false, err
	}
	late.Stop()
	return true, do(ctx)
}

// inTurn is alone, with patience.
func (s *Service) inTurn(ctx context.Context, name string, do func(context.Context) error) error {
	for {
		done, err := s.alone(ctx, name, do)
		if done || err != nil {
			return err
		}
		if err := clock.Sleep(ctx, lockPause); err != nil {
			return fmt.Errorf("wait for %s: %w", name, err)
		}
	}
}
