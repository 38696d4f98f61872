package sqldb

import (
	"context"
	_ "embed" // the statement
	"fmt"

	"entgo.io/ent/dialect"
)

//go:embed sql/timeline.postgres.sql
var timelinePostgres string

// Timeline returns the timeline on which Postgres writes. It changes when a standby is promoted and
// when a backup is restored to a point in time, after which the latest commits may be missing. A
// restart does not change it. Timeline returns "" for SQLite, and an error if the server does not
// report it or takes no writes.
func (s *SQL) Timeline(ctx context.Context) (string, error) {
	if s.Dialect != dialect.Postgres {
		return "", nil
	}
	var is string
	if err := s.QueryRowContext(ctx, Statement(timelinePostgres)).Scan(&is); err != nil {
		return "", fmt.Errorf("read timeline: %w", err)
	}
	return is, nil
}
