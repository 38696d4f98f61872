package flashsale

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/sale"
)

// writerMetrics counts operations of the order writer and the queues.
type writerMetrics struct {
	batches, rows, failed, duplicates prometheus.Counter
	seconds                           prometheus.Histogram
	tombstones, queue                 *prometheus.CounterVec // by code; by event
	tries                             *prometheus.CounterVec // by answer
	lag, pending, oldest, parked      *prometheus.GaugeVec   // by queue
}

// Values of the label event.
const (
	eventDirect    = "direct"     // an order bypassed Redis
	eventTakenOver = "taken_over" // an entry of another consumer was taken over
	eventBisected  = "bisected"   // a batch was split in halves
	eventParked    = "parked"     // an entry was parked
	eventRemade    = "group_made" // a missing consumer group was created
	eventFailed    = "failed"     // a Redis call failed
	eventOverflow  = "overflow"   // a queued order is not watched here: there are too many
	eventPresumed  = "presumed"   // an order was presumed lost
)

// Values of the label answer for calls without a result.
const (
	answerBusy  = "busy"
	answerError = "error"
)

func newWriterMetrics() *writerMetrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "tandian_sale_" + name, Help: help})
	}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tandian_sale_queue_" + name, Help: help}, []string{"queue"})
	}
	m := &writerMetrics{
		batches:    counter("commits_total", "Transactions that stored a batch of flash sale orders."),
		rows:       counter("orders_stored_total", "Stored flash sale orders."),
		failed:     counter("commit_failures_total", "Failed transactions of order batches. They are retried."),
		duplicates: counter("number_clashes_total", "Orders whose number belongs to another user. Must stay 0."),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "tandian_sale_commit_seconds", Help: "Duration of the commit of an order batch.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}),
		tombstones: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_sale_orders_failed_total", Help: "Flash sale orders stored as failed, by reason.",
		}, []string{"code"}),
		queue: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_sale_queue_events_total", Help: "Events of the order queues, and orders that bypass them.",
		}, []string{"event"}),
		tries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_sale_tries_total",
			Help: "Requests for a flash sale, by answer: stored and queued are admitted, busy may be retried, error is a failed store or a cancelled request.",
		}, []string{"answer"}),
		lag:     gauge("lag", "Flash sale orders that no consumer has read."),
		pending: gauge("pending", "Flash sale orders that a consumer has read and not stored."),
		oldest:  gauge("oldest_seconds", "Age of the oldest unstored order."),
		parked:  gauge("parked", "Parked orders: they could not be stored."),
	}
	for _, code := range []string{codeNotCompleted, codeOutOfStock, codeAlreadyOrdered} {
		m.tombstones.WithLabelValues(code)
	}
	for r := sale.Stored; r <= sale.OutOfStock; r++ {
		m.tries.WithLabelValues(r.String())
	}
	m.tries.WithLabelValues(answerBusy)
	m.tries.WithLabelValues(answerError)
	for _, event := range []string{eventDirect, eventTakenOver, eventBisected, eventParked, eventRemade, eventFailed, eventOverflow, eventPresumed} {
		m.queue.WithLabelValues(event)
	}
	return m
}

func (m *writerMetrics) event(event string) { m.queue.WithLabelValues(event).Inc() }

func (m *writerMetrics) tried(a sale.Response, err error) {
	answer := a.Result.String()
	switch {
	case err != nil && apierror.KindOf(err) == apierror.Unavailable:
		answer = answerBusy
	case err != nil:
		answer = answerError
	}
	m.tries.WithLabelValues(answer).Inc()
}

func (m *writerMetrics) register(reg prometheus.Registerer) error {
	return errors.Join(
		reg.Register(m.batches), reg.Register(m.rows), reg.Register(m.failed), reg.Register(m.duplicates), reg.Register(m.seconds),
		reg.Register(m.tombstones), reg.Register(m.queue), reg.Register(m.tries),
		reg.Register(m.lag), reg.Register(m.pending), reg.Register(m.oldest), reg.Register(m.parked),
	)
}
