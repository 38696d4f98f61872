package eventbus

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	published *prometheus.CounterVec
	heard     prometheus.Counter
	gaps      *prometheus.CounterVec
	errors    *prometheus.CounterVec
	born      time.Time
	synced    *atomic.Int64 // after born
}

func newMetrics(reg prometheus.Registerer) metrics {
	m := metrics{
		published: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_bus_published_total", Help: "Messages that this process published, by topic.",
		}, []string{"topic"}),
		heard: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tandian_bus_heard_total", Help: "Messages of all processes that this one read from the bus.",
		}),
		gaps: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_bus_gaps_total", Help: "Times that messages may have been missed and what rested on them was forgotten, by reason.",
		}, []string{"why"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_bus_errors_total", Help: "Failures of the bus: to publish, to follow, and hearers that panicked.",
		}, []string{"doing"}),
		born:   time.Now(),
		synced: new(atomic.Int64),
	}
	m.published.WithLabelValues("other")
	for _, why := range allGaps() {
		m.gaps.WithLabelValues(string(why))
	}
	for _, doing := range []string{"publish", "follow", "hear"} {
		m.errors.WithLabelValues(doing)
	}
	if reg != nil {
		lag := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tandian_bus_lag_seconds", Help: "For how long this process has not known that it heard everything; about 0.1 when all is well.",
		}, func() float64 { return m.lag().Seconds() })
		reg.MustRegister(m.published, m.heard, m.gaps, m.errors, lag)
	}
	return m
}

func (m metrics) sync(at time.Time) { m.synced.Store(int64(at.Sub(m.born))) }

func (m metrics) lag() time.Duration { return time.Since(m.born) - time.Duration(m.synced.Load()) }
