package observe

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// A request holds the log attributes of one HTTP request.
type request struct {
	id string

	mu        sync.Mutex
	operation string // of GraphQL, chosen by the client
	errors    int    // in the response
}

type requestKey struct{}

func requestOf(ctx context.Context) *request {
	r, _ := ctx.Value(requestKey{}).(*request)
	return r
}

// RequestID returns the id of the request that ctx belongs to, or "".
func RequestID(ctx context.Context) string {
	if r := requestOf(ctx); r != nil {
		return r.id
	}
	return ""
}

// CopyRequestID returns a child of to with the request id of from. Use it for work that outlives
// the request.
func CopyRequestID(from, to context.Context) context.Context {
	if r := requestOf(from); r != nil {
		return context.WithValue(to, requestKey{}, &request{id: strings.Clone(r.id)})
	}
	return to
}

// validID reports whether a client's request id is accepted: 8 to 64 letters, digits and dashes.
// Other characters could forge a log line.
func validID(id string) bool {
	if len(id) < 8 || len(id) > 64 {
		return false
	}
	for _, c := range []byte(id) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-':
		default:
			return false
		}
	}
	return true
}

// newID returns a random request id of 26 characters. It is unique, but may be predictable.
func newID() string {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	var text [26]byte
	for half := range 2 {
		bits := rand.Uint64() //nolint:gosec // see above
		for i := range 13 {
			text[13*half+i], bits = digits[bits%32], bits/32
		}
	}
	return string(text[:])
}

// An exchange is one HTTP request and the writer of its response.
type exchange struct {
	request request
	ids     [1]string // header value of the request id
	out     statusWriter
}

// HTTP returns a handler that logs, counts and times requests. The label "route" is the pattern of
// the mux. Each request has an id, which the response returns in X-Request-Id. It is the client's
// X-Request-Id if that has 8 to 64 letters, digits or dashes. Otherwise it is random.
func HTTP(next http.Handler, reg prometheus.Registerer, log RequestLog) http.Handler {
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "tandian_http_request_seconds", Help: "Duration of HTTP requests, by route and status class.",
		Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
	}, []string{"route", "class"})
	inFlight := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "tandian_http_requests_in_flight", Help: "HTTP requests being served.",
	})
	reg.MustRegister(seconds, inFlight)
	by := &observers[requestLabels]{series: func(k requestLabels) prometheus.Observer {
		return seconds.WithLabelValues(k.route, strconv.Itoa(k.class)+"xx")
	}}
	by.of(requestLabels{"/graphql", 2})
	lines := newRequestLogger(log)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e := &exchange{out: statusWriter{ResponseWriter: w}}
		if e.request.id = r.Header.Get("X-Request-Id"); !validID(e.request.id) {
			e.request.id = newID()
		}
		e.ids[0] = e.request.id
		w.Header()["X-Request-Id"] = e.ids[:]
		outer := r
		r = r.WithContext(context.WithValue(r.Context(), requestKey{}, &e.request))
		defer func() { outer.Pattern = r.Pattern }() // for outer handlers
		inFlight.Inc()
		defer inFlight.Dec()
		defer e.record(r, time.Now(), by, lines)
		e.out.unfinished = true // also after a panic
		next.ServeHTTP(&e.out, r)
		e.out.unfinished = false
	})
}

// requestLabels holds the label values of a request.
type requestLabels struct {
	route string
	class int
}

// record counts, times and logs a request after its response is written.
func (e *exchange) record(r *http.Request, begin time.Time, by *observers[requestLabels], lines *requestLogger) {
	took, status, route := time.Since(begin), e.out.code(), r.Pattern
	if route == "" {
		route = "none"
	}
	by.of(requestLabels{route, status / 100}).Observe(took.Seconds())
	lines.log(r, route, status, &e.request, begin, took)
}

// statusWriter records the status.
type statusWriter struct {
	http.ResponseWriter
	status     int
	unfinished bool // the handler has not returned, or has panicked
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status < http.StatusOK { // 1xx is informational
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Flush implements http.Flusher. The compression middleware asserts that interface instead of
// calling Unwrap.
func (w *statusWriter) Flush() { _ = w.FlushError() }

// FlushError flushes for http.ResponseController.
func (w *statusWriter) FlushError() error {
	if w.status < http.StatusOK {
		w.status = http.StatusOK
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap returns the wrapped writer for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *statusWriter) code() int {
	switch {
	case w.status != 0:
		return w.status
	case w.unfinished:
		return http.StatusInternalServerError
	}
	return http.StatusOK
}
