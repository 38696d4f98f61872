package cdc

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	lag     prometheus.Gauge
	active  prometheus.GaugeFunc
	changes *prometheus.CounterVec
	missed  prometheus.Counter
	errors  prometheus.Counter
}

func newMetrics(tables []Table, active func() bool) *metrics {
	m := &metrics{
		lag: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "tandian_log_reader_lag_bytes", Help: "WAL that the replication slot holds back, as this process saw it last.",
		}),
		active: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tandian_log_reader_active", Help: "1 while this process reads the log of the database.",
		}, func() float64 {
			if active() {
				return 1
			}
			return 0
		}),
		changes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_log_reader_changes_total", Help: "Rows whose changes were read in the log and told, by table.",
		}, []string{"table"}),
		missed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tandian_log_reader_missed_total", Help: "Times that changes may have gone by unheard, so that everything was told to have changed.",
		}),
		errors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tandian_log_reader_errors_total", Help: "Failures of reading the log, and of telling what was read.",
		}),
	}
	for _, t := range tables {
		m.changes.WithLabelValues(t.Name)
	}
	return m
}

func (m *metrics) register(reg prometheus.Registerer) error {
	if reg == nil {
		return nil
	}
	for _, c := range []prometheus.Collector{m.lag, m.active, m.changes, m.missed, m.errors} {
		if err := reg.Register(c); err != nil {
			return fmt.Errorf("register the metrics: %w", err)
		}
	}
	return nil
}
