package order

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// metrics count what happens to orders, and what went wrong without anybody being
// told. Those failures are logged seldom, because they may come with every order.
type metrics struct {
	log      *slog.Logger
	events   *prometheus.CounterVec
	failures *prometheus.CounterVec
	complain map[string]*clock.Seldom // by doing; not written any more
}

func newMetrics(reg prometheus.Registerer, log *slog.Logger) *metrics {
	m := &metrics{
		log: log,
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_order_events_total",
			Help: "What happened to orders in this process: placed (ordinary ones), attempted, refused (payments), paid, used, cancelled, expired, refunding, refunded, void (payments of orders that had ended, to be given back), tallied.",
		}, []string{"event"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_order_failures_total",
			Help: "What failed in the background of orders, by what was being done: lock, charge, refund, webhook, expire, digests, tally, list-add, list-lock, list-compare, queued, updates.",
		}, []string{"doing"}),
		complain: map[string]*clock.Seldom{},
	}
	reg.MustRegister(m.events, m.failures)
	for _, event := range []string{"placed", "attempted", "refused", "paid", "used", "cancelled", "expired", "refunding", "refunded", "void", "tallied"} {
		m.events.WithLabelValues(event)
	}
	for _, doing := range []string{"lock", "charge", "refund", "webhook", "expire", "digests", "tally", "list-add", "list-lock", "list-compare", "queued", "updates"} {
		m.failures.WithLabelValues(doing)
		m.complain[doing] = &clock.Seldom{}
	}
	return m
}

func (m *metrics) count(event string, n int) { m.events.WithLabelValues(event).Add(float64(n)) }

// failed counts a failure, and logs it if the last one like it is some time ago.
func (m *metrics) failed(ctx context.Context, doing string, err error) {
	m.failures.WithLabelValues(doing).Inc()
	if m.complain[doing].Due() {
		m.log.WarnContext(ctx, "orders: something failed in the background", "doing", doing, "err", err)
	}
}
