// Package observe provides structured logs with the request id, and metrics of HTTP requests and
// GraphQL operations. Its traces lead from a request to its SQL statements and Redis commands.
//
// It records no variables, headers and documents: client data stays out of logs, labels and spans.
// Exceptions are the operation name, the X-Request-Id and the trace id of a traceparent header.
// None of them is a label.
package observe

import (
	"context"
	"io"
	"log/slog"
	"os"

	"github.com/lmittmann/tint"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/term"
)

// NewLogger returns a logger that writes to w. The format is "json", "text" (human-readable) or
// "auto": text on a terminal, otherwise JSON. Entries logged with a request's context have the
// request id, and the trace id if there is a trace.
func NewLogger(w io.Writer, format string, level slog.Level) *slog.Logger {
	if format == "auto" {
		format = "json"
		if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) { //nolint:gosec // a file descriptor
			format = "text"
		}
	}
	if format == "text" {
		return slog.New(withRequest{tint.NewHandler(w, &tint.Options{Level: level, TimeFormat: "15:04:05.000"})})
	}
	return slog.New(withRequest{slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level})})
}

// withRequest adds the request id and the trace id to log entries.
type withRequest struct{ slog.Handler }

func (h withRequest) Handle(ctx context.Context, r slog.Record) error {
	if id := RequestID(ctx); id != "" {
		r.AddAttrs(slog.String("request_id", id))
	}
	if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
		r.AddAttrs(slog.String("trace_id", sc.TraceID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

func (h withRequest) WithAttrs(attrs []slog.Attr) slog.Handler {
	return withRequest{h.Handler.WithAttrs(attrs)}
}

func (h withRequest) WithGroup(name string) slog.Handler {
	return withRequest{h.Handler.WithGroup(name)}
}
