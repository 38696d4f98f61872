package observe

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

const (
	traceID     = "4bf92f3577b34da6a3ce929d0e0e4736"
	traceparent = "00-" + traceID + "-00f067aa0ba902b7-01"
)

// traced returns a Tracing whose spans are stored in memory when they end.
func traced(t *testing.T) (*Tracing, *tracetest.InMemoryExporter) {
	t.Helper()
	memory := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(memory))
	t.Cleanup(func() { _ = provider.Shutdown(context.WithoutCancel(t.Context())) })
	return &Tracing{provider: provider, tracer: provider.Tracer(scope)}, memory
}

// A spanInfo holds the checked parts of a span.
type spanInfo struct {
	Name, Below string // Below is the name of the parent
	Attributes  map[string]any
	Failed      bool
}

func spanInfos(spans tracetest.SpanStubs) []spanInfo {
	names := map[trace.SpanID]string{}
	for _, s := range spans {
		names[s.SpanContext.SpanID()] = s.Name
	}
	list := make([]spanInfo, len(spans))
	for i, s := range spans {
		list[i] = spanInfo{Name: s.Name, Below: names[s.Parent.SpanID()], Failed: s.Status.Code == codes.Error}
		for _, a := range s.Attributes {
			if list[i].Attributes == nil {
				list[i].Attributes = map[string]any{}
			}
			list[i].Attributes[string(a.Key)] = a.Value.AsInterface()
		}
	}
	return list
}

// clearEnv unsets the OpenTelemetry variables of this machine.
func clearEnv(t *testing.T) {
	t.Helper()
	for _, name := range []string{"OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER", "OTEL_TRACES_SAMPLER", "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES"} {
		t.Setenv(name, "")
	}
	for _, name := range []string{"ENDPOINT", "PROTOCOL", "HEADERS", "TIMEOUT", "COMPRESSION", "CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"} {
		t.Setenv("OTEL_EXPORTER_OTLP_"+name, "")
		t.Setenv("OTEL_EXPORTER_OTLP_TRACES_"+name, "")
	}
}

func TestEnvironmentEnablesTracing(t *testing.T) {
	const general, special = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	tests := []struct {
		name string
		env  map[string]string
		on   bool
		err  string
	}{
		{name: "no variables"},
		{name: "a collector", env: map[string]string{general: "http://127.0.0.1:1"}, on: true},
		{name: "a collector for traces", env: map[string]string{special: "https://127.0.0.1:1/v1/traces"}, on: true},
		{name: "disabled", env: map[string]string{general: "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "TRUE"}},
		{name: "no trace exporter", env: map[string]string{general: "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"}},
		{name: "an invalid URL", env: map[string]string{general: "collector:4318"}, err: "invalid OTEL_EXPORTER_OTLP_ENDPOINT: want an http:// or https:// URL"},
		{name: "a URL without a host", env: map[string]string{special: "http:///v1"}, err: "invalid OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: want an http:// or https:// URL"},
		{name: "an unsupported protocol", env: map[string]string{general: "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, err: `unsupported OTEL_EXPORTER_OTLP_PROTOCOL "grpc"`},
		{name: "invalid attributes", env: map[string]string{general: "http://127.0.0.1:1", "OTEL_RESOURCE_ATTRIBUTES": "none"}, err: "resource attributes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			clearEnv(t)
			for name, value := range tt.env {
				t.Setenv(name, value)
			}
			tracing, err := NewTracing(t.Context(), "v1", slog.New(slog.DiscardHandler))
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Fatalf("got %v, want an error with %q", err, tt.err)
			}
			if (tracing != nil) != tt.on {
				t.Errorf("on: %v, want %v", tracing != nil, tt.on)
			}
			tracing.Close(t.Context())
		})
	}
}

func TestNilTracingAddsNoOverhead(t *testing.T) {
	var off *Tracing
	next := http.NewServeMux()
	if off.HTTP(next) != http.Handler(next) {
		t.Error("got another handler")
	}
	if off.GraphQL(nil) != nil {
		t.Error("got an extension")
	}
	ctx := t.Context()
	inner, span := Span(ctx, "shop.ByID")
	if inner != ctx || span.IsRecording() || IsTraced(ctx) || CallSpan(ctx, "call").IsRecording() {
		t.Error("got a trace")
	}
	EndSpan(span, io.EOF)
	allocated := testing.AllocsPerRun(100, func() {
		_, span := Span(ctx, "shop.ByID")
		defer span.End()
	})
	if allocated != 0 {
		t.Errorf("got %v allocations", allocated)
	}
}

func TestRequestSpansContainNoClientData(t *testing.T) {
	tests := []struct {
		name, method, target, traceparent string
		want                              []spanInfo
	}{
		{"a pattern", "GET", "/ok/secret?token=secret", "", []spanInfo{{
			Name: "GET /ok/{id}", Attributes: map[string]any{"http.request.method": "GET", "http.route": "/ok/{id}", "http.response.status_code": int64(200)},
		}}},
		{"a failure", "POST", "/broken", "", []spanInfo{{
			Name: "POST /broken", Attributes: map[string]any{"http.request.method": "POST", "http.route": "/broken", "http.response.status_code": int64(500)}, Failed: true,
		}}},
		{"a client error", "POST", "/gone", "", []spanInfo{{
			Name: "POST /gone", Attributes: map[string]any{"http.request.method": "POST", "http.route": "/gone", "http.response.status_code": int64(410)},
		}}},
		{"an unknown path and method", "SECRET", "/secret", "", []spanInfo{{
			Name: "_OTHER", Attributes: map[string]any{"http.request.method": "_OTHER", "http.response.status_code": int64(404)},
		}}},
		{"an unsampled client trace", "GET", "/silent", strings.TrimSuffix(traceparent, "1") + "0", nil},
		{"an invalid traceparent", "GET", "/silent", "secret", []spanInfo{{
			Name: "GET /silent", Attributes: map[string]any{"http.request.method": "GET", "http.route": "/silent", "http.response.status_code": int64(200)},
		}}},
		{"a health check", "GET", "/healthz", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tracing, memory := traced(t)
			r := httptest.NewRequest(tt.method, tt.target, strings.NewReader("secret"))
			r.Host, r.RemoteAddr = "secret.example", "203.0.113.9:1"
			for _, name := range []string{"Authorization", "User-Agent", "X-Forwarded-For", "Cookie", "Baggage"} {
				r.Header.Set(name, "secret=secret")
			}
			r.Header.Set("Traceparent", tt.traceparent)
			tracing.HTTP(newSite().handler).ServeHTTP(httptest.NewRecorder(), r)
			got := spanInfos(memory.GetSpans())
			if d := cmp.Diff(tt.want, got, cmp.Transformer("none", func(s []spanInfo) []spanInfo { return append([]spanInfo{}, s...) })); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			if text := fmt.Sprint(memory.GetSpans()); strings.Contains(text, "secret") || strings.Contains(text, "203.0.113") {
				t.Errorf("a span contains client data: %s", text)
			}
		})
	}
}

func TestRequestsJoinTheTraceOfTheirClient(t *testing.T) {
	tracing, memory := traced(t)
	s := newSite()
	r := httptest.NewRequest(http.MethodGet, "/ok/1", nil)
	r.Header.Set("Traceparent", traceparent)
	r.Header.Set("Tracestate", "phone=secret")
	tracing.HTTP(s.handler).ServeHTTP(httptest.NewRecorder(), r)
	spans := memory.GetSpans()
	if text := fmt.Sprintf("%+v", spans); strings.Contains(text, "secret") || spans[0].SpanContext.TraceState().Len() > 0 {
		t.Errorf("a span contains the tracestate: %s", text)
	}
	if len(spans) != 1 || spans[0].SpanContext.TraceID().String() != traceID || spans[0].Parent.SpanID().String() != "00f067aa0ba902b7" {
		t.Errorf("got spans %+v", spanInfos(spans))
	}
	lines := strings.Split(strings.TrimSpace(s.log.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("got %d lines, want 2", len(lines))
	}
	for _, line := range lines {
		if !strings.Contains(line, `"trace_id":"`+traceID+`"`) {
			t.Errorf("line without the trace id: %s", line)
		}
	}
}

func TestPanicsFailTheRequestSpan(t *testing.T) {
	tracing, memory := traced(t)
	func() {
		defer func() { _ = recover() }()
		tracing.HTTP(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })).
			ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	}()
	if spans := spanInfos(memory.GetSpans()); len(spans) != 1 || !spans[0].Failed {
		t.Errorf("got spans %+v", spans)
	}
}

// A WebSocket upgrade must reach the handler unwrapped. An event stream must be flushed after each
// event.
func TestSocketsAreNotTraced(t *testing.T) {
	tracing, memory := traced(t)
	w := httptest.NewRecorder()
	upgrade := httptest.NewRequest(http.MethodGet, "/graphql", nil)
	upgrade.Header.Set("Upgrade", "WebSocket")
	tracing.HTTP(http.HandlerFunc(func(got http.ResponseWriter, r *http.Request) {
		if got != http.ResponseWriter(w) || r != upgrade {
			t.Error("got another writer")
		}
	})).ServeHTTP(w, upgrade)
	if n := len(memory.GetSpans()); n != 0 {
		t.Errorf("got %d spans of a socket", n)
	}
	tracing.HTTP(HTTP(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Errorf("flush: %v", err)
		}
	}), prometheus.NewRegistry(), RequestLog{Log: slog.New(slog.DiscardHandler)})).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/graphql", nil))
	if !w.Flushed || len(memory.GetSpans()) != 1 {
		t.Errorf("flushed: %v, %d spans", w.Flushed, len(memory.GetSpans()))
	}
}
