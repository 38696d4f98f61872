package sqldb

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
)

// Statement is the text of a file without the lines that are comments. Those are
// its contract, for people; who counts statements by their first word sees the verb.
func Statement(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "--") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// Read fills each text with the statement of its name in a dialect, "postgres" or
// "sqlite3" as ent calls them: the file sql/NAME.postgres.sql or sql/NAME.sqlite.sql, or
// else sql/NAME.sql, which is for both. One that is missing is an error.
func Read(files fs.FS, dialect string, into map[string]*string) error {
	ending := map[string]string{"postgres": ".postgres.sql", "sqlite3": ".sqlite.sql"}[dialect]
	if ending == "" {
		return fmt.Errorf("there are no statements for the dialect %q", dialect)
	}
	for name, to := range into {
		text, err := fs.ReadFile(files, "sql/"+name+ending)
		if err != nil {
			if text, err = fs.ReadFile(files, "sql/"+name+".sql"); err != nil {
				return fmt.Errorf("statement %s in the dialect %s: %w", name, dialect, err)
			}
		}
		*to = Statement(string(text))
	}
	return nil
}

// A Querier runs statements that answer with rows: a *sql.DB, a *sql.Tx, a client or a
// transaction of ent.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Each runs a statement and calls row for each row of its answer, until one returns an
// error, which Each returns as it is.
func Each(ctx context.Context, db Querier, statement string, args []any, row func(*sql.Rows) error) error {
	rows, err := db.QueryContext(ctx, statement, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // Err has what went wrong
	for rows.Next() {
		if err := row(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// JSON encodes a list of rows or ids as one parameter, for json_to_recordset of Postgres and
// json_each of SQLite. So a statement has the same text for any number of rows. It panics
// if the list cannot be encoded: a mistake in the program.
func JSON(list any) string {
	text, err := json.Marshal(list)
	if err != nil {
		panic(fmt.Sprintf("sqlfile: %v", err))
	}
	return string(text)
}
