package flashsale

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// Values of the label did: actions of the reconciler.
const (
	didReserve  = "reserved"
	didRelease  = "released"
	didSettle   = "settled"
	didRebuild  = "rebuilt"
	didEdit     = "edited"
	didAbort    = "tombstoned"
	didSweep    = "swept"
	didQueueRow = "requeued"
)

type metrics struct {
	reconciled   *prometheus.CounterVec
	incarnations prometheus.Counter
	closed       *prometheus.GaugeVec
	errors       prometheus.Counter
	evicting     prometheus.Gauge
}

// newMetrics registers the metrics of the Redis side with all of their label values.
func newMetrics(reg prometheus.Registerer, partitions int) *metrics {
	m := &metrics{
		reconciled: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_sale_reconciled_total", Help: "Repairs of flash sales by the reconciler, by action: buyers added and removed, sales corrected, edited, rebuilt and removed, lost orders failed.",
		}, []string{"did"}),
		incarnations: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tandian_sale_incarnations_total", Help: "Redis incarnations of a sale partition that this process compared with the database.",
		}),
		closed: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "tandian_sale_door_closed", Help: "1 while this process admits no orders of a partition through Redis.",
		}, []string{"partition"}),
		errors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tandian_sale_errors_total", Help: "Failed background operations of flash sales. They are retried; the log has the errors.",
		}),
		evicting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "tandian_sale_evicting", Help: "1 while sales bypass Redis because it may evict keys.",
		}),
	}
	for _, did := range []string{didReserve, didRelease, didSettle, didRebuild, didEdit, didAbort, didSweep, didQueueRow} {
		m.reconciled.WithLabelValues(did)
	}
	for p := range partitions {
		m.closed.WithLabelValues(strconv.Itoa(p)).Set(1)
	}
	if reg == nil {
		return m
	}
	reg.MustRegister(m.reconciled, m.incarnations, m.closed, m.errors, m.evicting)
	return m
}

func (m *metrics) did(action string, n int) { m.reconciled.WithLabelValues(action).Add(float64(n)) }

func (m *metrics) setClosed(partition int, closed bool) {
	value := 0.0
	if closed {
		value = 1
	}
	m.closed.WithLabelValues(strconv.Itoa(partition)).Set(value)
}
