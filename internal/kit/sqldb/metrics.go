package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// buckets are histogram bounds in seconds, from a local call to a hung server.
var buckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5} //nolint:gochecknoglobals // never modified

// SQLMetrics counts and times SQL statements.
type SQLMetrics struct {
	seconds *prometheus.HistogramVec
	workers *prometheus.HistogramVec // statements of workers
	errors  *prometheus.CounterVec
}

// NewSQLMetrics registers the metrics of statements. If db is not nil, it also registers the
// metrics of its pool, such as waits for a connection.
func NewSQLMetrics(reg prometheus.Registerer, db *sql.DB) *SQLMetrics {
	m := &SQLMetrics{
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tandian_sql_statement_seconds", Help: "Duration of SQL statements, by verb, excluding those of workers.", Buckets: buckets,
		}, []string{"verb"}),
		workers: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tandian_sql_worker_statement_seconds", Help: "Duration of SQL statements of workers, by verb.", Buckets: buckets,
		}, []string{"verb"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_sql_errors_total", Help: "Failed SQL statements, by verb.",
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

// worker is the context key of [Worker].
type worker struct{}

// Worker returns a context whose statements are counted as background work.
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
