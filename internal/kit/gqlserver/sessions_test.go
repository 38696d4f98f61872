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

func TestASocketEndsWithItsSessionWhenThatIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startPiped(t, Config{}, &http.Server{})
		for _, user := range []string{"ann", "bob"} {
			s.people.change(user, AuthResult{User: user, Session: "of " + user})
		}
		ann, annToo, bob := s.follow(t, "ann", ofA)[0], s.enter(t, "ann"), s.enter(t, "bob")
		ends := make(chan websocket.StatusCode, 2)
		for _, v := range []*visitor{ann, annToo} {
			go func() {
				_, err := v.read()
				ends <- websocket.CloseStatus(err)
			}()
		}
		asked := s.people.asked()
		s.server.Recheck("of ann") // they still are
		synctest.Wait()
		if n := s.people.asked() - asked; n != 2 || len(ends) > 0 {
			t.Fatalf("asked %d times, %d ended", n, len(ends))
		}
		for _, user := range []string{"ann", "bob"} {
			s.people.change(user, AuthResult{BadToken: true})
		}
		begin := time.Now()
		s.server.Recheck("of nobody", "of ann", "")
		for range 2 {
			if code := <-ends; code != statusForbidden {
				t.Errorf("closed with %d", code)
			}
		}
		if took := time.Since(begin); took > time.Second {
			t.Errorf("after %v", took)
		}
		bob.lives() // nobody has said anything
		_ = bob.conn.CloseNow()
		synctest.Wait()
		if left := s.left(); left != "" {
			t.Errorf("left: %s", left)
		}
	})
}

// A session may end between the question whether it is and the note of who holds it. Nor does
// it matter how many questions its network has left.
func TestASocketThatOpensWhileItsSessionEndsIsToldSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startPiped(t, Config{Limits: Limits{AuthLookups: 1}}, &http.Server{})
		s.people.change("ann", AuthResult{User: "ann", Session: "of ann"})
		s.server.Recheck("of ann")
		asked := s.people.asked()
		first := s.enter(t, "ann")
		synctest.Wait()
		if n := s.people.asked() - asked; n != 2 {
			t.Fatalf("asked %d times, want at the beginning and once more", n)
		}
		s.people.change("ann", AuthResult{BadToken: true})
		begin := time.Now()
		s.server.Recheck("of ann")
		if _, err := first.read(); websocket.CloseStatus(err) != statusForbidden || time.Since(begin) > time.Second {
			t.Errorf("closed with %v after %v", err, time.Since(begin))
		}
		s.people.change("ann", AuthResult{User: "ann", Session: "of ann"})
		time.Sleep(2*suspectTime + time.Second)
		asked = s.people.asked()
		later := s.enter(t, "ann")
		synctest.Wait()
		if n := s.people.asked() - asked; n != 1 {
			t.Errorf("later asked %d times, want once", n)
		}
		_ = later.conn.CloseNow()
	})
}

func TestDoubtedSessionsTakeBoundedMemory(t *testing.T) {
	h := newSessionIndex()
	for n := range 5 * maxSuspects {
		h.markSuspect([]string{fmt.Sprint(n)})
	}
	if n := len(h.suspects[0]) + len(h.suspects[1]); n > 2*maxSuspects {
		t.Errorf("%d sessions are remembered", n)
	}
	if !h.suspects[0][fmt.Sprint(5*maxSuspects-1)] {
		t.Error("the last one is not")
	}
}

// held is how many sessions somebody holds.
func (s *sessionIndex) held() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// A counter is a holder that counts how many look at once.
type counter struct {
	now, most, all atomic.Int32
}

func (c *counter) recheckSession() {
	n := c.now.Add(1)
	c.most.Store(max(c.most.Load(), n))
	time.Sleep(time.Second)
	c.now.Add(-1)
	c.all.Add(1)
}

// A heldBy is one of many holders that are counted together.
type heldBy struct {
	*counter
	_ int
}

func TestAsManyLookAtOnceAsMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, err := New(newSocketSite(t, Config{}).Executable(), Config{})
		if err != nil {
			t.Fatal(err)
		}
		var c counter
		for range 3 * maxRechecks {
			defer d.sessions.add("a", &heldBy{counter: &c})()
		}
		begin := time.Now()
		d.Recheck("a")
		if err := d.sessions.wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := c.all.Load(); n != 3*maxRechecks || c.most.Load() > maxRechecks || time.Since(begin) != 3*time.Second {
			t.Errorf("%d looked, %d at once, in %v", n, c.most.Load(), time.Since(begin))
		}
	})
}
