package flashsale

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/sale"
)

// writerMetrics count what the database side and the queue do.
type writerMetrics struct {
	batches, rows, failed, duplicates prometheus.Counter
	seconds                           prometheus.Histogram
	tombstones, queue                 *prometheus.CounterVec // by code; by what happened
	tries                             *prometheus.CounterVec // by answer
	lag, pending, oldest, parked      *prometheus.GaugeVec   // by partition
}

// What can happen to the queue and beside it, as the label event says it.
const (
	eventDirect    = "direct"     // an order went past Redis
	eventTakenOver = "taken_over" // an entry of another consumer
	eventBisected  = "bisected"   // a batch was halved
	eventParked    = "parked"     // an entry
	eventRemade    = "group_made" // the group of consumers was missing
	eventFailed    = "failed"     // a call of Redis
	eventOverflow  = "overflow"   // nobody watches over a queued order here: there are too many
	eventPresumed  = "presumed"   // an order was presumed lost
)

// What a user is told who gets none of the results, as the label answer says it.
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
		batches:    counter("commits_total", "Transactions that stored a batch of orders of flash sales."),
		rows:       counter("orders_stored_total", "Orders of flash sales that were stored."),
		failed:     counter("commit_failures_total", "Transactions of a batch of orders that failed; they are repeated."),
		duplicates: counter("number_clashes_total", "Orders that could not be stored since their number is another user's. It is never to happen."),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "tandian_sale_commit_seconds", Help: "Time that a batch of orders took to commit.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}),
		tombstones: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_sale_orders_failed_total", Help: "Orders of flash sales that were stored as failed, by reason.",
		}, []string{"code"}),
		queue: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_sale_queue_events_total", Help: "What happened to the queues of orders and beside them.",
		}, []string{"event"}),
		tries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_sale_tries_total",
			Help: "Users who wanted a piece of a flash sale, by what they were told: stored and queued are admitted, busy may try again, error is a store that failed or a caller who left.",
		}, []string{"answer"}),
		lag:     gauge("lag", "Orders of flash sales that no consumer has read."),
		pending: gauge("pending", "Orders of flash sales that a consumer has read and not stored."),
		oldest:  gauge("oldest_seconds", "Age of the oldest order that is not stored."),
		parked:  gauge("parked", "Orders that could not be stored and were put aside."),
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

// tried counts what a user was told.
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
