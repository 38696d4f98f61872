package schedule

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Values of the label result.
const (
	ok      = "ok"
	failed  = "failed"  // and will be retried
	unasked = "unasked" // the database did not grant the lock, or did not record the run
)

// metrics describes this process. For all processes, sum the runs and take the latest success.
type metrics struct {
	runs    *prometheus.CounterVec
	seconds *prometheus.HistogramVec
	success *prometheus.GaugeVec
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_schedule_runs_total",
			Help: "Runs of scheduled jobs in this process: ok, failed, or unasked if the database failed.",
		}, []string{"job", "result"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tandian_schedule_run_seconds", Help: "Duration of job runs in this process.",
			Buckets: []float64{0.01, 0.1, 1, 10, 60, 600, 3600},
		}, []string{"job"}),
		success: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "tandian_schedule_last_success_timestamp_seconds",
			Help: "Time of the last success of a job in this process, in seconds since 1970; 0 if none since startup. Use the maximum over all processes.",
		}, []string{"job"}),
	}
	if reg != nil {
		reg.MustRegister(m.runs, m.seconds, m.success)
	}
	return m
}

// addJob creates the series of a job.
func (m *metrics) addJob(job string) {
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
