package order

import (
	"context"
	"log/slog"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/kit/observe"
)

// metrics count what happens to orders, and what went wrong without anybody being
// told.
type metrics struct {
	events   *prometheus.CounterVec
	failures *observe.FailureLog
}

func newMetrics(reg prometheus.Registerer, log *slog.Logger) *metrics {
	doings := []string{"lock", "charge", "refund", "webhook", "expire", "tally", "list-add", "list-lock", "list-compare", "queued", "updates"}
	m := &metrics{
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_order_events_total",
			Help: "What happened to orders in this process: placed (ordinary ones), attempted, refused, abandoned and mismatched (payments, and notices that name another amount), paid, used, disputed (redemptions, by their buyers), cancelled, expired, refunding, refunded, void (payments of orders that had ended, to be given back), tallied.",
		}, []string{"event"}),
		failures: observe.NewFailures(reg, log, observe.FailureOpts{
			Name:    "tandian_order_failures_total",
			Help:    "Failed background operations of orders: " + strings.Join(doings, ", ") + ".",
			Message: "orders: something failed in the background", Doings: doings,
		}),
	}
	reg.MustRegister(m.events)
	for _, event := range []string{"placed", "attempted", "refused", "abandoned", "mismatched", "paid", "used", "disputed", "cancelled", "expired", "refunding", "refunded", "void", "tallied"} {
		m.events.WithLabelValues(event)
	}
	return m
}

func (m *metrics) count(event string, n int) { m.events.WithLabelValues(event).Add(float64(n)) }

// failed counts a failure, and logs it if the last one like it is some time ago.
func (m *metrics) failed(ctx context.Context, doing string, err error) {
	m.failures.Record(ctx, doing, err)
}
