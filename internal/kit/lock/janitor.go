package lock

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// janitor removes from a node what attempts left there that nobody has any more:
// what was granted too late, or perhaps. It has a goroutine while it has work.
type janitor struct {
	client redis.UniversalClient
	tasks  *tasks
	life   context.Context //nolint:containedctx // of the Locker: what does not work then is left to end by itself

	mu   sync.Mutex
	work []remains
	busy bool
	more chan struct{} // there is new work; it has room for one
}

// remains is a claim that may have left its key.
type remains struct {
	claim *claim
	sure  bool          // nothing of it is under way any more: once the node answers, it is done
	until time.Time     // it is worth the trouble: the key of a claim that was carried out ends by itself then
	due   time.Time     // when it is tried again
	pause time.Duration // before that
}

const (
	janitorBatch = 500
	janitorPause = 100 * time.Millisecond // before the second attempt at a key, doubled before each later one
	janitorRare  = 5 * time.Second        // at most
	janitorMost  = 20_000                 // of what is waited for; the oldest ends by itself
)

func (j *janitor) remove(r remains) {
	j.mu.Lock()
	j.work = append(j.work, r)
	if over := len(j.work) - janitorMost; over > 0 {
		j.work = slices.Delete(j.work, 0, over)
	}
	if !j.busy {
		j.busy = j.tasks.run(j.run)
	}
	j.mu.Unlock()
	select {
	case j.more <- struct{}{}:
	default:
	}
}

// run works until nothing is left. What the node did not answer is repeated; so is
// what it answered, if the attempt itself may arrive later yet.
func (j *janitor) run() {
	for {
		batch, next, ok := j.take()
		if !ok {
			return
		}
		if len(batch) > 0 {
			j.sweep(batch)
			continue
		}
		timer := time.NewTimer(time.Until(next))
		select {
		case <-timer.C:
		case <-j.more:
		case <-j.life.Done():
			j.leave()
		}
		timer.Stop()
	}
}

// take takes what is due, or says when something will be.
func (j *janitor) take() (batch []remains, next time.Time, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := time.Now()
	j.work = slices.DeleteFunc(j.work, func(r remains) bool {
		switch {
		case now.After(r.until):
			return true
		case len(batch) < janitorBatch && !r.due.After(now):
			batch = append(batch, r)
			return true
		}
		if next.IsZero() || r.due.Before(next) {
			next = r.due
		}
		return false
	})
	if len(batch)+len(j.work) == 0 {
		j.busy = false
		return nil, next, false
	}
	return batch, next, true
}

// leave gives up what was tried before.
func (j *janitor) leave() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.work = slices.DeleteFunc(j.work, func(r remains) bool { return !r.due.IsZero() })
}

// sweep removes a batch in one round trip.
func (j *janitor) sweep(batch []remains) {
	ctx, cancel := context.WithTimeout(context.Background(), janitorTimeout)
	defer cancel()
	pipe := j.client.Pipeline()
	cmds := make([]*redis.Cmd, len(batch))
	for i, r := range batch {
		cmds[i] = releaseScript.Eval(ctx, pipe, r.claim.keys.all(), r.claim.value, "")
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	j.mu.Lock()
	defer j.mu.Unlock()
	for i, r := range batch {
		if r.sure && cmds[i].Err() == nil || cmds[i].Val() == int64(1) {
			continue
		}
		r.pause = min(max(2*r.pause, janitorPause), janitorRare)
		r.due = time.Now().Add(r.pause)
		j.work = append(j.work, r)
	}
}

const janitorTimeout = 500 * time.Millisecond
