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

// OperationTracer is a gqlgen extension that opens a span for each GraphQL operation
// and for the fields in it that have a resolver. It keeps the operation's name,
// as the client chose it, cut to 64 bytes, and no variable and no document.
type OperationTracer struct {
	tracer     trace.Tracer
	complexity func(context.Context) int
}

// GraphQL returns the extension, or nil if t is: with an extension for fields,
// gqlgen asks it for every field of every answer. Of the context of an operation,
// complexity says its points; it must be there if t is.
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

// InterceptOperation implements graphql.OperationInterceptor. The span of a
// query or a mutation ends with its response. That of a subscription ends as
// soon as it runs, and nothing that happens in it later has a span: it may live
// for hours.
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

// begin opens the span of an operation, with what was done before it ran.
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

// past makes a span of something that is over.
func (o *OperationTracer) past(ctx context.Context, name string, t graphql.TraceTiming) {
	if t.Start.IsZero() || t.End.Before(t.Start) {
		return
	}
	_, span := o.tracer.Start(ctx, name, trace.WithTimestamp(t.Start))
	span.End(trace.WithTimestamp(t.End))
}

// failed reports whether an answer has an error that is ours.
func failed(res *graphql.Response) bool {
	for _, err := range res.Errors {
		code, _ := err.Extensions["code"].(string)
		if failure(apierror.Kind(code)) {
			return true
		}
	}
	return false
}

// resolvers are the places in a document whose resolver has a span.
type resolvers struct {
	mu   sync.Mutex
	seen map[*ast.Field]bool
}

type resolversKey struct{}

// first reports whether nobody asked for this place before. A field of a list's
// elements is resolved once for each; in one go, if it is a batch field.
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

// InterceptField implements graphql.FieldInterceptor. Of a field that is
// resolved for each element of a list, the first one has a span: what the
// others do is below the span of the operation or of a field further out.
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

// fingerprint is the same for documents that differ only in values, spaces and
// comments, and tells nothing of them: the hash of a document with a password
// in it would let anybody guess at that.
func fingerprint(document string) string {
	hash := sha256.New()
	for lex := lexer.New(&ast.Source{Input: document}); ; {
		token, err := lex.ReadToken()
		if err != nil || token.Kind == lexer.EOF {
			return hex.EncodeToString(hash.Sum(nil)[:16])
		}
		switch token.Kind {
		case lexer.String, lexer.BlockString, lexer.Int, lexer.Float:
			token.Kind, token.Value = lexer.Int, "" // a value
		case lexer.Comment:
			continue
		default:
		}
		_, _ = io.WriteString(hash, token.Kind.Name()+token.Value+"\n")
	}
}
