package sqldb

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
)

// Statement returns the text of a SQL file without lines that begin with --. So its first word is
// the verb, which labels metrics.
func Statement(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "--") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// ReadStatements stores in each value of into the statement that its key names. The dialect is "postgres" or
// "sqlite3", as in ent. The file of a name is sql/NAME.postgres.sql or sql/NAME.sqlite.sql, or else
// sql/NAME.sql for both dialects. A missing file is an error.
func ReadStatements(files fs.FS, dialect string, into map[string]*string) error {
	ending := map[string]string{"postgres": ".postgres.sql", "sqlite3": ".sqlite.sql"}[dialect]
	if ending == "" {
		return fmt.Errorf("unknown dialect %q (want one of [postgres sqlite3])", dialect)
	}
	for name, to := range into {
		text, err := fs.ReadFile(files, "sql/"+name+ending)
		if err != nil {
			if text, err = fs.ReadFile(files, "sql/"+name+".sql"); err != nil {
				return fmt.Errorf("read statement %s in dialect %s: %w", name, dialect, err)
			}
		}
		*to = Statement(string(text))
	}
	return nil
}

// A Querier runs statements that return rows: a *sql.DB, a *sql.Tx, an ent client or an ent
// transaction.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Each runs a statement and calls row for each row, until row returns an error. Each returns that
// error unchanged.
func Each(ctx context.Context, db Querier, statement string, args []any, row func(*sql.Rows) error) error {
	rows, err := db.QueryContext(ctx, statement, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // Err returns the error
	for rows.Next() {
		if err := row(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// JSON encodes a list of rows or ids as one parameter for Postgres's json_to_recordset or SQLite's
// json_each, so the statement has the same text for any length. JSON panics if encoding fails.
func JSON(list any) string {
	text, err := json.Marshal(list)
	if err != nil {
		panic(fmt.Sprintf("sqldb: %v", err))
	}
	return string(text)
}
