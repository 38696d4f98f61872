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

// The clients that people use, the official audits and misuse by hand, each
// program against doors of its own.
func TestClients(t *testing.T) {
	node := clients.Node(t, "clients")
	programs := []string{
		"audits.test.mjs", "ws.test.mjs", "ws-misuse.test.mjs", "sse.test.mjs",
		"apollo.test.mjs", "urql.test.mjs", "upload.test.mjs", "crowd.test.mjs",
	}
	for _, program := range programs {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			node.Run(t, program, "TANDIAN_DOOR="+openDoors(t)+"/graphql")
		})
	}
}

// An entrance is doors over one schema, for a program.
type entrance struct {
	schema  *gqltest.Schema
	open    atomic.Pointer[gqlserver.Server]
	spare   chan *gqlserver.Server // that open is replaced with
	closed  sync.Map               // doors that a restart closed
	asked   sync.Map               // what cuts each request off
	revoked sync.Map               // tokens
}

// openDoors starts the doors and returns their URL, without a path.
func openDoors(t *testing.T) string {
	t.Helper()
	e := &entrance{schema: gqltest.New(), spare: make(chan *gqlserver.Server, 2)}
	for range cap(e.spare) {
		e.spare <- e.door(t, gqlserver.Limits{})
	}
	e.open.Store(e.door(t, gqlserver.Limits{}))

	mux := http.NewServeMux()
	mux.HandleFunc("/graphql", e.serve)
	mux.Handle("/tight", e.door(t, gqlserver.Limits{
		Message: 2048, MessageRate: 20, SocketOperations: 2, SocketsPerUser: 2, Recheck: 50 * time.Millisecond,
	}))
	mux.Handle("/hasty", e.door(t, gqlserver.Limits{InitTime: time.Second}))
	mux.Handle("/few", e.door(t, gqlserver.Limits{SocketsPerAddress: 2}))
	mux.HandleFunc("POST /control/restart", func(w http.ResponseWriter, r *http.Request) {
		over, err := time.ParseDuration(r.URL.Query().Get("over"))
		if err != nil {
			over = 50 * time.Millisecond
		}
		w.WriteHeader(e.restart(r.Context(), over))
	})
	mux.HandleFunc("POST /control/tell/{topic}/{text}", func(w http.ResponseWriter, r *http.Request) {
		e.schema.Tell(r.PathValue("topic"), r.PathValue("text"))
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /control/revoke/{token}", func(w http.ResponseWriter, r *http.Request) {
		e.revoked.Store(r.PathValue("token"), true)
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /control/cut", func(w http.ResponseWriter, _ *http.Request) {
		e.asked.Range(func(_, cut any) bool { cut.(context.CancelCauseFunc)(errCut); return true })
		w.WriteHeader(http.StatusNoContent)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close) // before the doors are closed, so that nobody comes back
	return server.URL
}

var errCut = errors.New("the line is cut")

// serve asks the door that is open. The connection breaks off if it is cut.
func (e *entrance) serve(w http.ResponseWriter, r *http.Request) {
	ctx, cut := context.WithCancelCause(r.Context())
	defer cut(nil)
	e.asked.Store(r, cut)
	defer e.asked.Delete(r)
	e.open.Load().ServeHTTP(w, r.WithContext(ctx))
	if errors.Is(context.Cause(ctx), errCut) {
		panic(http.ErrAbortHandler)
	}
}

// door returns a door that closes with the test.
func (e *entrance) door(t *testing.T, limits gqlserver.Limits) *gqlserver.Server {
	t.Helper()
	d, err := gqlserver.New(e.schema.Executable(), gqlserver.Config{
		Limits: limits, Authenticate: e.admit, Introspection: true, AllowedOrigins: []string{"https://app.example"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, closed := e.closed.Load(d); closed {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		if err := d.Close(ctx, 0); err != nil {
			t.Errorf("close the door: %v", err)
		}
	})
	return d
}

// admit knows whoever comes with a token by its text, but for a few.
func (e *entrance) admit(_ context.Context, c gqlserver.Credentials) gqlserver.AuthResult {
	_, revoked := e.revoked.Load(c.Token)
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

// restart opens another door and closes the one before, over a time, as a deployment does.
func (e *entrance) restart(ctx context.Context, over time.Duration) (status int) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	select {
	case next := <-e.spare:
		before := e.open.Swap(next)
		e.closed.Store(before, true)
		if err := before.Close(ctx, over); err != nil {
			return http.StatusInternalServerError
		}
		return http.StatusNoContent
	case <-ctx.Done():
		return http.StatusServiceUnavailable
	}
}
