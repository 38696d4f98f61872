// Package observe tells what the server does: structured logs that carry the
// request's id, metrics of HTTP requests and GraphQL operations, and traces
// from a request down to its statements.
//
// Nothing here ever keeps a variable, a header or a document: what clients send
// stays out of logs, labels and spans, but for the operation's name in the log
// and in its span, and the trace's id that a traceparent header names.
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

// NewLogger returns a logger to w. The format is "json", "text" (for people)
// or "auto": text on a terminal, else JSON. Lines that are logged with a
// request's context carry its id, and that of its trace if there is one.
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

// withRequest adds the ids of the request and its trace to what is logged on its
// behalf.
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
