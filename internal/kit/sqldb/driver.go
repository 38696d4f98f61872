package sqldb

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"github.com/tandian-dev/tandian/internal/kit/observe"
)

// Driver returns the database as a driver for ent. It counts and times every statement, and opens a
// span for it.
func (s *SQL) Driver(m *SQLMetrics) dialect.Driver {
	pool := observed{next: s.DB, m: m, dialect: s.Dialect}
	return &driver{Driver: entsql.NewDriver(s.Dialect, entsql.Conn{ExecQuerier: pool}), db: s, m: m}
}

// driver is ent's driver with observed transactions.
type driver struct {
	*entsql.Driver
	db *SQL
	m  *SQLMetrics
}

func (d *driver) Tx(ctx context.Context) (dialect.Tx, error) { return d.BeginTx(ctx, nil) }

func (d *driver) BeginTx(ctx context.Context, opts *entsql.TxOptions) (dialect.Tx, error) {
	tx, err := d.db.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	conn := entsql.NewDriver(d.db.Dialect, entsql.Conn{ExecQuerier: observed{next: tx, m: d.m, dialect: d.db.Dialect}}).Conn
	return &entsql.Tx{Conn: conn, Tx: tx}, nil
}

func (d *driver) Close() error { return d.db.Close() }

// observed counts, times and traces the statements of a pool or a transaction.
type observed struct {
	next    entsql.ExecQuerier
	m       *SQLMetrics
	dialect string
}

func (o observed) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	begin, span := time.Now(), statementSpan(ctx, o.dialect, query)
	res, err := o.next.ExecContext(ctx, query, args...)
	o.m.observe(ctx, verb(query), time.Since(begin), err)
	observe.EndSpan(span, err)
	return res, err
}

func (o observed) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	begin, span := time.Now(), statementSpan(ctx, o.dialect, query)
	rows, err := o.next.QueryContext(ctx, query, args...)
	o.m.observe(ctx, verb(query), time.Since(begin), err)
	observe.EndSpan(span, err)
	return rows, err
}

// verb returns the metric label of a statement.
func verb(query string) string {
	switch word := strings.ToLower(operationOf(query)); word {
	case "select", "insert", "update", "delete":
		return word
	}
	return "other"
}

// ForUpdate locks the rows of a query until its transaction ends. Pass it to ent's Modify. SQLite
// has no such clause and needs none: its transactions take the write lock when they begin.
func ForUpdate(s *entsql.Selector) {
	if s.Dialect() == dialect.Postgres {
		s.ForUpdate()
	}
}

// ForShare locks the rows of a query against changes until its transaction ends. Unlike
// [ForUpdate], several transactions may hold the lock.
func ForShare(s *entsql.Selector) {
	if s.Dialect() == dialect.Postgres {
		s.ForShare()
	}
}

// ForUpdateSkipLocked is like [ForUpdate], but skips rows that other transactions have locked.
func ForUpdateSkipLocked(s *entsql.Selector) {
	if s.Dialect() == dialect.Postgres {
		s.ForUpdate(entsql.WithLockAction(entsql.SkipLocked))
	}
}
