package gqlserver_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/clients"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/gqltest"
)

// TestClients runs popular client libraries, the official audits and hand-written misuse, each
// program against its own servers.
func TestClients(t *testing.T) {
	node := clients.Node(t, "clients")
	programs := []string{
		"audits.test.mjs", "ws.test.mjs", "ws-misuse.test.mjs", "sse.test.mjs",
		"apollo.test.mjs", "urql.test.mjs", "upload.test.mjs", "crowd.test.mjs",
	}
	for _, program := range programs {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			node.Run(t, program, "TANDIAN_DOOR="+startServers(t)+"/graphql")
		})
	}
}

// A serverSet holds the servers of one program. They share a schema.
type serverSet struct {
	schema  *gqltest.Schema
	current atomic.Pointer[gqlserver.Server]
	spare   chan *gqlserver.Server // replace current on restart
	closed  sync.Map               // servers closed by a restart
	cancels sync.Map               // context.CancelCauseFunc by request
	revoked sync.Map               // tokens
}

// startServers starts the servers and returns their URL, without a path.
func startServers(t *testing.T) string {
	t.Helper()
	s := &serverSet{schema: gqltest.New(), spare: make(chan *gqlserver.Server, 2)}
	for range cap(s.spare) {
		s.spare <- s.newServer(t, gqlserver.Limits{})
	}
	s.current.Store(s.newServer(t, gqlserver.Limits{}))

	mux := http.NewServeMux()
	mux.HandleFunc("/graphql", s.serve)
	mux.Handle("/tight", s.newServer(t, gqlserver.Limits{
		Message: 2048, MessageRate: 20, SocketOperations: 2, SocketsPerUser: 2, Recheck: 50 * time.Millisecond,
	}))
	mux.Handle("/hasty", s.newServer(t, gqlserver.Limits{InitTime: time.Second}))
	mux.Handle("/few", s.newServer(t, gqlserver.Limits{SocketsPerAddress: 2}))
	mux.HandleFunc("POST /control/restart", func(w http.ResponseWriter, r *http.Request) {
		within, err := time.ParseDuration(r.URL.Query().Get("over"))
		if err != nil {
			within = 50 * time.Millisecond
		}
		w.WriteHeader(s.restart(r.Context(), within))
	})
	mux.HandleFunc("POST /control/tell/{topic}/{text}", func(w http.ResponseWriter, r *http.Request) {
		s.schema.Publish(r.PathValue("topic"), r.PathValue("text"))
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /control/revoke/{token}", func(w http.ResponseWriter, r *http.Request) {
		s.revoked.Store(r.PathValue("token"), true)
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /control/cut", func(w http.ResponseWriter, _ *http.Request) {
		s.cancels.Range(func(_, cut any) bool { cut.(context.CancelCauseFunc)(errCut); return true })
		w.WriteHeader(http.StatusNoContent)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close) // before the servers close, so that no client reconnects
	return server.URL
}

var errCut = errors.New("connection cut")

// serve calls the current server. It aborts the connection if /control/cut cancels the request.
func (s *serverSet) serve(w http.ResponseWriter, r *http.Request) {
	ctx, cut := context.WithCancelCause(r.Context())
	defer cut(nil)
	s.cancels.Store(r, cut)
	defer s.cancels.Delete(r)
	s.current.Load().ServeHTTP(w, r.WithContext(ctx))
	if errors.Is(context.Cause(ctx), errCut) {
		panic(http.ErrAbortHandler)
	}
}

// newServer returns a server that closes at the end of the test.
func (s *serverSet) newServer(t *testing.T, limits gqlserver.Limits) *gqlserver.Server {
	t.Helper()
	d, err := gqlserver.New(s.schema.Executable(), gqlserver.Config{
		Limits: limits, Authenticate: s.authenticate, Introspection: true, AllowedOrigins: []string{"https://app.example"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, closed := s.closed.Load(d); closed {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		if err := d.Close(ctx, 0); err != nil {
			t.Errorf("close server: %v", err)
		}
	})
	return d
}

// authenticate takes a token as the name of its user. "bad" and revoked tokens are bad, and
// "unknown" cannot be looked up.
func (s *serverSet) authenticate(_ context.Context, c gqlserver.Credentials) gqlserver.AuthResult {
	_, revoked := s.revoked.Load(c.Token)
	switch {
	case c.Token == "":
		return gqlserver.AuthResult{}
	case c.Token == "bad" || revoked:
		return gqlserver.AuthResult{BadToken: true}
	case c.Token == "unknown":
		return gqlserver.AuthResult{Unavailable: true}
	}
	return gqlserver.AuthResult{User: c.Token, WithContext: func(ctx context.Context) context.Context {
		return gqltest.WithViewer(ctx, c.Token)
	}}
}

// restart replaces the current server and closes it within a duration, like a deployment.
func (s *serverSet) restart(ctx context.Context, within time.Duration) (status int) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	select {
	case next := <-s.spare:
		previous := s.current.Swap(next)
		s.closed.Store(previous, true)
		if err := previous.Close(ctx, within); err != nil {
			return http.StatusInternalServerError
		}
		return http.StatusNoContent
	case <-ctx.Done():
		return http.StatusServiceUnavailable
	}
}
