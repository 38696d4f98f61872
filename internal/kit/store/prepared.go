package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"
)

// mostPrepared bounds the statements that are kept prepared: each is kept on every
// connection that ran it.
const mostPrepared = 64

// asPrepared marks the context of a statement that is kept prepared.
type asPrepared struct{}

// Prepared returns a context whose queries are prepared once on each connection, and then
// only run: the server has read them, and mostly planned them, before. It is for what runs
// all the time and whose text is always the same, not one for each number of arguments:
// what was prepared stays until the database is closed. In a transaction nothing is kept.
//
// A connection that is new, to whichever server, prepares anew. If a statement cannot be
// run as it was prepared, because a migration changed its columns or somebody told the
// server to forget it, it is run as any other, and prepared again the next time.
func Prepared(ctx context.Context) context.Context {
	return context.WithValue(ctx, asPrepared{}, true)
}

// prepared are the statements of a pool that are kept, by their text.
type prepared struct {
	db   *sql.DB
	mu   sync.RWMutex
	kept map[string]*sql.Stmt
}

func newPrepared(db *sql.DB) *prepared { return &prepared{db: db, kept: map[string]*sql.Stmt{}} }

func (p *prepared) query(ctx context.Context, text string, args []any) (*sql.Rows, error) {
	stmt, err := p.statement(ctx, text)
	if err != nil {
		return nil, err
	}
	if stmt == nil {
		return p.db.QueryContext(ctx, text, args...)
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err == nil || !outdated(err) {
		return rows, err
	}
	p.drop(text, stmt)
	return p.db.QueryContext(ctx, text, args...) // nothing has run yet
}

// statement is one that is kept; nil if there are too many. It does not wait for others
// who prepare the same: their server may not answer, for longer than this ctx has.
func (p *prepared) statement(ctx context.Context, text string) (*sql.Stmt, error) {
	p.mu.RLock()
	stmt, full := p.kept[text], len(p.kept) >= mostPrepared
	p.mu.RUnlock()
	if stmt != nil || full {
		return stmt, nil
	}
	fresh, err := p.db.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	if stmt = p.kept[text]; stmt == nil {
		stmt, p.kept[text], fresh = fresh, fresh, nil
	}
	p.mu.Unlock()
	if fresh != nil { // somebody was faster
		_ = fresh.Close()
	}
	return stmt, nil
}

// drop ends a statement, whoever else has it in hand: they run it as any other.
func (p *prepared) drop(text string, stmt *sql.Stmt) {
	p.mu.Lock()
	if p.kept[text] == stmt {
		delete(p.kept, text)
	}
	p.mu.Unlock()
	_ = stmt.Close()
}

// outdated reports whether a statement was refused, before it ran, for having been prepared:
// its columns are others now, the server does not know it, or it was dropped this moment.
func outdated(err error) bool {
	if said, ok := errors.AsType[*pq.Error](err); ok {
		return said.Code == pqerror.InvalidSQLStatementName ||
			said.Code == pqerror.FeatureNotSupported && said.Routine == "RevalidateCachedQuery" // its text is in any language
	}
	return err.Error() == "sql: statement is closed" // database/sql gives it no name
}
