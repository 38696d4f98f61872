package gqlserver

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Recheck has the sockets and event streams of these sessions, see [AuthResult], look at
// once whether it still is, as they else do every Limits.Recheck; so do those that open
// within moments, which may have asked before the session ended. It does not wait for them.
func (d *Server) Recheck(sessions ...string) {
	for _, h := range d.holders.doubt(sessions) {
		d.holders.look(h)
	}
}

// A sessionConn holds a session: a socket or an event stream.
type sessionConn interface {
	// lookAgain looks whether the session still is, and ends the holder if not.
	lookAgain()
}

// sessionIndex are those of all sessions. They are safe for concurrent use. Sessions with a
// holder take memory, and for a while those that were doubted.
type sessionIndex struct {
	gate chan struct{} // as many look at once
	work sync.WaitGroup

	mu      sync.Mutex
	by      map[string][]sessionConn // seldom more than one
	doubted [2]map[string]bool       // sessions that were to be looked at lately: since aged, and before
	aged    time.Time
}

const (
	maxRechecks = 64               // at once
	doubtTime   = 10 * time.Second // at least; longer than an Admit takes
	maxDoubted  = 10_000           // sessions; with more at once, the oldest are doubted for less long
)

func newHolders() *sessionIndex {
	return &sessionIndex{gate: make(chan struct{}, maxRechecks), by: map[string][]sessionConn{}}
}

// add notes that a session is held, until leave is called.
func (s *sessionIndex) add(session string, h sessionConn) (leave func()) {
	if session == "" {
		return func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.by[session] = append(s.by[session], h)
	s.age(false)
	if s.doubted[0][session] || s.doubted[1][session] {
		s.look(h)
	}
	return func() { s.remove(session, h) }
}

// look has one look at its session, soon.
func (s *sessionIndex) look(h sessionConn) {
	s.work.Go(func() {
		s.gate <- struct{}{}
		defer func() { <-s.gate }()
		h.lookAgain()
	})
}

func (s *sessionIndex) remove(session string, h sessionConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by[session] = slices.DeleteFunc(s.by[session], func(one sessionConn) bool { return one == h }); len(s.by[session]) == 0 {
		delete(s.by, session)
	}
}

// doubt remembers sessions for a while, and returns who holds them.
func (s *sessionIndex) doubt(sessions []string) (list []sessionConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, session := range sessions {
		list = append(list, s.by[session]...)
		s.age(len(s.doubted[0]) >= maxDoubted)
		if s.doubted[0] == nil {
			s.doubted[0] = map[string]bool{}
		}
		s.doubted[0][session] = true
	}
	return list
}

// age forgets the older doubts when the newer ones are old, or are to be taken for that. It
// is for those who hold the mutex.
func (s *sessionIndex) age(now bool) {
	old := time.Since(s.aged)
	if old <= doubtTime && !now {
		return
	}
	s.doubted[0], s.doubted[1] = nil, s.doubted[0]
	if old > 2*doubtTime {
		s.doubted[1] = nil
	}
	s.aged = time.Now()
}

// wait returns when nobody looks any more, or when ctx ends.
func (s *sessionIndex) wait(ctx context.Context) error {
	return waitFor(ctx, &s.work, "look at sessions")
}

// waitFor waits for a group, but no longer than ctx.
func waitFor(ctx context.Context, work *sync.WaitGroup, doing string) error {
	done := make(chan struct{})
	go func() {
		work.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", doing, context.Cause(ctx))
	}
}
