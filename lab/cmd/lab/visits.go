package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"

	"github.com/99designs/gqlgen/graphql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/tandian-dev/tandian/graph"
	"github.com/tandian-dev/tandian/graph/generated"
	"github.com/tandian-dev/tandian/internal/app"
	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/kit/cmdline"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver"
	"github.com/tandian-dev/tandian/internal/visit"
	"github.com/tandian-dev/tandian/lab/bench"
)

// benchVisits measures visitor counting.
func (c *commands) benchVisits(ctx context.Context, cmd *call) error {
	if cmd.Int("visitors") < 1000 {
		return cmdline.Refuse("--visitors must be at least 1000")
	}
	return bench.Visits(ctx, bench.VisitsOptions{MaxVisitors: cmd.Int("visitors"), Open: openVisitServer}, c.stdout, c.stderr)
}

// visitServer counts visits in a server without other clients.
type visitServer struct {
	*app.Components
	gate *gqlserver.Server // accepts each token as the user of that name
}

// openVisitServer opens a server with a Redis and its own database. Recorded visits are never
// flushed.
func openVisitServer(ctx context.Context, redisURL string) (_ bench.VisitCounter, stop func() error, err error) {
	dir, err := os.MkdirTemp("", "tandian-bench")
	if err != nil {
		return nil, nil, fmt.Errorf("create folder for database: %w", err)
	}
	remove := func() error { return os.RemoveAll(dir) }
	cfg := config.Default()
	cfg.DataDir, cfg.RedisURL, cfg.LogReader = dir, redisURL, "off"
	server, err := app.Open(ctx, &cfg, io.Discard, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	stop = func() error { return errors.Join(server.Close(), remove()) }
	if err := server.Visits.LoadSecret(ctx); err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	gate, err := gqlserver.New(generated.NewExecutableSchema(graph.New(server.Services)), gqlserver.Config{
		Authenticate: func(_ context.Context, c gqlserver.Credentials) gqlserver.AuthResult {
			return gqlserver.AuthResult{User: c.Token}
		},
	})
	if err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return &visitServer{server, gate}, stop, nil
}

// Operation records an operation of a user.
func (h *visitServer) Operation(user string) {
	h.Visits.RecordOperation(visit.Visitor{Key: visit.User(user)})
}

// Intercept returns a function that passes an operation through the visit extension. Its context is
// that of a request of the user, or of an anonymous client if user is "".
func (h *visitServer) Intercept(ctx context.Context, user string) (func(), error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/graphql", nil)
	if err != nil {
		return nil, err
	}
	r.RemoteAddr = "203.0.113.7:4321"
	r.Header.Set("User-Agent", "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36")
	if user != "" {
		r.Header.Set("Authorization", "Bearer "+user)
	}
	known := ctx
	h.gate.Guard(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { known = r.Context() })).ServeHTTP(nil, r) //nolint:fatcontext // once
	known = graphql.WithOperationContext(known, &graphql.OperationContext{Headers: r.Header, Operation: &ast.OperationDefinition{Operation: ast.Query}})
	next := func(context.Context) graphql.ResponseHandler { return nil }
	counting := app.VisitCounter{Visits: h.Visits}
	return func() { counting.InterceptOperation(known, next) }, nil
}
