package app

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/kit/lock"
)

// lockMetrics exports the counters of a locker. The label store names its place.
type lockMetrics struct {
	locks *lock.Locker
	store string
}

type lockCount struct {
	desc *prometheus.Desc
	of   func(lock.Stats) int64
}

func (m lockMetrics) counts() []lockCount {
	count := func(name, help string, of func(lock.Stats) int64) lockCount {
		return lockCount{prometheus.NewDesc("tandian_lock_"+name+"_total", help, nil, prometheus.Labels{"store": m.store}), of}
	}
	return []lockCount{
		count("acquired", "Locks taken.", func(s lock.Stats) int64 { return s.Acquired }),
		count("waited", "Callers that waited for a lock.", func(s lock.Stats) int64 { return s.Waited }),
		count("failed", "Calls for a lock that its store did not answer, or answered with an error.", func(s lock.Stats) int64 { return s.Failed }),
		count("lost", "Locks that ended before their release.", func(s lock.Stats) int64 { return s.Lost }),
		count("max_hold", "Locks that reached their longest time.", func(s lock.Stats) int64 { return s.MaxHold }),
	}
}

// Describe implements [prometheus.Collector].
func (m lockMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, c := range m.counts() {
		to <- c.desc
	}
}

// Collect implements [prometheus.Collector].
func (m lockMetrics) Collect(to chan<- prometheus.Metric) {
	stats := m.locks.Stats()
	for _, c := range m.counts() {
		to <- prometheus.MustNewConstMetric(c.desc, prometheus.CounterValue, float64(c.of(stats)))
	}
}

const closeTimeout = 5 * time.Second
