package app_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// plain is a response with its body.
type plain struct {
	status int
	header http.Header
	text   string
}

// plainAnswer returns the response to a request. It follows no redirects.
func plainAnswer(t *testing.T, method, url string, header http.Header) plain {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return plain{res.StatusCode, res.Header, string(text)}
}

func TestEveryResponseHasSecurityHeaders(t *testing.T) {
	t.Parallel()
	s := apptest.Embedded(t).Start(t)
	const nothing = "default-src 'none'; frame-ancestors 'none'"
	for _, tt := range []struct {
		method, path string
		status       int
		policy       string // prefix
	}{
		{"GET", "/metrics", 200, nothing},
		{"GET", "/healthz", 200, nothing},
		{"GET", "/readyz", 200, nothing},
		{"POST", "/visit", 400, nothing},
		{"GET", "/visit", 405, nothing},
		{"POST", "/webhooks/payment", 404, nothing},
		{"GET", "/graphql?query={me{id}}", 200, nothing},
		{"GET", "/graphql", 400, nothing},
		{"PUT", "/graphql", 405, nothing},
		{"GET", "/media/../x", 307, nothing},
		{"GET", "/metrics/none", 404, "default-src 'none'"},
		{"OPTIONS", "/graphql", 405, nothing},
		{"GET", "/media/none.png", 404, "default-src 'none'"},
		{"GET", "/demo/logins", 200, nothing},
		{"GET", "/", 200, "default-src 'none'; script-src 'self'"},
		{"GET", "/playground", 200, "default-src 'none'; script-src 'self'"},
		{"GET", "/nowhere/at/all", 404, "default-src 'none'; script-src 'self'"},
		{"GET", "/assets/none.js", 404, "default-src 'none'; script-src 'self'"},
	} {
		res := plainAnswer(t, tt.method, s.URL+tt.path, http.Header{})
		if res.status != tt.status {
			t.Errorf("%s %s: status %d, want %d", tt.method, tt.path, res.status, tt.status)
		}
		if got := res.header.Values("X-Content-Type-Options"); len(got) != 1 || got[0] != "nosniff" {
			t.Errorf("%s %s: X-Content-Type-Options %q", tt.method, tt.path, got)
		}
		if got := res.header.Values("Content-Security-Policy"); len(got) != 1 || !strings.HasPrefix(got[0], tt.policy) {
			t.Errorf("%s %s: Content-Security-Policy %q", tt.method, tt.path, got)
		}
		if got := res.header.Values("Referrer-Policy"); len(got) != 1 {
			t.Errorf("%s %s: Referrer-Policy %q", tt.method, tt.path, got)
		}
	}
}

func TestMetricsHaveASeparateAddress(t *testing.T) {
	t.Parallel()
	stack := apptest.Embedded(t)
	stack.Config.MetricsAddr = "127.0.0.1:0"
	s := stack.Start(t)
	own := "http://" + s.MetricsAddr()
	answered := 0
	if own == s.URL {
		t.Fatal("both addresses are the same")
	}
	for _, tt := range []struct {
		url    string
		status int
		body   string
	}{
		{s.URL + "/metrics", 404, ""},
		{s.URL + "/healthz", 200, "alive"},
		{own + "/metrics", 200, "tandian_"},
		{own + "/healthz", 200, "alive"},
		{own + "/readyz", 200, "ready"},
		{own + "/graphql?query={me{id}}", 404, ""},
		{own + "/", 404, ""},
	} {
		res := plainAnswer(t, "GET", tt.url, http.Header{})
		if res.status != tt.status || !strings.Contains(res.text, tt.body) || res.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %.80q", tt.url, res.status, res.text)
		}
	}
	// One address may open twenty connections.
	for range 30 {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", s.MetricsAddr())
		if errors.Is(err, syscall.ECONNRESET) {
			continue // closed at once
		}
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if _, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			continue // closed at once
		}
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			answered++
		}
	}
	if answered > 20 || answered < 10 {
		t.Errorf("got answers on %d connections of one address, want 10 to 20", answered)
	}
	if !strings.Contains(s.Out.String(), own+"/metrics") {
		t.Errorf("the terminal shows another address:\n%s", s.Out)
	}
	// A second server fails to listen on the address.
	other := apptest.Embedded(t)
	_, stderr, code := other.Command(t, "--metrics-addr", s.MetricsAddr(), "serve")
	if code == 0 || !strings.Contains(stderr, "for metrics") {
		t.Errorf("a taken address: %d %s", code, stderr)
	}
}

func TestPlaygroundIsOffWithoutIntrospection(t *testing.T) {
	t.Parallel()
	for introspection, status := range map[bool]int{true: 200, false: 404} {
		stack := apptest.Embedded(t)
		stack.Config.Introspection = introspection
		s := stack.Start(t)
		if res := plainAnswer(t, "GET", s.URL+"/playground", http.Header{}); res.status != status {
			t.Errorf("with introspection %v: status %d, want %d", introspection, res.status, status)
		}
		if shown := strings.Contains(s.Out.String(), "/playground"); shown != introspection {
			t.Errorf("with introspection %v: playground on the terminal: %v", introspection, shown)
		}
	}
}

func TestForwardedAddressesOfUntrustedPeersAreReported(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		trusted []string
		header  http.Header
		count   float64
	}{
		{"an untrusted peer", nil, http.Header{"X-Forwarded-For": {"192.0.2.1"}}, 3},
		{"an untrusted peer, standard header", nil, http.Header{"Forwarded": {"for=192.0.2.1"}}, 3},
		{"a trusted proxy", []string{"127.0.0.1"}, http.Header{"X-Forwarded-For": {"192.0.2.1"}}, 0},
		{"no header", nil, http.Header{}, 0},
	} {
		stack := apptest.Embedded(t)
		stack.Config.TrustedProxies = tt.trusted
		s := stack.Start(t)
		for range 3 {
			plainAnswer(t, "GET", s.URL+"/healthz", tt.header.Clone())
		}
		if got := s.Counter(t, "tandian_http_forwarded_ignored_total"); got != tt.count {
			t.Errorf("%s: got %v counted requests, want %v", tt.name, got, tt.count)
		}
		want := min(int(tt.count), 1)
		if n := strings.Count(s.Log.String(), "forwarding header from an untrusted peer"); n != want {
			t.Errorf("%s: got %d warnings, want %d", tt.name, n, want)
		}
	}
}
