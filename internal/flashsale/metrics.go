package flashsale

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// What the reconciler does, as the label did says it.
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

// newMetrics registers the metrics of the Redis side; all are there from the start.
func newMetrics(reg prometheus.Registerer, partitions int) *metrics {
	m := &metrics{
		reconciled: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_sale_reconciled_total", Help: "What the reconciler of sales had to do: orders entered and removed, sales settled, edited, rebuilt and swept, orders that failed because nobody knew of them.",
		}, []string{"did"}),
		incarnations: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tandian_sale_incarnations_total", Help: "Incarnations of a partition of sales that this process compared with the database.",
		}),
		closed: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "tandian_sale_door_closed", Help: "1 while this process admits nothing to a partition by Redis.",
		}, []string{"partition"}),
		errors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tandian_sale_errors_total", Help: "Failures of sales in the background, which are tried again; the log says what of.",
		}),
		evicting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "tandian_sale_evicting", Help: "1 while sales stay out of a Redis because it evicts keys.",
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

func (m *metrics) did(what string, n int) { m.reconciled.WithLabelValues(what).Add(float64(n)) }

// setClosed shows whether this process admits to a partition.
func (m *metrics) setClosed(partition int, closed bool) {
	value := 0.0
	if closed {
		value = 1
	}
	m.closed.WithLabelValues(strconv.Itoa(partition)).Set(value)
}
