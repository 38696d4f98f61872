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

// scope is the instrumentation scope of all spans.
const scope = "github.com/tandian-dev/tandian"

// Span starts a child of the span in ctx and returns a context with it. The caller ends it. If ctx
// has no sampled span, Span returns ctx and a no-op span without an allocation. The name must be a
// constant without client data.
//
//	ctx, span := observe.Span(ctx, "shop.List")
//	defer span.End()
func Span(ctx context.Context, name string) (context.Context, trace.Span) {
	if !IsTraced(ctx) {
		return ctx, noop.Span{}
	}
	return tracerOf(ctx).Start(ctx, name)
}

// CallSpan starts a client span for a call that leaves the process, like [Span]. Attributes cost an
// allocation: check [IsTraced] first. They must not contain client data.
func CallSpan(ctx context.Context, name string, attrs ...attribute.KeyValue) trace.Span {
	if !IsTraced(ctx) {
		return noop.Span{}
	}
	_, span := tracerOf(ctx).Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attrs...))
	return span
}

// IsTraced reports whether ctx belongs to a sampled trace.
func IsTraced(ctx context.Context) bool {
	// IsRecording would be wrong: gqlgen runs a field's children in the context of the field's
	// resolver, whose span has ended.
	return trace.SpanFromContext(ctx).SpanContext().IsSampled()
}

func tracerOf(ctx context.Context) trace.Tracer {
	return trace.SpanFromContext(ctx).TracerProvider().Tracer(scope)
}

// EndSpan ends a span with its outcome. It records only the kind of an error, since the text may
// contain client data. Client errors and cancellation do not mark the span as failed.
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

// kindOf returns the kind of an error: that of an apierror, or the type of the innermost error.
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

// failure reports whether the server, not the client, caused an error of this kind.
func failure(k apierror.Kind) bool {
	return k == apierror.Unavailable || k == apierror.Timeout || k == apierror.Internal
}
