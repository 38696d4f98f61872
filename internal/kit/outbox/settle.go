package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

const (
	settleBatch = 500    // attempts of one statement
	maxEnded    = 20_000 // attempts that wait to be written
)

// An attempt at a job that has ended, as the statements take it.
type attempt struct {
	ID     int64  `json:"id"`
	Tries  int    `json:"tries"`  // which attempt; 0 is the writer's
	Keep   int64  `json:"keep"`   // milliseconds; of one that failed: parked, and for so long
	Pause  int64  `json:"pause"`  // milliseconds
	Counts int    `json:"counts"` // 1: the failure is the job's own fault
	Error  string `json:"error"`

	failed bool
}

// Settle says, after the commit, how the writer's own attempt at its jobs ended.
// Without an error they are done, which is written in the background, together
// with what others settle; [Box.Wait] waits for that. After an error they are left
// to whoever runs the Box. Zero tickets are overlooked. It does not block, and
// needs no Run.
//
// A writer that took longer than the head start may find its jobs claimed: then
// they are done twice, and who claimed them ends them.
func (b *Box) Settle(ctx context.Context, err error, tickets ...Ticket) {
	var ended []attempt
	for _, t := range tickets {
		switch {
		case t.id == 0:
		case err != nil:
			b.m.count(t.topic, failed)
			if b.failures.Due() {
				b.log.WarnContext(ctx, "what follows a commit failed; the outbox does it", "topic", t.topic, "job", t.id, "err", err)
			}
			b.Kick()
		default:
			b.m.count(t.topic, atOnce)
			ended = append(ended, attempt{ID: t.id, Keep: b.handlers[t.topic].Keep.Milliseconds()})
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
	b.ended = append(b.ended, ended...)
	if len(b.ended) > 0 && !b.settling {
		b.settling = true
		go b.settle(context.WithoutCancel(ctx))
	}
}

// settle writes what has ended until there is nothing left.
func (b *Box) settle(ctx context.Context) {
	for {
		b.mu.Lock()
		batch := b.ended[:min(len(b.ended), settleBatch)]
		b.ended = b.ended[len(batch):]
		if len(batch) == 0 {
			b.ended, b.settling = nil, false
			b.settled.Broadcast()
			b.mu.Unlock()
			return
		}
		b.mu.Unlock()
		// What cannot be written will be done again: when its lease is over, or its
		// head start.
		if err := b.write(ctx, batch); err != nil {
			b.complain(ctx, settling, err)
		}
	}
}

// Wait returns when all that was settled before is written, or could not be.
func (b *Box) Wait() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.settling {
		b.settled.Wait()
	}
}

// write writes how attempts ended, by one statement for each way to end.
func (b *Box) write(ctx context.Context, batch []attempt) error {
	var done, kept, again []attempt
	for _, a := range batch {
		switch {
		case a.failed:
			again = append(again, a)
		case a.Keep > 0:
			kept = append(kept, a)
		default:
			done = append(done, a)
		}
	}
	return errors.Join(
		b.writeBy(ctx, b.sql.delete, done),
		b.writeBy(ctx, b.sql.keep, kept),
		b.writeBy(ctx, b.sql.fail, again),
	)
}

func (b *Box) writeBy(ctx context.Context, statement string, list []attempt) error {
	if len(list) == 0 {
		return nil
	}
	text, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("write down attempts: %w", err)
	}
	if _, err := exec(ctx, b.db, statement, string(text)); err != nil {
		return fmt.Errorf("end %d attempts: %w", len(list), err)
	}
	for _, a := range list {
		if a.failed && a.Keep == 0 {
			b.alarm.set(time.Duration(a.Pause) * time.Millisecond) // it counts from now
		}
	}
	return nil
}
