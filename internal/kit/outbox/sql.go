package outbox

import (
	"context"
	"database/sql"
	"embed"
	"errors"

	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

//go:embed sql/*.sql
var files embed.FS

// statements are the texts under sql, each by the name of its file.
type statements struct {
	add, look, claim, sweep, stats, unpark, replay, newest, left, unfinished, waiting, undone, replace string

	settle []string // one statement, or several for a transaction: a SQLite statement cannot update and delete
}

func statementsOf(dialect string) (s statements, err error) {
	names := map[string]*string{
		"add": &s.add, "look": &s.look, "claim": &s.claim, "sweep": &s.sweep, "stats": &s.stats, "unpark": &s.unpark, "replay": &s.replay,
		"newest": &s.newest, "left": &s.left, "unfinished": &s.unfinished, "waiting": &s.waiting, "undone": &s.undone, "replace": &s.replace,
	}
	settle := []string{"settle"}
	if dialect == "sqlite3" {
		settle = []string{"delete", "end"}
	}
	s.settle = make([]string, len(settle))
	for i, name := range settle {
		names[name] = &s.settle[i]
	}
	err = sqldb.Read(files, dialect, names)
	return s, err
}

// one runs a statement that answers with one row.
func one(ctx context.Context, db Execer, query string, args []any, into ...any) error {
	found := false
	err := sqldb.Each(ctx, db, query, args, func(rows *sql.Rows) error {
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
