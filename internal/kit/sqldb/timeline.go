package sqldb

import (
	"context"
	_ "embed" // the statement
	"fmt"

	"entgo.io/ent/dialect"
)

//go:embed sql/timeline.postgres.sql
var timelinePostgres string

// Timeline returns the timeline on which Postgres writes, as eight hexadecimal digits. Promoting a
// standby or restoring a backup to a point in time changes it: the latest commits may then be
// missing. A restart does not change it. Timeline returns "" for SQLite, and an error if the server
// takes no writes.
func (s *SQL) Timeline(ctx context.Context) (string, error) {
	if s.Dialect != dialect.Postgres {
		return "", nil
	}
	var timeline string
	if err := s.QueryRowContext(ctx, Statement(timelinePostgres)).Scan(&timeline); err != nil {
		return "", fmt.Errorf("read timeline: %w", err)
	}
	return timeline, nil
}
