package outbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// A job is an outbox job that this process has claimed.
type job struct {
	id              int64
	topic           string
	payload         []byte
	tries, failures int // tries includes the current attempt, failures does not
}

// workerPool counts the running jobs of this process.
type workerPool struct {
	mu   sync.Mutex
	busy map[string]int // by topic
}

// Run claims due jobs and runs them until ctx ends. Then it finishes the current jobs, writes
// the results and returns nil. It also updates the gauges and collapses topics with too many
// jobs; see [Box.Sweep] for deletion. Any number of processes may run at once.
func (b *Box) Run(ctx context.Context) error {
	var all sync.WaitGroup
	all.Go(func() { b.maintain(ctx) })
	var jobs sync.WaitGroup
	for ctx.Err() == nil {
		if !b.poll(ctx, &jobs) {
			b.timer.wait(ctx, b.o.Poll)
		}
	}
	jobs.Wait()
	all.Wait()
	b.Wait()
	return nil
}

// Wake makes [Box.Run] poll for due jobs, at most a hundred times a second. The writer of a
// [Handler].Queued job calls it after the commit. It does not block.
func (b *Box) Wake() { b.timer.set(soon) }

// poll starts due jobs and sets the timer for the next one. It reports whether more may be due.
func (b *Box) poll(ctx context.Context, jobs *sync.WaitGroup) (more bool) {
	topics := b.free(b.topics)
	if len(topics) == 0 {
		return false // run sets the timer when a topic becomes free
	}
	due, next, err := b.nextDue(ctx, topics)
	if err != nil {
		if ctx.Err() == nil {
			b.recordFailure(ctx, claiming, err)
		}
		return false
	}
	if next.Valid {
		b.timer.set(time.Duration(next.Int64) * time.Millisecond)
	}
	return due && b.startDue(ctx, jobs, topics)
}

// nextDue reports whether a job of these topics is due, and in how many milliseconds the
// next one will be.
//
// Like claim and settle, its statement is planned at each call. Such calls are few, and a
// plan cached for a small table would scan the whole table after it has grown.
func (b *Box) nextDue(ctx context.Context, topics []string) (due bool, next sql.NullInt64, err error) {
	names, err := json.Marshal(topics)
	if err != nil {
		return false, next, fmt.Errorf("encode topics: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	if err := queryOne(ctx, b.db, b.sql.nextDue, []any{string(names)}, &due, &next); err != nil {
		return false, next, fmt.Errorf("poll for jobs: %w", err)
	}
	return due, next, nil
}

// startDue claims jobs of these topics and starts them. It reports whether there may be more.
func (b *Box) startDue(ctx context.Context, jobs *sync.WaitGroup, topics []string) (more bool) {
	list, err := b.claim(ctx, topics)
	if err != nil {
		if ctx.Err() == nil {
			b.recordFailure(ctx, claiming, err)
		}
		return false
	}
	for _, j := range list {
		b.workers.mu.Lock()
		b.workers.busy[j.topic]++
		b.workers.mu.Unlock()
		jobs.Go(func() { b.run(context.WithoutCancel(ctx), j) })
	}
	return len(list) == b.o.Batch
}

// free returns the topics with at most half a batch running, of which this process may claim
// jobs. So a topic runs at most a batch and a half, and a hanging handler blocks no other topic.
func (b *Box) free(topics []string) []string {
	b.workers.mu.Lock()
	defer b.workers.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(topics), func(topic string) bool { return b.workers.busy[topic] > b.o.Batch/2 })
}

// claim claims up to a batch of due jobs. It ignores the end of ctx: a lost reply would block
// the claimed jobs until the end of the lease.
func (b *Box) claim(ctx context.Context, topics []string) ([]job, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), statementTimeout)
	defer cancel()
	names, err := json.Marshal(topics)
	if err != nil {
		return nil, fmt.Errorf("encode topics: %w", err)
	}
	var list []job
	lease := 2 * b.o.Timeout
	err = sqldb.Each(ctx, b.db, b.sql.claim, []any{string(names), b.o.Batch, lease.Milliseconds()}, func(rows *sql.Rows) error {
		var j job
		err := rows.Scan(&j.id, &j.topic, &j.payload, &j.tries, &j.failures)
		list = append(list, j)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("claim jobs: %w", err)
	}
	return list, nil
}

func (b *Box) run(ctx context.Context, j job) {
	err := b.call(ctx, func(ctx context.Context) error { return b.handlers[j.topic].Do(ctx, j.payload) }, "topic", j.topic, "job", j.id)
	if err == nil {
		outcome := relayed
		if j.tries > 1 {
			outcome = late
		}
		b.m.count(j.topic, outcome)
		b.end(ctx, attempt{ID: j.id, Tries: j.tries, Keep: b.handlers[j.topic].Retention.Milliseconds()})
	} else {
		b.end(ctx, b.failure(ctx, j, err))
	}
	b.workers.mu.Lock()
	defer b.workers.mu.Unlock()
	b.workers.busy[j.topic]--
	if b.workers.busy[j.topic] == b.o.Batch/2 {
		b.timer.set(0) // the topic is free again
	}
}

// call calls do with Options.Timeout. It logs a panic, with attrs, and returns it as an error.
func (b *Box) call(ctx context.Context, do func(context.Context) error, attrs ...any) (err error) {
	ctx, cancel := context.WithTimeout(ctx, b.o.Timeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			b.log.ErrorContext(ctx, "outbox handler panicked", append(attrs, "err", err, "stack", string(debug.Stack()))...)
		}
	}()
	return do(ctx)
}

// failure returns the result of a failed attempt: another try after a pause, or parked.
func (b *Box) failure(ctx context.Context, j job, err error) attempt {
	b.m.count(j.topic, failed)
	end := attempt{ID: j.id, Tries: j.tries, Error: errorText(err), Failed: true}
	_, transient := errors.AsType[transientError](err)
	switch {
	case transient:
		end.Pause = b.retryDelay(j.tries, min(b.o.MaxRetryDelay, 5*time.Second)).Milliseconds()
	case j.failures+1 >= b.o.MaxTries:
		end.Counts, end.Keep = 1, b.o.ParkedRetention.Milliseconds()
		b.m.count(j.topic, parked)
		b.log.ErrorContext(ctx, "outbox job parked", "hint", "run tandian outbox status", "topic", j.topic, "job", j.id, "failures", j.failures+1, "err", err)
		return end
	default:
		end.Counts, end.Pause = 1, b.retryDelay(j.failures+1, b.o.MaxRetryDelay).Milliseconds()
	}
	if b.jobWarnings.Allow() {
		b.log.WarnContext(ctx, "outbox job failed, retrying", "topic", j.topic, "job", j.id, "try", j.tries, "err", err)
	}
	return end
}

// retryDelay returns the pause after the nth failure of a job. It doubles with n, up to limit.
// Up to a half is subtracted at random, so that jobs that failed together retry apart.
func (b *Box) retryDelay(n int, limit time.Duration) time.Duration {
	d := limit
	if n < 30 {
		d = min(b.o.RetryDelay<<(n-1), limit)
	}
	return d - rand.N(d/2+1)
}

// maxError limits the error text in a row, in bytes.
const maxError = 500

// errorText returns the text of an error for a row. Postgres cannot store NUL.
func errorText(err error) string {
	text := strings.ReplaceAll(strings.ToValidUTF8(err.Error(), "?"), "\x00", "?")
	if len(text) > maxError {
		text = strings.ToValidUTF8(text[:maxError], "")
	}
	return text
}
