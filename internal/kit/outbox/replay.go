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
	replayTimeout = time.Minute           // of marking the jobs of a topic
	replayLook    = 50 * time.Millisecond // between two looks whether others are done
)

// ErrIncomplete is what [Box.Replay] returns when its time was over: all the jobs are
// waiting, and whoever runs a Box does those that are left.
var ErrIncomplete = errors.New("jobs are left to those who run the outbox")

// Replay has the jobs done once more that were done in the last time since, of
// those topics that keep them (see [Handler]); and so those that wait, whose
// attempts under way no longer count. It is for a store that may have lost what
// was done to it.
//
// It does them in this process, beside all who run the Box, and returns when none
// of them is left undone (done, parked or replaced) or ctx ends, with how many
// they were. Jobs added meanwhile do not count. Once all are waiting to be done,
// which the database remembers, the end of ctx is an [ErrIncomplete]: nothing is gained
// by calling it again, which would have those done anew that were done meanwhile.
func (b *Box) Replay(ctx context.Context, since time.Duration) (n int, err error) {
	b.Wait() // jobs that are done need not be done twice
	kept := slices.DeleteFunc(slices.Clone(b.topics), func(topic string) bool { return b.handlers[topic].Retention <= 0 })
	return b.replay(ctx, kept, since)
}

// Drain does the jobs that wait now, of the topics that are kept (see
// [Handler]), without their pauses, and returns when none of them waits. It is
// for a store that takes writes again. Topics in except are left out.
//
// It returns an [ErrIncomplete] if ctx ends before that.
func (b *Box) Drain(ctx context.Context, except ...string) error {
	b.Wait() // as Replay does
	var newest int64
	if err := b.ask(ctx, &newest, b.sql.newest); err != nil {
		return fmt.Errorf("outbox: find the newest job: %w", err)
	}
	var waiting []string
	err := sqldb.Each(ctx, b.db, b.sql.unfinished, []any{newest}, func(rows *sql.Rows) error {
		var topic string
		var n int64
		err := rows.Scan(&topic, &n)
		if b.handlers[topic].Retention > 0 && !slices.Contains(except, topic) {
			waiting = append(waiting, topic)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("outbox: count the jobs that wait: %w", err)
	}
	if len(waiting) == 0 {
		return nil
	}
	_, err = b.replay(ctx, waiting, 0)
	return err
}

func (b *Box) replay(ctx context.Context, topics []string, since time.Duration) (n int, err error) {
	for _, topic := range topics {
		m, err := b.again(ctx, topic, since)
		if err != nil {
			return n, fmt.Errorf("outbox: replay %s: %w", topic, err)
		}
		n += int(m)
	}
	var newest int64
	if err := b.ask(ctx, &newest, b.sql.newest); err != nil {
		return n, fmt.Errorf("outbox: replay: find the newest job: %w", err)
	}
	b.alarm.set(0) // whoever runs in this process helps
	for {
		b.drain(ctx, topics)
		left, err := b.left(ctx, topics, newest)
		if ctx.Err() == nil && (err != nil || left == 0) {
			return n, err
		}
		wait, cancel := context.WithTimeout(ctx, replayLook)
		<-wait.Done()
		cancel()
		if err := ctx.Err(); err != nil {
			return n, fmt.Errorf("outbox: replay: %w: %w", ErrIncomplete, err)
		}
	}
}

// drain does what can be claimed of these topics and has it written.
func (b *Box) drain(ctx context.Context, topics []string) {
	for more := true; more && ctx.Err() == nil; {
		var jobs sync.WaitGroup
		free := b.free(topics)
		more = len(free) > 0 && b.take(ctx, &jobs, free)
		jobs.Wait()
	}
	b.Wait()
}

// again makes the jobs of a topic due.
func (b *Box) again(ctx context.Context, topic string, since time.Duration) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, replayTimeout)
	defer cancel()
	done, err := b.db.ExecContext(ctx, b.sql.replay, topic, since.Milliseconds())
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}

// left is how many jobs of these topics wait that are no newer than newest.
func (b *Box) left(ctx context.Context, topics []string, newest int64) (all int64, err error) {
	for _, topic := range topics {
		var n int64
		if err := b.ask(ctx, &n, b.sql.left, topic, newest); err != nil {
			return 0, fmt.Errorf("outbox: replay: count the jobs that are left of %s: %w", topic, err)
		}
		all += n
	}
	return all, nil
}

// ask reads a number.
func (b *Box) ask(ctx context.Context, into *int64, query string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	return one(ctx, b.db, query, args, into)
}

// HasPending reports whether a job of a topic waits, or is being done, by any process.
func (b *Box) HasPending(ctx context.Context, topic string) (waits bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	if err := one(ctx, b.db, b.sql.waiting, []any{topic}, &waits); err != nil {
		return false, fmt.Errorf("outbox: look for jobs of %s: %w", topic, err)
	}
	return waits, nil
}

// Unfinished returns what the jobs of a topic say that are not known to be done, by any process:
// up to most of them, in no order. A job that is not among them was done, or rolled back, or
// committed after the call.
func (b *Box) Unfinished(ctx context.Context, topic string, most int) (payloads [][]byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	err = sqldb.Each(ctx, b.db, b.sql.undone, []any{topic, most}, func(rows *sql.Rows) error {
		var payload []byte
		err := rows.Scan(&payload)
		payloads = append(payloads, payload)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("outbox: read the jobs of %s: %w", topic, err)
	}
	return payloads, nil
}

// Unpark has the parked jobs of a topic, or of all if it is "", tried again as if
// they had never failed, and returns how many they are. Who runs the Box finds
// them within Options.Poll.
func (b *Box) Unpark(ctx context.Context, topic string) (int64, error) {
	n, err := exec(ctx, b.db, b.sql.unpark, topic)
	if err != nil {
		return 0, fmt.Errorf("outbox: unpark jobs: %w", err)
	}
	b.alarm.set(0)
	return n, nil
}
