package notify

import "github.com/prometheus/client_golang/prometheus"

// Values of the label doing: operations that can fail.
const (
	publishing = "publish"  // the bus rejected a message
	decoding   = "decode"   // a message on the bus is invalid
	reading    = "read"     // Updates could not read a state
	overflowed = "overflow" // too many pending keys: all watches are hinted
	watching   = "watch"    // too many watches
)

type metrics struct {
	watches                prometheus.Gauge
	notified, hints, reads prometheus.Counter
	errors                 *prometheus.CounterVec
}

// newMetrics panics if reg has them already. A nil reg registers nothing.
func newMetrics(reg prometheus.Registerer) metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "tandian_live_" + name, Help: help})
	}
	m := metrics{
		watches:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "tandian_live_watches", Help: "Open watches."}),
		notified: counter("told_total", "Keys that this process notified."),
		hints:    counter("hints_total", "Hints delivered to watches; a pending hint is not repeated."),
		reads:    counter("reads_total", "States read for subscribers."),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_live_errors_total", Help: "Failures of live updates, by operation.",
		}, []string{"doing"}),
	}
	for _, doing := range []string{publishing, decoding, reading, overflowed, watching} {
		m.errors.WithLabelValues(doing)
	}
	if reg != nil {
		reg.MustRegister(m.watches, m.notified, m.hints, m.reads, m.errors)
	}
	return m
}
