package door

import (
	"strconv"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Why a message was refused, a label.
const (
	messageInvalid  = "invalid"    // 4400, 4401, 4409, 4429
	messageTooLarge = "too_large"  // 1009
	messageTooOften = "too_often"  // 1008
	messageTooMany  = "operations" // an error for that operation

	// What became of what a socket did not take at once, a label.

	slowQueued  = "queued"  // it waits
	slowRefused = "refused" // too much waits already
	slowDropped = "dropped" // 4512

	otherCode        = "other"
	socketMetricName = "tandian_door_socket"
)

// socketMetrics say what sockets do. All series are there from the start.
type socketMetrics struct {
	open, operations, queued prometheus.Gauge
	closes                   map[string]prometheus.Counter // by code
	refused                  map[string]prometheus.Counter // by reason
	slow                     map[string]prometheus.Counter // by action
}

// newSocketMetrics registers them, unless reg is nil.
func newSocketMetrics(reg prometheus.Registerer) *socketMetrics {
	with := promauto.With(reg)
	closes := with.NewCounterVec(prometheus.CounterOpts{
		Name: socketMetricName + "_closes_total",
		Help: "Sockets that ended, by the close code of whoever ended it; 1006 is a connection lost or dropped.",
	}, []string{"code"})
	refused := with.NewCounterVec(prometheus.CounterOpts{
		Name: socketMetricName + "_messages_refused_total", Help: "Messages of clients that were refused, by reason.",
	}, []string{"reason"})
	slow := with.NewCounterVec(prometheus.CounterOpts{
		Name: socketMetricName + "_slow_total",
		Help: "Times that a client did not take at once what was sent: queued, refused because too much waited already, dropped with 4512.",
	}, []string{"action"})
	m := &socketMetrics{
		open: with.NewGauge(prometheus.GaugeOpts{
			Name: socketMetricName + "s_open", Help: "WebSockets that are open.",
		}),
		operations: with.NewGauge(prometheus.GaugeOpts{
			Name: socketMetricName + "_operations", Help: "Operations that run on WebSockets.",
		}),
		queued: with.NewGauge(prometheus.GaugeOpts{
			Name: socketMetricName + "_queue_bytes", Help: "Bytes that wait for the clients of sockets to take them.",
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

// closed counts the end of a socket. Clients may send any code: one that is not
// known has no label of its own.
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
