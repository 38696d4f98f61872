package salebench

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// TestLoadClassifiesEveryAnswer uses a server that answers in all ways, and breaks connections.
func TestLoadClassifiesEveryAnswer(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		body, _ := io.ReadAll(r.Body)
		switch string(body) {
		case "queued":
			_, _ = io.WriteString(w, `{"data":{"orderVoucher":{"order":{"id":"b","status":"QUEUED"},"userErrors":[]}}}`)
		case "unpaid":
			_, _ = io.WriteString(w, `{"data":{"orderVoucher":{"order":{"id":"b","status":"UNPAID"},"userErrors":[]}}}`)
		case "sold out":
			_, _ = io.WriteString(w, `{"data":{"orderVoucher":{"order":null,"userErrors":[{"code":"OUT_OF_STOCK"}]}}}`)
		case "signed out":
			w.Header().Set("Connection", "close")
			_, _ = io.WriteString(w, `{"errors":[{"message":"Sign in first.","extensions":{"code":"UNAUTHENTICATED"}}],"data":null}`)
		case "broken":
			panic(http.ErrAbortHandler)
		}
	}))
	defer server.Close()
	l := load{addr: strings.TrimPrefix(server.URL, "http://"), connections: 3}
	for range 20 {
		for _, body := range []string{"queued", "queued", "unpaid", "sold out", "signed out", "broken", ""} {
			l.requests = append(l.requests, request(l.addr, "token", body))
		}
	}
	o := l.run(t.Context())
	if o.won != 60 || o.queued != 40 || o.refused != 20 || o.other != 40 || o.signedOut != 20 || o.failed != 20 {
		t.Errorf("%d won, %d of them queued, %d refused, %d others, %d of them signed out, %d failed (%v)", o.won, o.queued, o.refused, o.other, o.signedOut, o.failed, o.broken)
	}
	if n := asked.Load(); n != int64(len(l.requests)) {
		t.Errorf("%d requests came, want %d: each once", n, len(l.requests))
	}
	wins := 0
	for i, w := range o.wins {
		if w.at > 0 {
			wins++
		}
		if o.took[i] <= 0 {
			t.Errorf("request %d took %v", i, o.took[i])
		}
	}
	if wins != o.won {
		t.Errorf("%d wins have a time, of %d", wins, o.won)
	}
}
