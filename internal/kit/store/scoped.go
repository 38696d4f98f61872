package store

import (
	"context"
	_ "embed" // the statement
	"fmt"

	"entgo.io/ent/dialect"

	"github.com/tandian-dev/tandian/internal/kit/sqlfile"
)

//go:embed sql/scoped.postgres.sql
var scopedPostgres string

// Scoped returns a name of a lock that belongs to the schema in which this
// database's tables are. It is the name itself in the schema public and in SQLite.
func (s *SQL) Scoped(ctx context.Context, name string) (scoped string, err error) {
	if s.Dialect != dialect.Postgres {
		return name, nil
	}
	if err := s.QueryRowContext(ctx, sqlfile.Statement(scopedPostgres), name).Scan(&scoped); err != nil {
		return "", fmt.Errorf("read the schema of the database: %w", err)
	}
	return scoped, nil
}
