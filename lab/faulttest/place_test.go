package faulttest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// pages is a place with one server that answers every request with the same page.
type pages struct {
	url  string
	page atomic.Value // string
	code atomic.Int64 // 0 is 200
}

// serve starts the server.
func (p *pages) serve(t *testing.T) *pages {
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

func (p *pages) Servers() int        { return 1 }
func (p *pages) URL(int) string      { return p.url }
func (p *pages) DatabaseURL() string { return "" }
func (p *pages) RedisURL() string    { return "" }
func (p *pages) People() []Person    { return nil }
func (p *pages) Shop() string        { return "" }
