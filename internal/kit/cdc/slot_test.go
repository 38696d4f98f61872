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

func TestAfterAGapEverythingIsMissedOnceAndReadingGoesOn(t *testing.T) {
	tests := []struct {
		name string
		gap  string // done while nobody reads
	}{
		{name: "the slot was dropped", gap: `SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = current_database()`},
		{name: "the publication was dropped", gap: `DROP PUBLICATION tandian`},
		{name: "a table was taken out of the publication", gap: `ALTER PUBLICATION tandian DROP TABLE shops`},
		{name: "the publication leaves out deletes", gap: `ALTER PUBLICATION tandian SET (publish = 'insert')`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			at, heard := newTown(t), new(listener)
			at.runActive(t, heard.options(at)).stop()
			at.exec(t, tt.gap)
			at.exec(t, `INSERT INTO shops (id) VALUES (1)`) // nobody will hear of it
			at.runActive(t, heard.options(at))
			at.exec(t, `INSERT INTO shops (id) VALUES (2); DELETE FROM shops WHERE id = 2`)
			if diff := cmp.Diff([]string{"missed", "missed", "shops:2"}, heard.await(t, "shops:2")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAPublicationDroppedWhileItIsReadIsMadeAnew(t *testing.T) {
	t.Parallel()
	at, heard := newTown(t), new(listener)
	at.runActive(t, heard.options(at))
	at.exec(t, `DROP PUBLICATION tandian`)
	at.exec(t, `INSERT INTO shops (id) VALUES (1)`) // only now the server finds out
	heard.awaitCount(t, "missed", 2)
	at.exec(t, `INSERT INTO shops (id) VALUES (2)`)
	heard.await(t, "shops:2")
}

func TestAPublicationWithMoreTablesIsNarrowedWithoutAGap(t *testing.T) {
	t.Parallel()
	at, heard := newTown(t), new(listener)
	at.runActive(t, heard.options(at)).stop()
	at.exec(t, `ALTER PUBLICATION tandian ADD TABLE other`)
	at.exec(t, `INSERT INTO other VALUES (1); INSERT INTO shops (id) VALUES (1)`)
	at.runActive(t, heard.options(at))
	if diff := cmp.Diff([]string{"missed", "shops:1"}, heard.await(t, "shops:1")); diff != "" {
		t.Error(diff)
	}
	tables := at.text(t, `SELECT string_agg(tablename, ' ' ORDER BY tablename) FROM pg_publication_tables WHERE pubname = 'tandian'`)
	if tables != "Users outbox shops" {
		t.Errorf("the publication has the tables %s", tables)
	}
}

// A slot that is there means that what came before it has been told. So there
// is none until then, and nothing is held back either.
func TestASlotIsKeptOnlyOnceTheGapHasBeenTold(t *testing.T) {
	t.Parallel()
	at, heard := newTown(t), new(listener)
	heard.refusing(func(what string) bool { return what == "missed" })
	r := at.run(t, heard.options(at))
	testkit.Eventually(t, within, func() bool { return heard.tried() >= 3 })
	if n := at.text(t, `SELECT count(*) FROM pg_replication_slots WHERE database = current_database() AND NOT temporary`); n != "0" {
		t.Errorf("%s slots are kept", n)
	}
	if r.Active() {
		t.Error("it reads before the gap has been told")
	}
	heard.refusing(nil)
	testkit.Eventually(t, within, r.Active)
	at.exec(t, `INSERT INTO shops (id) VALUES (1)`)
	heard.await(t, "shops:1")
	if n := at.text(t, `SELECT count(*) FROM pg_replication_slots WHERE database = current_database()`); n != "1" {
		t.Errorf("%s slots are left, one of them only while the other was made", n)
	}
}

func TestASlotWaitsForRunningTransactionsAndAStopDoesNotWait(t *testing.T) {
	at, heard := newTown(t), new(listener) // not parallel: no other test gets a slot meanwhile
	tx, err := at.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(t.Context(), `INSERT INTO other VALUES (1)`); err != nil {
		t.Fatal(err)
	}
	r := at.run(t, heard.options(at))
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
	at.runActive(t, heard.options(at))
	if diff := cmp.Diff([]string{"missed"}, heard.all()); diff != "" {
		t.Error(diff)
	}
}

func TestASlotThatHoldsBackTooMuchIsGivenUp(t *testing.T) {
	const most = 1 << 20
	write := func(t *testing.T, at town) {
		at.exec(t, `SELECT pg_logical_emit_message(true, 'x', repeat('x', 100000)) FROM generate_series(1, 15)`)
		testkit.Eventually(t, within, func() bool { // commits do not wait for the log on this server
			return at.text(t, `SELECT coalesce(min(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)), $1 + 1) > $1 FROM pg_replication_slots WHERE database = current_database()`, most) == "true"
		})
	}
	t.Run("when nobody reads it", func(t *testing.T) {
		t.Parallel()
		at, heard := newTown(t), new(listener)
		o := heard.options(at)
		at.runActive(t, o).stop()
		write(t, at)
		o.MaxLag = most
		r := at.runActive(t, o)
		if !strings.Contains(r.log.String(), "given up") {
			t.Error("the log does not say so")
		}
		at.exec(t, `INSERT INTO shops (id) VALUES (1)`)
		if diff := cmp.Diff([]string{"missed", "missed", "shops:1"}, heard.await(t, "shops:1")); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("although nobody can connect to read it", func(t *testing.T) {
		t.Parallel()
		at, heard := newTown(t), new(listener)
		o := heard.options(at)
		at.runActive(t, o).stop()
		write(t, at)
		o.MaxLag = most
		o.URL = "postgres://127.0.0.1:1/nobody?sslmode=disable"
		at.run(t, o)
		testkit.Eventually(t, within, func() bool {
			return at.text(t, `SELECT count(*) FROM pg_replication_slots WHERE database = current_database()`) == "0"
		})
	})
	t.Run("when what it reads cannot be told", func(t *testing.T) {
		t.Parallel()
		at, heard := newTown(t), new(listener)
		o := heard.options(at)
		o.MaxLag = most
		r := at.runActive(t, o, func(p *intervals) { p.guard = 20 * time.Millisecond })
		heard.refusing(func(string) bool { return true })
		at.exec(t, `INSERT INTO shops (id) VALUES (1)`)
		write(t, at)
		testkit.Eventually(t, within, func() bool {
			return at.text(t, `SELECT count(*) FROM pg_replication_slots WHERE database = current_database() AND NOT temporary`) == "0"
		})
		if !strings.Contains(r.log.String(), "more than half") {
			t.Error("no alarm was raised")
		}
		heard.refusing(nil)
		heard.awaitCount(t, "missed", 2)
		// Other tests write too, so it may be given up again.
		next := 2
		testkit.Eventually(t, within, func() bool {
			at.exec(t, `INSERT INTO shops (id) VALUES ($1)`, next)
			next++
			return strings.Contains(strings.Join(heard.all(), " "), "shops:")
		})
		if n := count(heard.all(), "shops:1"); n != 0 {
			t.Errorf("the change in the gap was told %d times", n)
		}
	})
}

// Others' writes must not be held back because ours are few.
func TestThePositionFollowsWhatOthersWrite(t *testing.T) {
	t.Parallel()
	at, heard := newTown(t), new(listener)
	at.runActive(t, heard.options(at), func(p *intervals) { p.beat = 50 * time.Millisecond })
	for i := range 3 {
		at.exec(t, `INSERT INTO other VALUES ($1)`, i)
		now := at.text(t, "SELECT pg_current_wal_lsn()")
		testkit.Eventually(t, within, func() bool {
			return at.text(t, "SELECT confirmed_flush_lsn >= $1::pg_lsn FROM pg_replication_slots WHERE database = current_database()", now) == "true"
		})
	}
	if diff := cmp.Diff([]string{"missed"}, heard.all()); diff != "" {
		t.Error(diff)
	}
}

func TestTheLogWarnsOfSlotsWithoutABound(t *testing.T) {
	t.Parallel()
	at, heard := newTown(t), new(listener)
	r := at.runActive(t, heard.options(at))
	bound := at.text(t, "SHOW max_slot_wal_keep_size") != "-1"
	if warned := strings.Contains(r.log.String(), "max_slot_wal_keep_size"); warned == bound {
		t.Errorf("warned: %v; the server has a bound: %v", warned, bound)
	}
}

// as returns the database's URL for another role, which has no password: the
// tests' server trusts.
func (at town) as(t *testing.T, attributes string) town {
	t.Helper()
	role := "r_" + at.text(t, "SELECT current_database()")
	at.exec(t, fmt.Sprintf("CREATE ROLE %s LOGIN %s", role, attributes))
	t.Cleanup(func() { // before the database goes
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

func TestCheckSaysWhatIsMissing(t *testing.T) {
	tests := []struct {
		name, role string
		reason     string // part of it; "" means that all is well
	}{
		{name: "a superuser", role: "SUPERUSER"},
		{name: "a role that may replicate", role: "REPLICATION"},
		{name: "a role that may not", role: "", reason: "may not replicate"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			at := newTown(t).as(t, tt.role)
			reason, ok, err := Check(t.Context(), at.db)
			if err != nil || ok != (tt.reason == "") || !strings.Contains(reason, tt.reason) || ok && reason != "" {
				t.Errorf("Check: %q %v %v, want the reason %q", reason, ok, err, tt.reason)
			}
		})
	}
}

func TestWithoutARightItSaysSoAndDoesNotRun(t *testing.T) {
	tests := []struct {
		name, role, before, want string
	}{
		{name: "not the owner", role: "REPLICATION", before: "GRANT CREATE ON DATABASE %[2]s TO %[1]s", want: "must be owner of table"},
		{name: "may not create", role: "REPLICATION", before: `ALTER TABLE shops OWNER TO %[1]s; ALTER TABLE "Users" OWNER TO %[1]s; ALTER TABLE outbox OWNER TO %[1]s`, want: "permission denied for database"},
		{name: "may not replicate", role: "", want: "replication role"},
		{name: "no such table", role: "SUPERUSER", before: "DROP TABLE shops", want: "no table public.shops"},
		{name: "a key of two columns", role: "SUPERUSER", before: "ALTER TABLE shops DROP CONSTRAINT shops_pkey, ADD PRIMARY KEY (id, name)", want: "not one column"},
		{name: "no replica identity", role: "SUPERUSER", before: "ALTER TABLE shops REPLICA IDENTITY NOTHING", want: "replica identity"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			owner, heard := newTown(t), new(listener)
			at := owner.as(t, tt.role)
			if tt.before != "" {
				database := owner.text(t, "SELECT current_database()")
				owner.exec(t, strings.NewReplacer("%[1]s", "r_"+database, "%[2]s", database).Replace(tt.before))
			}
			r := at.run(t, heard.options(at))
			r.awaitEnd(t)
			if log := r.log.String(); strings.Count(log, "is not read") != 1 || !strings.Contains(log, tt.want) {
				t.Errorf("want one line with %q:\n%s", tt.want, log)
			}
			if n := owner.text(t, `SELECT count(*) FROM pg_replication_slots WHERE database = current_database()`); n != "0" {
				t.Errorf("%s slots are left", n)
			}
		})
	}
}

func TestASlotOfAnotherDatabaseIsLeftAlone(t *testing.T) {
	t.Parallel()
	at, other, heard := newTown(t), newTown(t), new(listener)
	o := heard.options(other)
	o.Slot = "slot_" + at.text(t, "SELECT current_database()")
	other.runActive(t, o).stop()
	o.URL = at.dsn
	r := at.run(t, o)
	r.awaitEnd(t)
	if !strings.Contains(r.log.String(), "another database") {
		t.Errorf("want a reason:\n%s", r.log)
	}
	if n := other.text(t, `SELECT count(*) FROM pg_replication_slots WHERE slot_name = $1`, o.Slot); n != "1" {
		t.Error("the slot of the other database is gone")
	}
}
