package sqldb

import (
	"context"
	_ "embed" // the statement
	"fmt"

	"entgo.io/ent/dialect"
)

//go:embed sql/timeline.postgres.sql
var timelinePostgres string

// Timeline is the line of history on which Postgres writes: another text after each
// promotion of a standby and each restore to a moment, when the latest commits may be
// missing. A restart does not change it. It is "" for SQLite, and an error where the
// server does not say or takes no writes.
func (s *SQL) Timeline(ctx context.Context) (string, error) {
	if s.Dialect != dialect.Postgres {
		return "", nil
	}
	var is string
	if err := s.QueryRowContext(ctx, Statement(timelinePostgres)).Scan(&is); err != nil {
		return "", fmt.Errorf("ask the database for its timeline: %w", err)
	}
	return is, nil
}
