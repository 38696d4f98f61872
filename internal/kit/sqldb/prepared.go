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

// maxPrepared bounds the prepared statements of one connection.
const maxPrepared = 128

// asPrepared marks the context of a statement that stays prepared.
type asPrepared struct{}

// Prepared returns a context whose statements are prepared once on each connection and
// stay prepared until the connection ends, in transactions and outside. Use it for
// statements that run often and have a fixed text, not one for each number of arguments.
// Each connection keeps at most 128; further ones run unprepared.
//
// If a migration has changed the columns of a statement, or the server has discarded it,
// the statement runs unprepared and is prepared again at its next use. Such an error
// aborts a transaction; [Retryable] reports true for it.
func Prepared(ctx context.Context) context.Context {
	return context.WithValue(ctx, asPrepared{}, true)
}

// rawConn is what the connections of both drivers implement.
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

// rawStmt is what the statements of both drivers implement.
type rawStmt interface {
	sqldriver.Stmt
	sqldriver.StmtExecContext
	sqldriver.StmtQueryContext
}

// preparingConnector opens connections that keep prepared statements.
type preparingConnector struct {
	sqldriver.Connector
	outdated *atomic.Int64 // how often a statement was outdated
}

func newPreparingConnector(c sqldriver.Connector) preparingConnector {
	return preparingConnector{c, new(atomic.Int64)}
}

// Connect implements [driver.Connector].
func (c preparingConnector) Connect(ctx context.Context) (sqldriver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	raw, ok := conn.(rawConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("connection of type %T lacks methods", conn), conn.Close())
	}
	return &preparingConn{rawConn: raw, outdated: c.outdated, epoch: c.outdated.Load(), kept: map[string]rawStmt{}}, nil
}

// preparingConn is a connection with its prepared statements. database/sql calls it from
// one goroutine at a time.
type preparingConn struct {
	rawConn
	outdated *atomic.Int64
	epoch    int64 // of kept; statements of an older epoch are discarded
	kept     map[string]rawStmt
}

// CheckNamedValue implements [driver.NamedValueChecker].
func (c *preparingConn) CheckNamedValue(v *sqldriver.NamedValue) error {
	if checker, ok := c.rawConn.(sqldriver.NamedValueChecker); ok {
		return checker.CheckNamedValue(v)
	}
	return sqldriver.ErrSkip
}

// QueryContext implements [driver.QueryerContext].
func (c *preparingConn) QueryContext(ctx context.Context, text string, args []sqldriver.NamedValue) (sqldriver.Rows, error) {
	return execute(ctx, c, text, args, rawStmt.QueryContext, c.rawConn.QueryContext)
}

// ExecContext implements [driver.ExecerContext].
func (c *preparingConn) ExecContext(ctx context.Context, text string, args []sqldriver.NamedValue) (sqldriver.Result, error) {
	return execute(ctx, c, text, args, rawStmt.ExecContext, c.rawConn.ExecContext)
}

// execute runs a statement, prepared if its context asks for that.
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
	c.outdated.Add(1) // the other connections prepare again, too
	again, plainErr := plain(ctx, text, args)
	if SQLState(plainErr) == string(pqerror.InFailedSQLTransaction) {
		return none, err
	}
	return again, plainErr
}

// statement returns a prepared statement, or nil if the connection has too many.
func (c *preparingConn) statement(ctx context.Context, text string) (rawStmt, error) {
	if epoch := c.outdated.Load(); epoch != c.epoch {
		for _, stmt := range c.kept {
			_ = stmt.Close() // the server may have discarded it
		}
		clear(c.kept)
		c.epoch = epoch
	}
	stmt := c.kept[text]
	if stmt != nil || len(c.kept) >= maxPrepared {
		return stmt, nil
	}
	fresh, err := c.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	stmt, ok := fresh.(rawStmt)
	if !ok {
		return nil, errors.Join(fmt.Errorf("statement of type %T lacks methods", fresh), fresh.Close())
	}
	c.kept[text] = stmt
	return stmt, nil
}

// outdated reports whether the server refused a prepared statement before it ran, because
// its columns have changed or the server does not know it any more.
func outdated(err error) bool {
	said, ok := errors.AsType[*pq.Error](err)
	return ok && (said.Code == pqerror.InvalidSQLStatementName ||
		said.Code == pqerror.FeatureNotSupported && said.Routine == "RevalidateCachedQuery") // its text is in any language
}
