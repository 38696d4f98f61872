package outbox_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/testkit"
)

// countStatements returns a function that returns the number of statements of a verb on
// the table of jobs since the call. It skips the test on SQLite, which cannot count.
func (o *fixture) countStatements(t *testing.T, verb string) func() int {
	t.Helper()
	if !o.real() {
		t.Skip("SQLite has no triggers on statements")
	}
	o.exec(t, "CREATE SEQUENCE statements")
	o.exec(t, "CREATE FUNCTION count_statement() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('statements'); RETURN NULL; END $$")
	o.exec(t, "CREATE TRIGGER count AFTER "+verb+" ON outbox_jobs FOR EACH STATEMENT EXECUTE FUNCTION count_statement()")
	return func() (n int) {
		t.Helper()
		if err := o.db.QueryRowContext(t.Context(), "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM statements").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
}

func TestResultsAreBatched(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		const jobs = 200
		b := o.box(t, handlers{"deleted": {Do: (&recorder{}).handle}, "retained": {Do: (&recorder{}).handle, Retention: never}}, outbox.Options{HeadStart: never})
		deletions := o.countStatements(t, "DELETE")
		var tickets []outbox.JobRef
		for i := range 2 * jobs {
			tickets = append(tickets, b.add(t, []string{"deleted", "retained"}[i%2], "x"))
		}
		begin := time.Now()
		for _, ticket := range tickets {
			b.Finish(t.Context(), nil, ticket)
		}
		b.Wait()
		most := 1 + int(time.Since(begin)/(100*time.Millisecond)) // 1, unless the machine is busy
		if n := deletions(); n < 1 || n > most {
			t.Errorf("got %d statements, want at most %d", n, most)
		}
		var done int
		if err := o.db.QueryRowContext(t.Context(), "SELECT count(done_at) FROM outbox_jobs").Scan(&done); err != nil {
			t.Fatal(err)
		}
		if n := o.rows(t); n != jobs || done != jobs {
			t.Errorf("got %d rows, %d of them done, want %d of both", n, done, jobs)
		}
	})
}

func TestBatchIsAddedByOneStatement(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		b := o.box(t, handlers{"t": {Do: (&recorder{}).handle}}, outbox.Options{HeadStart: never})
		insertions := o.countStatements(t, "INSERT")
		tickets, err := outbox.AddBatch(t.Context(), b.Box, b.db, "t", make([]int64, 1001)...)
		if err != nil || len(tickets) != 5 {
			t.Errorf("got %d refs, %v; want 5", len(tickets), err)
		}
		if n, rows := insertions(), o.rows(t); n != 1 || rows != 5 {
			t.Errorf("got %d statements and %d rows, want 1 and 5", n, rows)
		}
		if tickets, err := outbox.AddBatch[int64](t.Context(), b.Box, b.db, "t"); err != nil || tickets != nil || insertions() != 1 {
			t.Errorf("got %v, %v, %d statements for an empty batch", tickets, err, insertions())
		}
	})
}

func TestResultsAreWrittenWithoutWaitingForTheDisk(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		if !o.real() {
			t.Skip("SQLite does not wait in this mode")
		}
		text, err := os.ReadFile("sql/settle.postgres.sql")
		if err != nil {
			t.Fatal(err)
		}
		b := o.box(t, handlers{"t": {Do: (&recorder{}).handle}}, outbox.Options{HeadStart: never})
		b.add(t, "t", "x")
		tx, err := o.db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		if _, err := tx.ExecContext(t.Context(), "SET LOCAL synchronous_commit = on"); err != nil { // the test server has it off
			t.Fatal(err)
		}
		done, err := tx.ExecContext(t.Context(), sqldb.Statement(string(text)), `[{"id":1,"keep":60000}]`)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := done.RowsAffected(); err != nil || n != 1 {
			t.Fatalf("got %d done jobs, %v; want 1", n, err)
		}
		var mode string
		if err := tx.QueryRowContext(t.Context(), "SHOW synchronous_commit").Scan(&mode); err != nil || mode != "off" {
			t.Errorf("got synchronous_commit %q, %v; want off", mode, err)
		}
	})
}

func TestRunWritesResultsBeforeItReturns(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		b := o.box(t, handlers{"t": {Do: (&recorder{}).handle}}, outbox.Options{HeadStart: never})
		stop := b.run(t)
		ticket := b.add(t, "t", "x")
		b.Finish(t.Context(), nil, ticket)
		stop()
		if n := o.rows(t); n != 0 {
			t.Errorf("got %d rows, want none", n)
		}
	})
}

func TestResultsAreWrittenWithoutRunOrWait(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		b := o.box(t, handlers{"t": {Do: (&recorder{}).handle}}, outbox.Options{HeadStart: never})
		for range 2 { // the second after an idle period
			b.Finish(t.Context(), nil, b.add(t, "t", "x"))
			testkit.Eventually(t, patience, func() bool { return o.rows(t) == 0 })
		}
	})
}

func TestFailedWriterRetriesSoon(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		var done recorder
		b := o.box(t, handlers{"t": {Do: done.handle}}, outbox.Options{HeadStart: never, Poll: never})
		b.run(t)
		b.Finish(t.Context(), errors.New("Redis is unavailable"), b.add(t, "t", "x"))
		testkit.Eventually(t, patience, func() bool { return o.rows(t) == 0 })
		if d := cmp.Diff(map[string]int{"x": 1}, done.all()); d != "" {
			t.Errorf("calls (-want +got)\n%s", d)
		}
		if d := cmp.Diff(map[string]float64{"failed": 1, "relayed": 1}, b.outcomes(t, "t")); d != "" {
			t.Errorf("outcomes (-want +got)\n%s", d)
		}
	})
}

// A failure of the writer counts only if no other attempt has begun.
func TestLateFailureOfWriterIsIgnored(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		begun, release := make(chan struct{}), make(chan struct{})
		b := o.box(t, handlers{"t": {Do: func(context.Context, []byte) error { close(begun); <-release; return nil }}},
			outbox.Options{HeadStart: time.Millisecond, Poll: 20 * time.Millisecond, Timeout: time.Minute})
		ticket := b.add(t, "t", "x")
		b.run(t)
		<-begun
		b.Finish(t.Context(), errors.New("Redis is unavailable"), ticket)
		b.Wait()
		var changed int
		if err := o.db.QueryRowContext(t.Context(), "SELECT count(last_error) FROM outbox_jobs").Scan(&changed); err != nil || changed != 0 {
			t.Errorf("got %d jobs with an error, %v; want none", changed, err)
		}
		close(release)
		testkit.Eventually(t, patience, func() bool { return o.rows(t) == 0 })
	})
}
