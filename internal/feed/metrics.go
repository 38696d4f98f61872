package feed

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	pushed  prometheus.Counter
	fanOuts prometheus.Histogram
	pages   *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) metrics {
	m := metrics{
		pushed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tandian_feed_pushed_total", Help: "Followers that notes were pushed to, with or without an inbox.",
		}),
		fanOuts: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "tandian_feed_fan_out_seconds", Help: "From the publishing of a note until it was pushed to all followers.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
		}),
		pages: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_feed_pages_total", Help: "Pages of feeds, by where they came from: inbox or database.",
		}, []string{"from"}),
	}
	if reg != nil {
		reg.MustRegister(m.pushed, m.fanOuts, m.pages)
	}
	return m
}
