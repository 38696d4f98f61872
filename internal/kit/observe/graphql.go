package observe

import (
	"context"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// GraphQL is a gqlgen extension that counts and times queries and mutations,
// and names operations in the request's log line. A subscription mostly waits,
// so its responses have no time. The operation's name is the client's choice
// and therefore no label.
type GraphQL struct {
	seconds *prometheus.HistogramVec
}

// NewGraphQL registers the metrics.
func NewGraphQL(reg prometheus.Registerer) *GraphQL {
	g := &GraphQL{seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "tandian_graphql_operation_seconds", Help: "Time of GraphQL operations, by type and outcome (ok, partial, failed).",
		Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
	}, []string{"type", "outcome"})}
	reg.MustRegister(g.seconds)
	for _, outcome := range []string{"ok", "partial", "failed"} {
		g.seconds.WithLabelValues("query", outcome)
		g.seconds.WithLabelValues("mutation", outcome)
	}
	return g
}

// ExtensionName implements graphql.HandlerExtension.
func (*GraphQL) ExtensionName() string { return "Observe" }

// Validate implements graphql.HandlerExtension.
func (*GraphQL) Validate(graphql.ExecutableSchema) error { return nil }

// InterceptResponse implements graphql.ResponseInterceptor.
func (g *GraphQL) InterceptResponse(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	begin := time.Now()
	res := next(ctx)
	if res == nil || !graphql.HasOperationContext(ctx) {
		return res
	}
	oc := graphql.GetOperationContext(ctx)
	if oc.Operation == nil {
		return res
	}
	outcome := "ok"
	switch {
	case len(res.Errors) > 0 && (len(res.Data) == 0 || string(res.Data) == "null"):
		outcome = "failed"
	case len(res.Errors) > 0:
		outcome = "partial"
	}
	if oc.Operation.Operation != ast.Subscription {
		g.seconds.WithLabelValues(string(oc.Operation.Operation), outcome).Observe(time.Since(begin).Seconds())
	}
	if r := requestOf(ctx); r != nil {
		r.mu.Lock()
		r.operation, r.errors = cut(oc.Operation.Name, 64), len(res.Errors)
		r.mu.Unlock()
	}
	return res
}

// Refused puts an error that is about a request and not about a field into the
// request's log line. gqlgen tells no extension of them; the server's error
// presenter calls this for every error.
func (g *GraphQL) Refused(ctx context.Context, err *gqlerror.Error) {
	if graphql.GetFieldContext(ctx) != nil || len(err.Path) > 0 {
		return
	}
	if r := requestOf(ctx); r != nil {
		r.mu.Lock()
		r.errors++
		r.mu.Unlock()
	}
}

// cut shortens a name, which the grammar limits to ASCII, to n bytes.
func cut(s string, n int) string { return s[:min(len(s), n)] }
