package feed

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	pushed  prometheus.Counter
	fanOuts prometheus.Histogram
	pages   *prometheus.CounterVec

	liveSessions, liveViewers                                                  prometheus.Gauge
	liveEvents, liveDelivered, liveReplayed, liveErrors, liveFound, liveHinted prometheus.Counter
	liveReplays                                                                *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) metrics {
	m := metrics{
		pushed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tandian_feed_pushed_total", Help: "Pushes of notes to followers, with or without an inbox.",
		}),
		fanOuts: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "tandian_feed_fan_out_seconds", Help: "Time from publishing a note until it is pushed to all followers.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
		}),
		pages: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_feed_pages_total", Help: "Feed pages by source: inbox or database.",
		}, []string{"from"}),
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: "tandian_feed_live_" + name, Help: help})
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "tandian_feed_live_" + name, Help: help})
	}
	m.liveSessions = gauge("sessions", "Live feed sessions in this process.")
	m.liveViewers = gauge("viewers", "Users whose follows are loaded for live feeds, including those that left moments ago.")
	m.liveEvents = counter("events_total", "Log events delivered to sessions in this process.")
	m.liveDelivered = counter("told_total", "Updates delivered to live feeds as they happened.")
	m.liveReplayed = counter("replayed_total", "Missed updates delivered to live feeds.")
	m.liveErrors = counter("errors_total", "Failed reads for live feeds. They are retried.")
	m.liveHinted = counter("hinted_total", "Log events delivered from their announcement, without reading the log.")
	m.liveFound = counter("found_total", "Log events found by reading the log, before their announcement or without one.")
	m.liveReplays = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tandian_feed_live_replays_total", Help: "Live feeds resumed from a cursor, by source: log, or resync if the client must reload.",
	}, []string{"source"})
	for _, source := range []string{"log", "resync"} {
		m.liveReplays.WithLabelValues(source)
	}
	if reg != nil {
		reg.MustRegister(m.pushed, m.fanOuts, m.pages, m.liveSessions, m.liveViewers, m.liveEvents, m.liveDelivered, m.liveReplayed, m.liveErrors, m.liveFound, m.liveHinted, m.liveReplays)
	}
	return m
}

func (m metrics) registerLag(reg prometheus.Registerer, h *liveHub) {
	if reg == nil {
		return
	}
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tandian_feed_live_lag_numbers", Help: "Known log numbers that are not delivered to live feeds yet.",
	}, func() float64 {
		numbers, _, _ := h.lag()
		return float64(numbers)
	}), prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tandian_feed_live_lag_seconds", Help: "Age of the oldest undelivered log number; 0 if there is none.",
	}, func() float64 {
		_, oldest, _ := h.lag()
		return oldest.Seconds()
	}))
}
