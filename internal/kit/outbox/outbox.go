// Package outbox runs jobs at least once after a transaction commits.
//
// It is the transactional outbox pattern, except that the writer makes the first attempt.
// A job is a row that a transaction inserts together with its own changes ([Box.Add]).
// After the commit the writer does the work itself, at once, and reports the result
// ([Box.Finish]). If the writer died or failed, any process that runs [Box.Run] does it.
//
// # Claims
//
// For a head start of 1.1 s after its insert, a job belongs to its writer. Usually the
// change is visible everywhere within 50 ms, and the job never becomes due. A due job is
// claimed: an UPDATE moves its due time to the end of a lease, twice the timeout of a
// handler. If the process dies, another one claims the job then. All jobs of a claim start
// at once, so none waits while its lease runs.
//
// A commit does not notify other processes. Each process polls twice a second for due jobs
// and for the time of the next one. So the job of a writer that dies right after its
// commit runs within 1.5 s. Jobs of [Handler].Queued topics have no head start. [Box.Wake]
// makes this process poll at once.
//
// A failed job is retried after a pause that doubles. A job that failed ten times by its
// own fault is parked: it waits for [Box.Unpark], and is deleted after 30 days.
//
// # Results
//
// Results are collected for up to 100 ms and written by one statement, which does not
// wait for the disk. Failures are written at once. A crash before that only means that
// the job runs again, after its head start or its lease.
//
// # Guarantees
//
// A handler runs at least once for each committed job. It may run more often after
// crashes, failures and slow writers, also in several processes at once. So it must be
// idempotent. Jobs have no order.
//
// Each claim raises the job's number of tries, and only the latest attempt ends a job, as
// with a fencing token. So [Box.Replay] can repeat a job whose current attempt may have
// begun before the loss.
//
// All times are those of the database's clock. The caller migrates the table outbox_jobs.
//
// The pattern: C. Richardson, Microservices Patterns, 2018, section 3.3.7, with the
// polling publisher of 3.3.8. Claiming with SKIP LOCKED follows the manual of PostgreSQL,
// under SELECT, "The Locking Clause".
package outbox

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// ReplayRetention is a [Handler].Retention for stores that may lose acknowledged writes. It
// exceeds the time to detect such a loss.
const ReplayRetention = 5 * time.Minute

// MaxPayload limits the JSON of a job's payload, in bytes.
const MaxPayload = 16 << 10

// An Execer runs statements: a *sql.DB, a *sql.Tx, a client or a transaction of ent.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Options tunes a Box. Dialect is required. Other zero values are good production settings.
type Options struct {
	Dialect    string                // "postgres" or "sqlite3"
	Registerer prometheus.Registerer // nil: no metrics
	Log        *slog.Logger          // nil: no log

	Poll            time.Duration // between two polls; default 500 ms
	HeadStart       time.Duration // how long a new job belongs to its writer; default 1.1 s
	Timeout         time.Duration // of one job; default 5 s. A lease is twice as long
	Batch           int           // jobs of one claim, which all start at once; default 32
	MaxTries        int           // failures after which a job is parked; default 10
	RetryDelay      time.Duration // after the first failure, doubled by each further one; default 100 ms
	MaxRetryDelay   time.Duration // default 30 s, and at most 5 s after Transient
	ParkedRetention time.Duration // default 30 days
	MaxWaiting      int           // waiting jobs of a topic above which Handler.Collapse replaces them; default 10 000
	MaintainEvery   time.Duration // between updates of the gauges and checks of MaxWaiting; default 5 s
}

// A Handler runs the jobs of one topic.
type Handler struct {
	// Do runs one job. It must be idempotent: a job may run more than once, and in several
	// processes at once. Its context ends after Options.Timeout, also while the process stops. A
	// panic is a failure.
	Do func(ctx context.Context, payload []byte) error

	// Collapse does the work of all waiting jobs of the topic; nil disables it. If more than
	// Options.MaxWaiting jobs wait, a transaction deletes them, calls Collapse and commits. If
	// Collapse fails, they stay. It covers all jobs that it replaces; later jobs stay. On SQLite
	// it must not write to the database, which is locked meanwhile.
	Collapse func(ctx context.Context) error

	// Queued jobs are due at once: their writer does not run them itself. After the commit it
	// calls [Box.Wake]. Otherwise, and in other processes, such a job starts up to Options.Poll
	// later.
	Queued bool

	// Retention is how long a finished job stays, so that Replay can repeat it; 0: not at all.
	Retention time.Duration
}

// A JobRef refers to an added job. The zero JobRef refers to none.
type JobRef struct {
	id    int64
	topic string
}

// A Box is the outbox of one process. It is safe for concurrent use.
type Box struct {
	db       *sql.DB
	o        Options
	log      *slog.Logger
	sql      statements
	m        *metrics
	handlers map[string]Handler
	topics   []string // of handlers, sorted
	timer    *wakeTimer
	workers  workerPool

	jobWarnings, warnings clock.Throttle

	flushAfter time.Duration // how long an ended attempt waits for others
	mu         sync.Mutex
	ended      []attempt     // not written yet
	added      int           // attempts that were ever in ended
	written    int           // of these, attempts that were written or dropped
	urgent     int           // of these, attempts to write without delay
	flushing   bool          // a goroutine writes attempts
	flushed    sync.Cond     // written has changed
	flushNow   chan struct{} // capacity 1: urgent has changed, or a batch is full
}

// New returns a Box on db. It starts nothing, sends nothing and closes nothing: db belongs to
// the caller. It fails if the dialect is unknown, or if the Registerer has these metrics.
func New(db *sql.DB, o Options) (*Box, error) {
	texts, err := loadStatements(o.Dialect)
	if err != nil {
		return nil, fmt.Errorf("open outbox: %w", err)
	}
	o.Poll = cmp.Or(o.Poll, 500*time.Millisecond)
	o.HeadStart = cmp.Or(o.HeadStart, 1100*time.Millisecond)
	o.Timeout = cmp.Or(o.Timeout, 5*time.Second)
	o.Batch = cmp.Or(o.Batch, 32)
	o.MaxTries = cmp.Or(o.MaxTries, 10)
	o.RetryDelay = cmp.Or(o.RetryDelay, 100*time.Millisecond)
	o.MaxRetryDelay = cmp.Or(o.MaxRetryDelay, 30*time.Second)
	o.ParkedRetention = cmp.Or(o.ParkedRetention, 30*24*time.Hour)
	o.MaxWaiting = cmp.Or(o.MaxWaiting, 10_000)
	o.MaintainEvery = cmp.Or(o.MaintainEvery, 5*time.Second)
	b := &Box{
		db: db, o: o, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)), sql: texts, m: newMetrics(),
		handlers: map[string]Handler{}, timer: newWakeTimer(),
		// The result of a job must be written before the job becomes due.
		flushAfter: min(maxFlushAfter, o.HeadStart/10), flushNow: make(chan struct{}, 1),
	}
	b.workers.busy = map[string]int{}
	b.flushed.L = &b.mu
	if o.Registerer != nil {
		if err := b.m.register(o.Registerer); err != nil {
			return nil, fmt.Errorf("register outbox metrics: %w", err)
		}
	}
	return b, nil
}

// Handle registers h for a topic in this process. Call it before any other method. It panics if
// the topic has a handler, its name does not have 1 to 64 bytes, or h.Do is nil.
func (b *Box) Handle(topic string, h Handler) {
	if _, twice := b.handlers[topic]; twice || topic == "" || len(topic) > 64 || h.Do == nil {
		panic(fmt.Sprintf("outbox: invalid handler of topic %q", topic))
	}
	b.handlers[topic] = h
	b.topics = append(b.topics, topic)
	b.m.addTopic(topic)
}

// statementTimeout limits each statement of the Box itself.
const statementTimeout = 5 * time.Second

// Add adds a job to tx. The job runs at least once if tx commits, and never if it does not.
// payload is stored as JSON of at most [MaxPayload] bytes. The topic must have a handler here.
//
// After the commit the caller does the work and passes the JobRef to [Box.Finish].
func (b *Box) Add(ctx context.Context, tx Execer, topic string, payload any) (JobRef, error) {
	refs, err := b.add(ctx, tx, topic, payload)
	if err != nil {
		return JobRef{}, err
	}
	return refs[0], nil
}

// add adds one job per payload, by one statement.
func (b *Box) add(ctx context.Context, tx Execer, topic string, payloads ...any) ([]JobRef, error) {
	d, err := b.draft(topic, payloads...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(sqldb.Prepared(ctx), statementTimeout)
	defer cancel()
	refs := make([]JobRef, 0, len(payloads))
	err = sqldb.Each(ctx, tx, b.sql.add, []any{d.Topic, d.Payloads, d.HeadStart}, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		refs = append(refs, d.JobRef(id))
		return err
	})
	if err == nil && len(refs) != len(payloads) {
		err = fmt.Errorf("got %d rows, want %d", len(refs), len(payloads))
	}
	if err != nil {
		return nil, fmt.Errorf("add %d outbox jobs of %s: %w", len(payloads), topic, err)
	}
	return refs, nil
}

// A Draft holds the arguments of a statement of the caller that inserts jobs of one topic. The
// statement must insert them like sql/add.postgres.sql.
type Draft struct {
	Topic     string
	Payloads  string // JSON array of strings, each of them JSON
	HeadStart int64  // milliseconds
}

// JobRef returns the JobRef of a job with the id that the statement returned.
func (d Draft) JobRef(id int64) JobRef { return JobRef{id: id, topic: d.Topic} }

func (b *Box) draft(topic string, payloads ...any) (Draft, error) {
	h, ok := b.handlers[topic]
	if !ok {
		return Draft{}, fmt.Errorf("add outbox job: topic %q has no handler", topic)
	}
	texts := make([]string, len(payloads))
	for i, payload := range payloads {
		text, err := json.Marshal(payload)
		if err != nil {
			return Draft{}, fmt.Errorf("encode outbox job of %s: %w", topic, err)
		}
		if len(text) > MaxPayload {
			return Draft{}, fmt.Errorf("encode outbox job of %s: payload of %d bytes is larger than %d", topic, len(text), MaxPayload)
		}
		texts[i] = string(text)
	}
	headStart := b.o.HeadStart
	if h.Queued {
		headStart = 0
	}
	return Draft{Topic: topic, Payloads: sqldb.JSON(texts), HeadStart: headStart.Milliseconds()}, nil
}

// Transient marks a handler error as not the job's own fault, for example if a store is
// unavailable. The job is retried after pauses of up to 5 s and never parked. nil stays nil.
func Transient(err error) error {
	if err == nil {
		return nil
	}
	return transientError{err}
}

type transientError struct{ error }

func (e transientError) Unwrap() error { return e.error }

// recordFailure counts a failure that no caller sees, and logs at most one in ten seconds.
func (b *Box) recordFailure(ctx context.Context, doing string, err error) {
	b.m.errors.WithLabelValues(doing).Inc()
	if b.warnings.Allow() {
		b.log.WarnContext(ctx, "outbox operation failed", "doing", doing, "err", err)
	}
}
