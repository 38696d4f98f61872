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
	for _, h := range d.sessions.markSuspect(sessions) {
		d.sessions.scheduleRecheck(h)
	}
}

// A sessionConn holds a session: a socket or an event stream.
type sessionConn interface {
	// recheckSession looks whether the session still is, and ends the holder if not.
	recheckSession()
}

// sessionIndex are those of all sessions. They are safe for concurrent use. Sessions with a
// holder take memory, and for a while those that were doubted.
type sessionIndex struct {
	sem  chan struct{} // as many look at once
	work sync.WaitGroup

	mu        sync.Mutex
	conns     map[string][]sessionConn // seldom more than one
	suspects  [2]map[string]bool       // sessions that were to be looked at lately: since aged, and before
	rotatedAt time.Time
}

const (
	maxRechecks = 64               // at once
	suspectTime = 10 * time.Second // at least; longer than an Admit takes
	maxSuspects = 10_000           // sessions; with more at once, the oldest are doubted for less long
)

func newSessionIndex() *sessionIndex {
	return &sessionIndex{sem: make(chan struct{}, maxRechecks), conns: map[string][]sessionConn{}}
}

// add notes that a session is held, until leave is called.
func (s *sessionIndex) add(session string, h sessionConn) (release func()) {
	if session == "" {
		return func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[session] = append(s.conns[session], h)
	s.rotate(false)
	if s.suspects[0][session] || s.suspects[1][session] {
		s.scheduleRecheck(h)
	}
	return func() { s.remove(session, h) }
}

// scheduleRecheck has one look at its session, soon.
func (s *sessionIndex) scheduleRecheck(h sessionConn) {
	s.work.Go(func() {
		s.sem <- struct{}{}
		defer func() { <-s.sem }()
		h.recheckSession()
	})
}

func (s *sessionIndex) remove(session string, h sessionConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns[session] = slices.DeleteFunc(s.conns[session], func(one sessionConn) bool { return one == h }); len(s.conns[session]) == 0 {
		delete(s.conns, session)
	}
}

// markSuspect remembers sessions for a while, and returns who holds them.
func (s *sessionIndex) markSuspect(sessions []string) (list []sessionConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, session := range sessions {
		list = append(list, s.conns[session]...)
		s.rotate(len(s.suspects[0]) >= maxSuspects)
		if s.suspects[0] == nil {
			s.suspects[0] = map[string]bool{}
		}
		s.suspects[0][session] = true
	}
	return list
}

// rotate forgets the older doubts when the newer ones are old, or are to be taken for that. It
// is for those who hold the mutex.
func (s *sessionIndex) rotate(now bool) {
	old := time.Since(s.rotatedAt)
	if old <= suspectTime && !now {
		return
	}
	s.suspects[0], s.suspects[1] = nil, s.suspects[0]
	if old > 2*suspectTime {
		s.suspects[1] = nil
	}
	s.rotatedAt = time.Now()
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
