package cdc

import (
	"cmp"
	"context"
	"database/sql"
	_ "embed" // statements
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5/pgconn"
)

var (
	//go:embed sql/names.sql
	namesSQL string
	//go:embed sql/slot.sql
	slotSQL string
	//go:embed sql/begin.sql
	beginSQL string
	//go:embed sql/make_permanent.sql
	makePermanentSQL string
	//go:embed sql/drop.sql
	dropSQL string
)

// loadNames reads, once, the schema of the tables and the name of the slot. It warns if
// the server does not limit the WAL that the slot may retain without a reader.
func (r *Reader) loadNames(ctx context.Context) error {
	if r.keys != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	var suffix string
	var schema sql.NullString
	var oid int64
	var unlimited bool
	if err := r.db.QueryRowContext(ctx, namesSQL).Scan(&oid, &schema, &suffix, &unlimited); err != nil {
		return fmt.Errorf("read database settings: %w", err)
	}
	if !schema.Valid {
		return unsupportedError("search_path names no schema")
	}
	r.schema = schema.String
	r.slot = cmp.Or(r.slot, "tandian_"+strconv.FormatInt(oid, 10)+suffix)
	r.publication = cmp.Or(r.publication, "tandian"+suffix)
	r.keys = make(map[string]string)
	if unlimited {
		r.log.WarnContext(ctx, "replication slot has no size limit", "slot", r.slot,
			"hint", "set max_slot_wal_keep_size on the server; drop the slot when this installation is removed")
	}
	return nil
}

// A slotStatus is the state of the slot.
type slotStatus struct {
	exists   bool
	ours     bool          // of this database and plugin; true if there is no slot
	active   bool          // a process reads it
	lost     bool          // the server has removed WAL that it needs
	lag      int64         // bytes of WAL that it retains
	position pglogrepl.LSN // acknowledged
}

// readSlot returns the state of the slot and sets the gauge. It logs a warning if the
// slot retains more than half of the limit.
func (r *Reader) readSlot(ctx context.Context) (slotStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	var at slotStatus
	err := r.db.QueryRowContext(ctx, slotSQL, r.slot).
		Scan(&at.exists, &at.ours, &at.active, &at.lost, &at.lag, &at.position)
	if err != nil {
		return slotStatus{}, fmt.Errorf("read state of replication slot: %w", err)
	}
	r.metrics.lag.Set(float64(at.lag))
	if at.lag > r.o.MaxLag/2 && r.lagWarnings.Allow() {
		r.log.WarnContext(ctx, "replication slot retains much WAL", "slot", r.slot, "bytes", at.lag, "most", r.o.MaxLag)
	}
	return at, nil
}

// dropLagging drops a slot that is lost or retains too much WAL. The next session creates
// a new one.
func (r *Reader) dropLagging(ctx context.Context, at slotStatus) error {
	dropped, err := r.drop(ctx, r.o.MaxLag)
	if err != nil {
		return err
	}
	if dropped {
		r.log.WarnContext(ctx, "replication slot dropped", "slot", r.slot, "lost", at.lost, "bytes", at.lag)
	}
	return nil
}

// drop drops the slot, unless a process reads it, if it is lost or retains more than
// limit bytes; -1 drops it in any case. It reports whether it did.
func (r *Reader) drop(ctx context.Context, limit int64) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	result, err := r.db.ExecContext(ctx, dropSQL, r.slot, limit)
	if err != nil {
		return false, fmt.Errorf("drop replication slot: %w", err)
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// begin creates a temporary slot, calls OnGap and makes the slot permanent. If the
// process dies before that, no slot remains, so the next reader calls OnGap again. OnGap
// comes after the creation, so no change is between them.
func (r *Reader) begin(ctx context.Context, conn *pgconn.PgConn) error {
	wait, cancel := context.WithTimeout(ctx, beginTimeout)
	defer cancel()
	if _, err := conn.Exec(wait, r.statement(beginSQL)).ReadAll(); err != nil {
		return fmt.Errorf("create replication slot (waits for all running transactions): %w", err)
	}
	r.gapPending = true
	if err := r.reportGap(ctx); err != nil {
		return err
	}
	r.gapPending = false
	keep, cancelKeep := context.WithTimeout(ctx, queryTimeout)
	defer cancelKeep()
	if _, err := conn.Exec(keep, r.statement(makePermanentSQL)).ReadAll(); err != nil {
		return fmt.Errorf("make replication slot permanent: %w", err)
	}
	r.log.InfoContext(ctx, "replication slot created", "slot", r.slot)
	return nil
}

func (r *Reader) statement(text string) string {
	return strings.ReplaceAll(text, "{slot}", r.slot)
}
