package observe

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// FailureLog are what went wrong in a room without anybody being told: something else
// answered, or it is tried again later. Each is counted; they are logged seldom,
// because they may come with every request. Safe for concurrent use.
type FailureLog struct {
	log     *slog.Logger
	message string
	total   *prometheus.CounterVec
	seldom  map[string]*clock.Throttle // by doing; not written any more
}

// FailureOpts describe the failures of a package. All fields are required.
type FailureOpts struct {
	Name, Help string   // of the counter, by the label "doing"
	Message    string   // of the log entries
	Doings     []string // the operations that can fail
}

// NewFailures registers the counter.
func NewFailures(reg prometheus.Registerer, log *slog.Logger, o FailureOpts) *FailureLog {
	f := &FailureLog{
		log: log, message: o.Message, seldom: map[string]*clock.Throttle{},
		total: prometheus.NewCounterVec(prometheus.CounterOpts{Name: o.Name, Help: o.Help}, []string{"doing"}),
	}
	reg.MustRegister(f.total)
	for _, doing := range o.Doings {
		f.total.WithLabelValues(doing)
		f.seldom[doing] = &clock.Throttle{}
	}
	return f
}

// Record counts a failure of one of the doings, and logs it if the last one like it is
// some time ago.
func (f *FailureLog) Record(ctx context.Context, doing string, err error) {
	f.total.WithLabelValues(doing).Inc()
	if f.seldom[doing].Allow() {
		f.log.WarnContext(ctx, f.message, "doing", doing, "err", err) //nolint:sloglint // a constant of the room
	}
}
