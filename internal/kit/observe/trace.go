package observe

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// Tracing sends OpenTelemetry traces to a collector. A nil Tracing is good to
// use and does nothing. It is safe for concurrent use.
//
// It sets nothing for the whole process: a span finds its tracer through the
// span above it, so what is not below a request is not traced.
type Tracing struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	exporter *exporter
}

// NewTracing reads the environment variables of the OpenTelemetry specification
// ("OpenTelemetry Environment Variable Specification" and "OpenTelemetry
// Protocol Exporter"): OTEL_EXPORTER_OTLP_* say where to and how,
// OTEL_TRACES_SAMPLER what is chosen (by default what the client's traceparent
// says, and everything without one), OTEL_BSP_* how it is batched,
// OTEL_SERVICE_NAME (by default "tandian") and OTEL_RESOURCE_ATTRIBUTES who we
// are. Without an endpoint, with OTEL_SDK_DISABLED=true or
// OTEL_TRACES_EXPORTER=none it returns nil.
//
// It does not connect: a collector that is away costs spans, and a line in the
// log once a minute. Traces travel by HTTP as protobuf (http/protobuf). An endpoint
// that is no URL is an error, and so is another OTEL_EXPORTER_OTLP_PROTOCOL.
func NewTracing(ctx context.Context, version string, log *slog.Logger) (*Tracing, error) {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return nil, nil //nolint:nilnil // off
	}
	settings, err := readOTLPSettings(log)
	if err != nil || settings.endpoint == nil {
		return nil, err
	}
	who, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithHost(),
		resource.WithAttributes(semconv.ServiceName("tandian"), semconv.ServiceVersion(version)),
		resource.WithFromEnv()) // last: it has the last word
	if err != nil {
		return nil, fmt.Errorf("traces: resource attributes: %w", err)
	}
	otlp, err := otlptrace.New(ctx, newOTLPClient(settings, version))
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	e := newExporter(otlp, log)
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(e), sdktrace.WithResource(who))
	return &Tracing{provider: provider, tracer: provider.Tracer(scope), exporter: e}, nil
}

// flushTime bounds the last delivery: a stop does not wait longer for a
// collector that does not answer.
const flushTime = 3 * time.Second

// Close delivers the spans that ended, until ctx ends but for three seconds at
// most, and stops. Spans that end later are lost.
func (t *Tracing) Close(ctx context.Context) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, flushTime)
	defer cancel()
	stop := context.AfterFunc(ctx, t.exporter.abort)
	defer stop()
	// The library would return at the deadline and leave a delivery running. Ours
	// are aborted then, so it is done at once.
	if err := t.provider.Shutdown(context.WithoutCancel(ctx)); err != nil {
		t.exporter.log.WarnContext(ctx, "traces not closed", "err", err)
	}
}

// HTTP opens a span for each request, below that of a traceparent header (W3C
// Trace Context). It is named by the method and the pattern that served it, and
// holds nothing else that the client sent: no path, query, header or address.
// Put it outside of the package's function HTTP, so that the request's log line
// carries the trace's id.
//
// Probes are not traced, nor are upgrades to WebSocket: what runs on a socket
// has traces of its own, for a span must not live as long as the socket.
//
// It is not otelhttp.NewHandler: that one records user agent, path, Host and
// the addresses of the client and its proxies, and leaves no choice.
func (t *Tracing) HTTP(next http.Handler) http.Handler {
	if t == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !traceable(r) {
			next.ServeHTTP(w, r)
			return
		}
		ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		if above := trace.SpanContextFromContext(ctx); above.IsValid() { // its state is any text that a client likes
			ctx = trace.ContextWithRemoteSpanContext(ctx, above.WithTraceState(trace.TraceState{}))
		}
		ctx, span := t.tracer.Start(ctx, methodOf(r), trace.WithSpanKind(trace.SpanKindServer))
		r, out := r.WithContext(ctx), &statusWriter{ResponseWriter: w, broken: true}
		defer answered(span, r, out)
		next.ServeHTTP(out, r)
		out.broken = false
	})
}

// answered ends the span of a request.
func answered(span trace.Span, r *http.Request, out *statusWriter) {
	if span.IsRecording() {
		route, status := r.Pattern, out.code()
		if _, path, ok := strings.Cut(route, " "); ok { // its method
			route = path
		}
		if route != "" {
			span.SetName(methodOf(r) + " " + route)
			span.SetAttributes(semconv.HTTPRoute(route))
		}
		span.SetAttributes(semconv.HTTPRequestMethodKey.String(methodOf(r)), semconv.HTTPResponseStatusCode(status))
		if status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, "")
		}
	}
	span.End()
}

func traceable(r *http.Request) bool {
	switch r.URL.Path {
	case "/healthz", "/readyz", "/metrics":
		return false
	}
	return !strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// methodOf is the request's method if the specifications know it: else it would
// be any text that a client likes.
func methodOf(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return r.Method
	}
	return "_OTHER"
}
