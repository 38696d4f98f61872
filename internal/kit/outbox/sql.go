package outbox

import (
	"context"
	"database/sql"
	"embed"
	"errors"

	"github.com/tandian-dev/tandian/internal/kit/sqlfile"
)

//go:embed sql/*.sql
var files embed.FS

// statements are the texts under sql, each by the name of its file.
type statements struct {
	add, claim, delete, keep, fail, sweep, stats, unpark, replay, newest, left, unfinished, waiting, undone, replace string
}

func statementsOf(dialect string) (s statements, err error) {
	err = sqlfile.Read(files, dialect, map[string]*string{
		"add": &s.add, "claim": &s.claim, "delete": &s.delete, "keep": &s.keep, "fail": &s.fail, "sweep": &s.sweep,
		"stats": &s.stats, "unpark": &s.unpark, "replay": &s.replay, "newest": &s.newest, "left": &s.left, "unfinished": &s.unfinished, "waiting": &s.waiting, "undone": &s.undone, "replace": &s.replace,
	})
	return s, err
}

// one runs a statement that answers with one row.
func one(ctx context.Context, db Execer, query string, args []any, into ...any) error {
	found := false
	err := sqlfile.Each(ctx, db, query, args, func(rows *sql.Rows) error {
		found = true
		return rows.Scan(into...)
	})
	if err == nil && !found {
		return errors.New("the statement answered nothing")
	}
	return err
}

// exec runs a statement within its time and returns how many rows it changed.
func exec(ctx context.Context, db Execer, query string, args ...any) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	done, err := db.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}
