package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// buckets of call times in seconds: from a local Redis to a hung server.
var buckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5} //nolint:gochecknoglobals // a constant that Go cannot say

// SQLMetrics counts and times statements.
type SQLMetrics struct {
	seconds *prometheus.HistogramVec
	workers *prometheus.HistogramVec // the same, of workers
	errors  *prometheus.CounterVec
}

// NewSQLMetrics registers the metrics of statements and, when db is not nil,
// of its pool (waits for a connection among them).
func NewSQLMetrics(reg prometheus.Registerer, db *sql.DB) *SQLMetrics {
	m := &SQLMetrics{
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tandian_sql_statement_seconds", Help: "Time of SQL statements, by verb, but for those of workers.", Buckets: buckets,
		}, []string{"verb"}),
		workers: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tandian_sql_worker_statement_seconds", Help: "Time of SQL statements of workers, by verb.", Buckets: buckets,
		}, []string{"verb"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_sql_errors_total", Help: "SQL statements that failed, by verb.",
		}, []string{"verb"}),
	}
	reg.MustRegister(m.seconds, m.workers, m.errors)
	for _, v := range []string{"select", "insert", "update", "delete", "other"} {
		m.seconds.WithLabelValues(v)
		m.workers.WithLabelValues(v)
		m.errors.WithLabelValues(v)
	}
	if db != nil {
		prometheus.WrapRegistererWithPrefix("tandian_", reg).MustRegister(collectors.NewDBStatsCollector(db, "main"))
	}
	return m
}

// worker marks the context of a worker.
type worker struct{}

// Worker returns a context whose statements are counted as those of a worker, which
// runs whether somebody asks or not.
func Worker(ctx context.Context) context.Context { return context.WithValue(ctx, worker{}, true) }

func (m *SQLMetrics) observe(ctx context.Context, verb string, d time.Duration, err error) {
	seconds := m.seconds
	if ctx.Value(worker{}) != nil {
		seconds = m.workers
	}
	seconds.WithLabelValues(verb).Observe(d.Seconds())
	if err != nil && !errors.Is(err, context.Canceled) {
		m.errors.WithLabelValues(verb).Inc()
	}
}
