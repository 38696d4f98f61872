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
	documents *prometheus.CounterVec
	persisted *prometheus.CounterVec
	points    prometheus.Gauge
	streams   prometheus.Gauge
	panics    prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_door_refused_total", Help: "Requests, and reads by id within requests, that were refused before they ran, by the code of the first error.",
		}, []string{"code"}),
		documents: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_door_documents_total", Help: "Documents looked up among those that were found valid before: hit, miss.",
		}, []string{"result"}),
		persisted: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_door_persisted_queries_total", Help: "Queries that clients named by a hash alone: hit, miss.",
		}, []string{"result"}),
		points:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "tandian_door_running_points", Help: "Complexity of the queries and mutations that run now."}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{Name: "tandian_door_event_streams", Help: "Event streams that are open."}),
		panics:  prometheus.NewCounter(prometheus.CounterOpts{Name: "tandian_door_panics_total", Help: "Panics that were caught and answered as INTERNAL."}),
	}
	for _, code := range refusalCodes() {
		m.refused.WithLabelValues(code)
	}
	for _, result := range []string{"hit", "miss"} {
		m.documents.WithLabelValues(result)
		m.persisted.WithLabelValues(result)
	}
	if reg != nil {
		reg.MustRegister(m.refused, m.documents, m.persisted, m.points, m.streams, m.panics)
	}
	return m
}

// refusalCodes are those of requests that do not run.
func refusalCodes() []string {
	return []string{
		codeParse, codeValidation, codeBadRequest, codeDocument, codeComplexity, codeNotPersisted, codePayload, codeMediaType, codeMethod,
		codeAcceptable, codeBatching, codeCSRF, codeRate, codeUnavailable, codeTimeout, codeUnknown, codeInternal,
	}
}

// refuse counts a refusal. A code that is not ours is none of them.
func (m *metrics) refuse(err *gqlerror.Error) {
	code := codeOf(err)
	if !slices.Contains(refusalCodes(), code) {
		code = codeInternal
	}
	m.refused.WithLabelValues(code).Inc()
}

func (m *metrics) document(known bool)       { m.documents.WithLabelValues(result(known)).Inc() }
func (m *metrics) persistedQuery(known bool) { m.persisted.WithLabelValues(result(known)).Inc() }

func result(known bool) string {
	if known {
		return "hit"
	}
	return "miss"
}
