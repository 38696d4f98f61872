package flashsale

import (
	"context"
	"errors"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/lock"
)

// lockTimeout bounds one attempt to take a lock from a database that does not answer.
// The work under the lock has its own limits.
const lockTimeout = 5 * time.Second

// tryLocked calls do under a lock, and reports false at once if another caller has it, of this
// process or another. The context of do ends if the lock is lost. A process that was
// paused may go on for a moment, so do must be right when two run it.
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

// locked is alone, but waits for another caller.
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

// withLease calls do with the context of a lease, and releases the lease.
func withLease(ctx context.Context, lease *lock.Lease, do func(context.Context) error) error {
	err := do(lease.Context()) //nolint:contextcheck // it is a child of ctx
	released := lease.Release(ctx)
	if err != nil && released != nil {
		return errors.Join(err, released) // the loss may be the reason
	}
	return err
}
