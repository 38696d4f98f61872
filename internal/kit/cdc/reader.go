// Package cdc is change data capture: it reports every committed change of some Postgres
// tables, by any program.
//
// A [Reader] reads the write-ahead log by logical decoding (the plugin pgoutput, which
// comes with Postgres) through a replication slot, which stores the position. Like Canal
// for MySQL, it needs no cooperation of the writers. It reports the keys of changed rows,
// not their values: a large value that did not change is not in the log.
//
// Each change is delivered at least once. The position is acknowledged only after all
// callbacks have succeeded. Unacknowledged changes are delivered again, in this process
// or in another. If changes may have been missed because there was no slot, the reader
// reports that too ([Options.OnGap]). A slot becomes permanent only after that report:
// see begin.sql and make_permanent.sql.
//
// A slot prevents the server from removing unread WAL, so an inactive reader could fill
// the disk. Every Reader therefore checks the retained WAL of the slot, and drops the
// slot if it exceeds [Options.MaxLag].
package cdc

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"regexp"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/lock"
)

const (
	keysPerCall = 500    // keys of one call of OnChange, at most
	maxKeys     = 10_000 // stored keys of one table in one transaction

	connectTimeout = 5 * time.Second
	queryTimeout   = 5 * time.Second  // of a statement
	callTimeout    = 5 * time.Second  // of a call of OnChange, OnTruncate or OnGap
	beginTimeout   = 30 * time.Second // of waiting for the transactions that run while a slot is created
	stopTimeout    = 2 * time.Second  // of closing the connection
)

// intervals holds delays and timeouts; tests use shorter ones.
type intervals struct {
	poll    time.Duration // between two checks whether the slot is free
	beat    time.Duration // between two status updates to the server
	collect time.Duration // pause after transactions without deliveries
	minAck  time.Duration // shortest time between two acknowledgements of deliveries
	silence time.Duration // of the server, after which the connection is lost
	guard   time.Duration // between two checks of the retained WAL, while reading
	giveUp  time.Duration // of failed deliveries, before another process may try
	retry   time.Duration // after the first failure
}

// A Table is a table whose changes are delivered.
type Table struct {
	// Name of the table, in the current_schema of the pool's connections. Its primary key
	// is one column.
	Name string
	// OnChange gets the primary keys, as text, of rows that one transaction inserted,
	// updated (the old and the new key) or deleted. A call has at most 500 keys, each
	// once. It is retried until it succeeds, and may be called again after that, so it
	// must be idempotent. It has five seconds.
	OnChange func(ctx context.Context, keys []string) error
	// OnTruncate reports that every row may have changed: after TRUNCATE, or with more
	// than 10 000 keys in one transaction. It is called like OnChange. If it is nil,
	// Options.OnGap is called instead.
	OnTruncate func(ctx context.Context) error
}

// Options tunes a Reader. URL, Locks and at least one of Tables and Outbox are required;
// the zero value of each other field is a good setting.
type Options struct {
	URL         string // postgres://…, in the form of lib/pq
	Slot        string // name of the replication slot; default "tandian_" and the database's oid: slots belong to the whole cluster
	Publication string // name of the publication; default "tandian". In a schema other than public, both defaults end with "_" and its oid
	Tables      []Table

	// Locks holds a lock for the reader of a slot. It needs no MaxHold.
	Locks *lock.Locker

	// Outbox names a table of jobs. If a transaction inserts into it, its jobs report its
	// changes. Then the reader delivers only a TRUNCATE of that transaction. The process
	// that runs the jobs must find them itself.
	Outbox string

	// OnGap reports that changes may have been missed: there was no slot, it was lost, or
	// a table without OnTruncate was truncated. Nothing is acknowledged until it has
	// succeeded. It has five seconds.
	OnGap func(ctx context.Context) error

	MaxLag     int64                 // bytes of WAL that the slot may retain; default 1 GiB
	Registerer prometheus.Registerer // nil: no metrics
	Log        *slog.Logger          // nil: no log
}

// A Reader reads the log if no other process does. It is safe for concurrent use, but Run
// must not run twice at a time.
type Reader struct {
	db        *sql.DB
	o         Options
	config    *pgconn.Config
	log       *slog.Logger
	metrics   *metrics
	intervals intervals
	active    atomic.Bool

	warnings, lagWarnings clock.Throttle // limit the log

	// Used by Run only.
	slot        string // name of the slot, once it is known
	publication string // name of the publication, once it is known
	schema      string // of the tables, once it is known
	keys        map[string]string
	gapPending  bool // OnGap has failed, so there is no slot yet
}

var nameOK = regexp.MustCompile(`^[a-z0-9_]{1,59}$`) //nolint:gochecknoglobals // constant

// New returns a Reader. It starts nothing, sends nothing and closes nothing: db belongs
// to the caller. It returns an error if the options are invalid or the Registerer has
// these metrics already. The errors do not quote the URL.
func New(db *sql.DB, o Options) (*Reader, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("open log reader: %w", err)
	}
	o.MaxLag = cmp.Or(o.MaxLag, 1<<30)
	config, err := replicationConfig(o.URL)
	if err != nil {
		return nil, fmt.Errorf("open log reader: %w", err)
	}
	r := &Reader{
		db: db, o: o, config: config, slot: o.Slot, publication: o.Publication,
		log:         cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		warnings:    clock.Throttle{Every: time.Minute},
		lagWarnings: clock.Throttle{Every: time.Minute},
		intervals: intervals{
			poll: 500 * time.Millisecond, beat: 2 * time.Second, minAck: 100 * time.Millisecond, collect: 50 * time.Millisecond, silence: 30 * time.Second,
			guard: 10 * time.Second, giveUp: 30 * time.Second, retry: 250 * time.Millisecond,
		},
	}
	r.metrics = newMetrics(o.Tables, r.Active)
	if err := r.metrics.register(o.Registerer); err != nil {
		return nil, fmt.Errorf("open log reader: %w", err)
	}
	return r, nil
}

func (o Options) check() error {
	if len(o.Tables) == 0 && o.Outbox == "" {
		return errors.New("invalid options: no table")
	}
	seen := map[string]bool{o.Outbox: o.Outbox != ""}
	for _, t := range o.Tables {
		if t.Name == "" || seen[t.Name] || t.OnChange == nil {
			return fmt.Errorf("invalid table %q: needs a unique name and OnChange", t.Name)
		}
		seen[t.Name] = true
	}
	if o.Locks == nil {
		return errors.New("invalid options: no locks")
	}
	// A replication connection takes no parameters, so the name is a part of its
	// statements. A temporary slot has a suffix of 4 more characters.
	for _, name := range []string{o.Slot, o.Publication} {
		if name != "" && !nameOK.MatchString(name) {
			return fmt.Errorf("invalid name %q: must have 1 to 59 of a-z, 0-9 and _", name)
		}
	}
	return nil
}

// replicationConfig returns the settings of the reader's own connection.
func replicationConfig(rawURL string) (*pgconn.Config, error) {
	u, err := url.Parse(rawURL)
	if err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") {
		return nil, errors.New("invalid database URL: must look like postgres://user:password@host/database")
	}
	if q := u.Query(); !q.Has("sslmode") && os.Getenv("PGSSLMODE") == "" {
		q.Set("sslmode", "require") // the default of lib/pq; pgconn would send a password without TLS
		u.RawQuery = q.Encode()
	}
	config, err := pgconn.ParseConfig(u.String())
	if err != nil {
		return nil, errors.New("invalid database URL: not supported by the replication driver") // the driver's error may quote the URL
	}
	config.ConnectTimeout = connectTimeout
	// The server does not accept the parameters of lib/pq as settings, so send only
	// these.
	options := config.RuntimeParams["options"]
	config.RuntimeParams = map[string]string{
		"replication":      "database",
		"application_name": "tandian-log-reader",
		"client_encoding":  "UTF8",
		// The server releases the slot of an unreachable reader after this time.
		"wal_sender_timeout": "20s",
		// The server releases the temporary slot of a reader that is unreachable or
		// blocked before it reads. No pause of the setup is as long.
		"idle_session_timeout": "60s",
	}
	if options != "" {
		config.RuntimeParams["options"] = options
	}
	return config, nil
}

// Active reports whether this process is reading the log.
func (r *Reader) Active() bool { return r.active.Load() }

// An unsupportedError is a human-readable reason that only an operator can remove.
type unsupportedError string

func (r unsupportedError) Error() string { return string(r) }

// errUndelivered ends a session whose changes could not be delivered.
var errUndelivered = errors.New("deliver changes: too many failures")

const maxPause = 5 * time.Second

// Run reads until ctx ends, and reconnects after failures. Any number of processes may
// run; one of them reads, and the others wait until its slot is free. Run returns nil. If
// only an operator can fix a problem, such as a missing right, it logs it and returns.
func (r *Reader) Run(ctx context.Context) error {
	pause := r.intervals.retry
	for ctx.Err() == nil {
		begun := time.Now()
		err := r.tryOnce(ctx)
		if err == nil || ctx.Err() != nil {
			pause = r.intervals.retry
			continue
		}
		if reason, ok := asUnsupported(err); ok {
			r.log.WarnContext(ctx, "change data capture is disabled", "reason", reason)
			return nil
		}
		r.recordFailure(ctx, err)
		if time.Since(begun) > maxPause {
			pause = r.intervals.retry
		}
		if errors.Is(err, errUndelivered) {
			pause = max(pause, 2*r.intervals.poll) // another process may find the slot free
		}
		_ = clock.Sleep(ctx, pause) // the loop checks ctx
		pause = min(2*pause, maxPause)
	}
	return nil
}

// tryOnce reads the slot if it is free, and otherwise waits a moment.
func (r *Reader) tryOnce(ctx context.Context) error {
	if err := r.loadNames(ctx); err != nil {
		return err
	}
	at, err := r.readSlot(ctx)
	switch {
	case err != nil:
		return err
	case !at.ours:
		return unsupportedError(fmt.Sprintf("replication slot %s belongs to another database or plugin: set another name", r.slot))
	case at.active:
		_ = clock.Sleep(ctx, r.intervals.poll)
		return nil
	}
	// The server admits one reader anyway, but the others would log errors, here and in
	// the server's log.
	lease, err := r.o.Locks.Try(ctx, "tandian log reader "+r.slot, lock.WithWait(queryTimeout))
	if _, busy := errors.AsType[*lock.BusyError](err); busy {
		_ = clock.Sleep(ctx, r.intervals.poll)
		return nil
	}
	if err != nil {
		return fmt.Errorf("lock log reader: %w", err)
	}
	defer func() { _ = lease.Release(ctx) }()                                    // a loss is returned below
	err = r.runLocked(lease.Context(), at)                                       //nolint:contextcheck // a child of ctx
	if lost := context.Cause(lease.Context()); lost != nil && ctx.Err() == nil { //nolint:contextcheck // a child of ctx
		return fmt.Errorf("hold lock of log reader: %w", lost)
	}
	return err
}

// runLocked drops the slot if needed, or reads it until an error. The caller holds the
// lock.
func (r *Reader) runLocked(ctx context.Context, at slotStatus) error {
	switch {
	case at.lost || at.lag > r.o.MaxLag:
		return r.dropLagging(ctx, at)
	case !at.exists && r.gapPending:
		// As long as OnGap fails, every new slot would be dropped again. So call it
		// before creating one.
		if err := r.reportGap(ctx); err != nil {
			return err
		}
		r.gapPending = false
	}
	return r.session(ctx)
}

// recordFailure counts a failure, and logs at most one a minute.
func (r *Reader) recordFailure(ctx context.Context, err error) {
	r.metrics.errors.Inc()
	if r.warnings.Allow() {
		r.log.WarnContext(ctx, "change data capture failed, retrying", "err", err)
	}
}
