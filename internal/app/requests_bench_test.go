package app_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// BenchmarkRequests measures warm requests of a signed-in user, without net/http and the
// network. The documents are those of `lab bench serve`.
func BenchmarkRequests(b *testing.B) {
	stack := apptest.Real(b)
	stack.Config.RateUser, stack.Config.RateAnonymous = 0, 0
	stack.Config.Limits = []string{"looks=off"}
	path := filepath.Join(b.TempDir(), "tokens")
	stack.Seed(b, "--users", "50", "--shops", "100", "--notes", "200", "--follows", "500", "--tokens", path)
	listed, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	token := strings.Fields(strings.Split(string(listed), "\n")[0])
	s := stack.Start(b)
	s.Recovered(b)
	handler := s.FullHandler(prometheus.NewRegistry())
	for _, bench := range []struct {
		name, document string
		variables      map[string]any
	}{
		{"shop", "shop", map[string]any{"id": scalar.ID{Type: "Shop", N: 1}.String()}},
		{"shops", "shops", map[string]any{"type": scalar.ID{Type: "ShopType", N: 1}.String()}},
		{"hot", "hot", nil},
		{"feed", "feed", nil},
	} {
		b.Run(bench.name, func(b *testing.B) {
			document, err := os.ReadFile(filepath.Join("..", "..", "lab", "servebench", "graphql", bench.document+".graphql"))
			if err != nil {
				b.Fatal(err)
			}
			text, err := json.Marshal(map[string]any{"query": string(document), "variables": bench.variables})
			if err != nil {
				b.Fatal(err)
			}
			body, w := strings.NewReader(""), &benchWriter{header: http.Header{}}
			sent := httptest.NewRequest(http.MethodPost, "/graphql", nil)
			sent.ContentLength = int64(len(text))
			sent.Header.Set("Content-Type", "application/json")
			sent.Header.Set("Authorization", "Bearer "+token[len(token)-1])
			ask := func() {
				r := *sent
				body.Reset(string(text))
				r.Body = io.NopCloser(body)
				clear(w.header)
				w.body = w.body[:0]
				handler.ServeHTTP(w, &r)
			}
			for range 200 { // warms caches and plans
				ask()
			}
			if w.status != http.StatusOK || strings.Contains(string(w.body), `"errors"`) {
				b.Fatal(w.status, string(w.body))
			}
			b.ReportAllocs()
			for b.Loop() {
				ask()
			}
			if w.status != http.StatusOK {
				b.Fatal(w.status, string(w.body))
			}
		})
	}
}

// benchWriter is a response writer without a connection.
type benchWriter struct {
	header http.Header
	status int
	body   []byte
}

func (w *benchWriter) Header() http.Header            { return w.header }
func (w *benchWriter) WriteHeader(status int)         { w.status = status }
func (w *benchWriter) Write(p []byte) (int, error)    { w.body = append(w.body, p...); return len(p), nil }
func (*benchWriter) SetReadDeadline(time.Time) error  { return nil }
func (*benchWriter) SetWriteDeadline(time.Time) error { return nil }
