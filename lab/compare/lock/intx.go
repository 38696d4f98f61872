package lock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"
)

// inTx is a lock that begins in the transaction of the work and ends with it.
//
// Right: the lock lives exactly as long as the work. There is no lease, so other processes wait for
// a paused holder and cannot write. The cost: each waiter takes a connection, and the loss of a
// holder's machine is noticed only when its connection ends.
type inTx struct {
	Process
	try  func(ctx context.Context, tx *sql.Tx, name string) error
	wait func(ctx context.Context, tx *sql.Tx, name string) error
}

// newForUpdate locks the row of the work.
func newForUpdate(p Process) (Scheme, error) {
	return &inTx{
		Process: p,
		try: func(ctx context.Context, tx *sql.Tx, name string) error {
			err := tx.QueryRowContext(ctx, `SELECT name FROM vouchers WHERE name = $1 FOR UPDATE NOWAIT`, name).Scan(&name)
			if pq.As(err, pqerror.LockNotAvailable) != nil {
				return ErrBusy
			}
			return err
		},
		wait: func(ctx context.Context, tx *sql.Tx, name string) error {
			return tx.QueryRowContext(ctx, `SELECT name FROM vouchers WHERE name = $1 FOR UPDATE`, name).Scan(&name)
		},
	}, nil
}

// newAdvisory locks a number, which has a meaning for its users only; two names may share one.
func newAdvisory(p Process) (Scheme, error) {
	return &inTx{
		Process: p,
		try: func(ctx context.Context, tx *sql.Tx, name string) error {
			var got bool
			err := tx.QueryRowContext(ctx, `SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))`, p.key(name)).Scan(&got)
			if err == nil && !got {
				err = ErrBusy
			}
			return err
		},
		wait: func(ctx context.Context, tx *sql.Tx, name string) error {
			_, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, p.key(name))
			return err
		},
	}, nil
}

func (s *inTx) Try(ctx context.Context, name string) (Holding, error) {
	return s.begin(ctx, name, s.try)
}

func (s *inTx) Lock(ctx context.Context, name string) (Holding, error) {
	return s.begin(ctx, name, s.wait)
}

func (s *inTx) begin(ctx context.Context, name string, take func(context.Context, *sql.Tx, string) error) (Holding, error) {
	tx, err := s.DB.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	if err := take(ctx, tx, name); err != nil {
		_ = tx.Rollback() // the first error has the reason
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	return &txHeld{tx, name}, nil
}

func (*inTx) Close(context.Context) error { return nil }

type txHeld struct {
	tx   *sql.Tx
	name string
}

func (h *txHeld) Begin(context.Context) (Work, error) { return &txWork{h.tx, h.name}, nil }

// Unlock releases the lock if there was no commit.
func (h *txHeld) Unlock(context.Context) error {
	if err := h.tx.Rollback(); !errors.Is(err, sql.ErrTxDone) {
		return err
	}
	return nil
}
