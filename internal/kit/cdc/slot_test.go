package cdc

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestGapIsReportedOnceAndReadingContinues(t *testing.T) {
	tests := []struct {
		name string
		gap  string // runs without a reader
	}{
		{name: "the slot was dropped", gap: `SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = current_database()`},
		{name: "the publication was dropped", gap: `DROP PUBLICATION tandian`},
		{name: "a table was taken out of the publication", gap: `ALTER PUBLICATION tandian DROP TABLE shops`},
		{name: "the publication leaves out deletes", gap: `ALTER PUBLICATION tandian SET (publish = 'insert')`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			at, rec := newDatabase(t), new(recorder)
			at.runActive(t, rec.options(at)).stop()
			at.exec(t, tt.gap)
			at.exec(t, `INSERT INTO shops (id) VALUES (1)`) // no delivery
			at.runActive(t, rec.options(at))
			at.exec(t, `INSERT INTO shops (id) VALUES (2); DELETE FROM shops WHERE id = 2`)
			if diff := cmp.Diff([]string{"missed", "missed", "shops:2"}, rec.await(t, "shops:2")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDroppedPublicationIsRecreated(t *testing.T) {
	t.Parallel()
	at, rec := newDatabase(t), new(recorder)
	at.runActive(t, rec.options(at))
	at.exec(t, `DROP PUBLICATION tandian`)
	at.exec(t, `INSERT INTO shops (id) VALUES (1)`) // the server detects it only now
	rec.awaitCount(t, "missed", 2)
	at.exec(t, `INSERT INTO shops (id) VALUES (2)`)
	rec.await(t, "shops:2")
}

func TestPublicationIsNarrowedWithoutGap(t *testing.T) {
	t.Parallel()
	at, rec := newDatabase(t), new(recorder)
	at.runActive(t, rec.options(at)).stop()
	at.exec(t, `ALTER PUBLICATION tandian ADD TABLE other`)
	at.exec(t, `INSERT INTO other VALUES (1); INSERT INTO shops (id) VALUES (1)`)
	at.runActive(t, rec.options(at))
	if diff := cmp.Diff([]string{"missed", "shops:1"}, rec.await(t, "shops:1")); diff != "" {
		t.Error(diff)
	}
	tables := at.text(t, `SELECT string_agg(tablename, ' ' ORDER BY tablename) FROM pg_publication_tables WHERE pubname = 'tandian'`)
	if tables != "Users outbox shops" {
		t.Errorf("got a publication with the tables %s", tables)
	}
}

// A permanent slot means that any earlier gap has been reported. Before that there is
// none, and no WAL is retained either.
func TestSlotIsPermanentOnlyAfterGapReport(t *testing.T) {
	t.Parallel()
	at, rec := newDatabase(t), new(recorder)
	rec.refusing(func(what string) bool { return what == "missed" })
	r := at.run(t, rec.options(at))
	testkit.Eventually(t, within, func() bool { return rec.tried() >= 3 })
	if n := at.text(t, `SELECT count(*) FROM pg_replication_slots WHERE database = current_database() AND NOT temporary`); n != "0" {
		t.Errorf("got %s permanent slots", n)
	}
	if r.Active() {
		t.Error("the reader is active before the gap was reported")
	}
	rec.refusing(nil)
	testkit.Eventually(t, within, r.Active)
	at.exec(t, `INSERT INTO shops (id) VALUES (1)`)
	rec.await(t, "shops:1")
	if n := at.text(t, `SELECT count(*) FROM pg_replication_slots WHERE database = current_database()`); n != "1" {
		t.Errorf("got %s slots, want one", n)
	}
}

func TestSlotWaitsForTransactionsButStopDoesNot(t *testing.T) {
	at, rec := newDatabase(t), new(recorder) // not parallel: other tests get no slot meanwhile
	tx, err := at.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(t.Context(), `INSERT INTO other VALUES (1)`); err != nil {
		t.Fatal(err)
	}
	r := at.run(t, rec.options(at))
	testkit.Eventually(t, within, func() bool {
		return at.text(t, `SELECT wait_event FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tandian-log-reader'`) == "transactionid"
	})
	begun := time.Now()
	r.stop()
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("the stop took %v", took)
	}
	testkit.Eventually(t, within, func() bool {
		return at.text(t, `SELECT count(*) FROM pg_replication_slots WHERE database = current_database()`) == "0"
	})
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	at.runActive(t, rec.options(at))
	if diff := cmp.Diff([]string{"missed"}, rec.all()); diff != "" {
		t.Error(diff)
	}
}

func TestLaggingSlotIsDropped(t *testing.T) {
	const most = 1 << 20
	write := func(t *testing.T, at database) {
		at.exec(t, `SELECT pg_logical_emit_message(true, 'x', repeat('x', 100000)) FROM generate_series(1, 15)`)
		testkit.Eventually(t, within, func() bool { // commits do not wait for the log on this server
			return at.text(t, `SELECT coalesce(min(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)), $1 + 1) > $1 FROM pg_replication_slots WHERE database = current_database()`, most) == "true"
		})
	}
	t.Run("without a reader", func(t *testing.T) {
		t.Parallel()
		at, rec := newDatabase(t), new(recorder)
		o := rec.options(at)
		at.runActive(t, o).stop()
		write(t, at)
		o.MaxLag = most
		r := at.runActive(t, o)
		if !strings.Contains(r.log.String(), "replication slot dropped") {
			t.Error("log has no record")
		}
		at.exec(t, `INSERT INTO shops (id) VALUES (1)`)
		if diff := cmp.Diff([]string{"missed", "missed", "shops:1"}, rec.await(t, "shops:1")); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("without a replication connection", func(t *testing.T) {
		t.Parallel()
		at, rec := newDatabase(t), new(recorder)
		o := rec.options(at)
		at.runActive(t, o).stop()
		write(t, at)
		o.MaxLag = most
		o.URL = "postgres://127.0.0.1:1/missing?sslmode=disable"
		at.run(t, o)
		testkit.Eventually(t, within, func() bool {
			return at.text(t, `SELECT count(*) FROM pg_replication_slots WHERE database = current_database()`) == "0"
		})
	})
	t.Run("with failing deliveries", func(t *testing.T) {
		t.Parallel()
		at, rec := newDatabase(t), new(recorder)
		o := rec.options(at)
		o.MaxLag = most
		r := at.runActive(t, o, func(p *intervals) { p.guard = 20 * time.Millisecond })
		rec.refusing(func(string) bool { return true })
		at.exec(t, `INSERT INTO shops (id) VALUES (1)`)
		write(t, at)
		testkit.Eventually(t, within, func() bool {
			return at.text(t, `SELECT count(*) FROM pg_replication_slots WHERE database = current_database() AND NOT temporary`) == "0"
		})
		if !strings.Contains(r.log.String(), "replication slot retains much WAL") {
			t.Error("log has no warning")
		}
		rec.refusing(nil)
		rec.awaitCount(t, "missed", 2)
		// Other tests write too, so it may be dropped again.
		next := 2
		testkit.Eventually(t, within, func() bool {
			at.exec(t, `INSERT INTO shops (id) VALUES ($1)`, next)
			next++
			return strings.Contains(strings.Join(rec.all(), " "), "shops:")
		})
		if n := count(rec.all(), "shops:1"); n != 0 {
			t.Errorf("got %d deliveries of the change in the gap", n)
		}
	})
}

// The slot must not retain WAL of other tables because this reader's tables change
// rarely.
func TestPositionFollowsOtherWrites(t *testing.T) {
	t.Parallel()
	at, rec := newDatabase(t), new(recorder)
	at.runActive(t, rec.options(at), func(p *intervals) { p.beat = 50 * time.Millisecond })
	for i := range 3 {
		at.exec(t, `INSERT INTO other VALUES ($1)`, i)
		now := at.text(t, "SELECT pg_current_wal_lsn()")
		testkit.Eventually(t, within, func() bool {
			return at.text(t, "SELECT confirmed_flush_lsn >= $1::pg_lsn FROM pg_replication_slots WHERE database = current_database()", now) == "true"
		})
	}
	if diff := cmp.Diff([]string{"missed"}, rec.all()); diff != "" {
		t.Error(diff)
	}
}

func TestUnlimitedSlotIsLogged(t *testing.T) {
	t.Parallel()
	at, rec := newDatabase(t), new(recorder)
	r := at.runActive(t, rec.options(at))
	bound := at.text(t, "SHOW max_slot_wal_keep_size") != "-1"
	if warned := strings.Contains(r.log.String(), "max_slot_wal_keep_size"); warned == bound {
		t.Errorf("got warning: %v; the server has a limit: %v", warned, bound)
	}
}

// as returns the database's URL for another role, which has no password: the test server
// trusts all.
func (at database) as(t *testing.T, attributes string) database {
	t.Helper()
	role := "r_" + at.text(t, "SELECT current_database()")
	at.exec(t, fmt.Sprintf("CREATE ROLE %s LOGIN %s", role, attributes))
	t.Cleanup(func() { // before the database is dropped
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, err := at.db.ExecContext(ctx, fmt.Sprintf("DROP OWNED BY %s; DROP ROLE %s", role, role)); err != nil {
			t.Errorf("drop the role: %v", err)
		}
	})
	u, err := url.Parse(at.dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(role)
	return open(t, u.String())
}

func TestCheckReportsReason(t *testing.T) {
	tests := []struct {
		name, role string
		reason     string // part of it; "" for ok
	}{
		{name: "a superuser", role: "SUPERUSER"},
		{name: "a role that may replicate", role: "REPLICATION"},
		{name: "a role that may not", role: "", reason: "may not replicate"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			at := newDatabase(t).as(t, tt.role)
			reason, ok, err := Check(t.Context(), at.db)
			if err != nil || ok != (tt.reason == "") || !strings.Contains(reason, tt.reason) || ok && reason != "" {
				t.Errorf("got %q, %v, %v, want reason %q", reason, ok, err, tt.reason)
			}
		})
	}
}

func TestMissingRightIsLoggedAndEndsRun(t *testing.T) {
	tests := []struct {
		name, role, before, want string
	}{
		{name: "not the owner", role: "REPLICATION", before: "GRANT CREATE ON DATABASE %[2]s TO %[1]s", want: "must be owner of table"},
		{name: "may not create", role: "REPLICATION", before: `ALTER TABLE shops OWNER TO %[1]s; ALTER TABLE "Users" OWNER TO %[1]s; ALTER TABLE outbox OWNER TO %[1]s`, want: "permission denied for database"},
		{name: "may not replicate", role: "", want: "replication role"},
		{name: "no such table", role: "SUPERUSER", before: "DROP TABLE shops", want: "table public.shops does not exist"},
		{name: "a key of two columns", role: "SUPERUSER", before: "ALTER TABLE shops DROP CONSTRAINT shops_pkey, ADD PRIMARY KEY (id, name)", want: "not one column"},
		{name: "no replica identity", role: "SUPERUSER", before: "ALTER TABLE shops REPLICA IDENTITY NOTHING", want: "replica identity"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			owner, rec := newDatabase(t), new(recorder)
			at := owner.as(t, tt.role)
			if tt.before != "" {
				database := owner.text(t, "SELECT current_database()")
				owner.exec(t, strings.NewReplacer("%[1]s", "r_"+database, "%[2]s", database).Replace(tt.before))
			}
			r := at.run(t, rec.options(at))
			r.awaitEnd(t)
			if log := r.log.String(); strings.Count(log, "change data capture is disabled") != 1 || !strings.Contains(log, tt.want) {
				t.Errorf("got log:\n%[2]s\nwant one line with %[1]q", tt.want, log)
			}
			if n := owner.text(t, `SELECT count(*) FROM pg_replication_slots WHERE database = current_database()`); n != "0" {
				t.Errorf("got %s slots, want none", n)
			}
		})
	}
}

func TestSlotOfAnotherDatabaseIsNotUsed(t *testing.T) {
	t.Parallel()
	at, other, rec := newDatabase(t), newDatabase(t), new(recorder)
	o := rec.options(other)
	o.Slot = "slot_" + at.text(t, "SELECT current_database()")
	other.runActive(t, o).stop()
	o.URL = at.dsn
	r := at.run(t, o)
	r.awaitEnd(t)
	if !strings.Contains(r.log.String(), "another database") {
		t.Errorf("got no reason:\n%s", r.log)
	}
	if n := other.text(t, `SELECT count(*) FROM pg_replication_slots WHERE slot_name = $1`, o.Slot); n != "1" {
		t.Error("the slot of the other database was dropped")
	}
}
