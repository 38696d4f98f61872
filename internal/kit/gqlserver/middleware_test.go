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

const ours = "https://app.example.com"

func TestAForeignPageIsToldWhatItMay(t *testing.T) {
	open := openHouse(t, Config{AllowedOrigins: []string{ours, "http://localhost:5173"}})
	closed := openHouse(t, Config{})
	preflight := func(origin, method, headers string) map[string]string {
		return map[string]string{"Origin": origin, "Access-Control-Request-Method": method, "Access-Control-Request-Headers": headers}
	}
	may := func(header ...string) map[string]string {
		all := map[string]string{
			"Access-Control-Allow-Origin": ours, "Access-Control-Allow-Methods": "POST", "Access-Control-Max-Age": "7200", "Access-Control-Allow-Credentials": "",
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
		house        *house
		header       map[string]string
		status       int
		want         map[string]string
	}{
		{"a preflight", "OPTIONS", open, preflight(ours, "POST", needed), 204, may("Access-Control-Allow-Headers", needed)},
		{"a preflight of a GET", "OPTIONS", open, preflight(ours, "GET", ""), 204, may("Access-Control-Allow-Methods", "GET")},
		{"a preflight of another origin we know", "OPTIONS", open, preflight("http://localhost:5173", "POST", ""), 204, may("Access-Control-Allow-Origin", "http://localhost:5173")},
		{"a preflight of a stranger", "OPTIONS", open, preflight("https://evil.example", "POST", ""), 204, never},
		{"a preflight of one that looks like ours", "OPTIONS", open, preflight("https://app.example.com.evil.example", "POST", ""), 204, never},
		{"a preflight of ours without TLS", "OPTIONS", open, preflight("http://app.example.com", "POST", ""), 204, never},
		{"a preflight of no origin", "OPTIONS", open, preflight("null", "POST", ""), 204, never},
		{"a preflight for another method", "OPTIONS", open, preflight(ours, "DELETE", ""), 204, never},
		{"a preflight for headers of a client library", "OPTIONS", open, preflight(ours, "POST", "apollographql-client-name,content-type"), 204, may("Access-Control-Allow-Headers", "apollographql-client-name,content-type")},
		{"a preflight for headers of a tracer", "OPTIONS", open, preflight(ours, "POST", "baggage,content-type,sentry-trace,traceparent"), 204, may("Access-Control-Allow-Headers", "baggage,content-type,sentry-trace,traceparent")},
		{"a preflight for a header that nobody knows", "OPTIONS", open, preflight(ours, "GET", "x-anything"), 204, may("Access-Control-Allow-Methods", "GET", "Access-Control-Allow-Headers", "x-anything")},
		{"a stranger's preflight for a header that needs one", "OPTIONS", open, preflight("https://evil.example", "POST", "graphql-require-preflight"), 204, never},
		{"a stranger's preflight for any header", "OPTIONS", open, preflight("https://evil.example", "GET", "x-anything"), 204, never},
		{"a preflight where nobody may", "OPTIONS", closed, preflight(ours, "POST", ""), 405, never},
		{"a request", "POST", open, map[string]string{"Origin": ours, "Sec-Fetch-Site": "cross-site"}, 200, map[string]string{
			"Access-Control-Allow-Origin": ours, "Access-Control-Expose-Headers": "X-Request-Id, Retry-After", "Access-Control-Allow-Credentials": "", "Vary": "Origin, Accept-Encoding, Accept",
		}},
		{"a request of a stranger", "POST", open, map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}, 403, never},
		{"a request of no page", "POST", open, nil, 200, map[string]string{"Access-Control-Allow-Origin": "", "Vary": "Origin, Accept-Encoding, Accept"}},
		{"a request where nobody may", "POST", closed, map[string]string{"Origin": ours}, 403, never},
		{"a request of no page where nobody may", "POST", closed, nil, 200, map[string]string{"Access-Control-Allow-Origin": "", "Vary": "Accept-Encoding, Accept"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			header := map[string]string{"Content-Type": request.MediaJSON}
			maps.Copy(header, tt.header)
			res, text := tt.house.ask(t, tt.method, "/", query("{ sum }"), header)
			if res.StatusCode != tt.status {
				t.Errorf("%d, want %d: %s", res.StatusCode, tt.status, text)
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

func TestABrowserMaySendOnlyForPagesThatMay(t *testing.T) {
	s := openHouse(t, Config{AllowedOrigins: []string{ours}, Authenticate: named})
	own := s.URL
	tests := []struct {
		name   string
		header map[string]string
		allows bool
	}{
		{"no browser", nil, true},
		{"a page of ours", map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": own}, true},
		{"somebody who types", map[string]string{"Sec-Fetch-Site": "none"}, true},
		{"a page of another site", map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}, false},
		{"a page of another site that hides its origin", map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "null"}, false},
		{"a page of another site without an origin", map[string]string{"Sec-Fetch-Site": "cross-site"}, false},
		{"a page of a sister site", map[string]string{"Sec-Fetch-Site": "same-site", "Origin": "https://sister.example.com"}, false},
		{"a page of another site that we trust", map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": ours}, true},
		{"an old browser, a page of ours", map[string]string{"Origin": own}, true},
		{"an old browser, a page of another site", map[string]string{"Origin": "https://evil.example"}, false},
		{"an old browser, another port", map[string]string{"Origin": "http://127.0.0.1:1"}, false},
		{"an old browser, no origin", map[string]string{"Origin": "null"}, false},
		{"an old browser, a page that we trust", map[string]string{"Origin": ours}, true},
		{"an old browser, without TLS what we trust with it", map[string]string{"Origin": "http://app.example.com"}, false},
	}
	upload := form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "a", "A"))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			header := signedIn("Content-Type", request.MediaJSON)
			maps.Copy(header, tt.header)
			res, text := s.ask(t, "POST", "/", query(`mutation { setName(name: "x") }`), header)
			check := func() {
				if code := firstCode(text); tt.allows && (res.StatusCode != 200 || code != "") || !tt.allows && (res.StatusCode != 403 || code != errcode.CSRF) {
					t.Errorf("%d %s", res.StatusCode, text)
				}
			}
			check()
			header["Content-Type"] = "multipart/form-data; boundary=x"
			res, text = s.ask(t, "POST", "/", upload, header)
			check()
			res, text = s.ask(t, "GET", get("query", "{ sum }"), "", header)
			want{200, request.MediaGraphQL, `{"sum":0}`, nil, nil}.check(t, res, text) // it changes nothing, and the page cannot read it
		})
	}
}

func TestADoorIsNotMadeWithABadOrigin(t *testing.T) {
	for _, origin := range []string{
		"", "*", "https://*", "https://*.example.com", "null", "app.example.com", "ftp://app.example.com", "https://", "https://app.example.com/", "https://app.example.com/path",
		"https://app.example.com?q", "https://user@app.example.com", "HTTPS://app.example.com", "https://app.example.com#x", "%zz",
	} {
		if _, err := New(gqltest.New().Executable(), Config{AllowedOrigins: []string{ours, origin}}); err == nil {
			t.Errorf("%q is taken", origin)
		}
	}
	for _, origin := range []string{ours, "http://localhost:8080", "https://[::1]:8443", "https://app.example.com:444"} {
		if _, err := New(gqltest.New().Executable(), Config{AllowedOrigins: []string{origin}}); err != nil {
			t.Error(err)
		}
	}
}

// askAs sends a small query of somebody, from an address that a proxy tells.
func (s *house) askAs(t *testing.T, token, addr string) (*reply, []byte) {
	t.Helper()
	header := map[string]string{"Content-Type": request.MediaJSON}
	if token != "" {
		header["Authorization"] = "Bearer " + token
	}
	if addr != "" {
		header["X-Forwarded-For"] = addr
	}
	return s.ask(t, "POST", "/", query("{ viewer }"), header)
}

// handClock is a clock that stands still until it is moved.
type handClock struct{ at atomic.Int64 }

func (c *handClock) now() time.Time       { return time.Unix(1_700_000_000, c.at.Load()) }
func (c *handClock) move(d time.Duration) { c.at.Add(int64(d)) }

func localProxy(t *testing.T) clientaddr.Proxies {
	t.Helper()
	p, err := clientaddr.ParseProxies([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestUserRateHasRoomForARush(t *testing.T) {
	s := start(t, Config{Limits: Limits{UserRate: 1, UserBurst: 1}})
	if got := s.server.users.Capacity(); got != ratelimit.MaxUsers {
		t.Errorf("got room for %d users, want %d", got, ratelimit.MaxUsers)
	}
}

func TestRequestsHaveARate(t *testing.T) {
	const ok, no = 200, 429
	type step struct {
		token, addr string
		status      int
	}
	tests := []struct {
		name    string
		proxies bool
		steps   []step // two at once, then one a second
	}{
		{"of an address", true, []step{{"", "203.0.113.1", ok}, {"", "203.0.113.1", ok}, {"", "203.0.113.1", no}, {"", "203.0.113.2", ok}, {"", "203.0.113.1", no}, {"", "", ok}}},
		{"of an IPv6 subscriber", true, []step{{"", "2001:db8::1", ok}, {"", "2001:db8::2", ok}, {"", "2001:db8::3", no}, {"", "2001:db8:0:1::1", ok}}},
		{"of an address that nobody can make up", false, []step{{"", "203.0.113.1", ok}, {"", "203.0.113.2", ok}, {"", "203.0.113.3", no}}},
		{"of a user", true, []step{{"ann", "203.0.113.1", ok}, {"ann", "203.0.113.2", ok}, {"ann", "203.0.113.3", no}, {"bob", "203.0.113.1", ok}, {"", "203.0.113.1", ok}}},
		{"of an address does not hold up its users", true, []step{{"", "203.0.113.1", ok}, {"", "203.0.113.1", ok}, {"", "203.0.113.1", no}, {"ann", "203.0.113.1", ok}}},
		{"of somebody who cannot be known now is that of the address", true, []step{{"unknown", "203.0.113.1", ok}, {"unknown", "203.0.113.1", ok}, {"", "203.0.113.1", no}, {"unknown", "203.0.113.2", ok}}},
		{"of a user called like an address is their own", true, []step{{"203.0.113.1/32", "203.0.113.9", ok}, {"203.0.113.1/32", "203.0.113.9", ok}, {"203.0.113.1/32", "203.0.113.9", no}, {"", "203.0.113.1", ok}}},
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
			s, hand := openHouse(t, cfg), &handClock{}
			s.server.anonymous, s.server.users = ratelimit.New(1, 2, hand.now), ratelimit.New(1, 2, hand.now)
			for i, step := range tt.steps {
				res, text := s.askAs(t, step.token, step.addr)
				if res.StatusCode != step.status {
					t.Errorf("step %d: %d, want %d: %s", i, res.StatusCode, step.status, text)
				}
				if step.status == no {
					want{429, request.MediaJSON, "-", []string{errcode.RateLimited}, map[string]string{"Retry-After": "1"}}.check(t, res, text)
				}
			}
			hand.move(time.Second)
			if res, text := s.askAs(t, tt.steps[0].token, tt.steps[0].addr); res.StatusCode != ok {
				t.Errorf("a second later: %d %s", res.StatusCode, text)
			}
		})
	}
}

func TestARefusedRequestIsNotRead(t *testing.T) {
	s := openHouse(t, Config{Limits: Limits{BodyTime: 200 * time.Millisecond}})
	s.server.anonymous = ratelimit.New(1, 1, (&handClock{}).now)
	s.askAs(t, "", "")
	w := s.wire(t)
	w.posts(jsonHeader, "Content-Length: 900000")
	res, text := w.answer()
	want{429, request.MediaJSON, "-", []string{errcode.RateLimited}, map[string]string{"Retry-After": "1"}}.check(t, res, text)
	if !res.Close {
		t.Error("the connection stays")
	}
}

func TestWhoBringsBadTokensIsSoonNotAskedForThem(t *testing.T) {
	current := &people{}
	current.change("bad", AuthResult{BadToken: true})
	s, hand := openHouse(t, Config{Authenticate: current.admit, TrustedProxies: localProxy(t)}), &handClock{}
	s.server.badTokens = ratelimit.New(1, 2, hand.now)
	ask := func(token, addr string, status, asked int) {
		t.Helper()
		if res, text := s.askAs(t, token, addr); res.StatusCode != status || current.asked() != asked {
			t.Errorf("%d, want %d, after %d questions, want %d: %s", res.StatusCode, status, current.asked(), asked, text)
		}
	}
	for n := range 20 {
		ask("good", "203.0.113.1", 200, n+1) // good ones cost nothing
	}
	ask("bad", "203.0.113.1", 200, 21)
	ask("bad", "203.0.113.1", 200, 22)
	ask("bad", "203.0.113.1", 429, 22)
	ask("other", "203.0.113.1", 429, 22) // it may be one more guess
	ask("", "203.0.113.1", 200, 22)
	ask("good", "203.0.113.2", 200, 23)
	hand.move(time.Second)
	ask("good", "203.0.113.1", 200, 24)
	ask("bad", "203.0.113.1", 200, 25)
	ask("bad", "203.0.113.1", 429, 25)
}

// Who asks costs a look into the stores, also where the answer is that the rate
// is used up, or none.
func TestLooksAtTokensAreFewBeforeAnythingIsKnown(t *testing.T) {
	current := &people{}
	s, hand := openHouse(t, Config{Authenticate: current.admit}), &handClock{}
	s.server.authLookups = ratelimit.New(1, 3, hand.now)
	statuses := func(token string, n int) (got []int) {
		for range n {
			res, _ := s.askAs(t, token, "")
			got = append(got, res.StatusCode)
		}
		return got
	}
	if d := cmp.Diff([]int{200, 200, 200, 429}, statuses("ann", 4)); d != "" || current.asked() != 3 {
		t.Errorf("%d looks: %s", current.asked(), d)
	}
	hand.move(time.Second)
	if d := cmp.Diff([]int{200, 429}, statuses("ann", 2)); d != "" {
		t.Errorf("a second later: %s", d)
	}
}

func TestAdmitIsAskedOnceAboutATokenAndToldTheAddress(t *testing.T) {
	var mu sync.Mutex
	var asked []Credentials
	s := openHouse(t, Config{TrustedProxies: localProxy(t), Authenticate: func(_ context.Context, c Credentials) AuthResult {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, c)
		name := c.Token
		if name == "" {
			name = "nobody"
		}
		return AuthResult{User: c.Token, WithContext: func(ctx context.Context) context.Context { return gqltest.WithViewer(ctx, name) }}
	}})
	addr := netip.MustParseAddr("203.0.113.1")
	tests := []struct {
		name, token string
		with        int // questions with the token
		viewer      string
	}{
		{"with a token", "ann", 1, "ann"},
		{"without", "", 0, "nobody"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			asked = nil
			res, text := s.askAs(t, tt.token, "203.0.113.1")
			want{200, request.MediaJSON, `{"viewer":"` + tt.viewer + `"}`, nil, nil}.check(t, res, text)
			with := 0
			for _, c := range asked {
				if c.Addr != addr {
					t.Errorf("it was told %v", c.Addr)
				}
				if c.Token != "" {
					with++
				}
			}
			if with != tt.with || len(asked) > tt.with+1 {
				t.Errorf("it was asked %v", asked)
			}
		})
	}
}

func TestWithoutAdmitEverybodyIsUnknown(t *testing.T) {
	res, text := openHouse(t, Config{}).askAs(t, "ann", "")
	want{200, request.MediaJSON, `{"viewer":null}`, nil, nil}.check(t, res, text)
}

func TestAnAdmitThatPanicsIsOneInternalError(t *testing.T) {
	current := &people{}
	current.change("bad", AuthResult{User: "panic"})
	s := openHouse(t, Config{Authenticate: current.admit})
	res, text := s.askAs(t, "bad", "")
	want{500, request.MediaJSON, "-", []string{errcode.Internal}, nil}.check(t, res, text)
	s.wantPanics(t, 1, "who is it")
	res, text = s.askAs(t, "ann", "")
	want{200, request.MediaJSON, `{"viewer":"ann"}`, nil, nil}.check(t, res, text)
}

// wantPanics checks that so many panics were counted, and logged with a text
// and their stacks.
func (s *house) wantPanics(t *testing.T, n int, text string) {
	t.Helper()
	if got := testutil.ToFloat64(s.server.metrics.panics); got != float64(n) {
		t.Errorf("%v panics were counted, want %d", got, n)
	}
	log := s.log.String()
	for _, part := range []string{"msg=panic", "stack=", text} {
		if got := strings.Count(log, part); got != n {
			t.Errorf("%q is logged %d times, want %d: %.2000s", part, got, n, log)
		}
	}
}

func TestAnAdmitThatPanicsDoesNotEndAStream(t *testing.T) {
	current := &people{}
	s := openStreams(t, Config{Authenticate: current.admit, Limits: Limits{Recheck: 10 * time.Millisecond, KeepAlive: 10 * time.Millisecond}})
	e := s.stream(t, posted("subscription { ticks { text } }"), "ann")
	e.wants(emptyComment)
	current.change("ann", AuthResult{User: "panic"})
	eventually(t, "it panics", func() bool { return testutil.ToFloat64(s.server.metrics.panics) > 1 })
	e.wants(emptyComment, emptyComment)
}

func TestATokenIsReadFromABearerAuthorization(t *testing.T) {
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
	s := openHouse(t, Config{Authenticate: (&people{}).admit})
	for header, viewer := range map[string]string{"Bearer ann": `"ann"`, "Basic YTpi": `null`, "": `null`} {
		res, text := s.ask(t, "POST", "/", query("{ viewer }"), map[string]string{"Content-Type": request.MediaJSON, "Authorization": header})
		if want := fmt.Sprintf(`{"data":{"viewer":%s}}`, viewer); res.StatusCode != http.StatusOK || string(text) != want {
			t.Errorf("%q: %d %s, want %s", header, res.StatusCode, text, want)
		}
	}
}
