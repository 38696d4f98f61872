package gqlserver

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Recheck verifies sessions for all of their sockets and event streams now, not only after
// Limits.Recheck. It includes connections opened within the next 10 s, which may have
// authenticated before the session ended. Recheck does not wait. See [AuthResult] for sessions.
func (d *Server) Recheck(sessions ...string) {
	for _, h := range d.sessions.markSuspect(sessions) {
		d.sessions.scheduleRecheck(h)
	}
}

// A sessionConn is a socket or an event stream with a session.
type sessionConn interface {
	// recheckSession verifies the session and ends the connection if it has ended.
	recheckSession()
}

// A sessionIndex holds the connections of sessions and, for a while, suspected sessions. It is
// safe for concurrent use.
type sessionIndex struct {
	sem  chan struct{} // one element for each running check
	work sync.WaitGroup

	mu        sync.Mutex
	conns     map[string][]sessionConn // usually one for each session
	suspects  [2]map[string]bool       // sessions to verify: since rotatedAt, and before
	rotatedAt time.Time
}

const (
	maxRechecks = 64               // in parallel
	suspectTime = 10 * time.Second // minimum; longer than an Authenticate takes
	maxSuspects = 10_000           // sessions; beyond that, the oldest expire early
)

func newSessionIndex() *sessionIndex {
	return &sessionIndex{sem: make(chan struct{}, maxRechecks), conns: map[string][]sessionConn{}}
}

// add registers a connection until release is called. It rechecks a suspected session.
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

// markSuspect stores sessions for a while and returns their connections.
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

// rotate drops the older suspects and ages the newer ones, once per suspectTime or if now is set.
// The caller holds mu.
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

func (s *sessionIndex) wait(ctx context.Context) error {
	return waitFor(ctx, &s.work, "check sessions")
}

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
