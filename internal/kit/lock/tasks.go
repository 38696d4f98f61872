package lock

import (
	"context"
	"sync"
)

// tasks are what goes on after a call returned: deletions that nobody waits for,
// renewals, calls of nodes that a quorum did not need. It can be told to take no
// more, which a WaitGroup cannot. The zero value is ready.
type tasks struct {
	mu     sync.Mutex
	n      int
	closed bool
	idle   chan struct{} // made by close, closed when n is 0
}

// enter counts a task in, unless the tasks are closed. A task that goes on may
// still begin others.
func (t *tasks) enter() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed && t.n == 0 {
		return false
	}
	t.n++
	return true
}

func (t *tasks) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n--
	if t.closed && t.n == 0 {
		close(t.idle)
	}
}

// run has f done by a goroutine of its own, as enter counts it.
func (t *tasks) run(f func()) bool {
	if !t.enter() {
		return false
	}
	go func() {
		defer t.leave()
		f()
	}()
	return true
}

// close takes no more tasks, and waits for those that go on.
func (t *tasks) close(ctx context.Context) error {
	t.mu.Lock()
	if !t.closed {
		t.closed = true
		t.idle = make(chan struct{})
		if t.n == 0 {
			close(t.idle)
		}
	}
	idle := t.idle
	t.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
