package faulttest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// fakeServer is a system with one server that answers every request with the same page.
type fakeServer struct {
	url  string
	page atomic.Value // string
	code atomic.Int64 // 0 means 200
}

// serve starts the server.
func (p *fakeServer) serve(t *testing.T) *fakeServer {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if code := p.code.Load(); code != 0 {
			w.WriteHeader(int(code))
		}
		text, _ := p.page.Load().(string)
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(s.Close)
	p.url = s.URL
	return p
}

func (p *fakeServer) Servers() int        { return 1 }
func (p *fakeServer) URL(int) string      { return p.url }
func (p *fakeServer) DatabaseURL() string { return "" }
func (p *fakeServer) RedisURL() string    { return "" }
func (p *fakeServer) People() []Person    { return nil }
func (p *fakeServer) Shop() string        { return "" }
