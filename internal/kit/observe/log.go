// Package observe tells what the server does: structured logs that carry the
// request's id, and metrics of HTTP requests and GraphQL operations.
//
// Nothing here ever sees a variable, a header or a document: what clients send
// stays out of logs and labels, but for the operation's name in the log.
package observe

import (
	"context"
	"io"
	"log/slog"
	"os"

	"github.com/lmittmann/tint"
	"golang.org/x/term"
)

// NewLogger returns a logger to w. The format is "json", "text" (for people)
// or "auto": text on a terminal, else JSON. Lines that are logged with a
// request's context carry its id.
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

// withRequest adds the id of the request to what is logged on its behalf.
type withRequest struct{ slog.Handler }

func (h withRequest) Handle(ctx context.Context, r slog.Record) error {
	if id := RequestID(ctx); id != "" {
		r.AddAttrs(slog.String("request_id", id))
	}
	return h.Handler.Handle(ctx, r)
}

func (h withRequest) WithAttrs(attrs []slog.Attr) slog.Handler {
	return withRequest{h.Handler.WithAttrs(attrs)}
}

func (h withRequest) WithGroup(name string) slog.Handler {
	return withRequest{h.Handler.WithGroup(name)}
}
