package testkit

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// A Span is a recorded client span: one call to another process.
type Span struct {
	Name       string
	Attributes map[string]any
	Failed     bool
}

// ClientSpans runs do with a context of a root span and returns the spans that it started. It fails
// the test if one is no client span directly below the root, or contains the word "secret".
func ClientSpans(t *testing.T, do func(context.Context)) []Span {
	t.Helper()
	memory := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(memory))
	ctx, root := provider.Tracer("test").Start(t.Context(), "root")
	do(ctx)
	var spans []Span
	for _, s := range memory.GetSpans() {
		if s.Parent.SpanID() != root.SpanContext().SpanID() || s.SpanKind != trace.SpanKindClient {
			t.Errorf("%s is a %v below %v", s.Name, s.SpanKind, s.Parent.SpanID())
		}
		one := Span{s.Name, map[string]any{}, s.Status.Code == codes.Error}
		for _, a := range s.Attributes {
			one.Attributes[string(a.Key)] = a.Value.AsInterface()
		}
		spans = append(spans, one)
	}
	if text := fmt.Sprint(memory.GetSpans()); strings.Contains(text, "secret") {
		t.Errorf("a span contains a secret: %s", text)
	}
	return spans
}
