package feed

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	pushed  prometheus.Counter
	fanOuts prometheus.Histogram
	pages   *prometheus.CounterVec

	liveSessions, liveViewers                                             prometheus.Gauge
	liveEvents, liveTold, liveReplayed, liveErrors, liveFound, liveHinted prometheus.Counter
	liveReplays                                                           *prometheus.CounterVec
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
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: "tandian_feed_live_" + name, Help: help})
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "tandian_feed_live_" + name, Help: help})
	}
	m.liveSessions = gauge("sessions", "Live feeds that are followed in this process.")
	m.liveViewers = gauge("viewers", "Users of whom this process knows whom they follow: those of live feeds, and those who left a moment ago.")
	m.liveEvents = counter("events_total", "Numbers of the log that were told to whom of this process they are due.")
	m.liveTold = counter("told_total", "Updates that were handed over as they happened, each to one live feed.")
	m.liveReplayed = counter("replayed_total", "Updates that were handed over to live feeds that had missed them.")
	m.liveErrors = counter("errors_total", "Reads of what live feeds need that failed; they are tried again.")
	m.liveHinted = counter("hinted_total", "Events of the log that were told as they were announced, without a look into the log.")
	m.liveFound = counter("found_total", "Numbers of the log that this process found by looking: what should have announced them had not come, or not yet.")
	m.liveReplays = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tandian_feed_live_replays_total", Help: "Live feeds that went on from a place: from the log, or told to read the feed anew (resync).",
	}, []string{"source"})
	for _, source := range []string{"log", "resync"} {
		m.liveReplays.WithLabelValues(source)
	}
	if reg != nil {
		reg.MustRegister(m.pushed, m.fanOuts, m.pages, m.liveSessions, m.liveViewers, m.liveEvents, m.liveTold, m.liveReplayed, m.liveErrors, m.liveFound, m.liveHinted, m.liveReplays)
	}
	return m
}

// ofHub shows how far the live feeds are behind.
func (m metrics) ofHub(reg prometheus.Registerer, h *liveHub) {
	if reg == nil {
		return
	}
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tandian_feed_live_lag_numbers", Help: "Numbers of the log that this process knows of and has not told its live feeds yet.",
	}, func() float64 {
		numbers, _, _ := h.lag()
		return float64(numbers)
	}), prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tandian_feed_live_lag_seconds", Help: "Since when the first of the numbers that were not told yet is known; 0 if all are told.",
	}, func() float64 {
		_, oldest, _ := h.lag()
		return oldest.Seconds()
	}))
}
