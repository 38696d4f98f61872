package observe

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
)

// operation runs an operation through the extension. inside requests fields like gqlgen does.
func operation(ctx context.Context, o *OperationTracer, oc *graphql.OperationContext, res *graphql.Response, inside func(context.Context)) {
	ctx = graphql.WithOperationContext(ctx, oc)
	respond := o.InterceptOperation(ctx, func(ctx context.Context) graphql.ResponseHandler {
		return func(context.Context) *graphql.Response {
			if inside != nil {
				inside(ctx)
			}
			return res
		}
	})
	respond(ctx)
}

func seven(context.Context) int { return 7 }

// field resolves a field of a document. It returns the context in which gqlgen resolves the
// children: that of the resolver, whose span has ended.
func field(ctx context.Context, o *OperationTracer, object string, def *ast.Field, resolver bool, next graphql.Resolver) context.Context {
	ctx = graphql.WithFieldContext(ctx, &graphql.FieldContext{
		Object: object, Field: graphql.CollectedField{Field: def}, IsResolver: resolver,
	})
	_, _ = o.InterceptField(ctx, func(inner context.Context) (any, error) {
		ctx = inner //nolint:fatcontext // as gqlgen does
		return next(inner)
	})
	return ctx
}

func TestOperationSpanContainsFieldSpans(t *testing.T) {
	now := time.Now()
	past := graphql.Stats{
		OperationStart: now.Add(-4 * time.Second),
		Parsing:        graphql.TraceTiming{Start: now.Add(-3 * time.Second), End: now.Add(-2 * time.Second)},
		Validation:     graphql.TraceTiming{Start: now.Add(-2 * time.Second), End: now.Add(-1 * time.Second)},
	}
	const document = `query Cafes { shops(phone: "secret") { node { name } } }`
	shops, node := &ast.Field{Name: "shops"}, &ast.Field{Name: "node"}
	tracing, memory := traced(t)
	o := tracing.GraphQL(seven)
	ctx, root := tracing.tracer.Start(t.Context(), "root")
	operation(ctx, o, &graphql.OperationContext{
		RawQuery: document, Stats: past, Variables: map[string]any{"phone": "secret"},
		Operation: &ast.OperationDefinition{Operation: ast.Query, Name: "Cafes" + strings.Repeat("s", 100)},
	}, &graphql.Response{}, func(ctx context.Context) {
		below := field(ctx, o, "Query", shops, true, func(ctx context.Context) (any, error) {
			ctx, span := Span(ctx, "shop.List")
			EndSpan(CallSpan(ctx, "SELECT shops"), sql.ErrConnDone)
			span.End()
			return nil, apierror.BadInput("secret")
		})
		for range 3 { // of a list
			field(below, o, "Edge", node, true, func(context.Context) (any, error) { return nil, nil })
			field(below, o, "Edge", &ast.Field{Name: "name"}, false, func(context.Context) (any, error) { return nil, nil })
		}
	})
	root.End()
	name := "query Cafes" + strings.Repeat("s", 59)
	want := []spanInfo{
		{Name: "graphql.parse", Below: name},
		{Name: "graphql.validate", Below: name},
		{Name: "SELECT shops", Below: "shop.List", Failed: true, Attributes: map[string]any{"error.type": "*errors.errorString"}},
		{Name: "shop.List", Below: "Query.shops"},
		{Name: "Query.shops", Below: name, Attributes: map[string]any{"error.type": "BAD_USER_INPUT"}},
		{Name: "Edge.node", Below: "Query.shops"},
		{Name: name, Below: "root", Attributes: map[string]any{
			"graphql.operation.type": "query", "graphql.operation.name": name[len("query "):], "graphql.document.hash": fingerprint(document),
			"graphql.complexity": int64(7),
		}},
		{Name: "root"},
	}
	if d := cmp.Diff(want, spanInfos(memory.GetSpans())); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if text := fmt.Sprint(memory.GetSpans()); strings.Contains(text, "secret") {
		t.Errorf("a span contains client data: %s", text)
	}
	spans := memory.GetSpans()
	if parse, op := spans[0], spans[6]; !op.StartTime.Equal(past.OperationStart) || !parse.StartTime.Equal(past.Parsing.Start) || !parse.EndTime.Equal(past.Parsing.End) {
		t.Error("past spans have wrong times")
	}
}

func TestServerErrorsFailTheOperationSpan(t *testing.T) {
	with := func(codes ...apierror.Kind) *graphql.Response {
		res := &graphql.Response{}
		for _, c := range codes {
			res.Errors = append(res.Errors, &gqlerror.Error{Message: "secret", Extensions: map[string]any{"code": string(c)}})
		}
		return res
	}
	tests := []struct {
		name   string
		res    *graphql.Response
		errors any
		failed bool
	}{
		{"no response", nil, nil, false},
		{"no errors", with(), nil, false},
		{"client errors", with(apierror.BadUserInput, apierror.Unauthenticated, apierror.Forbidden, apierror.RateLimited), int64(4), false},
		{"an unknown kind", with("GRAPHQL_VALIDATION_FAILED"), int64(1), false},
		{"an internal error", with(apierror.BadUserInput, apierror.Internal), int64(2), true},
		{"an unavailable store", with(apierror.Unavailable), int64(1), true},
		{"too slow", with(apierror.Timeout), int64(1), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tracing, memory := traced(t)
			operation(t.Context(), tracing.GraphQL(seven), &graphql.OperationContext{Operation: &ast.OperationDefinition{Operation: ast.Mutation}}, tt.res, nil)
			spans := spanInfos(memory.GetSpans())
			if len(spans) != 1 || spans[0].Name != "mutation" || spans[0].Attributes["graphql.errors"] != tt.errors || spans[0].Failed != tt.failed {
				t.Errorf("got spans %+v, want %v errors, failed: %v", spans, tt.errors, tt.failed)
			}
		})
	}
}

func TestSubscriptionSpanEndsBeforeFirstEvent(t *testing.T) {
	tracing, memory := traced(t)
	o := tracing.GraphQL(seven)
	oc := &graphql.OperationContext{Operation: &ast.OperationDefinition{Operation: ast.Subscription, Name: "News"}}
	operation(t.Context(), o, oc, &graphql.Response{}, func(ctx context.Context) {
		if spans := spanInfos(memory.GetSpans()); len(spans) != 1 || spans[0].Name != "subscription News" {
			t.Errorf("at the first event: got ended spans %+v", spans)
		}
		if !trace.SpanContextFromContext(ctx).HasTraceID() {
			t.Error("got no trace in the context")
		}
		field(ctx, o, "Subscription", &ast.Field{Name: "news"}, true, func(ctx context.Context) (any, error) {
			_, span := Span(ctx, "feed.Live")
			defer span.End()
			return nil, nil
		})
	})
	if n := len(memory.GetSpans()); n != 1 {
		t.Errorf("got %d spans, want none for an event", n)
	}
}

func TestUnsampledOperationsAreNotTraced(t *testing.T) {
	memory := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(memory), sdktrace.WithSampler(sdktrace.NeverSample()))
	tracing := &Tracing{provider: provider, tracer: provider.Tracer(scope)}
	o := tracing.GraphQL(seven)
	operation(t.Context(), o, &graphql.OperationContext{Operation: &ast.OperationDefinition{Operation: ast.Query}}, nil, func(ctx context.Context) {
		field(ctx, o, "Query", &ast.Field{Name: "shops"}, true, func(ctx context.Context) (any, error) {
			if inner, _ := Span(ctx, "shop.List"); inner != ctx {
				t.Error("got a span")
			}
			return nil, nil
		})
	})
	if n := len(memory.GetSpans()); n != 0 {
		t.Errorf("got %d spans", n)
	}
}

func TestFingerprintIgnoresValues(t *testing.T) {
	const plain = `mutation { login(input: {phone: "1", code: "2"}, n: 3, f: 1.5) { token } }`
	tests := []struct {
		name, document string
		same           bool
	}{
		{"itself", plain, true},
		{"other values", `mutation { login(input: {phone: "13800001111", code: """secret"""}, n: -4.5, f: 2e3) { token } }`, true},
		{"other spaces, commas and comments", "mutation{login(input:{phone:\"1\" code:\"2\"} n:3 f:1.5){token}} # secret", true},
		{"another field", strings.ReplaceAll(plain, "token", "user"), false},
		{"another alias", strings.ReplaceAll(plain, "token", "t: token"), false},
		{"joined words", strings.ReplaceAll(plain, "mutation {", "mutation M {"), false},
		{"a syntax error", plain + `"`, true}, // such a document does not run
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if same := fingerprint(plain) == fingerprint(tt.document); same != tt.same {
				t.Errorf("same: got %v, want %v", same, tt.same)
			}
		})
	}
	if fingerprint("{ab}") == fingerprint("{a b}") {
		t.Error("got equal fingerprints of different fields")
	}
}
