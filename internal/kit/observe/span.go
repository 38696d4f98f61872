package observe

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
)

// scope names us as the source of spans.
const scope = "github.com/tandian-dev/tandian"

// Span begins a span below the one in ctx and returns a context with it. The
// caller ends it. Where there is no span in ctx, because tracing is off or the
// trace was not chosen, it returns ctx and a span that does nothing, and costs
// no allocation. The name is one of a few, and says nothing of a client.
//
//	ctx, span := observe.Span(ctx, "shop.List")
//	defer span.End()
func Span(ctx context.Context, name string) (context.Context, trace.Span) {
	if !IsTraced(ctx) {
		return ctx, noop.Span{}
	}
	return tracerOf(ctx).Start(ctx, name)
}

// CallSpan begins a span of a call that leaves the process, as [Span] does.
// Attributes cost an allocation: ask [IsTraced] first. They must hold nothing
// that a client sent.
func CallSpan(ctx context.Context, name string, attrs ...attribute.KeyValue) trace.Span {
	if !IsTraced(ctx) {
		return noop.Span{}
	}
	_, span := tracerOf(ctx).Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attrs...))
	return span
}

// IsTraced reports whether what is done in ctx belongs to a trace that somebody
// will see.
func IsTraced(ctx context.Context) bool {
	// Not IsRecording: gqlgen runs a field's children in the context of the
	// field's resolver, whose span is over by then.
	return trace.SpanFromContext(ctx).SpanContext().IsSampled()
}

func tracerOf(ctx context.Context) trace.Tracer {
	return trace.SpanFromContext(ctx).TracerProvider().Tracer(scope)
}

// EndSpan ends a span with the outcome of what it is about. Of an error only its
// kind is kept, for its text may show what a client sent. What a client did
// wrong, or gave up, is no failure.
func EndSpan(span trace.Span, err error) {
	if err != nil && span.IsRecording() {
		kind, failed := kindOf(err)
		span.SetAttributes(semconv.ErrorTypeKey.String(kind))
		if failed {
			span.SetStatus(codes.Error, "")
		}
	}
	span.End()
}

// kindOf names the kind of an error: that of its fault, or the type of what is
// behind it.
func kindOf(err error) (kind string, failed bool) {
	if f, ok := errors.AsType[*apierror.Error](err); ok {
		return string(f.Kind), failure(f.Kind)
	}
	switch {
	case errors.Is(err, context.Canceled):
		return "canceled", false
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout", true
	}
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return fmt.Sprintf("%T", err), true
}

// failure reports whether a kind of fault is ours and not the client's.
func failure(k apierror.Kind) bool {
	return k == apierror.Unavailable || k == apierror.Timeout || k == apierror.Internal
}
