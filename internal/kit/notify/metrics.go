package notify

import "github.com/prometheus/client_golang/prometheus"

// What can fail, as the label doing says it.
const (
	publishing = "publish"  // the bus did not take a message
	decoding   = "decode"   // a message on the bus is none
	reading    = "read"     // an Updates could not read its state
	overflowed = "overflow" // too many keys were told at a time: everything counts as told
	refusing   = "watch"    // too many watches
)

type metrics struct {
	watches            prometheus.Gauge
	told, hints, reads prometheus.Counter
	errors             *prometheus.CounterVec
}

// newMetrics panics if reg has them already; nil is nowhere.
func newMetrics(reg prometheus.Registerer) metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "tandian_live_" + name, Help: help})
	}
	m := metrics{
		watches: prometheus.NewGauge(prometheus.GaugeOpts{Name: "tandian_live_watches", Help: "Keys that are watched, each as often as it is."}),
		told:    counter("told_total", "Keys of which this process said that something may have changed."),
		hints:   counter("hints_total", "Watches that were told to look again; one that has not looked yet is not told twice."),
		reads:   counter("reads_total", "States that were read for those who wait for changes."),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_live_errors_total", Help: "What live updates failed at, by what they were doing.",
		}, []string{"doing"}),
	}
	for _, doing := range []string{publishing, decoding, reading, overflowed, refusing} {
		m.errors.WithLabelValues(doing)
	}
	if reg != nil {
		reg.MustRegister(m.watches, m.told, m.hints, m.reads, m.errors)
	}
	return m
}
