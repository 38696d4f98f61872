package outbox_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is the time limit for events that take milliseconds.
const patience = 20 * time.Second

// never exceeds the duration of a test.
const never = time.Hour

// A fixture is a migrated database; each Box on it acts as another process.
type fixture struct {
	on storetest.Stores
	storetest.Process
	db *sqldb.SQL // independent of the boxes
}

func eachDialect(t *testing.T, test func(*testing.T, *fixture)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		o := &fixture{on: on, Process: storetest.Open(t, on)}
		o.db = o.pool(t)
		test(t, o)
	})
}

func (o *fixture) real() bool { return o.Dialect == "postgres" }

func (o *fixture) pool(t *testing.T) *sqldb.SQL {
	t.Helper()
	db, err := sqldb.OpenSQL(o.on.SQL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// fastOptions makes jobs due soon, and polls often.
func fastOptions() outbox.Options {
	return outbox.Options{HeadStart: 15 * time.Millisecond, Poll: 20 * time.Millisecond}
}

// handlers holds the handlers of a Box by topic.
type handlers = map[string]outbox.Handler

// box opens a Box like another process, with its own pool and registry.
func (o *fixture) box(t *testing.T, h handlers, with outbox.Options) box {
	t.Helper()
	db, reg := o.pool(t), prometheus.NewRegistry()
	with.Dialect, with.Registerer, with.Log = o.Dialect, reg, o.Log
	b, err := outbox.New(db.DB, with)
	if err != nil {
		t.Fatal(err)
	}
	for topic, handler := range h {
		b.Handle(topic, handler)
	}
	t.Cleanup(b.Wait)
	return box{b, db, reg}
}

type box struct {
	*outbox.Box
	db  *sqldb.SQL
	reg *prometheus.Registry
}

// run runs a Box until the test ends, or stop is called.
func (b box) run(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("Run returned %v", err)
			}
		case <-time.After(patience):
			t.Error("Run did not end")
		}
	})
	t.Cleanup(stop)
	return stop
}

// add adds a job in its own committed transaction.
func (b box) add(t *testing.T, topic string, payload any) outbox.JobRef {
	t.Helper()
	tx, err := b.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	ticket, err := b.Add(t.Context(), tx, topic, payload)
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	return ticket
}

// metric returns a counter or gauge of the Box with these labels, -1 if there is none.
func (b box) metric(t *testing.T, name string, labels ...string) float64 {
	t.Helper()
	families, err := b.reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var has []string
			for _, l := range m.GetLabel() {
				has = append(has, l.GetValue())
			}
			if f.GetName() == name && cmp.Equal(has, labels) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return -1
}

// outcomes returns the non-zero counters of a topic.
func (b box) outcomes(t *testing.T, topic string) map[string]float64 {
	t.Helper()
	got := map[string]float64{}
	for _, outcome := range []string{"at_once", "relayed", "late", "failed", "parked", "replaced"} {
		if n := b.metric(t, "tandian_outbox_jobs_total", outcome, topic); n != 0 {
			got[outcome] = n
		}
	}
	return got
}

// stats returns the Stats of a topic, without the age.
func (b box) stats(t *testing.T, topic string) outbox.Stats {
	t.Helper()
	list, err := b.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if s.Name == topic {
			s.Oldest = 0
			return s
		}
	}
	return outbox.Stats{}
}

// rows returns the number of rows in the table, in any state.
func (o *fixture) rows(t *testing.T) (n int) {
	t.Helper()
	if err := o.db.QueryRowContext(t.Context(), "SELECT count(*) FROM outbox_jobs").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (o *fixture) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	if _, err := o.db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatal(err)
	}
}

// A recorder counts the payloads that a handler got.
type recorder struct {
	mu    sync.Mutex
	calls map[string]int
}

// handle is a handler that records and succeeds.
func (k *recorder) handle(_ context.Context, payload []byte) error {
	k.record(payload)
	return nil
}

// record returns how often this payload came.
func (k *recorder) record(payload []byte) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.calls == nil {
		k.calls = map[string]int{}
	}
	var text string
	_ = json.Unmarshal(payload, &text)
	k.calls[text]++
	return k.calls[text]
}

func (k *recorder) of(payload string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.calls[payload]
}

func (k *recorder) all() map[string]int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return maps.Clone(k.calls)
}

func TestJobExistsOnlyAfterCommit(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		var done recorder
		b := o.box(t, handlers{"t": {Do: done.handle}}, fastOptions())
		undone := errors.New("rolled back")
		for _, end := range []struct {
			name string
			err  error
		}{{"rolled back", undone}, {"committed", nil}} {
			tx, err := o.DB.Tx(t.Context()) // a transaction of ent, as in the domain packages
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.Add(t.Context(), tx, "t", end.name); err != nil {
				t.Fatal(err)
			}
			if end.err != nil {
				err = tx.Rollback()
			} else {
				err = tx.Commit()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		b.run(t)
		testkit.Eventually(t, patience, func() bool { return o.rows(t) == 0 })
		if d := cmp.Diff(map[string]int{"committed": 1}, done.all()); d != "" {
			t.Errorf("done (-want +got)\n%s", d)
		}
	})
}

func TestFinishedJobIsNotRepeated(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		var done recorder
		b := o.box(t, handlers{"t": {Do: done.handle}}, outbox.Options{HeadStart: 2 * time.Second, Poll: 50 * time.Millisecond})
		b.run(t)
		settled := b.add(t, "t", "settled")
		b.Finish(t.Context(), nil, outbox.JobRef{}, settled)
		b.Wait()
		if n := o.rows(t); n != 0 {
			t.Fatalf("got %d rows after Wait, want none", n)
		}
		b.add(t, "t", "not settled")
		testkit.Eventually(t, patience, func() bool { return o.rows(t) == 0 })
		if d := cmp.Diff(map[string]int{"not settled": 1}, done.all()); d != "" {
			t.Errorf("done (-want +got)\n%s", d)
		}
		if d := cmp.Diff(map[string]float64{"at_once": 1, "relayed": 1}, b.outcomes(t, "t")); d != "" {
			t.Errorf("outcomes (-want +got)\n%s", d)
		}
	})
}

func TestManyWritersFinishConcurrently(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		b := o.box(t, handlers{"deleted": {Do: (&recorder{}).handle}, "retained": {Do: (&recorder{}).handle, Retention: never}}, outbox.Options{HeadStart: never})
		const writers, each = 8, 25
		var all sync.WaitGroup
		for range writers {
			all.Go(func() {
				for range each {
					tickets := make([]outbox.JobRef, 0, 2)
					for _, topic := range []string{"deleted", "retained"} {
						ticket, err := b.Add(t.Context(), b.db, topic, "x")
						if err != nil {
							t.Error(err)
						}
						tickets = append(tickets, ticket)
					}
					b.Finish(t.Context(), nil, tickets...)
				}
			})
		}
		all.Wait()
		b.Wait()
		var retained, done int
		err := o.db.QueryRowContext(t.Context(), "SELECT count(*), count(done_at) FROM outbox_jobs WHERE topic = 'retained'").Scan(&retained, &done)
		if err != nil {
			t.Fatal(err)
		}
		if retained != writers*each || done != retained || o.rows(t) != retained {
			t.Errorf("got %d retained, %d of them done, %d rows; want %d of each", retained, done, o.rows(t), writers*each)
		}
	})
}

func TestAnotherProcessRetriesFailedWriter(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		var writers, others recorder
		h := func(k *recorder) handlers { return handlers{"t": {Do: k.handle}} }
		writer, other := o.box(t, h(&writers), outbox.Options{}), o.box(t, h(&others), outbox.Options{})
		other.run(t)
		writer.Finish(t.Context(), errors.New("Redis is unavailable"), writer.add(t, "t", "x"))
		testkit.Eventually(t, patience, func() bool { return o.rows(t) == 0 })
		if writers.of("x") != 0 || others.of("x") != 1 {
			t.Errorf("got %d runs in the writer's process, %d in the other; want 0 and 1", writers.of("x"), others.of("x"))
		}
		if d := cmp.Diff(map[string]float64{"failed": 1}, writer.outcomes(t, "t")); d != "" {
			t.Errorf("outcomes of the writer (-want +got)\n%s", d)
		}
		if d := cmp.Diff(map[string]float64{"relayed": 1}, other.outcomes(t, "t")); d != "" {
			t.Errorf("outcomes of the other (-want +got)\n%s", d)
		}
	})
}

func TestAddRejectsInvalidJobs(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		b := o.box(t, handlers{"t": {Do: (&recorder{}).handle}}, outbox.Options{HeadStart: never})
		const quotes = 2
		for _, tt := range []struct {
			name, topic string
			payload     any
			want        string // in the error; "" for none
		}{
			{"the largest payload", "t", strings.Repeat("x", outbox.MaxPayload-quotes), ""},
			{"a payload one byte too large", "t", strings.Repeat("x", outbox.MaxPayload-quotes+1), "16385 bytes"},
			{"a payload that is not JSON", "t", func() {}, "encode"},
			{"a topic without a handler", "u", "x", "no handler"},
			{"text with special characters", "t", "\x00 ' \\ 探店", ""},
		} {
			t.Run(tt.name, func(t *testing.T) {
				before := o.rows(t)
				ticket, err := b.Add(t.Context(), o.db, tt.topic, tt.payload)
				if tt.want == "" {
					if err != nil || o.rows(t) != before+1 {
						t.Errorf("got %v and %d more rows", err, o.rows(t)-before)
					}
					return
				}
				if err == nil || !strings.Contains(err.Error(), tt.want) || ticket != (outbox.JobRef{}) || o.rows(t) != before {
					t.Errorf("got %v, %v and %d more rows; want an error with %q", ticket, err, o.rows(t)-before, tt.want)
				}
			})
		}
	})
}

func TestHandlerGetsUnchangedPayload(t *testing.T) {
	type payload struct {
		Keys []string
		N    int64
	}
	want := payload{[]string{"a\x00b", `"\`, "探店"}, 1<<62 + 1}
	eachDialect(t, func(t *testing.T, o *fixture) {
		got := make(chan payload, 1)
		b := o.box(t, handlers{"t": {Do: func(_ context.Context, text []byte) error {
			var p payload
			err := json.Unmarshal(text, &p)
			got <- p
			return err
		}}}, fastOptions())
		b.run(t)
		b.add(t, "t", want)
		select {
		case p := <-got:
			if d := cmp.Diff(want, p); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		case <-time.After(patience):
			t.Fatal("the handler was not called")
		}
	})
}

func TestMetricsStartAtZero(t *testing.T) {
	reg := prometheus.NewRegistry()
	b, err := outbox.New(nil, outbox.Options{Dialect: "sqlite3", Registerer: reg})
	if err != nil {
		t.Fatal(err)
	}
	b.Handle("t", outbox.Handler{Do: (&recorder{}).handle})
	seen := box{Box: b, reg: reg}
	for _, outcome := range []string{"at_once", "relayed", "late", "failed", "parked", "replaced"} {
		if n := seen.metric(t, "tandian_outbox_jobs_total", outcome, "t"); n != 0 {
			t.Errorf("outcome %s: got %v, want 0", outcome, n)
		}
	}
	for _, gauge := range []string{"waiting", "oldest_seconds", "parked"} {
		if n := seen.metric(t, "tandian_outbox_"+gauge, "t"); n != 0 {
			t.Errorf("gauge %s: got %v, want 0", gauge, n)
		}
	}
	for _, doing := range []string{"claim", "settle", "stats", "replace", "overflow"} {
		if n := seen.metric(t, "tandian_outbox_errors_total", doing); n != 0 {
			t.Errorf("errors of %s: got %v, want 0", doing, n)
		}
	}
	if _, err := outbox.New(nil, outbox.Options{Dialect: "sqlite3", Registerer: reg}); err == nil {
		t.Error("got no error for duplicate metrics")
	}
	if _, err := outbox.New(nil, outbox.Options{Dialect: "oracle"}); err == nil {
		t.Error("got no error for an unknown dialect")
	}
}

func TestHandlePanicsForInvalidHandlers(t *testing.T) {
	good := outbox.Handler{Do: (&recorder{}).handle}
	for _, tt := range []struct {
		name, topic string
		h           outbox.Handler
	}{
		{"a second handler", "taken", good},
		{"no function", "t", outbox.Handler{}},
		{"no topic", "", good},
		{"a topic longer than its column", strings.Repeat("t", 65), good},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, err := outbox.New(nil, outbox.Options{Dialect: "postgres"})
			if err != nil {
				t.Fatal(err)
			}
			b.Handle("taken", good)
			defer func() {
				if recover() == nil {
					t.Error("Handle did not panic")
				}
			}()
			b.Handle(tt.topic, tt.h)
		})
	}
}

func TestTransientOfNilIsNil(t *testing.T) {
	if err := outbox.Transient(nil); err != nil {
		t.Error(err)
	}
	if err := outbox.Transient(fmt.Errorf("read: %w", sql.ErrNoRows)); !errors.Is(err, sql.ErrNoRows) || err.Error() != "read: sql: no rows in result set" {
		t.Errorf("got %v", err)
	}
}
