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
	//go:embed sql/learn.sql
	learnSQL string
	//go:embed sql/look.sql
	lookSQL string
	//go:embed sql/begin.sql
	beginSQL string
	//go:embed sql/keep.sql
	keepSQL string
	//go:embed sql/drop.sql
	dropSQL string
)

// learn finds out, once, where the tables are and how the slot is called, and warns if nothing on the
// server bounds what it may hold back while we are switched off.
func (r *Reader) learn(ctx context.Context) error {
	if r.keys != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	var suffix string
	var schema sql.NullString
	var oid int64
	var unlimited bool
	if err := r.db.QueryRowContext(ctx, learnSQL).Scan(&oid, &schema, &suffix, &unlimited); err != nil {
		return fmt.Errorf("ask about the database: %w", err)
	}
	if !schema.Valid {
		return unsupportedError("there is no schema that search_path names")
	}
	r.schema = schema.String
	r.slot = cmp.Or(r.slot, "tandian_"+strconv.FormatInt(oid, 10)+suffix)
	r.publication = cmp.Or(r.publication, "tandian"+suffix)
	r.keys = make(map[string]string)
	if unlimited {
		r.log.WarnContext(ctx, "a replication slot that nobody reads may fill the database's disk: set max_slot_wal_keep_size on the server, "+
			"and drop the slot when this installation is switched off for good", "slot", r.slot)
	}
	return nil
}

// A slotStatus is how the slot was when it was looked at.
type slotStatus struct {
	there    bool
	ours     bool          // of this database and plugin; true if not there
	active   bool          // somebody reads it
	lost     bool          // what it needs has been removed
	lag      int64         // bytes of WAL that it holds back
	position pglogrepl.LSN // acknowledged
}

// look looks at the slot, shows what it holds back, and raises the alarm when
// that is more than half of what it may.
func (r *Reader) look(ctx context.Context) (slotStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	var at slotStatus
	err := r.db.QueryRowContext(ctx, lookSQL, r.slot).
		Scan(&at.there, &at.ours, &at.active, &at.lost, &at.lag, &at.position)
	if err != nil {
		return slotStatus{}, fmt.Errorf("look at the replication slot: %w", err)
	}
	r.metrics.lag.Set(float64(at.lag))
	if at.lag > r.o.MaxLag/2 && r.alarms.Allow() {
		r.log.WarnContext(ctx, "the replication slot holds back more than half of the WAL that it may", "slot", r.slot, "bytes", at.lag, "most", r.o.MaxLag)
	}
	return at, nil
}

// giveUp drops a slot that is lost or holds back too much. The next round begins
// anew.
func (r *Reader) giveUp(ctx context.Context, at slotStatus) error {
	dropped, err := r.drop(ctx, r.o.MaxLag)
	if err != nil {
		return err
	}
	if dropped {
		r.log.WarnContext(ctx, "the replication slot was given up; everything is told to have changed, once that is possible", "slot", r.slot, "lost", at.lost, "bytes", at.lag)
	}
	return nil
}

// drop drops the slot unless somebody reads it, if it is lost or holds back more
// than most bytes; with -1 in any case. It reports whether it did.
func (r *Reader) drop(ctx context.Context, most int64) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	result, err := r.db.ExecContext(ctx, dropSQL, r.slot, most)
	if err != nil {
		return false, fmt.Errorf("drop the replication slot: %w", err)
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// begin makes a slot. It is kept only after Missed has succeeded: a process that
// dies in between leaves none, so the next one knows that this is still to be
// said. Missed comes after the slot is there, so that nothing falls in between.
func (r *Reader) begin(ctx context.Context, conn *pgconn.PgConn) error {
	wait, cancel := context.WithTimeout(ctx, beginTimeout)
	defer cancel()
	if _, err := conn.Exec(wait, r.statement(beginSQL)).ReadAll(); err != nil {
		return fmt.Errorf("make a replication slot, for which every running transaction has to end: %w", err)
	}
	r.owed = true
	if err := r.missed(ctx); err != nil {
		return err
	}
	r.owed = false
	keep, cancelKeep := context.WithTimeout(ctx, queryTimeout)
	defer cancelKeep()
	if _, err := conn.Exec(keep, r.statement(keepSQL)).ReadAll(); err != nil {
		return fmt.Errorf("keep the replication slot: %w", err)
	}
	r.log.InfoContext(ctx, "a new replication slot; everything was told to have changed", "slot", r.slot)
	return nil
}

func (r *Reader) statement(text string) string {
	return strings.ReplaceAll(text, "{slot}", r.slot)
}
