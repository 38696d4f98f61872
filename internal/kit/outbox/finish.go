package outbox

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

const (
	flushBatch    = 500    // attempts per statement
	maxEnded      = 20_000 // attempts that wait to be written
	maxFlushAfter = 100 * time.Millisecond
)

// An attempt is an ended attempt at a job, in the encoding that the statements read.
type attempt struct {
	ID     int64  `json:"id"`
	Tries  int    `json:"tries,omitempty"`  // number of the attempt; 0 is the writer's
	Keep   int64  `json:"keep,omitempty"`   // milliseconds; if Failed, the job is parked for that time
	Failed bool   `json:"failed,omitempty"` // the attempt failed
	Pause  int64  `json:"pause,omitempty"`  // milliseconds
	Counts int    `json:"counts,omitempty"` // 1: the failure is the job's own fault
	Error  string `json:"error,omitempty"`
}

// Finish reports, after the commit, the result of the writer's own attempt at its jobs. Without
// an error the jobs are done: this is written in the background within 100 ms, and [Box.Wait]
// waits for it. After an error any process that runs the Box retries them after a short pause.
// Finish ignores zero JobRefs. It does not block and does not need Run.
//
// If the writer took longer than the head start, another process may have claimed its jobs. Then
// they run twice, and the process that claimed them ends them.
func (b *Box) Finish(ctx context.Context, err error, refs ...JobRef) {
	ended := make([]attempt, 0, len(refs))
	for _, t := range refs {
		switch {
		case t.id == 0:
		case err != nil:
			b.m.count(t.topic, failed)
			if b.jobWarnings.Allow() {
				b.log.WarnContext(ctx, "work after commit failed, retrying", "topic", t.topic, "job", t.id, "err", err)
			}
			ended = append(ended, attempt{ID: t.id, Failed: true, Error: errorText(err), Pause: b.retryDelay(1, b.o.MaxRetryDelay).Milliseconds()})
		default:
			b.m.count(t.topic, atOnce)
			ended = append(ended, attempt{ID: t.id, Keep: b.handlers[t.topic].Retention.Milliseconds()})
		}
	}
	b.end(ctx, ended...)
}

// end queues ended attempts to be written. If the queue is full, it drops the rest: their jobs
// will run again.
func (b *Box) end(ctx context.Context, ended ...attempt) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if capacity := maxEnded - len(b.ended); len(ended) > capacity {
		b.recordFailure(ctx, overflowed, fmt.Errorf("queue of %d ended attempts is full", len(b.ended)))
		ended = ended[:capacity]
	}
	if len(ended) == 0 {
		return
	}
	b.ended = append(b.ended, ended...)
	b.added += len(ended)
	for _, a := range ended {
		if a.Failed { // its pause starts when it is written
			b.urgent = b.added
		}
	}
	if b.ready() {
		b.signalFlush()
	}
	if !b.flushing {
		b.flushing = true
		go b.flushLoop(context.WithoutCancel(ctx))
	}
}

// ready reports whether ended attempts must be written without delay.
func (b *Box) ready() bool { return b.written < b.urgent || len(b.ended) >= flushBatch }

func (b *Box) signalFlush() {
	select {
	case b.flushNow <- struct{}{}:
	default:
	}
}

// flushLoop writes ended attempts until none is left.
func (b *Box) flushLoop(ctx context.Context) {
	timer := time.NewTimer(b.flushAfter)
	defer timer.Stop()
	for {
		b.mu.Lock()
		if len(b.ended) == 0 {
			b.ended, b.flushing = nil, false
			b.mu.Unlock()
			return
		}
		ready := b.ready()
		b.mu.Unlock()
		for timer.Reset(b.flushAfter); !ready; {
			select {
			case <-timer.C:
				ready = true
			case <-b.flushNow: // the signal may be outdated
				b.mu.Lock()
				ready = b.ready()
				b.mu.Unlock()
			}
		}
		b.flush(ctx)
	}
}

func (b *Box) flush(ctx context.Context) {
	b.mu.Lock()
	batch := b.ended[:min(len(b.ended), flushBatch)]
	b.ended = b.ended[len(batch):]
	b.mu.Unlock()
	// A job whose result cannot be written runs again, after its lease or its head start.
	if err := b.write(ctx, batch); err != nil {
		b.recordFailure(ctx, settling, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.written += len(batch)
	b.flushed.Broadcast()
}

// Wait writes all results reported so far. It returns when each is written or has failed.
func (b *Box) Wait() {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.added
	b.urgent = all
	b.signalFlush()
	for b.written < all {
		b.flushed.Wait()
	}
}

func (b *Box) write(ctx context.Context, batch []attempt) error {
	list, err := json.Marshal(batch)
	if err != nil {
		return fmt.Errorf("encode attempts: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	if err := b.writeList(ctx, string(list)); err != nil {
		return fmt.Errorf("write %d results: %w", len(batch), err)
	}
	for _, a := range batch {
		if a.Failed && a.Keep == 0 {
			b.timer.set(time.Duration(a.Pause) * time.Millisecond) // the pause starts now
		}
	}
	return nil
}

func (b *Box) writeList(ctx context.Context, list string) error {
	if len(b.sql.settle) == 1 {
		_, err := b.db.ExecContext(ctx, b.sql.settle[0], list)
		return err
	}
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // no-op after the commit
	for _, statement := range b.sql.settle {
		if _, err := tx.ExecContext(ctx, statement, list); err != nil {
			return err
		}
	}
	return tx.Commit()
}
