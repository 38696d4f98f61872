package sale

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"
)

// single holds the common parts of ways with one transaction per order, decided in the database.
type single struct {
	*Servers
	retries
	statements
}

// statements are prepared, because round trips are part of the comparison.
type statements struct{ see, lock, holder, deduct, insert, take, swap, store, left *sql.Stmt }

func newSingle(ctx context.Context, on *Servers) (*single, error) {
	s := &single{Servers: on}
	for name, to := range map[string]**sql.Stmt{
		"see": &s.see, "lock": &s.lock, "holder": &s.holder, "deduct": &s.deduct,
		"insert": &s.insert, "take": &s.take, "swap": &s.swap, "store": &s.store, "stock": &s.left,
	} {
		var err error
		if *to, err = on.db.PrepareContext(ctx, text(name)); err != nil { //nolint:sqlclosecheck // Close does
			return nil, errors.Join(fmt.Errorf("prepare %s: %w", name, err), s.Close(ctx))
		}
	}
	return s, nil
}

// Open implements [Admitter]: the row already exists.
func (s *single) Open(context.Context, Sale) error { return nil }

// Settle implements [Admitter]: an admitted user has a row already.
func (s *single) Settle(context.Context, Sale) error { return nil }

// Left implements [Admitter].
func (s *single) Left(ctx context.Context, sale Sale) (n int, err error) {
	if err := s.left.QueryRowContext(ctx, sale.Voucher).Scan(&n); err != nil {
		return 0, fmt.Errorf("count the stock: %w", err)
	}
	return n, nil
}

// Close implements [Admitter].
func (s *single) Close(context.Context) error {
	var all []error
	for _, stmt := range []*sql.Stmt{s.see, s.lock, s.holder, s.deduct, s.insert, s.take, s.swap, s.store, s.left} {
		if stmt != nil {
			all = append(all, stmt.Close())
		}
	}
	return errors.Join(all...)
}

// held answers for a user with an order, if there is one.
func (s *single) held(ctx context.Context, w Wish) (a Answer, err error) {
	a.Decision = Held
	err = s.holder.QueryRowContext(ctx, w.Voucher, w.User).Scan(&a.Order)
	if errors.Is(err, sql.ErrNoRows) {
		return Answer{}, nil
	}
	return a, err
}

// doubled reports whether another order of the user was faster, by an error of the index
// order_live.
func doubled(err error) bool { return pq.As(err, pqerror.UniqueViolation) != nil }

// conditional updates the stock if it is large enough, and inserts, in one statement.
type conditional struct{ *single }

func newConditional(ctx context.Context, on *Servers) (Admitter, error) {
	s, err := newSingle(ctx, on)
	return conditional{s}, err
}

// Admit implements [Admitter].
func (c conditional) Admit(ctx context.Context, w Wish) (Answer, error) {
	for {
		order, err := c.number(ctx)
		if err != nil {
			return Answer{}, err
		}
		ok, err := changed(c.take.ExecContext(ctx, order, w.User, w.Voucher, w.Quantity, now()))
		if ok {
			return Answer{Admitted, order}, nil
		}
		if err != nil && !doubled(err) {
			return Answer{}, fmt.Errorf("take stock: %w", err)
		}
		var left, version, holder int64
		if err := c.see.QueryRowContext(ctx, w.Voucher, w.User).Scan(&left, &version, &holder); err != nil {
			return Answer{}, fmt.Errorf("read the reason of a refusal: %w", err)
		}
		if holder != 0 {
			return Answer{Held, holder}, nil
		}
		if left < int64(w.Quantity) {
			return Answer{Decision: SoldOut}, nil
		}
		c.n.Add(1)
	}
}

// changed reports whether a statement changed a row.
func changed(r sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := r.RowsAffected()
	return n > 0, err
}

// versioned reads, and sets if the version is unchanged.
type versioned struct{ *single }

func newVersioned(ctx context.Context, on *Servers) (Admitter, error) {
	s, err := newSingle(ctx, on)
	return versioned{s}, err
}

// Admit implements [Admitter].
func (v versioned) Admit(ctx context.Context, w Wish) (Answer, error) {
	order, err := v.number(ctx)
	if err != nil {
		return Answer{}, err
	}
	for ; ; v.n.Add(1) {
		var left, version, holder int64
		if err := v.see.QueryRowContext(ctx, w.Voucher, w.User).Scan(&left, &version, &holder); err != nil {
			return Answer{}, fmt.Errorf("read the sale: %w", err)
		}
		if holder != 0 {
			return Answer{Held, holder}, nil
		}
		if left < int64(w.Quantity) {
			return Answer{Decision: SoldOut}, nil
		}
		ok, err := changed(v.swap.ExecContext(ctx, order, w.User, w.Voucher, w.Quantity, now(), version))
		if ok {
			return Answer{Admitted, order}, nil
		}
		if err != nil && !doubled(err) {
			return Answer{}, fmt.Errorf("compare and set: %w", err)
		}
	}
}

// pessimistic locks the row against other sellers.
type pessimistic struct{ *single }

func newPessimistic(ctx context.Context, on *Servers) (Admitter, error) {
	s, err := newSingle(ctx, on)
	return pessimistic{s}, err
}

// Admit implements [Admitter].
func (p pessimistic) Admit(ctx context.Context, w Wish) (a Answer, err error) {
	order, err := p.number(ctx)
	if err != nil {
		return Answer{}, err
	}
	tx, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return Answer{}, fmt.Errorf("begin: %w", err)
	}
	if a, err = p.decide(ctx, tx, w, order); err != nil || a.Decision != Admitted {
		return a, errors.Join(err, tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return Answer{}, fmt.Errorf("commit: %w", err)
	}
	return a, nil
}

func (p pessimistic) decide(ctx context.Context, tx *sql.Tx, w Wish, order int64) (Answer, error) {
	var left int
	if err := rowIn(ctx, tx, p.lock, w.Voucher).Scan(&left); err != nil {
		return Answer{}, fmt.Errorf("lock the sale: %w", err)
	}
	var holder int64
	err := rowIn(ctx, tx, p.holder, w.Voucher, w.User).Scan(&holder)
	switch {
	case err == nil:
		return Answer{Held, holder}, nil
	case !errors.Is(err, sql.ErrNoRows):
		return Answer{}, fmt.Errorf("read an order: %w", err)
	case left < w.Quantity:
		return Answer{Decision: SoldOut}, nil
	}
	if err := execIn(ctx, tx, p.deduct, w.Voucher, w.Quantity); err != nil {
		return Answer{}, fmt.Errorf("take stock: %w", err)
	}
	if err := execIn(ctx, tx, p.insert, order, w.User, w.Voucher, w.Quantity, now()); err != nil {
		return Answer{}, fmt.Errorf("insert the order: %w", err)
	}
	return Answer{Admitted, order}, nil
}

// rowIn runs a prepared statement in a transaction.
func rowIn(ctx context.Context, tx *sql.Tx, s *sql.Stmt, args ...any) *sql.Row {
	return tx.StmtContext(ctx, s).QueryRowContext(ctx, args...) //nolint:sqlclosecheck // the end of tx does
}

// execIn runs a prepared statement without rows in a transaction.
func execIn(ctx context.Context, tx *sql.Tx, s *sql.Stmt, args ...any) error {
	_, err := tx.StmtContext(ctx, s).ExecContext(ctx, args...) //nolint:sqlclosecheck // the end of tx does
	return err
}
