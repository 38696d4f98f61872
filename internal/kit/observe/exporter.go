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

// complainEvery is how often the log says that traces are not delivered.
const complainEvery = time.Minute

// exporter delivers spans, says in our log what goes wrong, and can be aborted.
// The library would tell an error handler of the whole process.
type exporter struct {
	sdktrace.SpanExporter
	log   *slog.Logger
	life  context.Context // of the exporter, not of a call
	abort context.CancelFunc

	seldom clock.Throttle
	lost   atomic.Int64 // spans since the log was told last
}

func newExporter(next sdktrace.SpanExporter, log *slog.Logger) *exporter {
	e := &exporter{SpanExporter: next, log: log, seldom: clock.Throttle{Every: complainEvery}}
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
	if partial := (*partialError)(nil); errors.As(err, &partial) {
		spans = partial.rejected
	}
	e.lost.Add(int64(spans))
	if e.seldom.Allow() {
		// The text may have all that the collector answered.
		e.log.WarnContext(ctx, "traces not delivered", "spans", e.lost.Swap(0), "err", cut(err.Error(), 500))
	}
}
