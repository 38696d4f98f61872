package order

import (
	"context"
	"log/slog"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/kit/observe"
)

type metrics struct {
	events   *prometheus.CounterVec
	failures *observe.FailureLog
}

func newMetrics(reg prometheus.Registerer, log *slog.Logger) *metrics {
	doings := []string{"lock", "charge", "refund", "webhook", "expire", "tally", "list-add", "list-lock", "list-compare", "queued", "updates"}
	m := &metrics{
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_order_events_total",
			Help: "Order events in this process: placed (without a sale), attempted, refused, abandoned and mismatched (payments, and notices with another amount), paid, used, disputed (redemptions, by buyers), cancelled, expired, refunding, refunded, void (payments to refund because the order had ended), tallied (counted).",
		}, []string{"event"}),
		failures: observe.NewFailureLog(reg, log, observe.FailureOpts{
			Name:    "tandian_order_failures_total",
			Help:    "Failed background operations of orders: " + strings.Join(doings, ", ") + ".",
			Message: "background operation of orders failed", Doings: doings,
		}),
	}
	reg.MustRegister(m.events)
	for _, event := range []string{"placed", "attempted", "refused", "abandoned", "mismatched", "paid", "used", "disputed", "cancelled", "expired", "refunding", "refunded", "void", "tallied"} {
		m.events.WithLabelValues(event)
	}
	return m
}

func (m *metrics) count(event string, n int) { m.events.WithLabelValues(event).Add(float64(n)) }

// failed counts a failure. It logs the failure unless a similar one was logged recently.
func (m *metrics) failed(ctx context.Context, doing string, err error) {
	m.failures.Record(ctx, doing, err)
}
