package app_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// socket is a minimal client of graphql-transport-ws.
type socket struct {
	conn *websocket.Conn
	last int
}

// message is a message of the server.
type message struct {
	ID, Type string
	Payload  json.RawMessage
}

// dial opens a socket, anonymously without a token.
func dial(t *testing.T, s *apptest.Server, token string) *socket {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), strings.Replace(s.URL, "http", "ws", 1)+"/graphql", &websocket.DialOptions{Subprotocols: []string{"graphql-transport-ws"}}) //nolint:bodyclose // an upgrade has no body
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	c := &socket{conn: conn}
	init := map[string]any{"type": "connection_init"}
	if token != "" {
		init["payload"] = map[string]string{"Authorization": "Bearer " + token}
	}
	c.send(t, init)
	return c
}

func (c *socket) send(t *testing.T, message map[string]any) {
	t.Helper()
	text, err := json.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.conn.Write(t.Context(), websocket.MessageText, text); err != nil {
		t.Fatal(err)
	}
}

// read returns the next message of the server, or its close code.
func (c *socket) read(t *testing.T) (m message, closed websocket.StatusCode) {
	t.Helper()
	_, text, err := c.conn.Read(t.Context())
	if closing, ok := errors.AsType[websocket.CloseError](err); ok {
		return m, closing.Code
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return m, 0
}

// follow starts an operation and returns its id on this socket.
func (c *socket) follow(t *testing.T, query string, variables map[string]any) (id string) {
	t.Helper()
	c.last++
	id = string(rune('a' + c.last))
	c.send(t, map[string]any{"type": "subscribe", "id": id, "payload": map[string]any{"query": query, "variables": variables}})
	return id
}

// ask runs one query and returns its answer, or the close code of the socket.
func (c *socket) ask(t *testing.T, query string) (answer string, closed websocket.StatusCode) {
	t.Helper()
	c.follow(t, query, nil)
	for {
		m, closed := c.read(t)
		switch {
		case closed != 0:
			return "", closed
		case m.Type == "complete", m.Type == "error":
			return answer + string(m.Payload), 0
		}
		answer += string(m.Payload)
	}
}

func (c *socket) acknowledged(t *testing.T) {
	t.Helper()
	if m, closed := c.read(t); m.Type != "connection_ack" {
		t.Fatalf("got %+v, closed with %d", m, closed)
	}
}

func TestSocketEndsWithItsSession(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		s := stack.Start(t)
		token, _ := s.LoginWith(t, map[string]any{"phone": "13800001111", "code": s.Code(t, "13800001111")})
		ann, anonymous := dial(t, s, token), dial(t, s, "")
		ann.acknowledged(t)
		anonymous.acknowledged(t)
		if got, _ := ann.ask(t, `{ me { role } }`); got != `{"data":{"me":{"role":"CUSTOMER"}}}` {
			t.Errorf("signed in: %s", got)
		}
		if got, _ := anonymous.ask(t, `{ me { role } }`); got != `{"data":{"me":null}}` {
			t.Errorf("signed out: %s", got)
		}
		if got, _ := anonymous.ask(t, `{ nothing }`); !strings.Contains(got, "GRAPHQL_VALIDATION_FAILED") {
			t.Errorf("an unknown field: %s", got)
		}
		if stack.Name == "real" {
			if _, errs, code := stack.Command(t, "grant", "13800001111", "ADMIN"); code != 0 {
				t.Fatal(errs)
			}
			testkit.Eventually(t, 10*time.Second, func() bool { // until the invalidation
				var who struct{ Me struct{ Role string } }
				s.As(token).Must(t, `{ me { role } }`, nil, &who)
				return who.Me.Role == "ADMIN"
			})
			if got, _ := ann.ask(t, `{ me { role } }`); got != `{"data":{"me":{"role":"ADMIN"}}}` {
				t.Errorf("after a grant: %s", got)
			}
			stack.Start(t).As(token).Must(t, `mutation { logout { userErrors { code } } }`, nil, nil) // on another server
			testkit.Eventually(t, 10*time.Second, func() bool { return me(t, s.As(token)) == "" })
		} else {
			s.As(token).Must(t, `mutation { logout { userErrors { code } } }`, nil, nil)
		}
		if got, closed := ann.ask(t, `{ me { role } }`); closed != 4403 {
			t.Errorf("after the logout: %s, closed with %d", got, closed)
		}
		if _, closed := dial(t, s, token).read(t); closed != 4401 {
			t.Errorf("an ended session: closed with %d, want 4401", closed)
		}
	})
}

func TestStoppingServerAsksSocketsToReconnect(t *testing.T) {
	s := apptest.Embedded(t).Start(t)
	sockets := []*socket{dial(t, s, ""), dial(t, s, ""), dial(t, s, "")}
	for _, c := range sockets {
		c.acknowledged(t)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop() }()
	for _, c := range sockets {
		if m, closed := c.read(t); closed != websocket.StatusServiceRestart {
			t.Errorf("got %+v, closed with %d", m, closed)
		}
	}
	if err := <-stopped; err != nil {
		t.Errorf("the server stopped with %v", err)
	}
}
