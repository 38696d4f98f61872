package schedule

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// How a run ended.
const (
	ok      = "ok"
	failed  = "failed"  // and is tried again
	unasked = "unasked" // the database did not say whose turn it is, or did not write down that it was
)

// metrics are of this process alone: of all processes together the sums of runs count,
// and the latest success.
type metrics struct {
	runs    *prometheus.CounterVec
	seconds *prometheus.HistogramVec
	success *prometheus.GaugeVec
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_schedule_runs_total",
			Help: "Runs of scheduled work in this process: ok, failed, or unasked, if the database did not say whose turn it is.",
		}, []string{"job", "result"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tandian_schedule_run_seconds", Help: "How long runs of scheduled work took in this process.",
			Buckets: []float64{0.01, 0.1, 1, 10, 60, 600, 3600},
		}, []string{"job"}),
		success: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "tandian_schedule_last_success_timestamp_seconds",
			Help: "When scheduled work last succeeded in this process, in seconds since 1970; 0 if it has not since the start. The largest of all processes counts.",
		}, []string{"job"}),
	}
	if reg != nil {
		reg.MustRegister(m.runs, m.seconds, m.success)
	}
	return m
}

// show has a job be there from the start.
func (m *metrics) show(job string) {
	for _, result := range []string{ok, failed, unasked} {
		m.runs.WithLabelValues(job, result)
	}
	m.seconds.WithLabelValues(job)
	m.success.WithLabelValues(job)
}

func (m *metrics) ran(job string, err error, took time.Duration, now time.Time) {
	m.seconds.WithLabelValues(job).Observe(took.Seconds())
	if err != nil {
		m.runs.WithLabelValues(job, failed).Inc()
		return
	}
	m.runs.WithLabelValues(job, ok).Inc()
	m.success.WithLabelValues(job).Set(float64(now.UnixMilli()) / 1000)
}

func (m *metrics) unasked(job string) { m.runs.WithLabelValues(job, unasked).Inc() }
