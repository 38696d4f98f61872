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

// statements holds the texts under sql, each by the name of its file.
type statements struct {
	add, nextDue, claim, sweep, stats, unpark, replay, newest, waitingCount, unfinishedCounts, waiting, unfinishedPayloads, replace string

	settle []string // one statement, or several in a transaction: a SQLite statement cannot update and delete
}

func loadStatements(dialect string) (s statements, err error) {
	names := map[string]*string{
		"add": &s.add, "next_due": &s.nextDue, "claim": &s.claim, "sweep": &s.sweep, "stats": &s.stats, "unpark": &s.unpark, "replay": &s.replay,
		"newest": &s.newest, "waiting_count": &s.waitingCount, "unfinished_counts": &s.unfinishedCounts, "waiting": &s.waiting, "unfinished_payloads": &s.unfinishedPayloads, "replace": &s.replace,
	}
	settle := []string{"settle"}
	if dialect == "sqlite3" {
		settle = []string{"delete", "end"}
	}
	s.settle = make([]string, len(settle))
	for i, name := range settle {
		names[name] = &s.settle[i]
	}
	err = sqldb.ReadStatements(files, dialect, names)
	return s, err
}

func queryOne(ctx context.Context, db Execer, query string, args []any, dest ...any) error {
	found := false
	err := sqldb.Each(ctx, db, query, args, func(rows *sql.Rows) error {
		found = true
		return rows.Scan(dest...)
	})
	if err == nil && !found {
		return errors.New("statement returned no row")
	}
	return err
}

func exec(ctx context.Context, db Execer, query string, args ...any) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	result, err := db.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}
