package schedule

import (
	"context"
	"database/sql"
	_ "embed" // the statements
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/lock"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
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

// runLock decide which process runs a job. The table settings has the time of its last run,
// under its name. A lock of that name keeps two callers from running it at once.
type runLock struct {
	db    *sql.DB
	locks *lock.Locker
	now   func() time.Time
}

// A verdict is what came of asking for a turn.
type verdict struct {
	ran    bool          // the job was run
	failed error         // of the job
	due    time.Duration // until it is due; negative: another caller runs it
}

// take runs a job if it is due and no other caller runs it. An error is that of the
// database: the last run is unknown then, or not recorded.
func (t *runLock) take(ctx context.Context, j Job) (v verdict, err error) {
	lease, err := t.locks.Try(ctx, j.Name, lock.WithWait(statementTimeout))
	if _, busy := errors.AsType[*lock.BusyError](err); busy {
		return verdict{due: -1}, nil
	}
	if err != nil {
		return v, fmt.Errorf("ask whose turn %s is: %w", j.Name, err)
	}
	defer func() { _ = lease.Release(ctx) }() // ifDue reports a loss
	return t.ifDue(lease.Context(), j)        //nolint:contextcheck // it is a child of ctx
}

// ifDue runs a job if it is due. A failed one is due again after its Retry. One that failed
// because ctx ended, with the process or with the lock, is due at once.
func (t *runLock) ifDue(ctx context.Context, j Job) (v verdict, err error) {
	last, err := t.last(ctx, j.Name)
	if err != nil {
		return v, err
	}
	// A time to come is that of a clock a little ahead; one far from now is no time at all.
	if age := t.now().Sub(last); age < j.Every && age > -j.Every {
		return verdict{due: j.Every - age}, nil
	}
	work, cancel := context.WithTimeout(ctx, j.Timeout)
	defer cancel()
	v.ran, v.failed = true, run(work, j)
	counts := t.now()
	switch {
	case v.failed != nil && ctx.Err() != nil:
		v.failed = errors.Join(v.failed, context.Cause(ctx))
		return v, nil
	case v.failed != nil:
		counts = counts.Add(j.RetryAfter - j.Every)
	}
	v.due = j.Every - t.now().Sub(counts)
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), statementTimeout)
	defer done()
	if _, err := t.db.ExecContext(ctx, sqldb.Statement(ranSQL), j.Name, strconv.FormatInt(counts.UnixMilli(), 10)); err != nil {
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
func (t *runLock) last(ctx context.Context, name string) (last time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	err = sqldb.Each(ctx, t.db, sqldb.Statement(lastSQL), []any{name}, func(rows *sql.Rows) error {
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

var errNoWork = errors.New("a job needs a name, an interval and work")
