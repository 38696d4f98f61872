package gqlserver

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/tandian-dev/tandian/internal/kit/clientaddr"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/gqltest"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/request"
	"github.com/tandian-dev/tandian/internal/kit/ratelimit"
)

const allowedOrigin = "https://app.example.com"

func TestForeignPagesGetCORSHeaders(t *testing.T) {
	open := newTestServer(t, Config{AllowedOrigins: []string{allowedOrigin, "http://localhost:5173"}})
	closed := newTestServer(t, Config{})
	preflight := func(origin, method, headers string) map[string]string {
		return map[string]string{"Origin": origin, "Access-Control-Request-Method": method, "Access-Control-Request-Headers": headers}
	}
	may := func(header ...string) map[string]string {
		all := map[string]string{
			"Access-Control-Allow-Origin": allowedOrigin, "Access-Control-Allow-Methods": "POST", "Access-Control-Max-Age": "7200", "Access-Control-Allow-Credentials": "",
			"Vary": "Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
		}
		for i := 0; i < len(header); i += 2 {
			all[header[i]] = header[i+1]
		}
		return all
	}
	never := map[string]string{"Access-Control-Allow-Origin": "", "Access-Control-Allow-Methods": "", "Access-Control-Allow-Headers": "", "Access-Control-Expose-Headers": ""}
	const needed = "apollo-require-preflight,authorization,content-type,graphql-require-preflight,last-event-id,x-apollo-operation-name,x-request-id"
	tests := []struct {
		name, method string
		server       *testServer
		header       map[string]string
		status       int
		want         map[string]string
	}{
		{"preflight", "OPTIONS", open, preflight(allowedOrigin, "POST", needed), 204, may("Access-Control-Allow-Headers", needed)},
		{"preflight of GET", "OPTIONS", open, preflight(allowedOrigin, "GET", ""), 204, may("Access-Control-Allow-Methods", "GET")},
		{"preflight of another allowed origin", "OPTIONS", open, preflight("http://localhost:5173", "POST", ""), 204, may("Access-Control-Allow-Origin", "http://localhost:5173")},
		{"preflight of a foreign origin", "OPTIONS", open, preflight("https://evil.example", "POST", ""), 204, never},
		{"preflight of a similar origin", "OPTIONS", open, preflight("https://app.example.com.evil.example", "POST", ""), 204, never},
		{"preflight of the allowed host without TLS", "OPTIONS", open, preflight("http://app.example.com", "POST", ""), 204, never},
		{"preflight of a null origin", "OPTIONS", open, preflight("null", "POST", ""), 204, never},
		{"preflight for another method", "OPTIONS", open, preflight(allowedOrigin, "DELETE", ""), 204, never},
		{"preflight for headers of a client library", "OPTIONS", open, preflight(allowedOrigin, "POST", "apollographql-client-name,content-type"), 204, may("Access-Control-Allow-Headers", "apollographql-client-name,content-type")},
		{"preflight for headers of a tracer", "OPTIONS", open, preflight(allowedOrigin, "POST", "baggage,content-type,sentry-trace,traceparent"), 204, may("Access-Control-Allow-Headers", "baggage,content-type,sentry-trace,traceparent")},
		{"preflight for an unknown header", "OPTIONS", open, preflight(allowedOrigin, "GET", "x-anything"), 204, may("Access-Control-Allow-Methods", "GET", "Access-Control-Allow-Headers", "x-anything")},
		{"foreign preflight for a preflight header", "OPTIONS", open, preflight("https://evil.example", "POST", "graphql-require-preflight"), 204, never},
		{"foreign preflight for an unknown header", "OPTIONS", open, preflight("https://evil.example", "GET", "x-anything"), 204, never},
		{"preflight without allowed origins", "OPTIONS", closed, preflight(allowedOrigin, "POST", ""), 405, never},
		{"request", "POST", open, map[string]string{"Origin": allowedOrigin, "Sec-Fetch-Site": "cross-site"}, 200, map[string]string{
			"Access-Control-Allow-Origin": allowedOrigin, "Access-Control-Expose-Headers": "X-Request-Id, Retry-After", "Access-Control-Allow-Credentials": "", "Vary": "Origin, Accept-Encoding, Accept",
		}},
		{"request of a foreign origin", "POST", open, map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}, 403, never},
		{"request without an origin", "POST", open, nil, 200, map[string]string{"Access-Control-Allow-Origin": "", "Vary": "Origin, Accept-Encoding, Accept"}},
		{"request without allowed origins", "POST", closed, map[string]string{"Origin": allowedOrigin}, 403, never},
		{"request without an origin or allowed origins", "POST", closed, nil, 200, map[string]string{"Access-Control-Allow-Origin": "", "Vary": "Accept-Encoding, Accept"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			header := map[string]string{"Content-Type": request.MediaJSON}
			maps.Copy(header, tt.header)
			res, text := tt.server.do(t, tt.method, "/", query("{ sum }"), header)
			if res.StatusCode != tt.status {
				t.Errorf("got %d, want %d: %s", res.StatusCode, tt.status, text)
			}
			got := map[string]string{}
			for name := range tt.want {
				got[name] = strings.Join(res.Header.Values(name), ", ")
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func TestOnlyAllowedPagesMaySend(t *testing.T) {
	s := newTestServer(t, Config{AllowedOrigins: []string{allowedOrigin}, Authenticate: tokenAsUser})
	own := s.URL
	tests := []struct {
		name   string
		header map[string]string
		allows bool
	}{
		{"no browser", nil, true},
		{"own page", map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": own}, true},
		{"typed address", map[string]string{"Sec-Fetch-Site": "none"}, true},
		{"foreign page", map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}, false},
		{"foreign page with a hidden origin", map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "null"}, false},
		{"foreign page without an origin", map[string]string{"Sec-Fetch-Site": "cross-site"}, false},
		{"page of the same site", map[string]string{"Sec-Fetch-Site": "same-site", "Origin": "https://sister.example.com"}, false},
		{"page of an allowed origin", map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": allowedOrigin}, true},
		{"old browser, own page", map[string]string{"Origin": own}, true},
		{"old browser, foreign page", map[string]string{"Origin": "https://evil.example"}, false},
		{"old browser, another port", map[string]string{"Origin": "http://127.0.0.1:1"}, false},
		{"old browser, null origin", map[string]string{"Origin": "null"}, false},
		{"old browser, allowed origin", map[string]string{"Origin": allowedOrigin}, true},
		{"old browser, allowed host without TLS", map[string]string{"Origin": "http://app.example.com"}, false},
	}
	upload := form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "a", "A"))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			header := signedIn("Content-Type", request.MediaJSON)
			maps.Copy(header, tt.header)
			res, text := s.do(t, "POST", "/", query(`mutation { setName(name: "x") }`), header)
			check := func() {
				if code := firstCode(text); tt.allows && (res.StatusCode != 200 || code != "") || !tt.allows && (res.StatusCode != 403 || code != errcode.CSRF) {
					t.Errorf("got %d %s, want allowed %v", res.StatusCode, text, tt.allows)
				}
			}
			check()
			header["Content-Type"] = "multipart/form-data; boundary=x"
			res, text = s.do(t, "POST", "/", upload, header)
			check()
			res, text = s.do(t, "GET", get("query", "{ sum }"), "", header)
			want{200, request.MediaGraphQL, `{"sum":0}`, nil, nil}.check(t, res, text) // it has no effect, and the page cannot read it
		})
	}
}

func TestNewRejectsBadOrigin(t *testing.T) {
	for _, origin := range []string{
		"", "*", "https://*", "https://*.example.com", "null", "app.example.com", "ftp://app.example.com", "https://", "https://app.example.com/", "https://app.example.com/path",
		"https://app.example.com?q", "https://user@app.example.com", "HTTPS://app.example.com", "https://app.example.com#x", "%zz",
	} {
		if _, err := New(gqltest.New().Executable(), Config{AllowedOrigins: []string{allowedOrigin, origin}}); err == nil {
			t.Errorf("origin %q: got no error", origin)
		}
	}
	for _, origin := range []string{allowedOrigin, "http://localhost:8080", "https://[::1]:8443", "https://app.example.com:444"} {
		if _, err := New(gqltest.New().Executable(), Config{AllowedOrigins: []string{origin}}); err != nil {
			t.Error(err)
		}
	}
}

// queryAs sends a small query with a token, from the address that a proxy reports.
func (s *testServer) queryAs(t *testing.T, token, addr string) (*responseHead, []byte) {
	t.Helper()
	header := map[string]string{"Content-Type": request.MediaJSON}
	if token != "" {
		header["Authorization"] = "Bearer " + token
	}
	if addr != "" {
		header["X-Forwarded-For"] = addr
	}
	return s.do(t, "POST", "/", query("{ viewer }"), header)
}

// A manualClock only changes by move.
type manualClock struct{ at atomic.Int64 }

func (c *manualClock) now() time.Time       { return time.Unix(1_700_000_000, c.at.Load()) }
func (c *manualClock) move(d time.Duration) { c.at.Add(int64(d)) }

func localProxy(t *testing.T) clientaddr.Proxies {
	t.Helper()
	p, err := clientaddr.ParseProxies([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestUserRateTracksMaxUsers(t *testing.T) {
	s := startServer(t, Config{Limits: Limits{UserRate: 1, UserBurst: 1}})
	if got := s.server.users.Capacity(); got != ratelimit.MaxUsers {
		t.Errorf("got a capacity of %d users, want %d", got, ratelimit.MaxUsers)
	}
}

func TestRequestRateIsLimited(t *testing.T) {
	const ok, limited = 200, 429
	type step struct {
		token, addr string
		status      int
	}
	tests := []struct {
		name    string
		proxies bool
		steps   []step // the burst is two, the rate one per second
	}{
		{"address", true, []step{{"", "203.0.113.1", ok}, {"", "203.0.113.1", ok}, {"", "203.0.113.1", limited}, {"", "203.0.113.2", ok}, {"", "203.0.113.1", limited}, {"", "", ok}}},
		{"IPv6 network", true, []step{{"", "2001:db8::1", ok}, {"", "2001:db8::2", ok}, {"", "2001:db8::3", limited}, {"", "2001:db8:0:1::1", ok}}},
		{"forged address without a proxy", false, []step{{"", "203.0.113.1", ok}, {"", "203.0.113.2", ok}, {"", "203.0.113.3", limited}}},
		{"user", true, []step{{"ann", "203.0.113.1", ok}, {"ann", "203.0.113.2", ok}, {"ann", "203.0.113.3", limited}, {"bob", "203.0.113.1", ok}, {"", "203.0.113.1", ok}}},
		{"users of a limited address", true, []step{{"", "203.0.113.1", ok}, {"", "203.0.113.1", ok}, {"", "203.0.113.1", limited}, {"ann", "203.0.113.1", ok}}},
		{"token of an unknown user", true, []step{{"unknown", "203.0.113.1", ok}, {"unknown", "203.0.113.1", ok}, {"", "203.0.113.1", limited}, {"unknown", "203.0.113.2", ok}}},
		{"user named like an address", true, []step{{"203.0.113.1/32", "203.0.113.9", ok}, {"203.0.113.1/32", "203.0.113.9", ok}, {"203.0.113.1/32", "203.0.113.9", limited}, {"", "203.0.113.1", ok}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := Config{Authenticate: func(_ context.Context, c Credentials) AuthResult {
				if c.Token == "unknown" {
					return AuthResult{Unavailable: true}
				}
				return AuthResult{User: c.Token}
			}}
			if tt.proxies {
				cfg.TrustedProxies = localProxy(t)
			}
			s, clock := newTestServer(t, cfg), &manualClock{}
			s.server.anonymous, s.server.users = ratelimit.New(1, 2, clock.now), ratelimit.New(1, 2, clock.now)
			for i, step := range tt.steps {
				res, text := s.queryAs(t, step.token, step.addr)
				if res.StatusCode != step.status {
					t.Errorf("step %d: got %d, want %d: %s", i, res.StatusCode, step.status, text)
				}
				if step.status == limited {
					want{429, request.MediaJSON, "-", []string{errcode.RateLimited}, map[string]string{"Retry-After": "1"}}.check(t, res, text)
				}
			}
			clock.move(time.Second)
			if res, text := s.queryAs(t, tt.steps[0].token, tt.steps[0].addr); res.StatusCode != ok {
				t.Errorf("a second later: got %d %s, want 200", res.StatusCode, text)
			}
		})
	}
}

func TestRejectedRequestIsNotRead(t *testing.T) {
	s := newTestServer(t, Config{Limits: Limits{BodyTime: 200 * time.Millisecond}})
	s.server.anonymous = ratelimit.New(1, 1, (&manualClock{}).now)
	s.queryAs(t, "", "")
	w := s.dial(t)
	w.writePOST(jsonHeader, "Content-Length: 900000")
	res, text := w.readResponse()
	want{429, request.MediaJSON, "-", []string{errcode.RateLimited}, map[string]string{"Retry-After": "1"}}.check(t, res, text)
	if !res.Close {
		t.Error("got an open connection, want it closed")
	}
}

func TestBadTokensAreThrottled(t *testing.T) {
	auth := &fakeAuth{}
	auth.set("bad", AuthResult{BadToken: true})
	s, clock := newTestServer(t, Config{Authenticate: auth.authenticate, TrustedProxies: localProxy(t)}), &manualClock{}
	s.server.badTokens = ratelimit.New(1, 2, clock.now)
	check := func(token, addr string, status, lookups int) {
		t.Helper()
		if res, text := s.queryAs(t, token, addr); res.StatusCode != status || auth.lookups() != lookups {
			t.Errorf("got %d after %d lookups, want %d after %d: %s", res.StatusCode, auth.lookups(), status, lookups, text)
		}
	}
	for n := range 20 {
		check("good", "203.0.113.1", 200, n+1) // good tokens are not counted
	}
	check("bad", "203.0.113.1", 200, 21)
	check("bad", "203.0.113.1", 200, 22)
	check("bad", "203.0.113.1", 429, 22)
	check("other", "203.0.113.1", 429, 22) // it may be another guess
	check("", "203.0.113.1", 200, 22)
	check("good", "203.0.113.2", 200, 23)
	clock.move(time.Second)
	check("good", "203.0.113.1", 200, 24)
	check("bad", "203.0.113.1", 200, 25)
	check("bad", "203.0.113.1", 429, 25)
}

// A lookup of a token reads the stores, even if the request is then rejected or anonymous.
func TestTokenLookupsAreLimited(t *testing.T) {
	auth := &fakeAuth{}
	s, clock := newTestServer(t, Config{Authenticate: auth.authenticate}), &manualClock{}
	s.server.authLookups = ratelimit.New(1, 3, clock.now)
	statuses := func(token string, n int) (got []int) {
		for range n {
			res, _ := s.queryAs(t, token, "")
			got = append(got, res.StatusCode)
		}
		return got
	}
	if d := cmp.Diff([]int{200, 200, 200, 429}, statuses("ann", 4)); d != "" || auth.lookups() != 3 {
		t.Errorf("after %d lookups, want 3 (-want +got)\n%s", auth.lookups(), d)
	}
	clock.move(time.Second)
	if d := cmp.Diff([]int{200, 429}, statuses("ann", 2)); d != "" {
		t.Errorf("a second later (-want +got)\n%s", d)
	}
}

func TestAuthenticateRunsOncePerTokenWithAddress(t *testing.T) {
	var mu sync.Mutex
	var calls []Credentials
	s := newTestServer(t, Config{TrustedProxies: localProxy(t), Authenticate: func(_ context.Context, c Credentials) AuthResult {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, c)
		name := c.Token
		if name == "" {
			name = "anonymous"
		}
		return AuthResult{User: c.Token, WithContext: func(ctx context.Context) context.Context { return gqltest.WithViewer(ctx, name) }}
	}})
	addr := netip.MustParseAddr("203.0.113.1")
	tests := []struct {
		name, token string
		with        int // calls with the token
		viewer      string
	}{
		{"token", "ann", 1, "ann"},
		{"no token", "", 0, "anonymous"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			calls = nil
			res, text := s.queryAs(t, tt.token, "203.0.113.1")
			want{200, request.MediaJSON, `{"viewer":"` + tt.viewer + `"}`, nil, nil}.check(t, res, text)
			with := 0
			for _, c := range calls {
				if c.Addr != addr {
					t.Errorf("got address %v, want %v", c.Addr, addr)
				}
				if c.Token != "" {
					with++
				}
			}
			if with != tt.with || len(calls) > tt.with+1 {
				t.Errorf("got calls %v, want %d with a token", calls, tt.with)
			}
		})
	}
}

func TestWithoutAuthenticateViewerIsAnonymous(t *testing.T) {
	res, text := newTestServer(t, Config{}).queryAs(t, "ann", "")
	want{200, request.MediaJSON, `{"viewer":null}`, nil, nil}.check(t, res, text)
}

func TestAuthenticatePanicIsInternalError(t *testing.T) {
	auth := &fakeAuth{}
	auth.set("bad", AuthResult{User: "panic"})
	s := newTestServer(t, Config{Authenticate: auth.authenticate})
	res, text := s.queryAs(t, "bad", "")
	want{500, request.MediaJSON, "-", []string{errcode.Internal}, nil}.check(t, res, text)
	s.wantPanics(t, 1, "authenticate panics")
	res, text = s.queryAs(t, "ann", "")
	want{200, request.MediaJSON, `{"viewer":"ann"}`, nil, nil}.check(t, res, text)
}

// wantPanics checks that n panics were counted, and logged with text and their stacks.
func (s *testServer) wantPanics(t *testing.T, n int, text string) {
	t.Helper()
	if got := testutil.ToFloat64(s.server.metrics.panics); got != float64(n) {
		t.Errorf("got %v panics, want %d", got, n)
	}
	log := s.log.String()
	for _, part := range []string{"msg=panic", "stack=", text} {
		if got := strings.Count(log, part); got != n {
			t.Errorf("got %q %d times in the log, want %d: %.2000s", part, got, n, log)
		}
	}
}

func TestAuthenticatePanicKeepsStreamOpen(t *testing.T) {
	auth := &fakeAuth{}
	s := newStreamServer(t, Config{Authenticate: auth.authenticate, Limits: Limits{Recheck: 10 * time.Millisecond, KeepAlive: 10 * time.Millisecond}})
	e := s.stream(t, postRequest("subscription { ticks { text } }"), "ann")
	e.wantEvents(emptyComment)
	auth.set("ann", AuthResult{User: "panic"})
	eventually(t, "Authenticate panics", func() bool { return testutil.ToFloat64(s.server.metrics.panics) > 1 })
	e.wantEvents(emptyComment, emptyComment)
}

func TestTokenIsReadFromBearerAuthorization(t *testing.T) {
	tests := []struct{ header, want string }{
		{"Bearer abc", "abc"},
		{"bearer abc", "abc"},
		{"BEARER abc", "abc"},
		{"Bearer   abc ", "abc"},
		{"Bearer a.b-c_d~e+f/g==", "a.b-c_d~e+f/g=="},
		{"Bearer", ""},
		{"Bearer ", ""},
		{"", ""},
		{"abc", ""},
		{"Bearerabc", ""},
		{"Bearer:abc", ""},
		{"Basic YTpi", ""},
		{"Token abc", ""},
		{" Bearer abc", ""},
	}
	for _, tt := range tests {
		t.Run(tt.header, func(t *testing.T) {
			if got := bearer(tt.header); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	s := newTestServer(t, Config{Authenticate: (&fakeAuth{}).authenticate})
	for header, viewer := range map[string]string{"Bearer ann": `"ann"`, "Basic YTpi": `null`, "": `null`} {
		res, text := s.do(t, "POST", "/", query("{ viewer }"), map[string]string{"Content-Type": request.MediaJSON, "Authorization": header})
		if want := fmt.Sprintf(`{"data":{"viewer":%s}}`, viewer); res.StatusCode != http.StatusOK || string(text) != want {
			t.Errorf("%q: got %d %s, want %s", header, res.StatusCode, text, want)
		}
	}
}
