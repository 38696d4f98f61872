package observe

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
)

func TestSpansRecordErrorKindsOnly(t *testing.T) {
	tests := []struct {
		name   string
		err    error
		kind   any
		failed bool
	}{
		{"none", nil, nil, false},
		{"a client error", fmt.Errorf("secret: %w", apierror.BadInput("secret")), "BAD_USER_INPUT", false},
		{"an unavailable store", apierror.New(apierror.Unavailable, "secret").WithCause(io.EOF), "UNAVAILABLE", true},
		{"cancelled", fmt.Errorf("secret: %w", context.Canceled), "canceled", false},
		{"too slow", fmt.Errorf("secret: %w", context.DeadlineExceeded), "timeout", true},
		{"an internal error", fmt.Errorf("secret: %w", &http.MaxBytesError{}), "*http.MaxBytesError", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tracing, memory := traced(t)
			_, span := tracing.tracer.Start(t.Context(), "x")
			EndSpan(span, tt.err)
			spans := spanInfos(memory.GetSpans())
			if len(spans) != 1 || spans[0].Failed != tt.failed || spans[0].Attributes["error.type"] != tt.kind {
				t.Errorf("got spans %+v, want kind %v, failed: %v", spans, tt.kind, tt.failed)
			}
			if strings.Contains(fmt.Sprint(memory.GetSpans()), "secret") {
				t.Error("the span contains the error text")
			}
		})
	}
}

// level is a context key.
type level int

// BenchmarkSpan measures the cost of a span in a domain package.
func BenchmarkSpan(b *testing.B) {
	provider := sdktrace.NewTracerProvider()
	on, span := provider.Tracer(scope).Start(b.Context(), "root")
	defer span.End()
	deep := b.Context() // as deep as a resolver's context
	for i := range 20 {
		deep = context.WithValue(deep, level(i), i) //nolint:fatcontext // measured
	}
	for name, ctx := range map[string]context.Context{"off": b.Context(), "off, deep": deep, "on": on} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, span := Span(ctx, "shop.ByID")
				span.End()
			}
		})
	}
}
