package outbox

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// Values of the label outcome.
const (
	atOnce   = "at_once"  // done by its writer
	relayed  = "relayed"  // done by the first claim
	late     = "late"     // done by another attempt
	failed   = "failed"   // an attempt failed
	parked   = "parked"   // failed too often
	replaced = "replaced" // replaced by Handler.Collapse
)

// Values of the label doing: operations of the Box that can fail.
const (
	claiming   = "claim"
	settling   = "settle"
	summing    = "stats"
	replacing  = "replace"
	overflowed = "overflow"
)

type metrics struct {
	jobs, errors            *prometheus.CounterVec
	waiting, oldest, parked *prometheus.GaugeVec
}

func newMetrics() *metrics {
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tandian_outbox_" + name, Help: help}, []string{"topic"})
	}
	m := &metrics{
		jobs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_outbox_jobs_total", Help: "Outcomes of outbox jobs in this process.",
		}, []string{"topic", "outcome"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_outbox_errors_total", Help: "Failed operations of the outbox, which are retried.",
		}, []string{"doing"}),
		waiting: gauge("waiting", "Outbox jobs that wait, over all processes."),
		oldest:  gauge("oldest_seconds", "Age of the oldest waiting outbox job."),
		parked:  gauge("parked", "Outbox jobs that failed too often and wait for an operator."),
	}
	for _, doing := range []string{claiming, settling, summing, replacing, overflowed} {
		m.errors.WithLabelValues(doing)
	}
	return m
}

func (m *metrics) register(reg prometheus.Registerer) error {
	return errors.Join(reg.Register(m.jobs), reg.Register(m.errors), reg.Register(m.waiting), reg.Register(m.oldest), reg.Register(m.parked))
}

// addTopic creates the series of a topic, at 0.
func (m *metrics) addTopic(topic string) {
	for _, outcome := range []string{atOnce, relayed, late, failed, parked, replaced} {
		m.jobs.WithLabelValues(topic, outcome)
	}
	m.set(Stats{Name: topic})
}

func (m *metrics) count(topic, outcome string) { m.jobs.WithLabelValues(topic, outcome).Inc() }

func (m *metrics) set(s Stats) {
	m.waiting.WithLabelValues(s.Name).Set(float64(s.Waiting))
	m.oldest.WithLabelValues(s.Name).Set(s.Oldest.Seconds())
	m.parked.WithLabelValues(s.Name).Set(float64(s.Parked))
}
