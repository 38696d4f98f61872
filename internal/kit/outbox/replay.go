package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

const (
	replayTimeout = time.Minute           // for marking the jobs of a topic
	replayPoll    = 50 * time.Millisecond // between two checks for unfinished jobs
)

// ErrIncomplete is returned by [Box.Replay] and [Box.Drain] if ctx ends first. All jobs are due
// then, and the processes that run a Box do the rest.
var ErrIncomplete = errors.New("jobs are unfinished")

// Replay repeats the finished jobs of the last duration since, of topics with a retention (see
// [Handler]). It also runs their waiting jobs, whose current attempts no longer count. It is for
// a store that may have lost writes.
//
// Replay runs the jobs in this process, in parallel with all processes that run the Box. It
// returns their number when all are done, parked or replaced. Jobs added meanwhile do not count.
// If ctx ends after all are marked as due, Replay returns [ErrIncomplete]. Do not call it again
// then: it would repeat jobs that were done meanwhile.
func (b *Box) Replay(ctx context.Context, since time.Duration) (n int, err error) {
	b.Wait() // results that are not written yet would repeat their jobs
	retained := slices.DeleteFunc(slices.Clone(b.topics), func(topic string) bool { return b.handlers[topic].Retention <= 0 })
	return b.replay(ctx, retained, since)
}

// Drain runs the jobs that wait now, of topics with a retention (see [Handler]), without their
// pauses. It skips the topics in except. It returns when none of them waits, or [ErrIncomplete]
// if ctx ends before. It is for a store that accepts writes again.
func (b *Box) Drain(ctx context.Context, except ...string) error {
	b.Wait() // as Replay does
	var newest int64
	if err := b.queryInt(ctx, &newest, b.sql.newest); err != nil {
		return fmt.Errorf("find newest outbox job: %w", err)
	}
	var waiting []string
	err := sqldb.Each(ctx, b.db, b.sql.unfinishedCounts, []any{newest}, func(rows *sql.Rows) error {
		var topic string
		var n int64
		err := rows.Scan(&topic, &n)
		if b.handlers[topic].Retention > 0 && !slices.Contains(except, topic) {
			waiting = append(waiting, topic)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("count waiting outbox jobs: %w", err)
	}
	if len(waiting) == 0 {
		return nil
	}
	_, err = b.replay(ctx, waiting, 0)
	return err
}

func (b *Box) replay(ctx context.Context, topics []string, since time.Duration) (n int, err error) {
	for _, topic := range topics {
		m, err := b.markDue(ctx, topic, since)
		if err != nil {
			return n, fmt.Errorf("replay outbox jobs of %s: %w", topic, err)
		}
		n += int(m)
	}
	var newest int64
	if err := b.queryInt(ctx, &newest, b.sql.newest); err != nil {
		return n, fmt.Errorf("replay outbox jobs: find newest job: %w", err)
	}
	b.timer.set(0) // Run in this process helps
	for {
		b.drain(ctx, topics)
		left, err := b.countWaiting(ctx, topics, newest)
		if ctx.Err() == nil && (err != nil || left == 0) {
			return n, err
		}
		wait, cancel := context.WithTimeout(ctx, replayPoll)
		<-wait.Done()
		cancel()
		if err := ctx.Err(); err != nil {
			return n, fmt.Errorf("replay outbox jobs: %w: %w", ErrIncomplete, err)
		}
	}
}

// drain runs the jobs of these topics that can be claimed, and writes their results.
func (b *Box) drain(ctx context.Context, topics []string) {
	for more := true; more && ctx.Err() == nil; {
		var jobs sync.WaitGroup
		free := b.free(topics)
		more = len(free) > 0 && b.startDue(ctx, &jobs, free)
		jobs.Wait()
	}
	b.Wait()
}

func (b *Box) markDue(ctx context.Context, topic string, since time.Duration) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, replayTimeout)
	defer cancel()
	result, err := b.db.ExecContext(ctx, b.sql.replay, topic, since.Milliseconds())
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (b *Box) countWaiting(ctx context.Context, topics []string, newest int64) (all int64, err error) {
	for _, topic := range topics {
		var n int64
		if err := b.queryInt(ctx, &n, b.sql.waitingCount, topic, newest); err != nil {
			return 0, fmt.Errorf("count waiting outbox jobs of %s: %w", topic, err)
		}
		all += n
	}
	return all, nil
}

func (b *Box) queryInt(ctx context.Context, dest *int64, query string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	return queryOne(ctx, b.db, query, args, dest)
}

// HasPending reports whether a job of a topic waits or runs in any process.
func (b *Box) HasPending(ctx context.Context, topic string) (pending bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	if err := queryOne(ctx, b.db, b.sql.waiting, []any{topic}, &pending); err != nil {
		return false, fmt.Errorf("check outbox jobs of %s: %w", topic, err)
	}
	return pending, nil
}

// Unfinished returns the payloads of up to limit unfinished jobs of a topic, including parked
// ones, in no order. If it returns fewer, any other job is done, was rolled back, or committed
// after the call.
func (b *Box) Unfinished(ctx context.Context, topic string, limit int) (payloads [][]byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	err = sqldb.Each(ctx, b.db, b.sql.unfinishedPayloads, []any{topic, limit}, func(rows *sql.Rows) error {
		var payload []byte
		err := rows.Scan(&payload)
		payloads = append(payloads, payload)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read outbox jobs of %s: %w", topic, err)
	}
	return payloads, nil
}

// Unpark resets the parked jobs of a topic, or of all topics if it is "", as if they had never
// failed. It returns their number. Processes that run the Box find them within Options.Poll.
func (b *Box) Unpark(ctx context.Context, topic string) (int64, error) {
	n, err := exec(ctx, b.db, b.sql.unpark, topic)
	if err != nil {
		return 0, fmt.Errorf("unpark outbox jobs: %w", err)
	}
	b.timer.set(0)
	return n, nil
}
