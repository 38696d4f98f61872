package cdc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/tandian-dev/tandian/internal/kit/dblock"
	"github.com/tandian-dev/tandian/internal/kit/lock"
	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestChangesAreDelivered(t *testing.T) {
	tests := []struct {
		name       string
		before     string // committed before the reader starts
		statements string // in one transaction
		want       []string
	}{
		{name: "an insert", statements: `INSERT INTO shops (id) VALUES (7)`, want: []string{"shops:7"}},
		{name: "an update", before: `INSERT INTO shops (id) VALUES (7)`, statements: `UPDATE shops SET name = 'x'`, want: []string{"shops:7"}},
		{name: "a delete", before: `INSERT INTO shops (id) VALUES (7)`, statements: `DELETE FROM shops`, want: []string{"shops:7"}},
		{name: "another key: the old and the new one", before: `INSERT INTO shops (id) VALUES (7)`, statements: `UPDATE shops SET id = 8`, want: []string{"shops:7,8"}},
		{name: "a text key in a quoted table", statements: `INSERT INTO "Users" VALUES ('ann o''hara', 'x')`, want: []string{"Users:ann o'hara"}},
		{
			name:       "several tables and rows, each once",
			statements: `INSERT INTO shops (id) VALUES (1), (2); INSERT INTO "Users" VALUES ('ann'); UPDATE shops SET name = 'x'`,
			want:       []string{"shops:1,2", "Users:ann"},
		},
		{
			name:   "a row under replica identity full",
			before: `ALTER TABLE shops REPLICA IDENTITY FULL; INSERT INTO shops VALUES ('x', 7)`, statements: `DELETE FROM shops`,
			want: []string{"shops:7"},
		},
		{
			name: "an unchanged large value", before: `ALTER TABLE shops ALTER name SET STORAGE EXTERNAL; INSERT INTO shops VALUES (repeat('x', 9000), 7)`,
			statements: `UPDATE shops SET id = id`, want: []string{"shops:7"},
		},
		{name: "501 rows in two calls", statements: `INSERT INTO shops (id) SELECT generate_series(1, 501)`, want: []string{"shops:1,2,3,4,5,…", "shops:501"}},
		{
			name:   "a column added after the start",
			before: `INSERT INTO shops (id) VALUES (7)`, statements: `ALTER TABLE shops ADD COLUMN more text; UPDATE shops SET more = 'x'`,
			want: []string{"shops:7"},
		},
		{name: "no other table", statements: `INSERT INTO other VALUES (1)`},
		{name: "no table of this name in another schema", before: `CREATE SCHEMA b; CREATE TABLE b.shops (id int PRIMARY KEY)`, statements: `INSERT INTO b.shops VALUES (1)`},
		{name: "nothing after a rollback", statements: `INSERT INTO shops (id) VALUES (7); ROLLBACK`},
		{name: "nothing with an insert into the outbox", statements: `INSERT INTO shops (id) VALUES (7); INSERT INTO outbox VALUES (1)`},
		{name: "nothing after an insert into the outbox", statements: `INSERT INTO outbox VALUES (1); INSERT INTO shops (id) VALUES (7); INSERT INTO "Users" VALUES ('ann')`},
		{name: "no update or delete of the outbox", before: `INSERT INTO outbox VALUES (1)`, statements: `UPDATE outbox SET done = true; DELETE FROM outbox`},
		{
			name: "changes with a delete from the outbox", before: `INSERT INTO outbox VALUES (1)`,
			statements: `DELETE FROM outbox; INSERT INTO shops (id) VALUES (7)`, want: []string{"shops:7"},
		},
		{name: "a truncated table", statements: `TRUNCATE shops`, want: []string{"missed"}},
		{name: "two truncated tables, once", statements: `TRUNCATE shops, "Users"`, want: []string{"missed"}},
		{name: "a truncated table with an insert into the outbox", statements: `TRUNCATE shops; INSERT INTO outbox VALUES (1)`, want: []string{"missed"}},
		{name: "another truncated table", statements: `TRUNCATE other`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			at, rec := newDatabase(t), new(recorder)
			if tt.before != "" {
				at.exec(t, tt.before)
			}
			at.runActive(t, rec.options(at))
			at.exec(t, "BEGIN; "+tt.statements+"; COMMIT")
			at.exec(t, `INSERT INTO shops (id) VALUES (999)`) // commits come in order
			want := slices.Concat([]string{"missed"}, tt.want, []string{"shops:999"})
			if diff := cmp.Diff(want, rec.await(t, "shops:999")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLargeTransactionTruncatesTable(t *testing.T) {
	tests := []struct {
		name       string
		statements string
		truncated  bool // the table has OnTruncate
		want       []string
	}{
		{name: "20 000 rows", statements: `INSERT INTO shops (id) SELECT generate_series(1, 20000)`, want: []string{"missed"}},
		{name: "20 000 rows of a table with OnTruncate", statements: `INSERT INTO shops (id) SELECT generate_series(1, 20000)`, truncated: true, want: []string{"truncated"}},
		{name: "the largest number of keys", statements: `INSERT INTO shops (id) SELECT generate_series(1, 10000)`, want: slices.Repeat([]string{"shops"}, 20)},
		{
			name:       "15 000 changes of 500 rows",
			statements: `INSERT INTO shops (id) SELECT generate_series(1, 500); DO 'BEGIN FOR i IN 1..30 LOOP UPDATE shops SET name = i; END LOOP; END'`,
			want:       []string{"shops"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			at, rec := newDatabase(t), new(recorder)
			o := rec.options(at)
			if tt.truncated {
				o.Tables[0].OnTruncate = func(context.Context) error { return rec.record("truncated") }
			}
			at.runActive(t, o)
			at.exec(t, "BEGIN; "+tt.statements+"; COMMIT")
			at.exec(t, `INSERT INTO "Users" VALUES ('end')`)
			var got []string
			for _, s := range rec.await(t, "Users:end") {
				table, _, _ := strings.Cut(s, ":")
				got = append(got, table)
			}
			if diff := cmp.Diff(slices.Concat([]string{"missed"}, tt.want, []string{"Users"}), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFailedDeliveryIsRetriedAndNotAcknowledged(t *testing.T) {
	t.Parallel()
	at, rec := newDatabase(t), new(recorder)
	r := at.runActive(t, rec.options(at), func(p *intervals) { p.beat = 20 * time.Millisecond })
	rec.refusing(func(what string) bool { return what == "shops:1" })
	tries := rec.tried()
	at.exec(t, `INSERT INTO shops (id) VALUES (1)`)
	testkit.Eventually(t, within, func() bool { return rec.tried() > tries })

	// Status updates continue meanwhile.
	replied := func() string {
		return at.text(t, "SELECT s.reply_time FROM pg_stat_replication s JOIN pg_replication_slots r ON r.active_pid = s.pid WHERE r.database = current_database()")
	}
	first := replied()
	testkit.Eventually(t, within, func() bool { return replied() != first })
	before := at.acknowledged(t)
	at.exec(t, `INSERT INTO other VALUES (1)`)
	second := replied()
	testkit.Eventually(t, within, func() bool { return rec.tried() >= tries+4 && replied() != second })
	if after := at.acknowledged(t); after != before {
		t.Errorf("acknowledged position changed from %s to %s before the delivery", before, after)
	}

	// A stop does not acknowledge it either: the next reader gets it.
	r.stop()
	rec.refusing(nil)
	at.run(t, rec.options(at))
	rec.await(t, "shops:1")
	testkit.Eventually(t, within, func() bool { return at.acknowledged(t) != before })
}

func TestAnotherProcessTriesFailedDelivery(t *testing.T) {
	t.Parallel()
	at, bad, good := newDatabase(t), new(recorder), new(recorder)
	quick := func(p *intervals) { p.giveUp = 100 * time.Millisecond; p.poll = 50 * time.Millisecond }
	at.runActive(t, bad.options(at), func(p *intervals) { p.giveUp = 100 * time.Millisecond; p.poll = 2 * time.Second })
	at.run(t, good.options(at), quick)
	bad.refusing(func(string) bool { return true })
	at.exec(t, `INSERT INTO shops (id) VALUES (1)`)
	if diff := cmp.Diff([]string{"shops:1"}, good.await(t, "shops:1")); diff != "" {
		t.Error(diff)
	}
}

func TestCleanStopLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	at, rec := newDatabase(t), new(recorder)
	want := []string{"missed"}
	for i := range 5 {
		r := at.runActive(t, rec.options(at))
		for j := range 3 {
			at.exec(t, `INSERT INTO shops (id) VALUES ($1)`, 10*i+j)
			want = append(want, fmt.Sprintf("shops:%d", 10*i+j))
		}
		// Acknowledged at the stop, not at once.
		at.exec(t, `WITH job AS (INSERT INTO outbox VALUES ($1)) INSERT INTO shops (id) VALUES ($2)`, i, 10*i+4)
		at.exec(t, `INSERT INTO shops (id) VALUES ($1)`, 10*i+5)
		want = append(want, fmt.Sprintf("shops:%d", 10*i+5))
		written := at.text(t, `SELECT pg_current_wal_lsn()`)
		rec.await(t, want[len(want)-1])
		r.stop()
		if at.text(t, `SELECT confirmed_flush_lsn >= $1::pg_lsn FROM pg_replication_slots WHERE database = current_database()`, written) != "true" {
			t.Errorf("got acknowledged position %s, want %s", at.acknowledged(t), written)
		}
		at.exec(t, `INSERT INTO shops (id) VALUES ($1)`, 10*i+9) // without a reader
		want = append(want, fmt.Sprintf("shops:%d", 10*i+9))
	}
	at.run(t, rec.options(at))
	rec.await(t, want[len(want)-1])
	if diff := cmp.Diff(want, rec.all()); diff != "" {
		t.Error(diff)
	}
}

// A stop at any point: the later deliveries complete the earlier ones.
func TestStopAnywhereLosesNothing(t *testing.T) {
	t.Parallel()
	at, rec := newDatabase(t), new(recorder)
	seed := testkit.Seed(t)
	at.runActive(t, rec.options(at)).stop()
	writing, wrote := context.WithCancel(t.Context())
	go func() {
		defer wrote()
		for i := range 400 {
			_, _ = at.db.ExecContext(t.Context(), `INSERT INTO shops (id) VALUES ($1)`, i)
		}
	}()
	for writing.Err() == nil {
		seed = seed*6364136223846793005 + 1442695040888963407
		r := at.run(t, rec.options(at), func(p *intervals) { p.poll = time.Millisecond })
		stop := time.After(time.Duration(seed>>33%60) * time.Millisecond)
		select {
		case <-stop:
		case <-writing.Done():
		}
		r.stop()
	}
	at.run(t, rec.options(at))
	for i := range 400 {
		rec.await(t, fmt.Sprintf("shops:%d", i))
	}
	if n := count(rec.all(), "missed"); n != 1 {
		t.Errorf("got %d gaps, want one: the slot was missing once", n)
	}
}

func TestOneReadsAndAnotherTakesOver(t *testing.T) {
	tests := []struct {
		name  string
		again bool // unacknowledged deliveries may be repeated
		end   func(t *testing.T, at database, first running)
	}{
		{name: "after a stop", end: func(_ *testing.T, _ database, first running) { first.stop() }},
		{name: "after a lost connection", again: true, end: func(t *testing.T, at database, first running) {
			at.exec(t, "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE database = current_database()")
			testkit.Eventually(t, within, func() bool { return !first.Active() })
		}},
		{name: "after a lost lock", end: func(t *testing.T, at database, first running) {
			at.exec(t, `SELECT pg_terminate_backend(pid) FROM pg_locks
				WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
			testkit.Eventually(t, within, func() bool { return !first.Active() })
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			at, rec := newDatabase(t), new(recorder)
			// The first one would often be faster.
			first := at.runActive(t, rec.options(at), func(p *intervals) { p.retry = time.Hour })
			second := at.run(t, rec.options(at))
			at.exec(t, `INSERT INTO shops (id) VALUES (1)`)
			rec.await(t, "shops:1")
			if second.Active() {
				t.Fatal("got two active readers")
			}
			tt.end(t, at, first)
			ended := time.Now()
			at.exec(t, `INSERT INTO shops (id) VALUES (2)`)
			result := rec.await(t, "shops:2")
			if tt.again {
				result = slices.Compact(result)
			}
			if diff := cmp.Diff([]string{"missed", "shops:1", "shops:2"}, result); diff != "" {
				t.Error(diff)
			}
			t.Logf("delivered again after %v", time.Since(ended))
			if first.Active() || !second.Active() {
				t.Errorf("got active %v and %v, want the second", first.Active(), second.Active())
			}
		})
	}
}

func TestConcurrentStartsReportOneGap(t *testing.T) {
	t.Parallel()
	at, rec := newDatabase(t), new(recorder)
	o := rec.options(at)
	twice, once := make(chan struct{}), sync.Once{}
	o.OnGap = func(context.Context) error {
		_ = rec.record("missed")
		if rec.tried() > 1 {
			once.Do(func() { close(twice) })
		}
		select { // the others have time to get here too
		case <-twice:
		case <-time.After(500 * time.Millisecond):
		}
		return nil
	}
	var all []running
	for range 4 {
		all = append(all, at.run(t, o, func(p *intervals) { p.poll = 5 * time.Millisecond }))
	}
	active := func() (n int) {
		for _, r := range all {
			if r.Active() {
				n++
			}
		}
		return n
	}
	testkit.Eventually(t, within, func() bool { return active() > 0 })
	at.exec(t, `INSERT INTO shops (id) VALUES (1)`)
	if diff := cmp.Diff([]string{"missed", "shops:1"}, rec.await(t, "shops:1")); diff != "" {
		t.Error(diff)
	}
	if n := active(); n != 1 {
		t.Errorf("got %d active readers", n)
	}
	for _, r := range all {
		if strings.Contains(r.log.String(), "failed") {
			t.Errorf("got a conflict between readers:\n%s", r.log)
		}
	}
}

func TestSecretsStayOutOfErrorsAndLogs(t *testing.T) {
	const secret = "s3cret-p4ss"
	for _, bad := range []string{
		"postgres://ann:" + secret + "@h/db?sslmode=nonsense", "postgres://ann:" + secret + "@h:port/db",
		"mysql://ann:" + secret + "@h/db", "postgres://ann:%zz" + secret + "@h/db", "host=h password=" + secret,
	} {
		_, err := New(nil, Options{URL: bad, Outbox: "outbox", Locks: new(lock.Locker)})
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("got %v, want an error without the password", err)
		}
	}
	at, rec := newDatabase(t), new(recorder)
	o := rec.options(at)
	o.URL = "postgres://ann:" + secret + "@127.0.0.1:1/db?sslmode=disable"
	r := at.run(t, o)
	testkit.Eventually(t, within, func() bool { return strings.Contains(r.log.String(), "connect for replication") })
	if strings.Contains(r.log.String(), secret) {
		t.Errorf("got a log with the password: %s", r.log)
	}
}

func TestInvalidOptionsAreRejected(t *testing.T) {
	changed := func(context.Context, []string) error { return nil }
	locks, err := dblock.NewLocal(lock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		o    Options
		want string
	}{
		{"no table", Options{}, "no table"},
		{"a table without a name", Options{Tables: []Table{{OnChange: changed}}}, `invalid table ""`},
		{"a table without OnChange", Options{Tables: []Table{{Name: "shops"}}}, "OnChange"},
		{"a table twice", Options{Tables: []Table{{Name: "a", OnChange: changed}, {Name: "a", OnChange: changed}}}, "unique name"},
		{"the outbox among the tables", Options{Outbox: "a", Tables: []Table{{Name: "a", OnChange: changed}}}, "unique name"},
		{"no locks", Options{Outbox: "a"}, "no locks"},
		{"a slot with a quote", Options{Outbox: "a", Locks: locks, Slot: "x'; DROP"}, "a-z"},
		{"a publication with capitals", Options{Outbox: "a", Locks: locks, Publication: "Tandian"}, "a-z"},
		{"registered metrics", Options{Outbox: "a", Locks: locks, Registerer: taken{}}, "register"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.o.URL = "postgres://h/db"
			_, err := New(nil, tt.o)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

type taken struct{ prometheus.Registerer }

func (taken) Register(prometheus.Collector) error { return errors.New("taken") }

func TestMetrics(t *testing.T) {
	t.Parallel()
	at, rec, reg := newDatabase(t), new(recorder), prometheus.NewPedanticRegistry()
	o := rec.options(at)
	o.Registerer = reg
	r, err := New(at.db, o)
	if err != nil {
		t.Fatal(err)
	}
	show := func(changes, missed int) string {
		return fmt.Sprintf(`
# HELP tandian_log_reader_active 1 while this process reads the database log.
# TYPE tandian_log_reader_active gauge
tandian_log_reader_active 0
# HELP tandian_log_reader_changes_total Delivered changes of rows, by table.
# TYPE tandian_log_reader_changes_total counter
tandian_log_reader_changes_total{table="Users"} 0
tandian_log_reader_changes_total{table="shops"} %d
# HELP tandian_log_reader_errors_total Failures to read the log or to deliver changes.
# TYPE tandian_log_reader_errors_total counter
tandian_log_reader_errors_total 0
# HELP tandian_log_reader_missed_total Possible losses of changes, after which all cached values were invalidated.
# TYPE tandian_log_reader_missed_total counter
tandian_log_reader_missed_total %d
`, changes, missed)
	}
	names := []string{
		"tandian_log_reader_active", "tandian_log_reader_changes_total",
		"tandian_log_reader_errors_total", "tandian_log_reader_missed_total",
	}
	if err := testutil.GatherAndCompare(reg, strings.NewReader(show(0, 0)), names...); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	testkit.Eventually(t, within, r.Active)
	if n := testutil.ToFloat64(r.metrics.active); n != 1 {
		t.Errorf("got active %v while it reads", n)
	}
	at.exec(t, `INSERT INTO shops (id) VALUES (1), (2)`)
	rec.await(t, "shops:1,2")
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := testutil.GatherAndCompare(reg, strings.NewReader(show(2, 1)), names...); err != nil {
		t.Error(err)
	}
	if testutil.ToFloat64(r.metrics.lag) <= 0 {
		t.Error("got no lag")
	}
}
