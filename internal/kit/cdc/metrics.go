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
			Name: "tandian_log_reader_lag_bytes", Help: "WAL retained by the replication slot, as last read by this process.",
		}),
		active: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tandian_log_reader_active", Help: "1 while this process reads the database log.",
		}, func() float64 {
			if active() {
				return 1
			}
			return 0
		}),
		changes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_log_reader_changes_total", Help: "Delivered changes of rows, by table.",
		}, []string{"table"}),
		missed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tandian_log_reader_missed_total", Help: "Possible losses of changes, after which all cached values were invalidated.",
		}),
		errors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tandian_log_reader_errors_total", Help: "Failures to read the log or to deliver changes.",
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
			return fmt.Errorf("register metrics: %w", err)
		}
	}
	return nil
}
