package cdc

import (
	"context"
	"database/sql"
	_ "embed" // statements
	"fmt"
)

//go:embed sql/check.sql
var checkSQL string

// Check reports whether the log can be read here: the server writes what logical
// decoding needs, the role may replicate, and there are replication slots left.
// When it cannot, reason is one sentence for the log. The error is that of the
// database. Whether the role owns the tables is seen by [Reader.Run].
func Check(ctx context.Context, db *sql.DB) (reason string, ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	var level string
	var standby, may, there bool
	var free int
	if err := db.QueryRowContext(ctx, checkSQL).Scan(&level, &standby, &may, &free, &there); err != nil {
		return "", false, fmt.Errorf("check whether the log of the database can be read: %w", err)
	}
	switch {
	case level != "logical":
		return fmt.Sprintf("wal_level is %s: reading the log needs logical, and a restart of the server.", level), false, nil
	case standby:
		return "The server is a standby: the log is read on the primary.", false, nil
	case !may:
		return "The role may not replicate: ALTER ROLE … REPLICATION, or on RDS GRANT rds_replication TO ….", false, nil
	case free < 2 && !there:
		return fmt.Sprintf("Of the replication slots %d are free, and the reader needs 2 while it makes its own: raise max_replication_slots.", max(free, 0)), false, nil
	}
	return "", true, nil
}
