package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/lock"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

const (
	claimName    = "tandian:redis"
	claimTimeout = 2 * time.Second // of one attempt
	claimEvery   = time.Second     // between attempts
)

// errClaimed is returned if another process holds a conflicting lock.
var errClaimed = errors.New("another process holds the lock")

// claim is the lock that a process holds on its database while it runs. Processes with a
// real Redis share it. A process with an embedded Redis excludes others, because they would
// not see its changes.
type claim struct {
	locks  *lock.Locker
	shared bool
	lease  *lock.Lease
}

// claimDatabase takes the claim of a process. It returns [errClaimed] if another process
// excludes this one. While the database has no free connection, it reports that and retries.
func claimDatabase(ctx context.Context, locks *lock.Locker, shared bool, report func(error)) (*claim, error) {
	c := &claim{locks: locks, shared: shared}
	for {
		err := c.take(ctx)
		if err == nil {
			return c, nil
		}
		if !strings.HasPrefix(sqldb.SQLState(err), "53") {
			return nil, err
		}
		report(err)
		if clock.Sleep(ctx, claimEvery) != nil {
			return nil, err
		}
	}
}

// take makes one attempt.
func (c *claim) take(ctx context.Context) error {
	options := []lock.Option{lock.WithWait(claimTimeout)}
	if c.shared {
		options = append(options, lock.Shared())
	}
	lease, err := c.locks.Try(context.WithoutCancel(ctx), claimName, options...) // the lease lasts longer than ctx
	if err != nil {
		if _, busy := errors.AsType[*lock.BusyError](err); busy {
			err = errClaimed
		}
		return fmt.Errorf("claim %q: %w", claimName, err)
	}
	c.lease = lease
	return nil
}

// run holds the claim until ctx ends. If the lock is lost with its connection, run takes
// it again as soon as it can. It returns [errClaimed] if another process was faster: this
// one must stop.
func (c *claim) run(ctx context.Context) error {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-c.lease.Context().Done():
			if err := c.takeAgain(ctx); err != nil {
				return fmt.Errorf("reacquire the lost claim %q: %w", claimName, err)
			}
		}
	}
	return nil
}

// takeAgain takes a lost claim. It returns nil if ctx ends first, or [errClaimed].
func (c *claim) takeAgain(ctx context.Context) error {
	_ = c.lease.Release(ctx) // a session that still exists would exclude the next one
	for {
		err := c.take(ctx)
		if err == nil || errors.Is(err, errClaimed) {
			return err
		}
		if clock.Sleep(ctx, claimEvery) != nil {
			return nil //nolint:nilerr // the process stops
		}
	}
}

// release releases the claim. Call it after run has returned.
func (c *claim) release() error {
	err := c.lease.Release(context.Background())
	if errors.Is(err, lock.ErrLost) {
		return nil
	}
	return err
}
