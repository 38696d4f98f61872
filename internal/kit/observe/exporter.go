package observe

import (
	"context"
	"log/slog"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// complainEvery is how often the log says that traces are not delivered.
const complainEvery = time.Minute

// exporter delivers spans, says in our log what goes wrong, and can be aborted.
// The library would tell an error handler of the whole process.
type exporter struct {
	sdktrace.SpanExporter
	log   *slog.Logger
	life  context.Context // of the exporter, not of a call
	abort context.CancelFunc

	mu   sync.Mutex
	said time.Time // when the log was told last
	lost int       // spans since then
}

func newExporter(next sdktrace.SpanExporter, log *slog.Logger) *exporter {
	e := &exporter{SpanExporter: next, log: log}
	e.life, e.abort = context.WithCancel(context.Background())
	return e
}

// ExportSpans implements sdktrace.SpanExporter. It returns no error.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(e.life, cancel) //nolint:contextcheck // a delivery ends with the exporter too
	defer stop()
	if err := e.SpanExporter.ExportSpans(ctx, spans); err != nil {
		e.complain(ctx, err, len(spans))
	}
	return nil
}

func (e *exporter) complain(ctx context.Context, err error, spans int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lost += spans
	now := time.Now()
	if !e.said.IsZero() && now.Sub(e.said) < complainEvery {
		return
	}
	// The text may have all that the collector answered.
	e.log.WarnContext(ctx, "traces not delivered", "spans", e.lost, "err", cut(err.Error(), 500))
	e.said, e.lost = now, 0
}
