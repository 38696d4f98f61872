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

func TestAnErrorIsKeptAsItsKind(t *testing.T) {
	tests := []struct {
		name   string
		err    error
		kind   any
		failed bool
	}{
		{"none", nil, nil, false},
		{"of the client", fmt.Errorf("secret: %w", apierror.BadInput("secret")), "BAD_USER_INPUT", false},
		{"a store that is away", apierror.New(apierror.Unavailable, "secret").WithCause(io.EOF), "UNAVAILABLE", true},
		{"the client went away", fmt.Errorf("secret: %w", context.Canceled), "canceled", false},
		{"too slow", fmt.Errorf("secret: %w", context.DeadlineExceeded), "timeout", true},
		{"an accident", fmt.Errorf("secret: %w", &http.MaxBytesError{}), "*http.MaxBytesError", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tracing, memory := traced(t)
			_, span := tracing.tracer.Start(t.Context(), "x")
			EndSpan(span, tt.err)
			spans := show(memory.GetSpans())
			if len(spans) != 1 || spans[0].Failed != tt.failed || spans[0].Attributes["error.type"] != tt.kind {
				t.Errorf("the spans are %+v, want kind %v, failed: %v", spans, tt.kind, tt.failed)
			}
			if strings.Contains(fmt.Sprint(memory.GetSpans()), "secret") {
				t.Error("the span has the error's text")
			}
		})
	}
}

// level is a key of contexts.
type level int

// What a room pays for its span.
func BenchmarkSpan(b *testing.B) {
	provider := sdktrace.NewTracerProvider()
	on, span := provider.Tracer(scope).Start(b.Context(), "root")
	defer span.End()
	deep := b.Context() // as deep as a resolver's context is
	for i := range 20 {
		deep = context.WithValue(deep, level(i), i) //nolint:fatcontext // that is what is measured
	}
	for name, ctx := range map[string]context.Context{"off": b.Context(), "off, deep": deep, "on": on} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, span := Span(ctx, "room.Method")
				span.End()
			}
		})
	}
}
