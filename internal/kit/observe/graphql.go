package observe

import (
	"context"
	"slices"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
)

// GraphQLMetrics is a gqlgen extension that counts and times queries and mutations,
// and names operations in the request's log line. A subscription mostly waits,
// so its responses have no time. The operation's name is the client's choice
// and therefore no label.
type GraphQLMetrics struct {
	seconds observers[operationKind]
	fields  observers[rootField]
	errors  *prometheus.CounterVec
}

// Series of the metrics.
type (
	operationKind struct {
		of      ast.Operation
		outcome string
	}
	rootField struct {
		of   ast.Operation
		name string
	}
)

// errorCodes are those of errors of fields that have a series of their own.
func errorCodes() []string {
	kinds := []apierror.Kind{
		apierror.BadUserInput, apierror.Unauthenticated, apierror.Forbidden, apierror.RateLimited, apierror.Unavailable, apierror.Timeout, apierror.Internal,
	}
	names := make([]string, len(kinds), len(kinds)+1)
	for i, kind := range kinds {
		names[i] = string(kind)
	}
	return append(names, otherCode)
}

const otherCode = "other"

// NewGraphQL registers the metrics.
func NewGraphQL(reg prometheus.Registerer) *GraphQLMetrics {
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "tandian_graphql_operation_seconds", Help: "Time of GraphQL operations, by type and outcome (ok, partial, failed).",
		Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
	}, []string{"type", "outcome"})
	fields := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "tandian_graphql_root_field_seconds", Help: "Time of the fields of Query and Mutation with all that is below them, by name.",
		Buckets: []float64{.001, .005, .025, .1, .5, 2.5, 10},
	}, []string{"type", "field"})
	g := &GraphQLMetrics{errors: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tandian_graphql_errors_total", Help: "Errors of fields that clients were shown, by code. What was refused before it ran is counted by the door.",
	}, []string{"code"})}
	reg.MustRegister(seconds, fields, g.errors)
	g.seconds.series = func(k operationKind) prometheus.Observer { return seconds.WithLabelValues(string(k.of), k.outcome) }
	g.fields.series = func(k rootField) prometheus.Observer { return fields.WithLabelValues(string(k.of), k.name) }
	for _, code := range errorCodes() {
		g.errors.WithLabelValues(code)
	}
	for _, outcome := range []string{"ok", "partial", "failed"} {
		g.seconds.of(operationKind{ast.Query, outcome})
		g.seconds.of(operationKind{ast.Mutation, outcome})
	}
	return g
}

// ExtensionName implements graphql.HandlerExtension.
func (*GraphQLMetrics) ExtensionName() string { return "Observe" }

// Validate implements graphql.HandlerExtension.
func (*GraphQLMetrics) Validate(graphql.ExecutableSchema) error { return nil }

// InterceptResponse implements graphql.ResponseInterceptor.
func (g *GraphQLMetrics) InterceptResponse(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
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
		g.seconds.of(operationKind{oc.Operation.Operation, outcome}).Observe(time.Since(begin).Seconds())
	}
	if r := requestOf(ctx); r != nil {
		r.mu.Lock()
		r.operation, r.errors = cut(oc.Operation.Name, 64), len(res.Errors)
		r.mu.Unlock()
	}
	return res
}

// InterceptRootField times the fields that an operation asks for. Their names are
// those of the schema.
func (g *GraphQLMetrics) InterceptRootField(ctx context.Context, next graphql.RootResolver) graphql.Marshaler {
	root := graphql.GetRootFieldContext(ctx)
	if root == nil || root.Field.Field == nil || !graphql.HasOperationContext(ctx) {
		return next(ctx)
	}
	kind := graphql.GetOperationContext(ctx).Operation.Operation
	if kind == ast.Subscription { // it mostly waits
		return next(ctx)
	}
	begin := time.Now()
	defer func() {
		g.fields.of(rootField{kind, root.Field.Name}).Observe(time.Since(begin).Seconds())
	}()
	return next(ctx)
}

// RootField times a field of Query that was not answered by gqlgen.
func (g *GraphQLMetrics) RootField(field string, took time.Duration) {
	g.fields.of(rootField{ast.Query, field}).Observe(took.Seconds())
}

// Shown counts an error of a field, by its code, and puts one that is about a request
// and not about a field into the request's log line. gqlgen tells no extension of
// them; the server's error presenter calls this for every error.
func (g *GraphQLMetrics) Shown(ctx context.Context, err *gqlerror.Error) {
	if graphql.GetFieldContext(ctx) != nil || len(err.Path) > 0 {
		code, _ := err.Extensions["code"].(string)
		if !slices.Contains(errorCodes(), code) {
			code = otherCode
		}
		g.errors.WithLabelValues(code).Inc()
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
