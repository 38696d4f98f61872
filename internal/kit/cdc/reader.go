// Package cdc hears of every committed change of some Postgres tables,
// whoever made it: this program, another one, somebody in psql.
//
// It reads the server's write-ahead log by logical decoding (the plugin pgoutput,
// which comes with Postgres) through a replication slot, which remembers how far
// it has got. It is what Canal is to MySQL: a follower that the writers need not
// know of. What it tells is which rows changed, not what they are now: a large
// value that did not change is not in the log.
//
// Each change is told at least once. The position in the log is acknowledged
// only after those who had to hear of a change have said so, and what was not
// acknowledged comes again, in this process or in another. When changes may have
// gone by unheard, because there was no slot, the reader says this too
// ([Options.OnGap]), and a slot is never kept before it has been said: see
// begin.sql and keep.sql.
//
// A slot keeps the server from removing what has not been read, so a reader that
// is away could fill its disk. Every Reader therefore looks at how much the slot
// holds back, and gives it up rather than let it hold back more than
// [Options.MaxLag].
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
	keysAtOnce = 500    // keys of one call of Changed, at most
	maxKeys    = 10_000 // keys of one table in one transaction that are remembered

	connectTimeout = 5 * time.Second
	queryTimeout   = 5 * time.Second  // of a statement
	callTimeout    = 5 * time.Second  // of a call of Changed, Truncated or Missed
	beginTimeout   = 30 * time.Second // of waiting for the transactions that run while a slot is made
	stopTimeout    = 2 * time.Second  // of the farewell to the server
)

// A intervals is how often things are done; tests have a faster one.
type intervals struct {
	poll     time.Duration // looking whether the slot is free
	beat     time.Duration // telling the server where we are, and that we are
	rest     time.Duration // of the reader after transactions of which nothing was told
	answer   time.Duration // at least between two acknowledgements of what was told
	silence  time.Duration // after which a server that says nothing is taken for gone
	guard    time.Duration // looking at what the slot holds back, while reading
	patience time.Duration // repeating what cannot be told, before another process may try
	retry    time.Duration // after the first of several failures
}

// A Table is one whose changes are told.
type Table struct {
	// Name of the table, in the schema that the connections of the pool create in
	// (current_schema). Its primary key is one column.
	Name string
	// OnChange gets the primary keys, as text, of rows that one transaction has
	// inserted, updated (the old and the new key) or deleted: at most 500 at a
	// time, each once. It is called again until it succeeds, and may be called
	// again after that, so it must be idempotent. It has five seconds.
	OnChange func(ctx context.Context, keys []string) error
	// OnTruncate hears that every row may have changed: TRUNCATE, or more keys in
	// one transaction than are remembered (10 000). It is called like Changed.
	// When it is nil, Options.Missed is called instead.
	OnTruncate func(ctx context.Context) error
}

// Options says what is read and who hears of it. Tables or Outbox must be given,
// URL and Locks; the zero value of everything else is a good setting.
type Options struct {
	URL         string // postgres://…, as lib/pq takes it
	Slot        string // name of the replication slot; default "tandian_" and the database's oid, because slots are of the whole cluster
	Publication string // name of the publication; default "tandian". In a schema other than public, both defaults end with "_" and its oid
	Tables      []Table

	// Locks has a lock for the reader of a slot. Its holds need no bound.
	Locks *lock.Locker

	// Outbox names a table whose insert says that the transaction tells others
	// by itself. Of its changes nothing is told but a TRUNCATE. The process that
	// does the jobs of this table must find them itself.
	Outbox string

	// OnGap hears that changes may have gone by unheard: there was no slot, it
	// was lost, or a table without Truncated was truncated. Nothing is
	// acknowledged until it has succeeded. It has five seconds.
	OnGap func(ctx context.Context) error

	MaxLag     int64                 // bytes of WAL that the slot may hold back before it is given up; default 1 GiB
	Registerer prometheus.Registerer // where the metrics are shown; nil for nowhere
	Log        *slog.Logger          // default slog.DiscardHandler
}

// A Reader reads the log when no other process does. It is safe for concurrent
// use, but Run must not run twice at a time.
type Reader struct {
	db      *sql.DB
	o       Options
	config  *pgconn.Config
	log     *slog.Logger
	metrics *metrics
	pace    intervals
	active  atomic.Bool

	failures, alarms clock.Throttle // what is said about them

	// Of Run alone.
	slot        string // name of the slot, once it is known
	publication string // name of the publication, once it is known
	schema      string // of the tables, once it is known
	keys        map[string]string
	owed        bool // Missed has failed, so there is no slot yet
}

var nameOK = regexp.MustCompile(`^[a-z0-9_]{1,59}$`) //nolint:gochecknoglobals // a constant that Go cannot say

// New builds a Reader. It starts nothing, sends nothing and closes nothing: db
// belongs to the caller. It returns an error if the options make no sense or the
// Registerer has these metrics already. The errors do not quote the URL.
func New(db *sql.DB, o Options) (*Reader, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("logreader: %w", err)
	}
	o.MaxLag = cmp.Or(o.MaxLag, 1<<30)
	config, err := replicationConfig(o.URL)
	if err != nil {
		return nil, fmt.Errorf("logreader: %w", err)
	}
	r := &Reader{
		db: db, o: o, config: config, slot: o.Slot, publication: o.Publication,
		log:      cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		failures: clock.Throttle{Every: time.Minute},
		alarms:   clock.Throttle{Every: time.Minute},
		pace: intervals{
			poll: 500 * time.Millisecond, beat: 2 * time.Second, answer: 100 * time.Millisecond, rest: 50 * time.Millisecond, silence: 30 * time.Second,
			guard: 10 * time.Second, patience: 30 * time.Second, retry: 250 * time.Millisecond,
		},
	}
	r.metrics = newMetrics(o.Tables, r.Active)
	if err := r.metrics.register(o.Registerer); err != nil {
		return nil, fmt.Errorf("logreader: %w", err)
	}
	return r, nil
}

func (o Options) check() error {
	if len(o.Tables) == 0 && o.Outbox == "" {
		return errors.New("no table to read")
	}
	seen := map[string]bool{o.Outbox: o.Outbox != ""}
	for _, t := range o.Tables {
		if t.Name == "" || seen[t.Name] || t.OnChange == nil {
			return fmt.Errorf("table %q: no name, named twice, or nobody hears of its changes", t.Name)
		}
		seen[t.Name] = true
	}
	if o.Locks == nil {
		return errors.New("no locks")
	}
	// A replication connection takes no parameters, so the name is a part of its
	// statements; 4 characters are left for a second slot, while the first is made.
	for _, name := range []string{o.Slot, o.Publication} {
		if name != "" && !nameOK.MatchString(name) {
			return fmt.Errorf("name %q: want up to 59 of a-z, 0-9 and _", name)
		}
	}
	return nil
}

// replicationConfig is how the reader's own connection is made.
func replicationConfig(rawURL string) (*pgconn.Config, error) {
	u, err := url.Parse(rawURL)
	if err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") {
		return nil, errors.New("the database URL must look like postgres://user:password@host/database")
	}
	if q := u.Query(); !q.Has("sslmode") && os.Getenv("PGSSLMODE") == "" {
		q.Set("sslmode", "require") // the default of lib/pq; pgconn would send a password without TLS
		u.RawQuery = q.Encode()
	}
	config, err := pgconn.ParseConfig(u.String())
	if err != nil {
		return nil, errors.New("the database URL has something that the replication driver does not take") // its own error may quote the URL
	}
	config.ConnectTimeout = connectTimeout
	// What lib/pq understands by itself must not be sent to the server as a
	// setting, so only what we need is.
	options := config.RuntimeParams["options"]
	config.RuntimeParams = map[string]string{
		"replication":      "database",
		"application_name": "tandian-log-reader",
		"client_encoding":  "UTF8",
		// A reader whose machine is gone lets go of the slot after this time.
		"wal_sender_timeout": "20s",
		// And one that is gone, or stands still, before it reads lets go of its
		// temporary slot. Making ready has no pause as long as this.
		"idle_session_timeout": "60s",
	}
	if options != "" {
		config.RuntimeParams["options"] = options
	}
	return config, nil
}

// Active reports whether this process reads the log at this moment.
func (r *Reader) Active() bool { return r.active.Load() }

// A unsupportedError is a reason for which the reader cannot run here, for people.
type unsupportedError string

func (r unsupportedError) Error() string { return string(r) }

// errUndelivered ends a session whose changes could not be told.
var errUndelivered = errors.New("changes could not be told")

const maxPause = 5 * time.Second

// Run reads until ctx ends, and connects again whenever it has to. Any number of
// processes may run; one of them reads, the others wait until its slot is free.
// It returns nil, also when the role lacks a right that only an operator can
// give: then it says so in the log.
func (r *Reader) Run(ctx context.Context) error {
	pause := r.pace.retry
	for ctx.Err() == nil {
		begun := time.Now()
		err := r.round(ctx)
		if err == nil || ctx.Err() != nil {
			pause = r.pace.retry
			continue
		}
		if why, ok := asRefusal(err); ok {
			r.log.WarnContext(ctx, "the log of the database is not read", "reason", why)
			return nil
		}
		r.failed(ctx, err)
		if time.Since(begun) > maxPause {
			pause = r.pace.retry
		}
		if errors.Is(err, errUndelivered) {
			pause = max(pause, 2*r.pace.poll) // the others may find the slot free
		}
		_ = clock.Sleep(ctx, pause) // the loop sees that ctx ended
		pause = min(2*pause, maxPause)
	}
	return nil
}

// round looks at the slot once, and waits while another process reads it or makes it ready.
func (r *Reader) round(ctx context.Context) error {
	if err := r.learn(ctx); err != nil {
		return err
	}
	at, err := r.look(ctx)
	switch {
	case err != nil:
		return err
	case !at.ours:
		return unsupportedError(fmt.Sprintf("the replication slot %s belongs to another database or plugin; set another name", r.slot))
	case at.active:
		_ = clock.Sleep(ctx, r.pace.poll)
		return nil
	}
	// The server admits one reader in any case, but by errors for the others, in its log and
	// in ours.
	lease, err := r.o.Locks.Try(ctx, "tandian log reader "+r.slot, lock.WithWait(queryTimeout))
	if _, busy := errors.AsType[*lock.BusyError](err); busy {
		_ = clock.Sleep(ctx, r.pace.poll)
		return nil
	}
	if err != nil {
		return fmt.Errorf("take the reader's lock: %w", err)
	}
	defer func() { _ = lease.Release(ctx) }()                                    // the error of a loss is returned below
	err = r.turn(lease.Context(), at)                                            //nolint:contextcheck // it is a child of ctx
	if lost := context.Cause(lease.Context()); lost != nil && ctx.Err() == nil { //nolint:contextcheck // it is a child of ctx
		return fmt.Errorf("hold the reader's lock: %w", lost)
	}
	return err
}

// turn does under the lock what the slot needs: it gives the slot up, or reads it for as
// long as that goes well.
func (r *Reader) turn(ctx context.Context, at slotStatus) error {
	switch {
	case at.lost || at.lag > r.o.MaxLag:
		return r.giveUp(ctx, at)
	case !at.there && r.owed:
		// A slot that is made while nobody can be told would be made again and
		// again, so this is tried first.
		if err := r.missed(ctx); err != nil {
			return err
		}
		r.owed = false
	}
	return r.session(ctx)
}

// failed counts a failure, and logs it if that was not done just now.
func (r *Reader) failed(ctx context.Context, err error) {
	r.metrics.errors.Inc()
	if r.failures.Allow() {
		r.log.WarnContext(ctx, "reading the log of the database failed; it goes on", "err", err)
	}
}
