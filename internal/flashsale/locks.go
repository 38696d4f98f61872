package flashsale

import (
	"context"
	"errors"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/lock"
)

// lockPatience bounds one attempt to take a lock from a database that does not answer.
// The work under the lock has its own limits.
const lockPatience = 5 * time.Second

// alone calls do under a lock, and reports false at once if another caller has it, of this
// process or another. The context of do ends if the lock is lost. A process that was
// paused may go on for a moment, so do must be right when two run it.
func (s *Service) alone(ctx context.Context, name string, do func(context.Context) error) (done bool, err error) {
	lease, err := s.cfg.Locks.Try(ctx, name, lock.WithWait(lockPatience))
	if err == nil {
		return true, under(ctx, lease, do)
	}
	if _, busy := errors.AsType[*lock.BusyError](err); busy {
		return false, nil
	}
	return false, err
}

// inTurn is alone, but waits for another caller.
func (s *Service) inTurn(ctx context.Context, name string, do func(context.Context) error) error {
	for {
		lease, err := s.cfg.Locks.Acquire(ctx, name, lock.WithWait(lockPatience))
		if err == nil {
			return under(ctx, lease, do)
		}
		if _, busy := errors.AsType[*lock.BusyError](err); !busy {
			return err
		}
	}
}

// under calls do with the context of a lease, and releases the lease.
func under(ctx context.Context, lease *lock.Lease, do func(context.Context) error) error {
	err := do(lease.Context()) //nolint:contextcheck // it is a child of ctx
	released := lease.Release(ctx)
	if err != nil && released != nil {
		return errors.Join(err, released) // the loss may be the reason
	}
	return err
}
