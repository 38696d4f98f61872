package schedule

import (
	"context"
	"database/sql"
	_ "embed" // the statements
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/sqlfile"
	"github.com/tandian-dev/tandian/internal/kit/store"
)

var (
	//go:embed sql/last.sql
	lastSQL string
	//go:embed sql/ran.sql
	ranSQL string
)

// statementTimeout bounds each statement about turns. The work between them has a time
// of its own.
const statementTimeout = 5 * time.Second

// A querier is a database, or a transaction.
type querier interface {
	sqlfile.Querier
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// turns say whose turn a job is. When it was last run stands in the table settings, under
// its name. That nobody else is at it is an advisory lock of Postgres, which a process
// that dies gives up with its connection; SQLite has one process, where it is a word in
// memory.
type turns struct {
	db     *sql.DB
	shared bool // with other processes
	now    func() time.Time

	mu    sync.Mutex
	taken map[string]bool
}

// A verdict is what came of asking for a turn.
type verdict struct {
	ran    bool          // the job was run
	failed error         // of the job
	due    time.Duration // until it is due; negative: somebody is at it
}

// take runs a job if it is due and nobody else is at it. An error is that of the
// database: nobody knows then, or has written down, that the job was run.
//
// The lock lasts as long as the work, in a transaction that holds nothing else but when
// the job was run: that is stored after a failure of the job too.
func (t *turns) take(ctx context.Context, j Job) (v verdict, err error) {
	if !t.begin(j.Name) {
		return verdict{due: -1}, nil
	}
	defer t.end(j.Name)
	if !t.shared {
		return t.ifDue(ctx, t.db, j)
	}
	whole, cancel := context.WithCancel(context.WithoutCancel(ctx)) // what was done is written down when ctx is over, too
	defer cancel()
	late := time.AfterFunc(statementTimeout, cancel) // for a connection, too
	tx, err := t.db.BeginTx(whole, nil)
	if err != nil {
		return v, fmt.Errorf("ask whose turn %s is: %w", j.Name, err)
	}
	defer func() { _ = tx.Rollback() }() // gives the lock up, as does the end of the connection
	alone, err := store.Alone(whole, tx, j.Name)
	switch {
	case err != nil:
		return v, err
	case !alone:
		return verdict{due: -1}, nil
	case !late.Stop():
		return v, fmt.Errorf("ask whose turn %s is: the database did not answer in time", j.Name)
	}
	if v, err = t.ifDue(ctx, tx, j); err != nil {
		return v, err
	}
	if err := tx.Commit(); err != nil {
		return v, fmt.Errorf("write down that %s was run: %w", j.Name, err)
	}
	return v, nil
}

// ifDue runs a job if it is due. What failed is due again after the job's Retry.
func (t *turns) ifDue(ctx context.Context, db querier, j Job) (v verdict, err error) {
	last, err := t.last(ctx, db, j.Name)
	if err != nil {
		return v, err
	}
	// A time to come is that of a clock a little ahead; one far from now is no time at all.
	if age := t.now().Sub(last); age < j.Every && age > -j.Every {
		return verdict{due: j.Every - age}, nil
	}
	work, cancel := context.WithTimeout(ctx, j.Limit)
	defer cancel()
	v.ran, v.failed = true, run(work, j)
	counts := t.now()
	switch {
	case v.failed != nil && ctx.Err() != nil:
		return v, nil // this process ends; another may go on at once
	case v.failed != nil:
		counts = counts.Add(j.Retry - j.Every)
	}
	v.due = j.Every - t.now().Sub(counts)
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), statementTimeout)
	defer done()
	if _, err := db.ExecContext(ctx, sqlfile.Statement(ranSQL), j.Name, strconv.FormatInt(counts.UnixMilli(), 10)); err != nil {
		return v, fmt.Errorf("write down that %s was run: %w", j.Name, err)
	}
	return v, nil
}

// run has a panic be the failure of its job alone.
func run(ctx context.Context, j Job) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return j.Do(ctx)
}

// last is when a job was last run; the zero time if it never was.
func (t *turns) last(ctx context.Context, db querier, name string) (last time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	err = sqlfile.Each(ctx, db, sqlfile.Statement(lastSQL), []any{name}, func(rows *sql.Rows) error {
		var text string
		if err := rows.Scan(&text); err != nil {
			return err
		}
		if ms, err := strconv.ParseInt(text, 10, 64); err == nil { // else it is as if it never was
			last = time.UnixMilli(ms)
		}
		return nil
	})
	if err != nil {
		return last, fmt.Errorf("read when %s was last run: %w", name, err)
	}
	return last, nil
}

// begin reports false if another goroutine of this process is at the job.
func (t *turns) begin(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken[name] {
		return false
	}
	if t.taken == nil {
		t.taken = map[string]bool{}
	}
	t.taken[name] = true
	return true
}

func (t *turns) end(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.taken, name)
}

var errNoWork = errors.New("a job needs a name, an interval and work")
