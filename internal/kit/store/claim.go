package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	claimTimeout = 2 * time.Second // of one call for a claim
	claimEvery   = time.Second     // how often a claim is looked after
)

// A Claim is a Postgres advisory lock that a process holds for as long as it
// runs: alone, or together with others who share it. It takes one connection of
// the pool. The lock lives as long as that connection: see [Claim.Run].
type Claim struct {
	db     *SQL
	name   string
	shared bool

	mu   sync.Mutex
	conn *sql.Conn // nil once released, or while the claim is lost
}

// ErrClaimed says that another process holds the lock in a way that excludes ours.
var ErrClaimed = errors.New("another process holds the lock")

// Claim takes the lock of this name, or returns [ErrClaimed] at once.
func (s *SQL) Claim(ctx context.Context, name string, shared bool) (*Claim, error) {
	c := &Claim{db: s, name: name, shared: shared}
	if err := c.take(ctx); err != nil {
		return nil, fmt.Errorf("claim %q: %w", name, err)
	}
	return c, nil
}

func (c *Claim) take(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, claimTimeout)
	defer cancel()
	conn, err := c.db.Conn(ctx)
	if err != nil {
		return err
	}
	try := "SELECT pg_try_advisory_lock(hashtextextended($1, 0))"
	if c.shared {
		try = "SELECT pg_try_advisory_lock_shared(hashtextextended($1, 0))"
	}
	var ok bool
	if err := conn.QueryRowContext(ctx, try, c.name).Scan(&ok); err != nil {
		return errors.Join(err, conn.Close())
	}
	if !ok {
		return errors.Join(ErrClaimed, conn.Close())
	}
	c.mu.Lock()
	c.conn = conn
	c.mu.Unlock()
	return nil
}

// Run looks after the claim until ctx ends. When its connection is gone, and the
// lock with it (Postgres restarted, failed over, ended the session), it takes
// the lock again as soon as it can. It returns an error wrapping [ErrClaimed] if
// somebody else was faster: the process must not go on.
func (c *Claim) Run(ctx context.Context) error {
	tick := time.NewTicker(claimEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if c.holds(ctx) {
			continue
		}
		if err := c.take(ctx); errors.Is(err, ErrClaimed) {
			return fmt.Errorf("the claim %q was lost with its connection: %w", c.name, err)
		}
	}
}

// holds says whether the connection still answers; it lets go of one that does
// not. It does not end with ctx: a statement that is cut short breaks the
// connection, and Release would find it so.
func (c *Claim) holds(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTimeout)
	defer cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		return false
	}
	if _, err := c.conn.ExecContext(ctx, "SELECT 1"); err == nil {
		return true
	}
	_ = c.conn.Close() // it is broken: that is why
	c.conn = nil
	return false
}

// Release gives the lock up. Closing the connection alone would only hand it
// back to the pool, lock and all.
func (c *Claim) Release() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), claimTimeout)
	defer cancel()
	_, err := c.conn.ExecContext(ctx, "SELECT pg_advisory_unlock_all()")
	err = errors.Join(err, c.conn.Close())
	c.conn = nil
	return err
}
