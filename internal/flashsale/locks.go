package flashsale

import (
	"context"
	"errors"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/lock"
)

// lockTimeout bounds one attempt to take a lock while the database does not answer. The work
// under the lock has its own limits.
const lockTimeout = 5 * time.Second

// tryLocked calls do under a lock. It returns false at once if another caller in any process
// holds the lock. The context of do ends when the lock is lost. A paused process may continue
// for a moment, so do must tolerate a second run in parallel.
func (s *Service) tryLocked(ctx context.Context, name string, do func(context.Context) error) (done bool, err error) {
	lease, err := s.cfg.Locks.Try(ctx, name, lock.WithWait(lockTimeout))
	if err == nil {
		return true, withLease(ctx, lease, do)
	}
	if _, busy := errors.AsType[*lock.BusyError](err); busy {
		return false, nil
	}
	return false, err
}

// locked is like tryLocked, but waits for the lock.
func (s *Service) locked(ctx context.Context, name string, do func(context.Context) error) error {
	for {
		lease, err := s.cfg.Locks.Acquire(ctx, name, lock.WithWait(lockTimeout))
		if err == nil {
			return withLease(ctx, lease, do)
		}
		if _, busy := errors.AsType[*lock.BusyError](err); !busy {
			return err
		}
	}
}

func withLease(ctx context.Context, lease *lock.Lease, do func(context.Context) error) error {
	err := do(lease.Context()) //nolint:contextcheck // it is a child of ctx
	released := lease.Release(ctx)
	if err != nil && released != nil {
		return errors.Join(err, released) // the loss may be the reason
	}
	return err
}
