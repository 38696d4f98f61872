package observe

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// A loggedHandler has routes that succeed, fail or are slow, and the log of its requests.
type loggedHandler struct {
	handler http.Handler
	log     bytes.Buffer
}

func newLogged(cfg RequestLog) *loggedHandler {
	l := &loggedHandler{}
	cfg.Log = NewLogger(&l.log, "json", slog.LevelInfo)
	metrics := NewGraphQLMetrics(prometheus.NewRegistry())
	mux := http.NewServeMux()
	mux.HandleFunc("/ok", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/missing", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	mux.HandleFunc("/errors", func(_ http.ResponseWriter, r *http.Request) {
		ctx := graphql.WithResponseContext(r.Context(), graphql.DefaultErrorPresenter, graphql.DefaultRecover)
		metrics.Shown(ctx, &gqlerror.Error{})
	})
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) {
		took, _ := time.ParseDuration(r.URL.RawQuery)
		time.Sleep(took) // of the bubble's clock
	})
	l.handler = HTTP(mux, prometheus.NewRegistry(), cfg)
	return l
}

func (l *loggedHandler) get(target string, times int) {
	for range times {
		l.handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, target, nil))
	}
}

// counts returns the attribute "count" of each line since the last call.
func (l *loggedHandler) counts(t *testing.T) (counts []int) {
	t.Helper()
	for line := range strings.Lines(l.log.String()) {
		var fields struct{ Count int }
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		counts = append(counts, fields.Count)
	}
	l.log.Reset()
	return counts
}

func repeat(n, times int) []int {
	all := make([]int, times)
	for i := range all {
		all[i] = n
	}
	return all
}

func TestSuccessfulFastRequestsAreSampled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLogged(RequestLog{Sample: 100})
		check := func(name string, want []int) {
			t.Helper()
			if d := cmp.Diff(want, l.counts(t)); d != "" {
				t.Errorf("%s (-want +got)\n%s", name, d)
			}
		}
		l.get("/ok", 10)
		check("the first 10 of a second", repeat(1, 10))
		l.get("/ok", 99)
		check("99 more", nil)
		l.get("/ok", 1)
		check("the 100th", []int{100})
		l.get("/ok", 230)
		check("230 more", []int{100, 100})
		time.Sleep(time.Second)
		l.get("/ok", 12)
		check("the next second, with the 30 without a line", append([]int{31}, repeat(1, 9)...))
		time.Sleep(time.Second)
		for range 20 {
			time.Sleep(100 * time.Millisecond)
			l.get("/ok", 1)
		}
		check("a quiet server, with the 2 without a line", append([]int{3}, repeat(1, 19)...))
	})
}

func TestFailedAndSlowRequestsAreAlwaysLogged(t *testing.T) {
	for _, tt := range []struct {
		name, target string
		slow         time.Duration
		want         []int
	}{
		{"client error", "/missing", 0, repeat(1, 50)},
		{"GraphQL error", "/errors", 0, repeat(1, 50)},
		{"slow", "/slow?500ms", 0, repeat(1, 50)},
		{"slow by the setting", "/slow?30ms", 30 * time.Millisecond, repeat(1, 50)},
		{"nearly slow", "/slow?1ms", 2 * time.Millisecond, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLogged(RequestLog{Sample: 1_000_000, Slow: tt.slow})
				l.get("/ok", 20)
				l.counts(t)
				l.get(tt.target, 50)
				if d := cmp.Diff(tt.want, l.counts(t)); d != "" {
					t.Errorf("(-want +got)\n%s", d)
				}
				want := 11 // the 10 unlogged requests and itself
				if tt.want == nil {
					want += 50
				}
				time.Sleep(time.Second)
				l.get("/ok", 1)
				if d := cmp.Diff([]int{want}, l.counts(t)); d != "" {
					t.Errorf("next line (-want +got)\n%s", d)
				}
			})
		})
	}
}

func TestSampleOfOneLogsEveryRequest(t *testing.T) {
	l := newLogged(RequestLog{Sample: 1})
	l.get("/ok", 300)
	if d := cmp.Diff(repeat(1, 300), l.counts(t)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestUnloggedRequestsDoNotAllocate(t *testing.T) {
	l := newRequestLogger(RequestLog{Log: NewLogger(io.Discard, "json", slog.LevelInfo), Sample: 1_000_000})
	r, info, begin := httptest.NewRequest(http.MethodPost, "/graphql", nil), &request{}, time.Now()
	if got := testing.AllocsPerRun(1000, func() {
		l.log(r, "/graphql", http.StatusOK, info, begin, time.Millisecond)
	}); got != 0 {
		t.Errorf("got %v allocations", got)
	}
}

// BenchmarkRequestLog compares the middleware without a log, with the default sample, and with a
// line for each request. "×off" is the ratio to the first.
func BenchmarkRequestLog(b *testing.B) {
	var off float64
	for _, bench := range []struct {
		name   string
		level  slog.Level
		sample int
	}{{"off", slog.LevelWarn, 0}, {"sampled", slog.LevelInfo, 0}, {"all", slog.LevelInfo, 1}} {
		b.Run(bench.name, func(b *testing.B) {
			handler := HTTP(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), prometheus.NewRegistry(),
				RequestLog{Log: NewLogger(logFile(b), "json", bench.level), Sample: bench.sample})
			r, w := httptest.NewRequest(http.MethodPost, "/graphql", nil), httptest.NewRecorder()
			b.ReportAllocs()
			for b.Loop() {
				handler.ServeHTTP(w, r)
			}
			each := float64(b.Elapsed()) / float64(b.N)
			if bench.name == "off" {
				off = each
			}
			b.ReportMetric(each/off, "×off")
		})
	}
}

// logFile returns a file that is deleted after the benchmark.
func logFile(b *testing.B) *os.File {
	b.Helper()
	file, err := os.CreateTemp(b.TempDir(), "log")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = file.Close() })
	return file
}
