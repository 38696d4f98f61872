package lock

import (
	"context"
	"crypto/rand"
	_ "embed" // the statement
	"fmt"
	"time"
)

//go:embed sql/take_row.sql
var takeRowSQL string

// row is a table of locks: the process that inserts the row of a name holds it. The lock expires by
// the database's clock. The insert statement also takes over an expired lock.
//
// Right: one clock, one step, as durable as the data. Wrong: nothing wakes waiters, and it is a
// lease outside of the work's transaction: a holder that was slower still writes (S7).
type row struct{ Process }

func newRow(p Process) (Scheme, error) { return &row{p}, nil }

func (s *row) Try(ctx context.Context, name string) (Holding, error) {
	h := &rowHeld{s, name, rand.Text()}
	done, err := s.DB.ExecContext(ctx, takeRowSQL, name, h.owner, s.TTL.Milliseconds())
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return nil, ErrBusy
	}
	return h, nil
}

func (s *row) Lock(ctx context.Context, name string) (Holding, error) {
	return poll(ctx, 10*time.Millisecond, func() (Holding, error) { return s.Try(ctx, name) })
}

func (*row) Close(context.Context) error { return nil }

type rowHeld struct {
	*row
	name, owner string
}

func (h *rowHeld) Unlock(ctx context.Context) error {
	_, err := h.DB.ExecContext(ctx, `DELETE FROM lock_rows WHERE name = $1 AND owner = $2`, h.name, h.owner)
	return err
}
