package cdc

import (
	"context"
	"database/sql"
	_ "embed" // statements
	"fmt"
)

//go:embed sql/check.sql
var checkSQL string

// Check reports whether change data capture works here: the server writes a logical WAL,
// the role may replicate, and enough replication slots are free. If not, reason is a
// sentence for the log. err is an error of the database. [Reader.Run] checks the
// ownership of the tables.
func Check(ctx context.Context, db *sql.DB) (reason string, ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	var level string
	var standby, may, exists bool
	var free int
	if err := db.QueryRowContext(ctx, checkSQL).Scan(&level, &standby, &may, &free, &exists); err != nil {
		return "", false, fmt.Errorf("check database for change data capture: %w", err)
	}
	switch {
	case level != "logical":
		return fmt.Sprintf("wal_level is %s: set it to logical and restart the server.", level), false, nil
	case standby:
		return "The server is a standby: connect to the primary.", false, nil
	case !may:
		return "The role may not replicate: ALTER ROLE … REPLICATION, or on RDS GRANT rds_replication TO ….", false, nil
	case free < 2 && !exists:
		return fmt.Sprintf("Only %d replication slots are free and the reader needs 2 to create its own: raise max_replication_slots.", max(free, 0)), false, nil
	}
	return "", true, nil
}
