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

// GraphQLMetrics is a gqlgen extension that times queries and mutations, counts errors, and adds the
// operation name to the request log. It does not time subscriptions, which mostly wait. The client
// chooses the operation name, so the name is no label.
type GraphQLMetrics struct {
	seconds observers[operationKind]
	fields  observers[rootField]
	errors  *prometheus.CounterVec
}

// Label values of the metrics.
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

// errorCodes returns the error codes with their own series.
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

// NewGraphQLMetrics registers the metrics.
func NewGraphQLMetrics(reg prometheus.Registerer) *GraphQLMetrics {
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "tandian_graphql_operation_seconds", Help: "Duration of GraphQL operations, by type and outcome (ok, partial, failed).",
		Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
	}, []string{"type", "outcome"})
	fields := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "tandian_graphql_root_field_seconds", Help: "Duration of the fields of Query and Mutation, including their subfields, by name.",
		Buckets: []float64{.001, .005, .025, .1, .5, 2.5, 10},
	}, []string{"type", "field"})
	g := &GraphQLMetrics{errors: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tandian_graphql_errors_total", Help: "Field errors sent to clients, by code. Rejected operations are counted separately.",
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

// InterceptRootField times root fields. It labels them by their name in the schema, not by their
// alias.
func (g *GraphQLMetrics) InterceptRootField(ctx context.Context, next graphql.RootResolver) graphql.Marshaler {
	root := graphql.GetRootFieldContext(ctx)
	if root == nil || root.Field.Field == nil || !graphql.HasOperationContext(ctx) {
		return next(ctx)
	}
	kind := graphql.GetOperationContext(ctx).Operation.Operation
	if kind == ast.Subscription { // mostly waits
		return next(ctx)
	}
	begin := time.Now()
	defer func() {
		g.fields.of(rootField{kind, root.Field.Name}).Observe(time.Since(begin).Seconds())
	}()
	return next(ctx)
}

// RootField times a field of Query that gqlgen did not execute.
func (g *GraphQLMetrics) RootField(field string, took time.Duration) {
	g.fields.of(rootField{ast.Query, field}).Observe(took.Seconds())
}

// Shown counts an error of a field by its code, and adds other errors to the count in the request
// log. The server's error presenter calls Shown for every error: gqlgen passes the other errors to
// no extension.
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

// cut returns the first n bytes of s. It may split a character.
func cut(s string, n int) string { return s[:min(len(s), n)] }
