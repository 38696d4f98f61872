package observe

import (
	"cmp"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// Defaults of [RequestLog].
const (
	DefaultLogSample = 1000
	DefaultLogSlow   = 500 * time.Millisecond

	sampleAfter = 10
)

// A RequestLog configures the log of HTTP requests. A request that failed or was slow always has a
// line. The others are sampled: the first 10 of each second have a line, and after them one in
// Sample.
//
// A request failed if its status is at least 400 or its GraphQL response has errors. The attribute
// "count" is 1 plus the number of sampled-out requests since the previous sampled line. So its sum
// over all lines is the number of requests.
type RequestLog struct {
	Log    *slog.Logger
	Sample int           // 1 logs every request; 0 is DefaultLogSample
	Slow   time.Duration // shortest duration of a slow request; 0 is DefaultLogSlow
}

// A requestLogger writes the lines of a RequestLog. It is safe for concurrent use.
type requestLogger struct {
	out  *slog.Logger
	slow time.Duration
	fine sampler
}

func newRequestLogger(cfg RequestLog) *requestLogger {
	return &requestLogger{
		out: cfg.Log, slow: cmp.Or(cfg.Slow, DefaultLogSlow),
		fine: sampler{after: sampleAfter, every: cmp.Or(cfg.Sample, DefaultLogSample)},
	}
}

// log writes the line of a request, or counts it in a later line.
func (l *requestLogger) log(r *http.Request, route string, status int, info *request, begin time.Time, took time.Duration) {
	level := levelOf(route)
	if !l.out.Enabled(r.Context(), level) {
		return
	}
	info.mu.Lock()
	operation, errors := info.operation, info.errors
	info.mu.Unlock()
	count := 1
	if status < http.StatusBadRequest && errors == 0 && took < l.slow {
		if count = l.fine.take(begin.Add(took)); count == 0 {
			return
		}
	}
	l.out.LogAttrs(
		r.Context(), level, "request", slog.String("method", r.Method), slog.String("route", route),
		slog.Int("status", status), slog.String("operation", operation), slog.Int("errors", errors),
		slog.Float64("ms", float64(took.Microseconds())/1000), slog.Int("count", count),
	)
}

// levelOf returns the log level of a route: debug for probes and metrics.
func levelOf(route string) slog.Level {
	switch route {
	case "/healthz", "/readyz", "/metrics":
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// A sampler selects the first events of each second, and after them one event in every.
type sampler struct {
	after, every int

	mu      sync.Mutex
	second  int64 // Unix time of the current second
	seen    int   // events in it
	skipped int   // events since the last selected one
}

// take returns the number of events that this one represents: itself and the skipped ones before
// it. It returns 0 if this one is skipped.
func (s *sampler) take(now time.Time) (count int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if second := now.Unix(); second != s.second {
		s.second, s.seen = second, 0
	}
	s.seen++
	if s.seen > s.after && (s.seen-s.after)%s.every != 0 {
		s.skipped++
		return 0
	}
	count, s.skipped = 1+s.skipped, 0
	return count
}
