package observe

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// Failures are what went wrong in a room without anybody being told: something else
// answered, or it is tried again later. Each is counted; they are logged seldom,
// because they may come with every request. Safe for concurrent use.
type Failures struct {
	log     *slog.Logger
	message string
	total   *prometheus.CounterVec
	seldom  map[string]*clock.Seldom // by doing; not written any more
}

// NewFailures registers a counter by the label "doing". message is what the log says
// of each; doings are all that can fail.
func NewFailures(reg prometheus.Registerer, log *slog.Logger, metric prometheus.CounterOpts, message string, doings ...string) *Failures {
	f := &Failures{
		log: log, message: message, total: prometheus.NewCounterVec(metric, []string{"doing"}), seldom: map[string]*clock.Seldom{},
	}
	reg.MustRegister(f.total)
	for _, doing := range doings {
		f.total.WithLabelValues(doing)
		f.seldom[doing] = &clock.Seldom{}
	}
	return f
}

// Note counts a failure of one of the doings, and logs it if the last one like it is
// some time ago.
func (f *Failures) Note(ctx context.Context, doing string, err error) {
	f.total.WithLabelValues(doing).Inc()
	if f.seldom[doing].Due() {
		f.log.WarnContext(ctx, f.message, "doing", doing, "err", err) //nolint:sloglint // a constant of the room
	}
}
