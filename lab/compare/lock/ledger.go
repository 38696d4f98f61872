package lock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
)

// Ledger stores the orders. Each user, identified by a name, may have one.
type Ledger interface {
	// Open registers the name.
	Open(ctx context.Context, name string) error
	// Begin begins a transaction for it.
	Begin(ctx context.Context, name string) (Work, error)
	// Orders returns the number of committed orders of the name.
	Orders(ctx context.Context, name string) (int, error)
}

// Work is a transaction in which a user may buy.
type Work interface {
	// Bought counts the user's committed orders, and those of this transaction.
	Bought(ctx context.Context) (int, error)
	Buy(ctx context.Context) error
	Commit() error
	Rollback() error // after Commit it does nothing
}

// sqlLedger is in Postgres, with its default isolation, read committed.
type sqlLedger struct{ db *sql.DB }

func (l sqlLedger) Open(ctx context.Context, name string) error {
	_, err := l.db.ExecContext(ctx, `INSERT INTO vouchers (name) VALUES ($1)`, name)
	return err
}

func (l sqlLedger) Begin(ctx context.Context, name string) (Work, error) {
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	return &txWork{tx, name}, nil
}

func (l sqlLedger) Orders(ctx context.Context, name string) (n int, err error) {
	err = l.db.QueryRowContext(ctx, countSQL, name).Scan(&n)
	return n, err
}

const countSQL = `SELECT count(*) FROM orders WHERE name = $1`

type txWork struct {
	tx   *sql.Tx
	name string
}

func (w *txWork) Bought(ctx context.Context) (n int, err error) {
	err = w.tx.QueryRowContext(ctx, countSQL, w.name).Scan(&n)
	return n, err
}

func (w *txWork) Buy(ctx context.Context) error {
	_, err := w.tx.ExecContext(ctx, `INSERT INTO orders (name) VALUES ($1)`, w.name)
	return err
}

func (w *txWork) Commit() error { return w.tx.Commit() }

func (w *txWork) Rollback() error {
	if err := w.tx.Rollback(); !errors.Is(err, sql.ErrTxDone) {
		return err
	}
	return nil
}

// memory is a ledger without a database. It has the same isolation.
type memory struct {
	mu     sync.Mutex
	orders map[string]int
}

func newMemory() *memory { return &memory{orders: make(map[string]int)} }

func (*memory) Open(context.Context, string) error { return nil }

func (m *memory) Begin(_ context.Context, name string) (Work, error) {
	return &memoryWork{m: m, name: name}, nil
}

func (m *memory) Orders(_ context.Context, name string) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.orders[name], nil
}

type memoryWork struct {
	m    *memory
	name string
	own  int
}

func (w *memoryWork) Bought(ctx context.Context) (int, error) {
	n, err := w.m.Orders(ctx, w.name)
	return n + w.own, err
}

func (w *memoryWork) Buy(context.Context) error {
	w.own++
	return nil
}

func (w *memoryWork) Commit() error {
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	w.m.orders[w.name] += w.own
	w.own = 0
	return nil
}

func (w *memoryWork) Rollback() error {
	w.own = 0
	return nil
}
