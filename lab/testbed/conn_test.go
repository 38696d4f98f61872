package testbed

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestConnReturnsStatusAndBody(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/absent" {
			http.Error(w, "absent", http.StatusNotFound)
			return
		}
		_, _ = w.Write([]byte("here"))
	}))
	defer server.Close()
	c := Conn{Addr: strings.TrimPrefix(server.URL, "http://")}
	defer c.Close()
	for _, tt := range []struct {
		path, body string
		status     int
	}{{"/", "here", 200}, {"/absent", "absent\n", 404}, {"/", "here", 200}} {
		body, err := c.Ask(t.Context(), []byte("GET "+tt.path+" HTTP/1.1\r\nHost: test\r\n\r\n"))
		if err != nil || string(body) != tt.body || c.Status != tt.status {
			t.Errorf("%s: %q, %d, %v; want %q, %d", tt.path, body, c.Status, err, tt.body, tt.status)
		}
	}
}

func TestStatusIsThreeDigits(t *testing.T) {
	for _, line := range []string{"", "\r\n", "HTTP/1.1\r\n", "HTTP/1.1 OK\r\n"} {
		if status, err := statusOf([]byte(line)); err == nil {
			t.Errorf("%q has the status %d", line, status)
		}
	}
}
