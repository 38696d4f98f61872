package gqlserver

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
)

func TestRecheckEndsSocketOfEndedSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startPipeServer(t, Config{}, &http.Server{})
		for _, user := range []string{"ann", "bob"} {
			s.auth.set(user, AuthResult{User: user, Session: "of " + user})
		}
		ann, annToo, bob := s.subscribeAll(t, "ann", subscribeToA)[0], s.connectAs(t, "ann"), s.connectAs(t, "bob")
		ends := make(chan websocket.StatusCode, 2)
		for _, v := range []*wsClient{ann, annToo} {
			go func() {
				_, err := v.read()
				ends <- websocket.CloseStatus(err)
			}()
		}
		asked := s.auth.lookups()
		s.server.Recheck("of ann") // still valid
		synctest.Wait()
		if n := s.auth.lookups() - asked; n != 2 || len(ends) > 0 {
			t.Fatalf("got %d lookups and %d ended sockets, want 2 and 0", n, len(ends))
		}
		for _, user := range []string{"ann", "bob"} {
			s.auth.set(user, AuthResult{BadToken: true})
		}
		begin := time.Now()
		s.server.Recheck("of another", "of ann", "")
		for range 2 {
			if code := <-ends; code != statusForbidden {
				t.Errorf("got close code %d, want %d", code, statusForbidden)
			}
		}
		if took := time.Since(begin); took > time.Second {
			t.Errorf("closed after %v, want at most 1s", took)
		}
		bob.wantPong() // its session was not rechecked
		_ = bob.conn.CloseNow()
		synctest.Wait()
		if left := s.leftovers(); left != "" {
			t.Errorf("left behind: %s", left)
		}
	})
}

// A session may end between its lookup and the registration of its socket. The recheck ignores
// the lookup limit of the network.
func TestSocketOpenedDuringSessionEndIsRechecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startPipeServer(t, Config{Limits: Limits{AuthLookups: 1}}, &http.Server{})
		s.auth.set("ann", AuthResult{User: "ann", Session: "of ann"})
		s.server.Recheck("of ann")
		asked := s.auth.lookups()
		first := s.connectAs(t, "ann")
		synctest.Wait()
		if n := s.auth.lookups() - asked; n != 2 {
			t.Fatalf("got %d lookups, want 2", n)
		}
		s.auth.set("ann", AuthResult{BadToken: true})
		begin := time.Now()
		s.server.Recheck("of ann")
		if _, err := first.read(); websocket.CloseStatus(err) != statusForbidden || time.Since(begin) > time.Second {
			t.Errorf("got %v after %v, want close code %d", err, time.Since(begin), statusForbidden)
		}
		s.auth.set("ann", AuthResult{User: "ann", Session: "of ann"})
		time.Sleep(2*suspectTime + time.Second)
		asked = s.auth.lookups()
		later := s.connectAs(t, "ann")
		synctest.Wait()
		if n := s.auth.lookups() - asked; n != 1 {
			t.Errorf("later: got %d lookups, want 1", n)
		}
		_ = later.conn.CloseNow()
	})
}

func TestSuspectSessionsUseBoundedMemory(t *testing.T) {
	h := newSessionIndex()
	for n := range 5 * maxSuspects {
		h.markSuspect([]string{fmt.Sprint(n)})
	}
	if n := len(h.suspects[0]) + len(h.suspects[1]); n > 2*maxSuspects {
		t.Errorf("got %d suspect sessions, want at most %d", n, 2*maxSuspects)
	}
	if !h.suspects[0][fmt.Sprint(5*maxSuspects-1)] {
		t.Error("the last suspect session is missing")
	}
}

// size returns the number of sessions with connections.
func (s *sessionIndex) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// A recheckCounter counts concurrent rechecks.
type recheckCounter struct {
	now, peak, total atomic.Int32
}

func (c *recheckCounter) recheckSession() {
	n := c.now.Add(1)
	c.peak.Store(max(c.peak.Load(), n))
	time.Sleep(time.Second)
	c.now.Add(-1)
	c.total.Add(1)
}

// A countedConn is one of many connections that share a recheckCounter.
type countedConn struct {
	*recheckCounter
	_ int
}

func TestConcurrentRechecksAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, err := New(newWSTestServer(t, Config{}).Executable(), Config{})
		if err != nil {
			t.Fatal(err)
		}
		var c recheckCounter
		for range 3 * maxRechecks {
			defer d.sessions.add("a", &countedConn{recheckCounter: &c})()
		}
		begin := time.Now()
		d.Recheck("a")
		if err := d.sessions.wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := c.total.Load(); n != 3*maxRechecks || c.peak.Load() > maxRechecks || time.Since(begin) != 3*time.Second {
			t.Errorf("got %d rechecks, %d at once, in %v, want %d, %d at once, in 3s", n, c.peak.Load(), time.Since(begin), 3*maxRechecks, maxRechecks)
		}
	})
}
