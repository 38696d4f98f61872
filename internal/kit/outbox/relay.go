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

// A job is one that this process has claimed.
type job struct {
	id              int64
	topic           string
	payload         []byte
	tries, failures int // this try counts, this failure not yet
}

// workerPool counts the jobs that this process does right now.
type workerPool struct {
	mu   sync.Mutex
	busy map[string]int // by topic
}

// Run claims jobs that are due and does them, until ctx ends; then it finishes
// what is in hand, writes the results and returns nil. It also keeps the
// gauges, and replaces pile-ups; deleting what was kept is [Box.Sweep]'s. Any number of processes may do so at once.
func (b *Box) Run(ctx context.Context) error {
	var all sync.WaitGroup
	all.Go(func() { b.tend(ctx) })
	var jobs sync.WaitGroup
	for ctx.Err() == nil {
		if !b.look(ctx, &jobs) {
			b.alarm.wait(ctx, b.o.Poll)
		}
	}
	jobs.Wait()
	all.Wait()
	b.Wait()
	return nil
}

// Wake has [Box.Run] look for jobs that are due, at most a hundred times a second. It is
// for the writer of a [Handler].Queued job, after its commit. It does not block.
func (b *Box) Wake() { b.alarm.set(soon) }

// look begins the jobs that are due and sets the alarm for the next one. It reports
// whether more jobs may be due.
func (b *Box) look(ctx context.Context, jobs *sync.WaitGroup) (more bool) {
	topics := b.free(b.topics)
	if len(topics) == 0 {
		return false // do sets the alarm when one is free
	}
	due, next, err := b.next(ctx, topics)
	if err != nil {
		if ctx.Err() == nil {
			b.complain(ctx, claiming, err)
		}
		return false
	}
	if next.Valid {
		b.alarm.set(time.Duration(next.Int64) * time.Millisecond)
	}
	return due && b.take(ctx, jobs, topics)
}

// next reads whether a job of these topics is due, and in how many milliseconds the next
// one will be.
//
// Like claim and settle, it is planned anew each time. These statements are few, and a
// plan that was made for a small table would read all of a table that has grown.
func (b *Box) next(ctx context.Context, topics []string) (due bool, next sql.NullInt64, err error) {
	names, err := json.Marshal(topics)
	if err != nil {
		return false, next, fmt.Errorf("encode topics: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	if err := one(ctx, b.db, b.sql.look, []any{string(names)}, &due, &next); err != nil {
		return false, next, fmt.Errorf("look for jobs: %w", err)
	}
	return due, next, nil
}

// take claims jobs of these topics and begins all of them. It reports whether
// there may be more. jobs is done when they are.
func (b *Box) take(ctx context.Context, jobs *sync.WaitGroup, topics []string) (more bool) {
	list, err := b.claim(ctx, topics)
	if err != nil {
		if ctx.Err() == nil {
			b.complain(ctx, claiming, err)
		}
		return false
	}
	for _, j := range list {
		b.hands.mu.Lock()
		b.hands.busy[j.topic]++
		b.hands.mu.Unlock()
		jobs.Go(func() { b.do(context.WithoutCancel(ctx), j) })
	}
	return len(list) == b.o.Batch
}

// free are the topics of which this process may take more: those with at most
// half a batch in hand. So what waits for its handler is never more than a claim
// and a half of each topic, and one whose handler hangs is in nobody's way.
func (b *Box) free(topics []string) []string {
	b.hands.mu.Lock()
	defer b.hands.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(topics), func(topic string) bool { return b.hands.busy[topic] > b.o.Batch/2 })
}

// claim takes up to a batch of due jobs. It is not cut short by the end of ctx:
// what a claim took that nobody heard of would wait for the end of its lease.
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

// do does one job and has its end written.
func (b *Box) do(ctx context.Context, j job) {
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
	b.hands.mu.Lock()
	defer b.hands.mu.Unlock()
	b.hands.busy[j.topic]--
	if b.hands.busy[j.topic] == b.o.Batch/2 {
		b.alarm.set(0) // the topic is free again
	}
}

// call calls a part of a handler, in its time. A panic is an error; about, names and
// values, says in the log what it was called for.
func (b *Box) call(ctx context.Context, do func(context.Context) error, about ...any) (err error) {
	ctx, cancel := context.WithTimeout(ctx, b.o.Timeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			b.log.ErrorContext(ctx, "an outbox handler panicked", append(about, "err", err, "stack", string(debug.Stack()))...)
		}
	}()
	return do(ctx)
}

// failure is how an attempt ends that failed: in another try after a pause, or
// parked.
func (b *Box) failure(ctx context.Context, j job, err error) attempt {
	b.m.count(j.topic, failed)
	end := attempt{ID: j.id, Tries: j.tries, Error: brief(err), Failed: true}
	_, later := errors.AsType[laterError](err)
	switch {
	case later:
		end.Pause = b.pause(j.tries, min(b.o.MaxRetryDelay, 5*time.Second)).Milliseconds()
	case j.failures+1 >= b.o.MaxTries:
		end.Counts, end.Keep = 1, b.o.ParkedRetention.Milliseconds()
		b.m.count(j.topic, parked)
		b.log.ErrorContext(ctx, "an outbox job failed too often and is parked: see tandian outbox", "topic", j.topic, "job", j.id, "failures", j.failures+1, "err", err)
		return end
	default:
		end.Counts, end.Pause = 1, b.pause(j.failures+1, b.o.MaxRetryDelay).Milliseconds()
	}
	if b.failures.Allow() {
		b.log.WarnContext(ctx, "an outbox job failed and is tried again", "topic", j.topic, "job", j.id, "try", j.tries, "err", err)
	}
	return end
}

// pause is how long a job waits after its nth failure: doubled by each, up to
// most, and then up to half of it less by chance, so that jobs that failed
// together do not come back together.
func (b *Box) pause(n int, most time.Duration) time.Duration {
	d := most
	if n < 30 {
		d = min(b.o.RetryDelay<<(n-1), most)
	}
	return d - rand.N(d/2+1)
}

// maxError is how many bytes of an error a row keeps.
const maxError = 500

// brief is the text of an error as a row keeps it. Postgres has no place for NUL.
func brief(err error) string {
	text := strings.ReplaceAll(strings.ToValidUTF8(err.Error(), "?"), "\x00", "?")
	if len(text) > maxError {
		text = strings.ToValidUTF8(text[:maxError], "")
	}
	return text
}
