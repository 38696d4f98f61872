package eventbus

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	published *prometheus.CounterVec
	received  prometheus.Counter
	gaps      *prometheus.CounterVec
	errors    *prometheus.CounterVec
	start     time.Time
	synced    *atomic.Int64 // nanoseconds after start
}

func newMetrics(reg prometheus.Registerer) metrics {
	m := metrics{
		published: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_bus_published_total", Help: "Messages that this process published, by topic.",
		}, []string{"topic"}),
		received: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tandian_bus_heard_total", Help: "Messages that this process read from the bus.",
		}),
		gaps: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_bus_gaps_total", Help: "Possible losses of messages, after which dependent data was dropped, by reason.",
		}, []string{"why"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_bus_errors_total", Help: "Failures to publish or to read, and panics of handlers.",
		}, []string{"doing"}),
		start:  time.Now(),
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
			Name: "tandian_bus_lag_seconds", Help: "Time since this process was last in sync with the bus; normally about 0.1.",
		}, func() float64 { return m.lag().Seconds() })
		reg.MustRegister(m.published, m.received, m.gaps, m.errors, lag)
	}
	return m
}

func (m metrics) sync(at time.Time) { m.synced.Store(int64(at.Sub(m.start))) }

func (m metrics) lag() time.Duration { return time.Since(m.start) - time.Duration(m.synced.Load()) }
