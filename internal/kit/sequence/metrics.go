package sequence

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct{ leases, failures prometheus.Counter }

func newMetrics(name string) *metrics {
	counter := func(metric, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tandian_sequence_" + metric, Help: help, ConstLabels: prometheus.Labels{"name": name},
		})
	}
	return &metrics{
		leases:   counter("leases_total", "Segments that this process leased from the database."),
		failures: counter("failures_total", "Failed leases."),
	}
}

func (m *metrics) register(reg prometheus.Registerer) error {
	return errors.Join(reg.Register(m.leases), reg.Register(m.failures))
}
