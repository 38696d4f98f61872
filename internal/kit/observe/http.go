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

// CopyRequestID returns a copy of the context in with the request id of the context of. Use it for
// work that outlives the request.
func CopyRequestID(of, in context.Context) context.Context {
	if r := requestOf(of); r != nil {
		return context.WithValue(in, requestKey{}, &request{id: strings.Clone(r.id)})
	}
	return in
}

// goodID reports whether a client's request id is accepted: 8 to 64 letters, digits and dashes.
// Other characters could forge a log line.
func goodID(id string) bool {
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

// newID returns a random request id of 26 characters. It is unique but need not be unguessable.
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

// HTTP assigns an id to every request and returns it in the response. The id is the client's
// X-Request-Id, if that has 8 to 64 letters, digits or dashes. HTTP logs, counts and times
// requests. The label "route" is the pattern of the mux.
func HTTP(next http.Handler, reg prometheus.Registerer, log RequestLog) http.Handler {
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "tandian_http_request_seconds", Help: "Time of HTTP requests, by route and status class.",
		Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
	}, []string{"route", "class"})
	inFlight := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "tandian_http_requests_in_flight", Help: "HTTP requests being served.",
	})
	reg.MustRegister(seconds, inFlight)
	by := &observers[answerKind]{series: func(k answerKind) prometheus.Observer {
		return seconds.WithLabelValues(k.route, strconv.Itoa(k.class)+"xx")
	}}
	by.of(answerKind{"/graphql", 2})
	lines := newRequestLogger(log)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e := &exchange{out: statusWriter{ResponseWriter: w}}
		if e.request.id = r.Header.Get("X-Request-Id"); !goodID(e.request.id) {
			e.request.id = newID()
		}
		e.ids[0] = e.request.id
		w.Header()["X-Request-Id"] = e.ids[:]
		outer := r
		r = r.WithContext(context.WithValue(r.Context(), requestKey{}, &e.request))
		defer func() { outer.Pattern = r.Pattern }() // for outer handlers
		inFlight.Inc()
		defer inFlight.Dec()
		defer e.served(r, time.Now(), by, lines)
		e.out.broken = true // until the handler returns; true after a panic
		next.ServeHTTP(&e.out, r)
		e.out.broken = false
	})
}

// An answerKind holds the label values of a request.
type answerKind struct {
	route string
	class int
}

// served counts, times and logs a request after its response is written.
func (e *exchange) served(r *http.Request, begin time.Time, by *observers[answerKind], lines *requestLogger) {
	took, status, route := time.Since(begin), e.out.code(), r.Pattern
	if route == "" {
		route = "none"
	}
	by.of(answerKind{route, status / 100}).Observe(took.Seconds())
	lines.log(r, route, status, &e.request, begin, took)
}

// statusWriter records the status.
type statusWriter struct {
	http.ResponseWriter
	status int
	broken bool // the handler has not returned; at the end, it panicked
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
	case w.broken:
		return http.StatusInternalServerError
	}
	return http.StatusOK
}
