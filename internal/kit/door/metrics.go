package door

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// metrics say what the door refuses and how its caches do. Labels are from
// closed sets: nothing that a client chooses is one.
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
		Name: "tandian_door_documents_total", Help: "Documents looked up among those that were found valid before: hit, miss.",
	}, []string{"result"})
	persisted := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tandian_door_persisted_queries_total", Help: "Queries that clients named by a hash alone: hit, miss.",
	}, []string{"result"})
	m := &metrics{
		documents: map[bool]prometheus.Counter{}, persisted: map[bool]prometheus.Counter{},
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_door_refused_total", Help: "Requests, and reads by id within requests, that were refused before they ran, by the code of the first error.",
		}, []string{"code"}),
		points:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "tandian_door_running_points", Help: "Complexity of the queries and mutations that run now."}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{Name: "tandian_door_event_streams", Help: "Event streams that are open."}),
		panics:  prometheus.NewCounter(prometheus.CounterOpts{Name: "tandian_door_panics_total", Help: "Panics that were caught and answered as INTERNAL."}),
	}
	for _, code := range refusalCodes() {
		m.refused.WithLabelValues(code)
	}
	for found, result := range map[bool]string{true: "hit", false: "miss"} {
		m.documents[found] = documents.WithLabelValues(result)
		m.persisted[found] = persisted.WithLabelValues(result)
	}
	m.subscriptions = prometheus.NewGauge(prometheus.GaugeOpts{Name: "tandian_door_subscriptions", Help: "Subscriptions that are told the same as others, by sockets and event streams."})
	m.selections = prometheus.NewGauge(prometheus.GaugeOpts{Name: "tandian_door_selections", Help: "What these want to know, each executed for itself."})
	m.personal = prometheus.NewGauge(prometheus.GaugeOpts{Name: "tandian_door_personal_selections", Help: "Selections of which it is known that answers depend on who asks, so that they are executed for each."})
	m.deliveries = prometheus.NewCounter(prometheus.CounterOpts{Name: "tandian_door_deliveries_total", Help: "Updates that were handed to subscriptions."})
	m.executions = prometheus.NewCounter(prometheus.CounterOpts{Name: "tandian_door_executions_total", Help: "Updates that were executed, once for each selection."})
	m.lagged = prometheus.NewCounter(prometheus.CounterOpts{Name: "tandian_door_lagged_total", Help: "How often a subscription fell behind, and was told again later what it missed."})
	m.delivery = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "tandian_door_delivery_seconds", Help: "From an update until it was handed to all subscriptions of a selection.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
	})
	if reg != nil {
		reg.MustRegister(m.refused, documents, persisted, m.points, m.streams, m.panics,
			m.subscriptions, m.selections, m.personal, m.deliveries, m.executions, m.lagged, m.delivery)
	}
	return m
}

// refusalCodes are those of requests that do not run.
func refusalCodes() []string {
	return []string{
		ParseFailed, ValidationFailed, BadRequest, DocumentTooLarge, ComplexityExceeded, PersistedQueryNotFound, PayloadTooLarge, UnsupportedMediaType, MethodNotAllowed,
		NotAcceptable, BatchingNotSupported, CSRF, RateLimited, Unavailable, Timeout, Unauthenticated, Internal,
	}
}

// refuse counts a refusal. A code that is not ours is none of them.
func (m *metrics) refuse(err *gqlerror.Error) {
	code := Of(err)
	if !slices.Contains(refusalCodes(), code) {
		code = Internal
	}
	m.refused.WithLabelValues(code).Inc()
}

func (m *metrics) document(known bool)       { m.documents[known].Inc() }
func (m *metrics) persistedQuery(known bool) { m.persisted[known].Inc() }
