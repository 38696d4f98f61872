package store

import (
	"context"
	"database/sql"
	_ "embed" // the statement
	"fmt"

	"github.com/tandian-dev/tandian/internal/kit/sqlfile"
)

//go:embed sql/alone.postgres.sql
var alonePostgres string

// Alone reports, at once, whether nobody else is at the work of this name until tx, a
// transaction of Postgres, ends: an advisory lock. It spares work that several
// processes would do alike; nothing may rest on it, because a process whose connection
// broke does not know that it lost it. What must rest on a lock takes one of kit/lock,
// and what lasts as long as a process is a [Claim].
func Alone(ctx context.Context, tx sqlfile.Querier, name string) (alone bool, err error) {
	err = sqlfile.Each(ctx, tx, sqlfile.Statement(alonePostgres), []any{name}, func(rows *sql.Rows) error { return rows.Scan(&alone) })
	if err != nil {
		return false, fmt.Errorf("lock %s: %w", name, err)
	}
	return alone, nil
}
