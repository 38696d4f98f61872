package observe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/lexer"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
)

// OperationTracer is a gqlgen extension that opens a span for each GraphQL operation and for each
// field with a resolver. An operation's span has the client's operation name, cut to 64 bytes. It
// has no variables and no document.
type OperationTracer struct {
	tracer     trace.Tracer
	complexity func(context.Context) int
}

// GraphQL returns the extension, or nil if t is nil. Do not add a nil extension: gqlgen calls each
// one for every field of every response. complexity returns the complexity of the operation in the
// context. It is required unless t is nil.
func (t *Tracing) GraphQL(complexity func(context.Context) int) *OperationTracer {
	if t == nil {
		return nil
	}
	return &OperationTracer{t.tracer, complexity}
}

// ExtensionName implements graphql.HandlerExtension.
func (*OperationTracer) ExtensionName() string { return "Traces" }

// Validate implements graphql.HandlerExtension.
func (*OperationTracer) Validate(graphql.ExecutableSchema) error { return nil }

// InterceptOperation implements graphql.OperationInterceptor. The span of a query or a mutation
// ends with its response. The span of a subscription ends when the subscription starts, since it
// may run for hours; its events have no spans.
func (o *OperationTracer) InterceptOperation(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
	oc := graphql.GetOperationContext(ctx)
	ctx, span := o.begin(ctx, oc)
	if !span.SpanContext().IsSampled() {
		return next(ctx)
	}
	if oc.Operation.Operation == ast.Subscription {
		span.End()
		here := span.SpanContext() // for the log
		return next(trace.ContextWithSpanContext(ctx, here.WithTraceFlags(here.TraceFlags().WithSampled(false))))
	}
	respond := next(context.WithValue(ctx, resolversKey{}, &resolvers{}))
	return func(ctx context.Context) *graphql.Response {
		defer span.End()
		res := respond(ctx)
		if res != nil && span.IsRecording() && len(res.Errors) > 0 {
			span.SetAttributes(attribute.Int("graphql.errors", len(res.Errors)))
			if failed(res) {
				span.SetStatus(codes.Error, "")
			}
		}
		return res
	}
}

// begin opens the span of an operation, with past spans for parsing and validation.
func (o *OperationTracer) begin(ctx context.Context, oc *graphql.OperationContext) (context.Context, trace.Span) {
	kind, name := string(oc.Operation.Operation), cut(oc.Operation.Name, 64)
	opts := []trace.SpanStartOption{}
	if begun := oc.Stats.OperationStart; !begun.IsZero() {
		opts = append(opts, trace.WithTimestamp(begun))
	}
	title := kind
	if name != "" {
		title += " " + name
	}
	ctx, span := o.tracer.Start(ctx, title, opts...)
	if !span.IsRecording() {
		return ctx, span
	}
	span.SetAttributes(semconv.GraphQLOperationTypeKey.String(kind), attribute.String("graphql.document.hash", fingerprint(oc.RawQuery)))
	if name != "" {
		span.SetAttributes(semconv.GraphQLOperationName(name))
	}
	span.SetAttributes(attribute.Int("graphql.complexity", o.complexity(ctx)))
	o.past(ctx, "graphql.parse", oc.Stats.Parsing)
	o.past(ctx, "graphql.validate", oc.Stats.Validation)
	return ctx, span
}

// past adds a span of a finished step.
func (o *OperationTracer) past(ctx context.Context, name string, t graphql.TraceTiming) {
	if t.Start.IsZero() || t.End.Before(t.Start) {
		return
	}
	_, span := o.tracer.Start(ctx, name, trace.WithTimestamp(t.Start))
	span.End(trace.WithTimestamp(t.End))
}

// failed reports whether a response contains a server error.
func failed(res *graphql.Response) bool {
	for _, err := range res.Errors {
		code, _ := err.Extensions["code"].(string)
		if failure(apierror.Kind(code)) {
			return true
		}
	}
	return false
}

// resolvers holds the fields of a document whose resolver has a span.
type resolvers struct {
	mu   sync.Mutex
	seen map[*ast.Field]bool
}

type resolversKey struct{}

// first reports whether f is seen for the first time. gqlgen resolves a field of list elements once
// per element, or once for all elements if it is a batch field.
func (r *resolvers) first(f *ast.Field) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen[f] {
		return false
	}
	if r.seen == nil {
		r.seen = map[*ast.Field]bool{}
	}
	r.seen[f] = true
	return true
}

// InterceptField implements graphql.FieldInterceptor. If a field is resolved for each element of a
// list, only the first call has a span. Spans of the other calls are children of an outer span.
func (o *OperationTracer) InterceptField(ctx context.Context, next graphql.Resolver) (any, error) {
	fc := graphql.GetFieldContext(ctx)
	if fc == nil || !fc.IsResolver || !IsTraced(ctx) {
		return next(ctx)
	}
	if r, ok := ctx.Value(resolversKey{}).(*resolvers); !ok || !r.first(fc.Field.Field) {
		return next(ctx)
	}
	ctx, span := o.tracer.Start(ctx, fc.Object+"."+fc.Field.Name)
	var err error
	defer func() { EndSpan(span, err) }()
	res, err := next(ctx)
	return res, err
}

// fingerprint returns a hash of a document without values, spaces and comments. With values, the
// hash could be used to guess a secret in a document.
func fingerprint(document string) string {
	hash := sha256.New()
	for lex := lexer.New(&ast.Source{Input: document}); ; {
		token, err := lex.ReadToken()
		if err != nil || token.Kind == lexer.EOF {
			return hex.EncodeToString(hash.Sum(nil)[:16])
		}
		switch token.Kind {
		case lexer.String, lexer.BlockString, lexer.Int, lexer.Float:
			token.Kind, token.Value = lexer.Int, "" // literal value
		case lexer.Comment:
			continue
		default:
		}
		_, _ = io.WriteString(hash, token.Kind.Name()+token.Value+"\n")
	}
}
