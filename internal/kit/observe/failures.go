package observe

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// A FailureLog counts and logs failures of a package that are retried or that a fallback hides. It
// throttles the log, because failures may come with every request. It is safe for concurrent use.
type FailureLog struct {
	log       *slog.Logger
	message   string
	total     *prometheus.CounterVec
	throttles map[string]*clock.Throttle // by operation; read-only
}

// FailureOpts describes the failures of a package. All fields are required.
type FailureOpts struct {
	Name, Help string   // of the counter with the label "doing"
	Message    string   // of the log entries
	Doings     []string // the operations that can fail
}

// NewFailureLog registers the counter and returns the log.
func NewFailureLog(reg prometheus.Registerer, log *slog.Logger, o FailureOpts) *FailureLog {
	f := &FailureLog{
		log: log, message: o.Message, throttles: map[string]*clock.Throttle{},
		total: prometheus.NewCounterVec(prometheus.CounterOpts{Name: o.Name, Help: o.Help}, []string{"doing"}),
	}
	reg.MustRegister(f.total)
	for _, doing := range o.Doings {
		f.total.WithLabelValues(doing)
		f.throttles[doing] = &clock.Throttle{}
	}
	return f
}

// Record counts a failure of an operation, one of [FailureOpts.Doings]. It logs the error, but at
// most once in ten seconds per operation.
func (f *FailureLog) Record(ctx context.Context, doing string, err error) {
	f.total.WithLabelValues(doing).Inc()
	if f.throttles[doing].Allow() {
		f.log.WarnContext(ctx, f.message, "doing", doing, "err", err) //nolint:sloglint // a constant of the package
	}
}
