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

// statementTimeout limits each statement. The job between them has its own timeout.
const statementTimeout = 5 * time.Second

// runLock decides which process runs a job. A row of the table settings, named after the job,
// stores the time of its last run. A lock of that name prevents concurrent runs.
type runLock struct {
	db    *sql.DB
	locks *lock.Locker
	now   func() time.Time
}

// A result is the outcome of a check.
type result struct {
	ran    bool          // the job ran
	failed error         // error of the job
	due    time.Duration // time until the job is due; negative: another caller runs it
}

// tryRun runs a job if it is due and no other caller runs it. A returned error is that of the
// database: the last run is then unknown or not recorded.
func (t *runLock) tryRun(ctx context.Context, j Job) (v result, err error) {
	lease, err := t.locks.Try(ctx, j.Name, lock.WithWait(statementTimeout))
	if _, busy := errors.AsType[*lock.BusyError](err); busy {
		return result{due: -1}, nil
	}
	if err != nil {
		return v, fmt.Errorf("lock job %s: %w", j.Name, err)
	}
	defer func() { _ = lease.Release(ctx) }() // ifDue reports a loss
	return t.ifDue(lease.Context(), j)        //nolint:contextcheck // a child of ctx
}

// ifDue runs a job if it is due. A failed job is due again after its RetryAfter, or at once if
// ctx ended, with the process or with the lock.
func (t *runLock) ifDue(ctx context.Context, j Job) (v result, err error) {
	last, err := t.last(ctx, j.Name)
	if err != nil {
		return v, err
	}
	// Another clock may be ahead by less than Every. A time further ahead is ignored.
	if age := t.now().Sub(last); age < j.Every && age > -j.Every {
		return result{due: j.Every - age}, nil
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
		return v, fmt.Errorf("record run of job %s: %w", j.Name, err)
	}
	return v, nil
}

// run runs a job. A panic is an error of this job.
func run(ctx context.Context, j Job) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return j.Do(ctx)
}

// last returns the time of the last run of a job; zero if there was none.
func (t *runLock) last(ctx context.Context, name string) (last time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	err = sqldb.Each(ctx, t.db, sqldb.Statement(lastSQL), []any{name}, func(rows *sql.Rows) error {
		var text string
		if err := rows.Scan(&text); err != nil {
			return err
		}
		if ms, err := strconv.ParseInt(text, 10, 64); err == nil { // an invalid value counts as none
			last = time.UnixMilli(ms)
		}
		return nil
	})
	if err != nil {
		return last, fmt.Errorf("read last run of job %s: %w", name, err)
	}
	return last, nil
}

var errIncompleteJob = errors.New("name, interval and function are required")
