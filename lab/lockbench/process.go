package lockbench

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/lock"
	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
)

// setting configures the locks of a process.
type setting struct {
	URLs   []string
	Prefix string
	Alone  bool // use redsync instead of package lock
}

// question requests an action of a process, on the lock of a name.
type question struct {
	Do      action
	Name    string
	Waiters int           // of crowd
	Times   int           // of crowd: acquisitions of each waiter
	Hold    time.Duration // of crowd: time per acquisition
	For     time.Duration // of crowd: maximum duration
}

type action string

const (
	take  action = "take"  // waits for the lock and holds it
	give  action = "give"  // releases it
	crowd action = "crowd" // runs waiters that take the lock in turn and release it soon
)

// answer is the result of an action.
type answer struct {
	Turns    []turn
	Attempts int64 // so far
	Err      string
}

// turn is one period of holding a lock, in unix nanoseconds: processes of one machine share a
// clock.
type turn struct {
	Granted  int64
	Released int64 // when its release began
}

// Process runs one process of a measurement that needs several.
func Process(ctx context.Context, in io.Reader, out io.Writer) error {
	return subprocess.Serve(in, out, func(s setting) (func(question) answer, error) {
		p := new(process)
		var err error
		p.locking, _, err = lockConfig{alone: s.Alone, urls: s.URLs, patient: true, attempts: &p.attempts, Options: lock.Options{Prefix: s.Prefix}}.open(ctx)
		if err != nil {
			return nil, err
		}
		return func(q question) answer { return p.do(ctx, q) }, nil
	})
}

type process struct {
	locking  locking // it ends with the process
	attempts atomic.Int64

	mu    sync.Mutex
	lease held // of take
	turns []turn
}

func (p *process) do(ctx context.Context, q question) answer {
	var err error
	var a answer
	switch q.Do {
	case take:
		a.Turns, err = p.take(ctx, q.Name)
	case give:
		a.Turns, err = p.give(ctx)
	case crowd:
		a.Turns, err = p.crowd(ctx, q)
	default:
		err = fmt.Errorf("unknown action %q", q.Do)
	}
	if a.Attempts = p.attempts.Load(); err != nil {
		a.Err = err.Error()
	}
	return a
}

func (p *process) take(ctx context.Context, name string) ([]turn, error) {
	h, err := p.locking.acquire(ctx, name)
	granted := time.Now().UnixNano()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lease = h
	return []turn{{Granted: granted}}, err
}

func (p *process) give(ctx context.Context) ([]turn, error) {
	p.mu.Lock()
	h := p.lease
	p.mu.Unlock()
	released := time.Now().UnixNano()
	return []turn{{Released: released}}, h.Release(ctx)
}

func (p *process) crowd(ctx context.Context, q question) ([]turn, error) {
	ctx, cancel := context.WithTimeout(ctx, q.For)
	defer cancel()
	var all sync.WaitGroup
	var first error
	for range q.Waiters {
		all.Go(func() {
			for range q.Times {
				t, err := p.once(ctx, q)
				p.mu.Lock()
				if err == nil {
					p.turns = append(p.turns, t)
				} else if ctx.Err() == nil && first == nil {
					first = err
				}
				p.mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	all.Wait()
	return p.turns, first
}

func (p *process) once(ctx context.Context, q question) (turn, error) {
	h, err := p.locking.acquire(ctx, q.Name)
	t := turn{Granted: time.Now().UnixNano()}
	if err != nil {
		return t, err
	}
	_ = clock.Sleep(ctx, q.Hold)
	t.Released = time.Now().UnixNano()
	return t, h.Release(context.WithoutCancel(ctx))
}
