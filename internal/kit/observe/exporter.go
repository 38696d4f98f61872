package observe

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// logInterval is the minimum interval between log entries about lost spans.
const logInterval = time.Minute

// An exporter delivers spans and logs failed deliveries. The library would report errors to a
// handler of the whole process.
type exporter struct {
	sdktrace.SpanExporter
	log   *slog.Logger
	life  context.Context    // ends with abort
	abort context.CancelFunc // ends running and later deliveries

	throttle clock.Throttle
	lost     atomic.Int64 // spans since the last log entry
}

func newExporter(next sdktrace.SpanExporter, log *slog.Logger) *exporter {
	e := &exporter{SpanExporter: next, log: log, throttle: clock.Throttle{Every: logInterval}}
	e.life, e.abort = context.WithCancel(context.Background())
	return e
}

// ExportSpans implements sdktrace.SpanExporter. It always returns nil.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(e.life, cancel) //nolint:contextcheck // a delivery ends with the exporter too
	defer stop()
	if err := e.SpanExporter.ExportSpans(ctx, spans); err != nil {
		e.logLoss(ctx, err, len(spans))
	}
	return nil
}

func (e *exporter) logLoss(ctx context.Context, err error, spans int) {
	if partial := (*partialError)(nil); errors.As(err, &partial) {
		spans = partial.rejected
	}
	e.lost.Add(int64(spans))
	if e.throttle.Allow() {
		// The error text may contain the complete response of the collector.
		e.log.WarnContext(ctx, "traces not delivered", "spans", e.lost.Swap(0), "err", cut(err.Error(), 500))
	}
}
