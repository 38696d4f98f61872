package gqlserver

import (
	"slices"
	"strconv"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
)

// metrics holds the metrics of operations. Labels come from closed sets; clients choose none.
type metrics struct {
	refused   *prometheus.CounterVec
	documents map[bool]prometheus.Counter // by whether it was found
	persisted map[bool]prometheus.Counter
	points    prometheus.Gauge
	streams   prometheus.Gauge
	panics    prometheus.Counter

	subscriptions, selections, personal prometheus.Gauge
	deliveries, executions, lagged      prometheus.Counter
	delivery                            prometheus.Histogram
}

func newMetrics(reg prometheus.Registerer) *metrics {
	documents := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tandian_door_documents_total", Help: "Lookups of validated documents in the cache, by result: hit, miss.",
	}, []string{"result"})
	persisted := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tandian_door_persisted_queries_total", Help: "Queries that clients sent by hash only, by result: hit, miss.",
	}, []string{"result"})
	m := &metrics{
		documents: map[bool]prometheus.Counter{}, persisted: map[bool]prometheus.Counter{},
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_door_refused_total", Help: "Requests, and reads by id within requests, rejected before execution, by code of the first error.",
		}, []string{"code"}),
		points:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "tandian_door_running_points", Help: "Complexity points of running queries and mutations."}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{Name: "tandian_door_event_streams", Help: "Open event streams."}),
		panics:  prometheus.NewCounter(prometheus.CounterOpts{Name: "tandian_door_panics_total", Help: "Panics recovered and returned as INTERNAL."}),
	}
	for _, code := range refusalCodes() {
		m.refused.WithLabelValues(code)
	}
	for found, result := range map[bool]string{true: "hit", false: "miss"} {
		m.documents[found] = documents.WithLabelValues(result)
		m.persisted[found] = persisted.WithLabelValues(result)
	}
	m.subscriptions = prometheus.NewGauge(prometheus.GaugeOpts{Name: "tandian_door_subscriptions", Help: "Subscriptions to broadcast sources, on WebSockets and event streams."})
	m.selections = prometheus.NewGauge(prometheus.GaugeOpts{Name: "tandian_door_selections", Help: "Separate executions that serve these subscriptions."})
	m.personal = prometheus.NewGauge(prometheus.GaugeOpts{Name: "tandian_door_personal_selections", Help: "Selections whose responses depend on the caller, executed for each subscription."})
	m.deliveries = prometheus.NewCounter(prometheus.CounterOpts{Name: "tandian_door_deliveries_total", Help: "Updates delivered to subscriptions."})
	m.executions = prometheus.NewCounter(prometheus.CounterOpts{Name: "tandian_door_executions_total", Help: "Updates executed, once for each selection."})
	m.lagged = prometheus.NewCounter(prometheus.CounterOpts{Name: "tandian_door_lagged_total", Help: "Times that a subscription fell behind and received the missed updates later."})
	m.delivery = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "tandian_door_delivery_seconds", Help: "Time from an update to its delivery to all subscriptions of a selection.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
	})
	if reg != nil {
		reg.MustRegister(m.refused, documents, persisted, m.points, m.streams, m.panics,
			m.subscriptions, m.selections, m.personal, m.deliveries, m.executions, m.lagged, m.delivery)
	}
	return m
}

func refusalCodes() []string {
	return []string{
		errcode.ParseFailed, errcode.ValidationFailed, errcode.BadRequest, errcode.DocumentTooLarge, errcode.ComplexityExceeded, errcode.PersistedQueryNotFound, errcode.PayloadTooLarge, errcode.UnsupportedMediaType, errcode.MethodNotAllowed,
		errcode.NotAcceptable, errcode.BatchingNotSupported, errcode.CSRF, errcode.RateLimited, errcode.Unavailable, errcode.Timeout, errcode.Unauthenticated, errcode.Internal,
	}
}

// refuse counts a rejected request. Unknown codes count as INTERNAL.
func (m *metrics) refuse(err *gqlerror.Error) {
	code := errcode.CodeOf(err)
	if !slices.Contains(refusalCodes(), code) {
		code = errcode.Internal
	}
	m.refused.WithLabelValues(code).Inc()
}

func (m *metrics) document(known bool)       { m.documents[known].Inc() }
func (m *metrics) persistedQuery(known bool) { m.persisted[known].Inc() }

// Reasons for a rejected message, a label.
const (
	messageInvalid  = "invalid"    // close codes 4400, 4401, 4409, 4429
	messageTooLarge = "too_large"  // close code 1009
	messageTooOften = "too_often"  // close code 1008
	messageTooMany  = "operations" // an error for that operation

	// Actions for messages that a client did not take at once, a label.

	slowQueued  = "queued"  // queued
	slowRefused = "refused" // the queue is full
	slowDropped = "dropped" // close code 4512

	otherCode        = "other"
	socketMetricName = "tandian_door_socket"
)

// socketMetrics counts events of sockets. All series exist from the start.
type socketMetrics struct {
	open, operations, queued prometheus.Gauge
	closes                   map[string]prometheus.Counter // by code
	refused                  map[string]prometheus.Counter // by reason
	slow                     map[string]prometheus.Counter // by action
}

// newSocketMetrics registers the metrics unless reg is nil.
func newSocketMetrics(reg prometheus.Registerer) *socketMetrics {
	with := promauto.With(reg)
	closes := with.NewCounterVec(prometheus.CounterOpts{
		Name: socketMetricName + "_closes_total",
		Help: "Closed WebSockets, by close code; 1006 is a lost or dropped connection.",
	}, []string{"code"})
	refused := with.NewCounterVec(prometheus.CounterOpts{
		Name: socketMetricName + "_messages_refused_total", Help: "Rejected messages from clients, by reason.",
	}, []string{"reason"})
	slow := with.NewCounterVec(prometheus.CounterOpts{
		Name: socketMetricName + "_slow_total",
		Help: "Messages that a client did not accept immediately: queued, refused because the queue was full, or dropped with close code 4512.",
	}, []string{"action"})
	m := &socketMetrics{
		open: with.NewGauge(prometheus.GaugeOpts{
			Name: socketMetricName + "s_open", Help: "Open WebSockets.",
		}),
		operations: with.NewGauge(prometheus.GaugeOpts{
			Name: socketMetricName + "_operations", Help: "Operations running on WebSockets.",
		}),
		queued: with.NewGauge(prometheus.GaugeOpts{
			Name: socketMetricName + "_queue_bytes", Help: "Bytes queued for WebSocket clients.",
		}),
		closes:  map[string]prometheus.Counter{otherCode: closes.WithLabelValues(otherCode)},
		refused: map[string]prometheus.Counter{},
		slow:    map[string]prometheus.Counter{},
	}
	for _, code := range closeCodes() {
		label := strconv.Itoa(int(code))
		m.closes[label] = closes.WithLabelValues(label)
	}
	for _, reason := range []string{messageInvalid, messageTooLarge, messageTooOften, messageTooMany} {
		m.refused[reason] = refused.WithLabelValues(reason)
	}
	for _, action := range []string{slowQueued, slowRefused, slowDropped} {
		m.slow[action] = slow.WithLabelValues(action)
	}
	return m
}

// closed counts the end of a socket. Clients may send any code; unknown codes share one label.
func (m *socketMetrics) closed(code websocket.StatusCode) {
	counter, known := m.closes[strconv.Itoa(int(code))]
	if !known {
		counter = m.closes[otherCode]
	}
	counter.Inc()
	if code == statusSlowConsumer {
		m.slow[slowDropped].Inc()
	}
}
