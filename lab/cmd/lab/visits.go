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

// benchVisits measures the counting of visitors.
func (c *commands) benchVisits(ctx context.Context, cmd *call) error {
	if cmd.Int("visitors") < 1000 {
		return cmdline.Refuse("--visitors must be at least 1000")
	}
	return bench.Visits(ctx, bench.VisitsOptions{Most: cmd.Int("visitors"), Open: openVisitHouse}, c.stdout, c.stderr)
}

// visitHouse counts visits in a server without other clients.
type visitHouse struct {
	*app.Components
	gate *gqlserver.Server // for which a token is a user
}

// openVisitHouse opens a server on a Redis, with a database of its own. It flushes
// nothing.
func openVisitHouse(ctx context.Context, redisURL string) (_ bench.VisitCounter, stop func() error, err error) {
	dir, err := os.MkdirTemp("", "tandian-bench")
	if err != nil {
		return nil, nil, fmt.Errorf("make a folder for a database: %w", err)
	}
	remove := func() error { return os.RemoveAll(dir) }
	cfg := config.Default()
	cfg.DataDir, cfg.RedisURL, cfg.LogReader = dir, redisURL, "off"
	house, err := app.Open(ctx, &cfg, io.Discard, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	stop = func() error { return errors.Join(house.Close(), remove()) }
	if err := house.Visits.LoadSecret(ctx); err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	gate, err := gqlserver.New(generated.NewExecutableSchema(graph.New(house.Services)), gqlserver.Config{
		Authenticate: func(_ context.Context, c gqlserver.Credentials) gqlserver.AuthResult {
			return gqlserver.AuthResult{User: c.Token}
		},
	})
	if err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return &visitHouse{house, gate}, stop, nil
}

// Operation counts an operation of a user.
func (h *visitHouse) Operation(user string) {
	h.Visits.RecordOperation(visit.Visitor{Key: visit.User(user)})
}

// Intercept returns a function that sends an operation through the extension, as the caller that
// the GraphQL server makes of its request.
func (h *visitHouse) Intercept(ctx context.Context, user string) (func(), error) {
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
