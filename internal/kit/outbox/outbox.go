// Package outbox does, at least once, what must happen after a transaction
// committed: it is the transactional outbox, with its writer as the first to try.
//
// A job is a row that a transaction inserts beside its own changes ([Box.Add]):
// both are there or neither is. After the commit the writer does the work itself,
// at once, and reports the result ([Box.Finish]). If it died, or failed, any
// process that runs [Box.Run] does it instead.
//
// # Who does a job, and when
//
// For a head start of 1.1 s from its insert, a job belongs to its writer. Usually the
// change is visible everywhere within 50 ms, and the job never becomes due. A job that
// is due is claimed: an UPDATE moves its due time behind a lease, which is twice as
// long as a handler may take, so a process that dies loses nothing. All jobs of a claim
// begin at once: none waits for its turn while its lease runs.
//
// No commit notifies other processes. Each process looks twice a second for jobs that
// are due, and for the time at which the next one will be. So the job of a writer that
// dies right after its commit is done within 1.5 s. Jobs of [Handler].Queued topics have
// no head start. [Box.Wake] has this process look at once.
//
// A job that fails is tried again after a pause that doubles. One that failed ten
// times by its own fault is parked: it stays, is shown and counted, and waits for
// [Box.Unpark].
//
// # How results are stored
//
// Results are collected for up to 100 ms and written by one statement, which does not
// wait for the disk. Failures are written at once. A crash before that only means that
// a job is done again: after its head start, or after its lease.
//
// # What holds
//
// A handler runs at least once for each committed job, and more often after
// crashes, failures and slow writers, in several processes at once perhaps. So it
// must be idempotent. Jobs have no order among each other.
//
// Each claim raises the job's number of tries, and only the latest attempt ends a
// job, as with a fencing token. That is what lets [Box.Replay] have a job done
// again whose attempt under way may have begun too early.
//
// All times are those of the database's clock. The rows are those of the table
// outbox_jobs, whose migrations are not this package's business.
//
// The pattern: C. Richardson, Microservices Patterns, 2018, section 3.3.7, with
// the polling publisher of 3.3.8. Claiming with SKIP LOCKED is as in the manual of
// PostgreSQL, under SELECT, "The Locking Clause".
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

// ReplayRetention is a good [Handler].Keep for what a store may lose after it was told:
// longer than it takes to find that out.
const ReplayRetention = 5 * time.Minute

// MaxPayload is how many bytes a job's payload may have as JSON.
const MaxPayload = 16 << 10

// An Execer runs statements: a *sql.DB, a *sql.Tx, a client or a transaction of ent.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Options tune a Box. The zero value of each, but for Dialect, is a good
// production setting.
type Options struct {
	Dialect    string                // "postgres" or "sqlite3"
	Registerer prometheus.Registerer // nil: no metrics
	Log        *slog.Logger          // nil: nothing is logged

	Poll            time.Duration // how often to look for jobs; default 500 ms
	HeadStart       time.Duration // how long a new job is left to its writer; default 1.1 s
	Timeout         time.Duration // what a handler may take; default 5 s. A lease is twice that
	Batch           int           // jobs of one claim, which all begin at once; default 32
	MaxTries        int           // failures after which a job is parked; default 10
	RetryDelay      time.Duration // after the first failure, doubled by each further one; default 100 ms
	MaxRetryDelay   time.Duration // the longest such pause; default 30 s, and 5 s after Later
	ParkedRetention time.Duration // how long a parked job stays; default 30 days
	MaxWaiting      int           // waiting jobs of a topic above which Handler.All replaces them; default 10 000
	MaintainEvery   time.Duration // how often gauges and MaxWaiting are seen to; default 5 s
}

// A Handler does the jobs of one topic.
type Handler struct {
	// Do does one job. It must be idempotent: a job may be done more than once, and
	// in several processes at once. Its context ends after Options.Timeout, and not
	// before: a process that stops finishes what is in hand. A panic is a failure.
	Do func(ctx context.Context, payload []byte) error

	// Collapse stands for every job of the topic that waits: nil if nothing does. When
	// there are more than Options.MaxWaiting of them, they are deleted, All is
	// called, and then the deletion is committed; if All fails, they stay. So it
	// covers all that it replaces, and what commits later stays. On SQLite it must
	// not write to the database, which is locked meanwhile.
	Collapse func(ctx context.Context) error

	// Queued jobs are due at once, because their writer does not do them itself. After
	// the commit the writer calls [Box.Wake]. Without it, and in other processes, up to
	// Options.Poll passes before such a job begins.
	Queued bool

	// Retention is how long a job stays that is done, to be repeated by Replay. 0: it is
	// deleted.
	Retention time.Duration
}

// A JobRef is a job that was added, for whoever added it. The zero Ticket is none.
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
	alarm    *wakeTimer
	hands    workerPool

	failures, complaints clock.Throttle

	flushAfter time.Duration // for which an ended attempt waits for others
	mu         sync.Mutex
	ended      []attempt     // that are to be written
	added      int           // attempts that were ever in ended
	written    int           // of these, attempts that were written or could not be
	urgent     int           // of these, attempts that are to be written without delay
	settling   bool          // a goroutine writes them
	settled    sync.Cond     // written has changed
	hurry      chan struct{} // room for one: urgent has changed, or a batch is full
}

// New builds a Box on db. It starts nothing, sends nothing and closes nothing: db
// belongs to the caller. It returns an error if the dialect is none, or if the
// Registerer has these metrics already.
func New(db *sql.DB, o Options) (*Box, error) {
	texts, err := statementsOf(o.Dialect)
	if err != nil {
		return nil, fmt.Errorf("outbox: %w", err)
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
		handlers: map[string]Handler{}, alarm: newAlarm(),
		// A job that is done must not become due before that is written.
		flushAfter: min(maxFlushAfter, o.HeadStart/10), hurry: make(chan struct{}, 1),
	}
	b.hands.busy = map[string]int{}
	b.settled.L = &b.mu
	if o.Registerer != nil {
		if err := b.m.register(o.Registerer); err != nil {
			return nil, fmt.Errorf("outbox: register the metrics: %w", err)
		}
	}
	return b, nil
}

// Handle has the jobs of a topic done by h in this process. All calls of it come
// before all others of the Box. It panics if the topic has a handler, or h cannot
// do anything.
func (b *Box) Handle(topic string, h Handler) {
	if _, twice := b.handlers[topic]; twice || topic == "" || len(topic) > 64 || h.Do == nil {
		panic(fmt.Sprintf("outbox: topic %q has two handlers, none, or no good name", topic))
	}
	b.handlers[topic] = h
	b.topics = append(b.topics, topic)
	b.m.show(topic)
}

// statementTimeout bounds one statement of the Box's own.
const statementTimeout = 5 * time.Second

// Add adds a job to a transaction: it will be done at least once if tx commits,
// and never if it does not. payload is stored as JSON, of at most [MaxPayload]
// bytes. The topic must have a handler here, or there would be none to settle by.
//
// After the commit the caller does what the job says, and hands the Ticket to
// [Box.Finish].
func (b *Box) Add(ctx context.Context, tx Execer, topic string, payload any) (JobRef, error) {
	tickets, err := b.add(ctx, tx, topic, payload)
	if err != nil {
		return JobRef{}, err
	}
	return tickets[0], nil
}

// add adds a job for each payload, by one statement.
func (b *Box) add(ctx context.Context, tx Execer, topic string, payloads ...any) ([]JobRef, error) {
	d, err := b.draft(topic, payloads...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(sqldb.Prepared(ctx), statementTimeout)
	defer cancel()
	tickets := make([]JobRef, 0, len(payloads))
	err = sqldb.Each(ctx, tx, b.sql.add, []any{d.Topic, d.Payloads, d.HeadStart}, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		tickets = append(tickets, d.Ticket(id))
		return err
	})
	if err == nil && len(tickets) != len(payloads) {
		err = fmt.Errorf("%d rows instead of %d", len(tickets), len(payloads))
	}
	if err != nil {
		return nil, fmt.Errorf("outbox: add %d jobs of %s: %w", len(payloads), topic, err)
	}
	return tickets, nil
}

// A Draft is jobs of one topic that a statement of the caller's own inserts, as
// sql/add.postgres.sql does, with these arguments.
type Draft struct {
	Topic     string
	Payloads  string // a JSON array of texts, each of which is JSON
	HeadStart int64  // milliseconds
}

// Ticket returns the ticket of a job with the id that the statement returned.
func (d Draft) Ticket(id int64) JobRef { return JobRef{id: id, topic: d.Topic} }

func (b *Box) draft(topic string, payloads ...any) (Draft, error) {
	h, ok := b.handlers[topic]
	if !ok {
		return Draft{}, fmt.Errorf("outbox: topic %q has no handler", topic)
	}
	texts := make([]string, len(payloads))
	for i, payload := range payloads {
		text, err := json.Marshal(payload)
		if err != nil {
			return Draft{}, fmt.Errorf("outbox: payload of a job of %s: %w", topic, err)
		}
		if len(text) > MaxPayload {
			return Draft{}, fmt.Errorf("outbox: the payload of a job of %s has %d bytes, more than %d", topic, len(text), MaxPayload)
		}
		texts[i] = string(text)
	}
	headStart := b.o.HeadStart
	if h.Queued {
		headStart = 0
	}
	return Draft{Topic: topic, Payloads: sqldb.JSON(texts), HeadStart: headStart.Milliseconds()}, nil
}

// Transient wraps what a handler returns when a failure is not the job's own fault: a
// store that is away will be back. Such a job is tried again after a pause that
// grows to 5 s, and never parked. Later of nil is nil.
func Transient(err error) error {
	if err == nil {
		return nil
	}
	return laterError{err}
}

type laterError struct{ error }

func (e laterError) Unwrap() error { return e.error }

// complain counts a failure of the Box itself, which no caller hears of, and logs
// it seldom.
func (b *Box) complain(ctx context.Context, doing string, err error) {
	b.m.errors.WithLabelValues(doing).Inc()
	if b.complaints.Allow() {
		b.log.WarnContext(ctx, "outbox failed; it tries again", "doing", doing, "err", err)
	}
}
