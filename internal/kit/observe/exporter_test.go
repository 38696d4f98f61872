package observe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/goleak"

	"github.com/tandian-dev/tandian/internal/testkit"
)

// failing is a collector that returns errors.
type failing struct{ sdktrace.SpanExporter }

func (failing) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error {
	return errors.New("collector: " + strings.Repeat("x", 1000))
}

func TestFailedExportsAreLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		e := newExporter(failing{}, slog.New(slog.NewJSONHandler(&log, nil)))
		defer e.abort()
		for range 121 { // two minutes and the first call
			if err := e.ExportSpans(t.Context(), make([]sdktrace.ReadOnlySpan, 10)); err != nil {
				t.Fatalf("got error %v, want nil", err)
			}
			time.Sleep(time.Second)
		}
		var lost []int
		for line := range strings.Lines(log.String()) {
			var entry struct {
				Spans int
				Err   string
			}
			if err := json.Unmarshal([]byte(line), &entry); err != nil || len(entry.Err) != 500 {
				t.Errorf("%v, %d bytes of error: %s", err, len(entry.Err), line)
			}
			lost = append(lost, entry.Spans)
		}
		if d := cmp.Diff([]int{10, 600, 600}, lost); d != "" {
			t.Errorf("lost spans (-want +got)\n%s", d)
		}
	})
}

func TestCloseDeliversSpansAndStops(t *testing.T) {
	var requests atomic.Int64
	tests := []struct {
		name    string
		answer  http.HandlerFunc
		timeout time.Duration
		limit   time.Duration
		logs    bool
	}{
		{"a collector", func(http.ResponseWriter, *http.Request) {}, time.Minute, time.Minute, false},
		{"a collector that hangs", func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not detect the disconnect
			<-r.Context().Done()
		}, 50 * time.Millisecond, 2 * time.Second, true},
		{"a busy collector", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, 50 * time.Millisecond, 2 * time.Second, true},
		{"a collector that refuses", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, time.Minute, time.Minute, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			running := goleak.IgnoreCurrent()
			requests.Store(0)
			collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				tt.answer(w, r)
			}))
			clearEnv(t)
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
			t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1")
			var log testkit.Log
			tracing, err := NewTracing(t.Context(), "v1", slog.New(slog.NewJSONHandler(&log, nil)))
			if err != nil {
				t.Fatal(err)
			}
			for range 5 {
				_, span := tracing.tracer.Start(t.Context(), "x")
				span.End()
			}
			testkit.Eventually(t, 5*time.Second, func() bool { return requests.Load() > 0 })
			ctx, cancel := context.WithTimeout(t.Context(), tt.timeout)
			defer cancel()
			begin := time.Now()
			tracing.Close(ctx)
			tracing.Close(ctx) // a second call is harmless
			if took := time.Since(begin); took > tt.limit {
				t.Errorf("took %v, want at most %v", took, tt.limit)
			}
			if n := requests.Load(); !tt.logs && n != 5 {
				t.Errorf("got %d batches, want 5", n)
			}
			if logged := strings.Contains(log.String(), "traces not delivered"); logged != tt.logs {
				t.Errorf("got log entry %v, want %v\n%s", logged, tt.logs, log.String())
			}
			collector.CloseClientConnections()
			collector.Close()
			goleak.VerifyNone(t, running)
		})
	}
}
