package sqldb

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"
)

// maxPrepared is the maximum number of prepared statements of one connection.
const maxPrepared = 128

// asPrepared is the context key of [Prepared].
type asPrepared struct{}

// Prepared returns a context whose statements are prepared once per connection and remain prepared
// until the connection ends, inside and outside transactions. Use it for frequent statements with a
// fixed text, not for texts that vary with the number of arguments. A connection holds at most 128;
// further statements run unprepared.
//
// If a migration changed the columns of a statement, or the server discarded it, the statement runs
// unprepared and is prepared again at its next use. In a transaction, this error aborts the
// transaction; [Retryable] reports true for it.
func Prepared(ctx context.Context) context.Context {
	return context.WithValue(ctx, asPrepared{}, true)
}

// A rawConn is a connection of either driver.
type rawConn interface {
	sqldriver.Conn
	sqldriver.Pinger
	sqldriver.ExecerContext
	sqldriver.QueryerContext
	sqldriver.ConnPrepareContext
	sqldriver.ConnBeginTx
	sqldriver.SessionResetter
	sqldriver.Validator
}

// A rawStmt is a statement of either driver.
type rawStmt interface {
	sqldriver.Stmt
	sqldriver.StmtExecContext
	sqldriver.StmtQueryContext
}

// A preparingConnector opens connections with a cache of prepared statements.
type preparingConnector struct {
	sqldriver.Connector
	outdated *atomic.Int64 // number of outdated statements found on all connections

	// closeStmts closes statements before their connection. SQLite needs it: open statements keep
	// a connection, so the last one would not write the WAL into the database file. Postgres
	// drops them with the session.
	closeStmts bool
}

func newPreparingConnector(c sqldriver.Connector, closeStmts bool) preparingConnector {
	return preparingConnector{c, new(atomic.Int64), closeStmts}
}

func (c preparingConnector) Connect(ctx context.Context) (sqldriver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	raw, ok := conn.(rawConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("open connection: type %T lacks methods", conn), conn.Close())
	}
	return &preparingConn{rawConn: raw, outdated: c.outdated, epoch: c.outdated.Load(), stmts: map[string]rawStmt{}, closeStmts: c.closeStmts}, nil
}

// A preparingConn is a connection with its prepared statements. database/sql calls it from one
// goroutine at a time.
type preparingConn struct {
	rawConn
	outdated *atomic.Int64
	epoch    int64 // value of outdated when stmts was last cleared
	stmts    map[string]rawStmt

	closeStmts bool
}

// Close also closes the statements if closeStmts is set.
func (c *preparingConn) Close() error {
	var errs []error
	for _, stmt := range c.stmts {
		if c.closeStmts {
			errs = append(errs, stmt.Close())
		}
	}
	return errors.Join(append(errs, c.rawConn.Close())...)
}

func (c *preparingConn) CheckNamedValue(v *sqldriver.NamedValue) error {
	if checker, ok := c.rawConn.(sqldriver.NamedValueChecker); ok {
		return checker.CheckNamedValue(v)
	}
	return sqldriver.ErrSkip
}

func (c *preparingConn) QueryContext(ctx context.Context, text string, args []sqldriver.NamedValue) (sqldriver.Rows, error) {
	return execute(ctx, c, text, args, rawStmt.QueryContext, c.rawConn.QueryContext)
}

func (c *preparingConn) ExecContext(ctx context.Context, text string, args []sqldriver.NamedValue) (sqldriver.Result, error) {
	return execute(ctx, c, text, args, rawStmt.ExecContext, c.rawConn.ExecContext)
}

// execute runs a statement, prepared if ctx is from [Prepared] and the connection has room.
func execute[R any](
	ctx context.Context, c *preparingConn, text string, args []sqldriver.NamedValue,
	prepared func(rawStmt, context.Context, []sqldriver.NamedValue) (R, error),
	plain func(context.Context, string, []sqldriver.NamedValue) (R, error),
) (R, error) {
	var none R
	if ctx.Value(asPrepared{}) == nil {
		return plain(ctx, text, args)
	}
	stmt, err := c.statement(ctx, text)
	if err != nil {
		return none, err
	}
	if stmt == nil {
		return plain(ctx, text, args)
	}
	result, err := prepared(stmt, ctx, args)
	if err == nil || !outdated(err) {
		return result, err
	}
	c.outdated.Add(1) // other connections prepare again too
	again, plainErr := plain(ctx, text, args)
	if SQLState(plainErr) == string(pqerror.InFailedSQLTransaction) {
		return none, err
	}
	return again, plainErr
}

// statement returns a prepared statement, or nil if the connection has reached maxPrepared.
func (c *preparingConn) statement(ctx context.Context, text string) (rawStmt, error) {
	if epoch := c.outdated.Load(); epoch != c.epoch {
		for _, stmt := range c.stmts {
			_ = stmt.Close() // the server may have discarded it
		}
		clear(c.stmts)
		c.epoch = epoch
	}
	stmt := c.stmts[text]
	if stmt != nil || len(c.stmts) >= maxPrepared {
		return stmt, nil
	}
	fresh, err := c.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	stmt, ok := fresh.(rawStmt)
	if !ok {
		return nil, errors.Join(fmt.Errorf("prepare statement: type %T lacks methods", fresh), fresh.Close())
	}
	c.stmts[text] = stmt
	return stmt, nil
}

// outdated reports whether the server rejected a prepared statement before running it, because its
// columns changed or the statement is unknown.
func outdated(err error) bool {
	pgErr, ok := errors.AsType[*pq.Error](err)
	return ok && (pgErr.Code == pqerror.InvalidSQLStatementName ||
		pgErr.Code == pqerror.FeatureNotSupported && pgErr.Routine == "RevalidateCachedQuery") // the message may be translated
}
