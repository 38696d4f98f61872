package outbox

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

const (
	settleBatch   = 500    // attempts of one statement
	maxEnded      = 20_000 // attempts that wait to be written
	maxFlushAfter = 100 * time.Millisecond
)

// An attempt at a job that has ended, as the statements take it.
type attempt struct {
	ID     int64  `json:"id"`
	Tries  int    `json:"tries,omitempty"`  // which attempt; 0 is the writer's
	Keep   int64  `json:"keep,omitempty"`   // milliseconds; of one that failed: parked, and for so long
	Failed bool   `json:"failed,omitempty"` // the job was not done
	Pause  int64  `json:"pause,omitempty"`  // milliseconds
	Counts int    `json:"counts,omitempty"` // 1: the failure is the job's own fault
	Error  string `json:"error,omitempty"`
}

// Finish reports, after the commit, how the writer's own attempt at its jobs ended.
// Without an error they are done, which is written in the background within 100 ms,
// together with what others settle; [Box.Wait] waits for that. After an error any
// process that runs the Box does them, after a short pause. Zero tickets are ignored.
// Settle does not block, and needs no Run.
//
// A writer that took longer than the head start may find its jobs claimed: then
// they are done twice, and the process that claimed them ends them.
func (b *Box) Finish(ctx context.Context, err error, tickets ...JobRef) {
	ended := make([]attempt, 0, len(tickets))
	for _, t := range tickets {
		switch {
		case t.id == 0:
		case err != nil:
			b.m.count(t.topic, failed)
			if b.failures.Allow() {
				b.log.WarnContext(ctx, "what follows a commit failed; the outbox does it", "topic", t.topic, "job", t.id, "err", err)
			}
			ended = append(ended, attempt{ID: t.id, Failed: true, Error: brief(err), Pause: b.pause(1, b.o.MaxRetryDelay).Milliseconds()})
		default:
			b.m.count(t.topic, atOnce)
			ended = append(ended, attempt{ID: t.id, Keep: b.handlers[t.topic].Retention.Milliseconds()})
		}
	}
	b.end(ctx, ended...)
}

// end has attempts written as ended. What finds no room is left as it is: its
// job will be done again.
func (b *Box) end(ctx context.Context, ended ...attempt) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if room := maxEnded - len(b.ended); len(ended) > room {
		b.complain(ctx, overflowed, fmt.Errorf("%d ended attempts wait to be written", len(b.ended)))
		ended = ended[:room]
	}
	if len(ended) == 0 {
		return
	}
	b.ended = append(b.ended, ended...)
	b.added += len(ended)
	for _, a := range ended {
		if a.Failed { // its pause begins when it is written
			b.urgent = b.added
		}
	}
	if b.ready() {
		b.wake()
	}
	if !b.settling {
		b.settling = true
		go b.settle(context.WithoutCancel(ctx))
	}
}

// ready reports whether ended attempts are to be written without delay.
func (b *Box) ready() bool { return b.written < b.urgent || len(b.ended) >= settleBatch }

func (b *Box) wake() {
	select {
	case b.hurry <- struct{}{}:
	default:
	}
}

// settle writes what has ended until there is nothing left.
func (b *Box) settle(ctx context.Context) {
	timer := time.NewTimer(b.flushAfter)
	defer timer.Stop()
	for {
		b.mu.Lock()
		if len(b.ended) == 0 {
			b.ended, b.settling = nil, false
			b.mu.Unlock()
			return
		}
		ready := b.ready()
		b.mu.Unlock()
		for timer.Reset(b.flushAfter); !ready; {
			select {
			case <-timer.C:
				ready = true
			case <-b.hurry: // it may be an old one
				b.mu.Lock()
				ready = b.ready()
				b.mu.Unlock()
			}
		}
		b.flush(ctx)
	}
}

// flush writes a batch of what has ended.
func (b *Box) flush(ctx context.Context) {
	b.mu.Lock()
	batch := b.ended[:min(len(b.ended), settleBatch)]
	b.ended = b.ended[len(batch):]
	b.mu.Unlock()
	// What cannot be written will be done again: when its lease is over, or its
	// head start.
	if err := b.write(ctx, batch); err != nil {
		b.complain(ctx, settling, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.written += len(batch)
	b.settled.Broadcast()
}

// Wait returns when all that was settled before is written, or could not be. It has that
// written without delay.
func (b *Box) Wait() {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.added
	b.urgent = all
	b.wake()
	for b.written < all {
		b.settled.Wait()
	}
}

// write writes how attempts ended, without waiting for the disk.
func (b *Box) write(ctx context.Context, batch []attempt) error {
	list, err := json.Marshal(batch)
	if err != nil {
		return fmt.Errorf("encode attempts: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	if err := b.writeList(ctx, string(list)); err != nil {
		return fmt.Errorf("end %d attempts: %w", len(batch), err)
	}
	for _, a := range batch {
		if a.Failed && a.Keep == 0 {
			b.alarm.set(time.Duration(a.Pause) * time.Millisecond) // it counts from now
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
	defer func() { _ = tx.Rollback() }() // after the commit it does nothing
	for _, statement := range b.sql.settle {
		if _, err := tx.ExecContext(ctx, statement, list); err != nil {
			return err
		}
	}
	return tx.Commit()
}
