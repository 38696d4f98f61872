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

// patience is how long a test waits for what should come within milliseconds.
const patience = 20 * time.Second

// never is longer than a test.
const never = time.Hour

// An office is a migrated database, of which each Box is another process.
type office struct {
	on storetest.Stores
	storetest.Process
	db *sqldb.SQL // beside all boxes
}

func eachDialect(t *testing.T, test func(*testing.T, *office)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		o := &office{on: on, Process: storetest.Open(t, on)}
		o.db = o.pool(t)
		test(t, o)
	})
}

func (o *office) real() bool { return o.Dialect == "postgres" }

func (o *office) pool(t *testing.T) *sqldb.SQL {
	t.Helper()
	db, err := sqldb.OpenSQL(o.on.SQL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// quick has jobs be due soon, and found soon.
func quick() outbox.Options {
	return outbox.Options{HeadStart: 15 * time.Millisecond, Poll: 20 * time.Millisecond}
}

// handlers are what a Box does, by topic.
type handlers = map[string]outbox.Handler

// box opens a Box as another process has it, with a pool and a registry of its own.
func (o *office) box(t *testing.T, h handlers, with outbox.Options) box {
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

// add adds a job in a transaction of its own that commits.
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

// metric is a counter or a gauge of the Box with these labels, -1 if there is none.
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

// outcomes are the counters of a topic that are not 0.
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

// stats are the figures of a topic, without ages.
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

// rows is how many jobs are in the table, in whatever state.
func (o *office) rows(t *testing.T) (n int) {
	t.Helper()
	if err := o.db.QueryRowContext(t.Context(), "SELECT count(*) FROM outbox_jobs").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (o *office) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	if _, err := o.db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatal(err)
	}
}

// A book notes which payloads a handler was given.
type book struct {
	mu    sync.Mutex
	calls map[string]int
}

// write is a handler that notes and succeeds.
func (k *book) write(_ context.Context, payload []byte) error {
	k.note(payload)
	return nil
}

// note returns how often this payload came.
func (k *book) note(payload []byte) int {
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

func (k *book) of(payload string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.calls[payload]
}

func (k *book) all() map[string]int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return maps.Clone(k.calls)
}

func TestAJobExistsOnlyIfItsTransactionCommits(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *office) {
		var done book
		b := o.box(t, handlers{"t": {Do: done.write}}, quick())
		undone := errors.New("undone")
		for _, end := range []struct {
			name string
			err  error
		}{{"rolled back", undone}, {"committed", nil}} {
			tx, err := o.DB.Tx(t.Context()) // ent's, as the rooms have it
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

func TestAJobThatItsWriterSettledIsNotDoneAgain(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *office) {
		var done book
		b := o.box(t, handlers{"t": {Do: done.write}}, outbox.Options{HeadStart: 2 * time.Second, Poll: 50 * time.Millisecond})
		b.run(t)
		settled := b.add(t, "t", "settled")
		b.Finish(t.Context(), nil, outbox.JobRef{}, settled)
		b.Wait()
		if n := o.rows(t); n != 0 {
			t.Fatalf("%d rows are left after Wait", n)
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

func TestManyWritersSettleTogether(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *office) {
		b := o.box(t, handlers{"deleted": {Do: (&book{}).write}, "kept": {Do: (&book{}).write, Retention: never}}, outbox.Options{HeadStart: never})
		const writers, each = 8, 25
		var all sync.WaitGroup
		for range writers {
			all.Go(func() {
				for range each {
					tickets := make([]outbox.JobRef, 0, 2)
					for _, topic := range []string{"deleted", "kept"} {
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
		var kept, done int
		err := o.db.QueryRowContext(t.Context(), "SELECT count(*), count(done_at) FROM outbox_jobs WHERE topic = 'kept'").Scan(&kept, &done)
		if err != nil {
			t.Fatal(err)
		}
		if kept != writers*each || done != kept || o.rows(t) != kept {
			t.Errorf("%d kept, %d of them done, %d in all; want %d three times", kept, done, o.rows(t), writers*each)
		}
	})
}

func TestAFailedWriterLeavesItsJobToAnotherProcess(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *office) {
		var writers, others book
		h := func(k *book) handlers { return handlers{"t": {Do: k.write}} }
		writer, other := o.box(t, h(&writers), outbox.Options{}), o.box(t, h(&others), outbox.Options{})
		other.run(t)
		writer.Finish(t.Context(), errors.New("Redis was away"), writer.add(t, "t", "x"))
		testkit.Eventually(t, patience, func() bool { return o.rows(t) == 0 })
		if writers.of("x") != 0 || others.of("x") != 1 {
			t.Errorf("the writer's process did it %d times, the other %d times; want 0 and 1", writers.of("x"), others.of("x"))
		}
		if d := cmp.Diff(map[string]float64{"failed": 1}, writer.outcomes(t, "t")); d != "" {
			t.Errorf("outcomes of the writer (-want +got)\n%s", d)
		}
		if d := cmp.Diff(map[string]float64{"relayed": 1}, other.outcomes(t, "t")); d != "" {
			t.Errorf("outcomes of the other (-want +got)\n%s", d)
		}
	})
}

func TestAddRefusesWhatCannotBeDone(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *office) {
		b := o.box(t, handlers{"t": {Do: (&book{}).write}}, outbox.Options{HeadStart: never})
		const quotes = 2
		for _, tt := range []struct {
			name, topic string
			payload     any
			want        string // in the error; "" for none
		}{
			{"a payload of the greatest size", "t", strings.Repeat("x", outbox.MaxPayload-quotes), ""},
			{"a payload that is a byte too big", "t", strings.Repeat("x", outbox.MaxPayload-quotes+1), "16385 bytes"},
			{"a payload that is no JSON", "t", func() {}, "payload"},
			{"a topic that nobody handles", "u", "x", "no handler"},
			{"text that a database may not like", "t", "\x00 ' \\ 探店", ""},
		} {
			t.Run(tt.name, func(t *testing.T) {
				before := o.rows(t)
				ticket, err := b.Add(t.Context(), o.db, tt.topic, tt.payload)
				if tt.want == "" {
					if err != nil || o.rows(t) != before+1 {
						t.Errorf("got %v and %d rows more", err, o.rows(t)-before)
					}
					return
				}
				if err == nil || !strings.Contains(err.Error(), tt.want) || ticket != (outbox.JobRef{}) || o.rows(t) != before {
					t.Errorf("got %v, %v and %d rows more; want an error with %q", ticket, err, o.rows(t)-before, tt.want)
				}
			})
		}
	})
}

func TestAHandlerGetsThePayloadAsItWas(t *testing.T) {
	type payload struct {
		Keys []string
		N    int64
	}
	want := payload{[]string{"a\x00b", `"\`, "探店"}, 1<<62 + 1}
	eachDialect(t, func(t *testing.T, o *office) {
		got := make(chan payload, 1)
		b := o.box(t, handlers{"t": {Do: func(_ context.Context, text []byte) error {
			var p payload
			err := json.Unmarshal(text, &p)
			got <- p
			return err
		}}}, quick())
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

func TestMetricsAreThereAtZeroFromTheStart(t *testing.T) {
	reg := prometheus.NewRegistry()
	b, err := outbox.New(nil, outbox.Options{Dialect: "sqlite3", Registerer: reg})
	if err != nil {
		t.Fatal(err)
	}
	b.Handle("t", outbox.Handler{Do: (&book{}).write})
	seen := box{Box: b, reg: reg}
	for _, outcome := range []string{"at_once", "relayed", "late", "failed", "parked", "replaced"} {
		if n := seen.metric(t, "tandian_outbox_jobs_total", outcome, "t"); n != 0 {
			t.Errorf("%s is %v", outcome, n)
		}
	}
	for _, gauge := range []string{"waiting", "oldest_seconds", "parked"} {
		if n := seen.metric(t, "tandian_outbox_"+gauge, "t"); n != 0 {
			t.Errorf("%s is %v", gauge, n)
		}
	}
	for _, doing := range []string{"claim", "settle", "stats", "replace", "overflow"} {
		if n := seen.metric(t, "tandian_outbox_errors_total", doing); n != 0 {
			t.Errorf("errors of %s are %v", doing, n)
		}
	}
	if _, err := outbox.New(nil, outbox.Options{Dialect: "sqlite3", Registerer: reg}); err == nil {
		t.Error("a second Box registered the same metrics")
	}
	if _, err := outbox.New(nil, outbox.Options{Dialect: "oracle"}); err == nil {
		t.Error("there is a Box for a dialect without statements")
	}
}

func TestHandlePanicsWhereItCouldNotWork(t *testing.T) {
	good := outbox.Handler{Do: (&book{}).write}
	for _, tt := range []struct {
		name, topic string
		h           outbox.Handler
	}{
		{"a second handler", "taken", good},
		{"nothing to do", "t", outbox.Handler{}},
		{"no topic", "", good},
		{"a topic too long for its column", strings.Repeat("t", 65), good},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, err := outbox.New(nil, outbox.Options{Dialect: "postgres"})
			if err != nil {
				t.Fatal(err)
			}
			b.Handle("taken", good)
			defer func() {
				if recover() == nil {
					t.Error("it did not panic")
				}
			}()
			b.Handle(tt.topic, tt.h)
		})
	}
}

func TestLaterOfNothingIsNothing(t *testing.T) {
	if err := outbox.Transient(nil); err != nil {
		t.Error(err)
	}
	if err := outbox.Transient(fmt.Errorf("read: %w", sql.ErrNoRows)); !errors.Is(err, sql.ErrNoRows) || err.Error() != "read: sql: no rows in result set" {
		t.Errorf("got %v", err)
	}
}
