package visit

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/kit/observe"
)

type counts struct{ site, shop, full, unknown prometheus.Counter }

func newCounts(reg prometheus.Registerer) *counts {
	visits := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tandian_visits_total", Help: "Recorded views, of the site and of shops.",
	}, []string{"kind"})
	dropped := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tandian_visits_dropped_total",
		Help: "Dropped visits: the buffer was full (full), or the shop does not exist (unknown_shop).",
	}, []string{"reason"})
	reg.MustRegister(visits, dropped)
	return &counts{
		site: visits.WithLabelValues("site"), shop: visits.WithLabelValues("shop"),
		full: dropped.WithLabelValues("full"), unknown: dropped.WithLabelValues("unknown_shop"),
	}
}

// Operations of the failure metric.
const (
	doingFlush = "flush"
	doingRead  = "read"
)

func newFailures(reg prometheus.Registerer, log *slog.Logger) *observe.FailureLog {
	return observe.NewFailureLog(reg, log, observe.FailureOpts{
		Name: "tandian_visit_failures_total",
		Help: "Failed operations of visits: flushes to Redis, which are retried (flush), " +
			"and invalid visitor sketches (read).",
		Message: "visit background operation failed", Doings: []string{doingFlush, doingRead},
	})
}
