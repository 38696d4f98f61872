package visit

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/kit/observe"
)

// counts are the metrics of what is recorded.
type counts struct{ site, shop, full, unknown prometheus.Counter }

func newCounts(reg prometheus.Registerer) *counts {
	visits := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tandian_visits_total", Help: "Views that were recorded, of the site and of shops.",
	}, []string{"kind"})
	dropped := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tandian_visits_dropped_total",
		Help: "Visits that are not counted: too many visitors waited for Redis (full), or there is no such shop (unknown_shop).",
	}, []string{"reason"})
	reg.MustRegister(visits, dropped)
	return &counts{
		site: visits.WithLabelValues("site"), shop: visits.WithLabelValues("shop"),
		full: dropped.WithLabelValues("full"), unknown: dropped.WithLabelValues("unknown_shop"),
	}
}

// What can fail in the background.
const (
	doingFlush = "flush"
	doingRead  = "read"
)

func newFailures(reg prometheus.Registerer, log *slog.Logger) *observe.FailureLog {
	return observe.NewFailures(reg, log, observe.FailureOpts{
		Name: "tandian_visit_failures_total",
		Help: "Failed background operations of visits, which are retried: sending them to Redis (flush); " +
			"or bytes of visitors that cannot be read (read).",
		Message: "visits: something failed in the background", Doings: []string{doingFlush, doingRead},
	})
}
