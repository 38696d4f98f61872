package app

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/kit/lock"
)

// lockMetrics shows the counts of a locker.
type lockMetrics struct{ locks *lock.Locker }

type lockCount struct {
	desc *prometheus.Desc
	of   func(lock.Stats) int64
}

func lockCounts() []lockCount {
	count := func(name, help string, of func(lock.Stats) int64) lockCount {
		return lockCount{prometheus.NewDesc("tandian_lock_"+name+"_total", help, nil, nil), of}
	}
	return []lockCount{
		count("attempts", "Attempts to take a lock, at the store.", func(s lock.Stats) int64 { return s.Attempts }),
		count("refusals", "Attempts that found the lock with somebody else.", func(s lock.Stats) int64 { return s.Refusals }),
		count("grants", "Locks taken.", func(s lock.Stats) int64 { return s.Grants }),
		count("lost", "Locks that ended before they were released.", func(s lock.Stats) int64 { return s.Lost }),
		count("max_hold", "Locks that were held for as long as they may be.", func(s lock.Stats) int64 { return s.MaxHold }),
	}
}

// Describe is for Prometheus.
func (lockMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, c := range lockCounts() {
		to <- c.desc
	}
}

// Collect is for Prometheus.
func (m lockMetrics) Collect(to chan<- prometheus.Metric) {
	stats := m.locks.Stats()
	for _, c := range lockCounts() {
		to <- prometheus.MustNewConstMetric(c.desc, prometheus.CounterValue, float64(c.of(stats)))
	}
}

const (
	fencesEvery  = time.Hour
	fencesOld    = 24 * time.Hour // longer than any lock is held
	closeTimeout = 5 * time.Second
)

// sweepFences deletes the traces of locks that nobody has held for a day.
func (h *House) sweepFences(ctx context.Context) error {
	_, err := lock.Sweep(ctx, h.DB.DB, fencesOld)
	return err
}
