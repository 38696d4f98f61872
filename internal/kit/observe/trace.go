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

// Tracing sends OpenTelemetry traces to a collector. A nil Tracing is valid and does nothing. It is
// safe for concurrent use.
//
// It has no process-wide state: a span finds its tracer through its parent. So work outside a
// request is not traced.
type Tracing struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	exporter *exporter
}

// NewTracing reads the environment variables of the OpenTelemetry specification ("OpenTelemetry
// Environment Variable Specification" and "OpenTelemetry Protocol Exporter"):
//
//	OTEL_EXPORTER_OTLP_*      endpoint and transport
//	OTEL_TRACES_SAMPLER       sampler; default: the client's traceparent decides, without one everything is sampled
//	OTEL_BSP_*                batching
//	OTEL_SERVICE_NAME         default "tandian"
//	OTEL_RESOURCE_ATTRIBUTES  attributes of the server
//
// It returns nil without an endpoint, with OTEL_SDK_DISABLED=true and with
// OTEL_TRACES_EXPORTER=none.
//
// It does not connect. While the collector is unavailable, spans are lost, and the log has an entry
// once a minute. Traces are sent by HTTP as protobuf. NewTracing returns an error for an invalid
// endpoint, certificate file or resource attribute, and for the protocols grpc and http/json.
func NewTracing(ctx context.Context, version string, log *slog.Logger) (*Tracing, error) {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return nil, nil //nolint:nilnil // off
	}
	settings, err := readOTLPSettings(log)
	if err != nil || settings.endpoint == nil {
		return nil, err
	}
	res, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithHost(),
		resource.WithAttributes(semconv.ServiceName("tandian"), semconv.ServiceVersion(version)),
		resource.WithFromEnv()) // last: it overrides the others
	if err != nil {
		return nil, fmt.Errorf("read resource attributes of traces: %w", err)
	}
	otlp, err := otlptrace.New(ctx, newOTLPClient(settings, version))
	if err != nil {
		return nil, fmt.Errorf("create trace exporter: %w", err)
	}
	e := newExporter(otlp, log)
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(e), sdktrace.WithResource(res))
	return &Tracing{provider: provider, tracer: provider.Tracer(scope), exporter: e}, nil
}

// flushTime limits the last delivery at shutdown.
const flushTime = 3 * time.Second

// Close delivers the finished spans and stops. It takes at most three seconds and ends with ctx.
// Spans that end later are lost.
func (t *Tracing) Close(ctx context.Context) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, flushTime)
	defer cancel()
	stop := context.AfterFunc(ctx, t.exporter.abort)
	defer stop()
	// At the deadline, the library would return and leave a delivery running. Here the exporter
	// aborts deliveries, so Shutdown returns soon.
	if err := t.provider.Shutdown(context.WithoutCancel(ctx)); err != nil {
		t.exporter.log.WarnContext(ctx, "traces not closed", "err", err)
	}
}

// HTTP opens a span for each request, as a child of the traceparent header (W3C Trace Context). The
// span has the method, the route pattern and the status. It contains no path, query, header or
// address. Wrap it around the package's function HTTP, so that the request log has the trace id.
//
// Health checks and WebSocket upgrades are not traced: a span must not live as long as a socket.
// Operations on a socket have their own traces.
//
// otelhttp.NewHandler is no replacement: it always records the user agent, the path, the host and
// the addresses of the client and its proxies.
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
		if above := trace.SpanContextFromContext(ctx); above.IsValid() { // trace state is arbitrary client text
			ctx = trace.ContextWithRemoteSpanContext(ctx, above.WithTraceState(trace.TraceState{}))
		}
		ctx, span := t.tracer.Start(ctx, methodOf(r), trace.WithSpanKind(trace.SpanKindServer))
		r, out := r.WithContext(ctx), &statusWriter{ResponseWriter: w, unfinished: true}
		defer answered(span, r, out)
		next.ServeHTTP(out, r)
		out.unfinished = false
	})
}

// answered ends the span of a request.
func answered(span trace.Span, r *http.Request, out *statusWriter) {
	if span.IsRecording() {
		route, status := r.Pattern, out.code()
		if _, path, ok := strings.Cut(route, " "); ok { // strip the method
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

// methodOf returns a standard method, or "_OTHER": other methods are arbitrary client text.
func methodOf(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return r.Method
	}
	return "_OTHER"
}
