package gqlserver

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/gqltest"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/request"
	"github.com/tandian-dev/tandian/internal/kit/jsonbody"
)

// A testServer is a Server for the test schema behind a real HTTP server.
type testServer struct {
	*httptest.Server
	server *Server
	schema *gqltest.Schema
	reg    *prometheus.Registry
	log    *bytes.Buffer // not safe to read while requests run
}

func newTestServer(t *testing.T, cfg Config) *testServer {
	t.Helper()
	s := &testServer{schema: gqltest.New(), reg: prometheus.NewRegistry(), log: &bytes.Buffer{}}
	cfg.Registerer = s.reg
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.NewTextHandler(s.log, nil))
	}
	d, err := New(s.schema.Executable(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.server = d
	server := httptest.NewServer(d)
	s.Server = server
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := d.Close(ctx, 0); err != nil {
			t.Errorf("close server: %v", err)
		}
		server.Close()
	})
	return s
}

// A want describes an expected response.
type want struct {
	status int
	media  string
	data   string // JSON; "-" if the property must be absent, "*" for any value
	codes  []string
	header map[string]string
}

// A responseHead is a response without its body.
type responseHead struct {
	StatusCode int
	Header     http.Header
	Close      bool // whether the connection closes
}

// do sends a request and reads the whole response.
func (s *testServer) do(t *testing.T, method, target, body string, header map[string]string) (*responseHead, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		r.Header.Set(k, v)
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return &responseHead{res.StatusCode, res.Header, res.Close}, text
}

// query returns the JSON body of a request.
func query(text string) string {
	body, err := json.Marshal(map[string]string{"query": text})
	if err != nil {
		panic(err)
	}
	return string(body)
}

// get returns the target of a GET request.
func get(pairs ...string) string {
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
	}
	return "/?" + values.Encode()
}

// check compares a response with w.
func (w want) check(t *testing.T, res *responseHead, text []byte) {
	t.Helper()
	if res.StatusCode != w.status {
		t.Errorf("got status %d, want %d: %s", res.StatusCode, w.status, text)
	}
	if got := res.Header.Get("Content-Type"); w.media != "" && got != w.media+"; charset=utf-8" {
		t.Errorf("got Content-Type %q, want %s", got, w.media)
	}
	for k, v := range w.header {
		if got := strings.Join(res.Header.Values(k), ", "); got != v {
			t.Errorf("got %s %q, want %q", k, got, v)
		}
	}
	var response struct {
		Data   json.RawMessage
		Errors []struct {
			Message    string
			Extensions struct{ Code string }
		}
	}
	if err := json.Unmarshal(text, &response); err != nil {
		t.Fatalf("decode %s: %v", text, err)
	}
	if bytes.Contains(text, []byte(gqltest.Secret)) {
		t.Errorf("the response leaks an internal error: %s", text)
	}
	data := string(response.Data)
	if !bytes.Contains(text, []byte(`"data":`)) {
		data = "-"
	}
	if w.data != "*" && data != w.data {
		t.Errorf("got data %s, want %s: %s", data, w.data, text)
	}
	var codes []string
	for _, e := range response.Errors {
		codes = append(codes, e.Extensions.Code)
		if e.Message == "" {
			t.Error("got an error without a message")
		}
	}
	if d := cmp.Diff(w.codes, codes); d != "" {
		t.Errorf("codes (-want +got)\n%s in %s", d, text)
	}
}

func TestResponseFollowsGraphQLOverHTTP(t *testing.T) {
	s := newTestServer(t, Config{Introspection: true})
	jsonBody := map[string]string{"Content-Type": "application/json"}
	with := func(pairs ...string) map[string]string {
		h := map[string]string{"Content-Type": "application/json"}
		for i := 0; i < len(pairs); i += 2 {
			h[pairs[i]] = pairs[i+1]
		}
		return h
	}
	modern := with("Accept", request.MediaGraphQL)
	tests := []struct {
		name, method, target, body string
		header                     map[string]string
		want                       want
	}{
		{"query", "POST", "/", query(`{ sum(of: [1, 2]) }`), jsonBody, want{200, request.MediaJSON, `{"sum":3}`, nil, map[string]string{"Cache-Control": "no-store"}}},
		{"query with the new media type", "POST", "/", query(`{ sum(of: [1, 2]) }`), modern, want{200, request.MediaGraphQL, `{"sum":3}`, nil, nil}},
		{"query by GET", "GET", get("query", "query A { sum(of: [1]) } query B { sum(of: [2]) }", "operationName", "B"), "", nil, want{200, request.MediaJSON, `{"sum":2}`, nil, nil}},
		{"GET with variables", "GET", get("query", "query($n: [Int!]) { sum(of: $n) }", "variables", `{"n":[4,5]}`), "", nil, want{200, request.MediaJSON, `{"sum":9}`, nil, nil}},
		{"charset", "POST", "/", query(`{ sum }`), map[string]string{"Content-Type": "application/json; charset=UTF-8"}, want{200, request.MediaJSON, `{"sum":0}`, nil, nil}},
		{"unknown properties, nulls, empty name", "POST", "/", `{"query":"{ sum }","operationName":"","variables":null,"extensions":null,"id":1}`, jsonBody, want{200, request.MediaJSON, `{"sum":0}`, nil, nil}},
		{"partial result", "POST", "/", query(`{ sum fail }`), modern, want{200, request.MediaGraphQL, `{"sum":0,"fail":null}`, []string{errcode.Internal}, nil}},
		{"panic", "POST", "/", query(`{ sum crash }`), modern, want{200, request.MediaGraphQL, `{"sum":0,"crash":null}`, []string{errcode.Internal}, nil}},
		{"panic that gqlgen does not recover", "POST", "/", query(`{ explode }`), modern, want{200, request.MediaGraphQL, `null`, []string{errcode.Internal}, nil}},
		{"one hundred errors", "POST", "/", query(`{ failMany(n: 100) }`), modern, want{200, request.MediaGraphQL, "*", repeat(errcode.Internal, 20), nil}},

		{"syntax error", "POST", "/", query(`{ sum`), jsonBody, want{200, request.MediaJSON, "-", []string{errcode.ParseFailed}, nil}},
		{"syntax error with the new media type", "POST", "/", query(`{ sum`), modern, want{400, request.MediaGraphQL, "-", []string{errcode.ParseFailed}, nil}},
		{"unknown field", "POST", "/", query(`{ nothing }`), modern, want{400, request.MediaGraphQL, "-", []string{errcode.ValidationFailed}, nil}},
		{"three unknown fields", "POST", "/", query(`{ a b c }`), modern, want{400, request.MediaGraphQL, "-", repeat(errcode.ValidationFailed, 3), nil}},
		{"nine unknown fields", "POST", "/", query(`{ a b c d e f g h i }`), modern, want{400, request.MediaGraphQL, "-", repeat(errcode.ValidationFailed, 5), nil}},
		{"unknown operation", "POST", "/", `{"query":"query A { sum }","operationName":"B"}`, modern, want{400, request.MediaGraphQL, "-", []string{errcode.ValidationFailed}, nil}},
		{"no operation chosen", "POST", "/", query(`query A { sum } query B { sum }`), modern, want{400, request.MediaGraphQL, "-", []string{errcode.ValidationFailed}, nil}},
		{"only fragments", "POST", "/", query(`fragment F on Item { id }`), modern, want{400, request.MediaGraphQL, "-", []string{errcode.ValidationFailed}, nil}},
		{"variable of another type", "POST", "/", `{"query":"query($n: [Int!]) { sum(of: $n) }","variables":{"n":["x"]}}`, modern, want{400, request.MediaGraphQL, "-", []string{errcode.ValidationFailed}, nil}},
		{"@defer", "POST", "/", query(`{ item(id: 1) { ...F @defer } } fragment F on Item { id }`), modern, want{400, request.MediaGraphQL, "-", []string{errcode.ValidationFailed}, nil}},

		{"no query", "POST", "/", `{}`, jsonBody, want{400, request.MediaJSON, "-", []string{errcode.BadRequest}, nil}},
		{"null", "POST", "/", `null`, jsonBody, want{400, request.MediaJSON, "-", []string{errcode.BadRequest}, nil}},
		{"empty body", "POST", "/", ``, jsonBody, want{400, request.MediaJSON, "-", []string{errcode.BadRequest}, nil}},
		{"truncated request", "POST", "/", `{"query":"{ sum }"`, jsonBody, want{400, request.MediaJSON, "-", []string{errcode.BadRequest}, nil}},
		{"two requests", "POST", "/", query(`{ sum }`) + query(`{ sum }`), jsonBody, want{400, request.MediaJSON, "-", []string{errcode.BadRequest}, nil}},
		{"batch", "POST", "/", `[` + query(`{ sum }`) + `]`, jsonBody, want{400, request.MediaJSON, "-", []string{errcode.BatchingNotSupported}, nil}},
		{"numeric query", "POST", "/", `{"query":1}`, modern, want{400, request.MediaGraphQL, "-", []string{errcode.BadRequest}, nil}},
		{"list as variables", "POST", "/", `{"query":"{ sum }","variables":[]}`, modern, want{400, request.MediaGraphQL, "-", []string{errcode.BadRequest}, nil}},
		{"string as extensions", "POST", "/", `{"query":"{ sum }","extensions":"x"}`, modern, want{400, request.MediaGraphQL, "-", []string{errcode.BadRequest}, nil}},
		{"list as operation name", "POST", "/", `{"query":"{ sum }","operationName":[]}`, modern, want{400, request.MediaGraphQL, "-", []string{errcode.BadRequest}, nil}},
		{"invalid UTF-8", "POST", "/", "{\"query\":\"{ sum }\xff\"}", jsonBody, want{400, request.MediaJSON, "-", []string{errcode.BadRequest}, nil}},
		{"long operation name", "POST", "/", `{"query":"{ sum }","operationName":"` + strings.Repeat("a", 257) + `"}`, jsonBody, want{400, request.MediaJSON, "-", []string{errcode.BadRequest}, nil}},
		{"empty GET", "GET", "/", "", nil, want{400, request.MediaJSON, "-", []string{errcode.BadRequest}, nil}},
		{"GET with invalid variables", "GET", get("query", "{ sum }", "variables", "{"), "", nil, want{400, request.MediaJSON, "-", []string{errcode.BadRequest}, nil}},
		{"GET with invalid escape", "GET", "/?query=%zz", "", nil, want{400, request.MediaJSON, "-", []string{errcode.BadRequest}, nil}},
		{"long GET", "GET", get("query", "{ sum #"+strings.Repeat("a", 20<<10)+"\n}"), "", nil, want{414, request.MediaJSON, "-", []string{errcode.PayloadTooLarge}, nil}},

		{"mutation by GET", "GET", get("query", `mutation { setName(name: "x") }`), "", nil, want{405, request.MediaJSON, "-", []string{errcode.MethodNotAllowed}, map[string]string{"Allow": "POST"}}},
		{"unsupported method", "PUT", "/", query(`{ sum }`), jsonBody, want{405, request.MediaJSON, "-", []string{errcode.MethodNotAllowed}, map[string]string{"Allow": "GET, POST"}}},
		{"plain text", "POST", "/", query(`{ sum }`), map[string]string{"Content-Type": "text/plain"}, want{415, request.MediaJSON, "-", []string{errcode.UnsupportedMediaType}, nil}},
		{"form", "POST", "/", "query={sum}", map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, want{415, request.MediaJSON, "-", []string{errcode.UnsupportedMediaType}, nil}},
		{"no content type", "POST", "/", query(`{ sum }`), nil, want{415, request.MediaJSON, "-", []string{errcode.UnsupportedMediaType}, nil}},
		{"unsupported charset", "POST", "/", query(`{ sum }`), map[string]string{"Content-Type": "application/json; charset=utf-16"}, want{415, request.MediaJSON, "-", []string{errcode.UnsupportedMediaType}, nil}},
		{"compressed body", "POST", "/", query(`{ sum }`), with("Content-Encoding", "gzip"), want{415, request.MediaJSON, "-", []string{errcode.UnsupportedMediaType}, nil}},
		{"HTML wanted", "POST", "/", query(`{ sum }`), with("Accept", "text/html"), want{406, request.MediaJSON, "-", []string{errcode.NotAcceptable}, nil}},
		{"subscription without a stream", "POST", "/", query(`subscription { count(to: 3) }`), jsonBody, want{406, request.MediaJSON, "-", []string{errcode.NotAcceptable}, nil}},
		{"foreign page", "POST", "/", query(`{ sum }`), with("Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"), want{403, request.MediaJSON, "-", []string{errcode.CSRF}, nil}},
		{"files without the preflight header", "POST", "/", "x", map[string]string{"Content-Type": "multipart/form-data; boundary=x"}, want{400, request.MediaJSON, "-", []string{errcode.CSRF}, nil}},
		{"anonymous files", "POST", "/", "x", map[string]string{"Content-Type": "multipart/form-data; boundary=x", "GraphQL-Require-Preflight": "1"}, want{401, request.MediaJSON, "-", []string{errcode.Unauthenticated}, nil}},
		{"body above the limit", "POST", "/", `{"query":"{ sum }","x":"` + strings.Repeat("a", 1<<20) + `"}`, jsonBody, want{413, request.MediaJSON, "-", []string{errcode.PayloadTooLarge}, nil}},
		{"response above the limit", "POST", "/", query(`{ big(bytes: 6000000) }`), modern, want{200, request.MediaGraphQL, "null", []string{errcode.ResponseTooLarge}, nil}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res, text := s.do(t, tt.method, tt.target, tt.body, tt.header)
			tt.want.check(t, res, text)
			if closes := len(tt.body) > freeBytes; res.Close != closes {
				t.Errorf("got connection closed %v, want %v", res.Close, closes)
			}
		})
	}
}

func repeat(s string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = s
	}
	return all
}

func TestLargeResponseIsCompressedWithVary(t *testing.T) {
	s := newTestServer(t, Config{})
	res, text := s.do(t, "POST", "/", query(`{ big(bytes: 20000) }`), map[string]string{"Content-Type": "application/json", "Accept-Encoding": "gzip"})
	if res.Header.Get("Content-Encoding") != "gzip" || len(text) > 5000 {
		t.Fatalf("got %d bytes in %q, want at most 5000 in gzip", len(text), res.Header.Get("Content-Encoding"))
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := io.ReadAll(unpacked)
	if err != nil || len(whole) < 20000 {
		t.Errorf("got %d bytes, %v, want at least 20000", len(whole), err)
	}
	vary := strings.Join(res.Header.Values("Vary"), ", ")
	if !strings.Contains(vary, "Accept-Encoding") || !strings.HasSuffix(vary, "Accept") {
		t.Errorf("got Vary %q, want Accept-Encoding and Accept", vary)
	}
	res, _ = s.do(t, "POST", "/", query(`{ sum }`), map[string]string{"Content-Type": "application/json", "Accept-Encoding": "gzip"})
	if got := res.Header.Get("Content-Encoding"); got != "" {
		t.Errorf("small response: got Content-Encoding %q, want none", got)
	}
}

func TestOnlyAnonymousPublicGETIsCacheable(t *testing.T) {
	s := newTestServer(t, Config{CacheableFields: map[string]time.Duration{"public": time.Minute, "sum": time.Hour}})
	tests := []struct {
		name, method, query, token, want string
	}{
		{"public field", "GET", "{ public }", "", "public, max-age=60"},
		{"two public fields and __typename", "GET", "{ __typename s: sum public }", "", "public, max-age=60"},
		{"public field of another age", "GET", "{ sum }", "", "public, max-age=3600"},
		{"public field in a fragment", "GET", "{ ...F } fragment F on Query { sum }", "", "public, max-age=3600"},
		{"private field", "GET", "{ public viewer }", "", "no-store"},
		{"private field in a fragment", "GET", "{ public ...F } fragment F on Query { viewer }", "", "no-store"},
		{"only __typename", "GET", "{ __typename }", "", "no-store"},
		{"signed in", "GET", "{ public }", "token", "no-store"},
		{"error", "GET", `{ public sum(of: [2147483647, 1]) fail }`, "", "no-store"},
		{"invalid document", "GET", "{ public nothing }", "", "no-store"},
		{"POST", "POST", "{ public }", "", "no-store"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			header := map[string]string{"Content-Type": "application/json"}
			if tt.token != "" {
				header["Authorization"] = "Bearer " + tt.token
			}
			target, body := get("query", tt.query), ""
			if tt.method == "POST" {
				target, body = "/", query(tt.query)
			}
			res, text := s.do(t, tt.method, target, body, header)
			if got := res.Header.Get("Cache-Control"); got != tt.want {
				t.Errorf("got %q, want %q: %s", got, tt.want, text)
			}
			if vary := strings.Join(res.Header.Values("Vary"), ", "); strings.HasPrefix(tt.want, "public") && !strings.Contains(vary, "Authorization") {
				t.Errorf("got Vary %q, want Authorization in it", vary)
			}
		})
	}
}

func TestCommonContentTypesAreParsed(t *testing.T) {
	for _, charset := range []string{"", "; charset=utf-8", "; charset=UTF-8", ";charset=utf-8", ";charset=UTF-8"} {
		media, _, err := contentType(request.MediaJSON + charset)
		want, attributes, _ := mime.ParseMediaType(request.MediaJSON + charset)
		if err != nil || media != want || !jsonbody.IsUTF8(attributes["charset"]) {
			t.Errorf("Content-Type %s%s: got %s, %v, want %s", request.MediaJSON, charset, media, err, want)
		}
	}
}

func TestResponseHasContentLength(t *testing.T) {
	s := newTestServer(t, Config{})
	envelope := len(`{"data":{"big":""}}`)
	for _, bytes := range []int{1, longAnswer - envelope - 1, longAnswer - envelope, longAnswer - envelope + 1, 3 * longAnswer} {
		res, text := s.do(t, "POST", "/", query("{ big(bytes: "+strconv.Itoa(bytes)+") }"), map[string]string{"Content-Type": request.MediaJSON, "Accept-Encoding": "identity"})
		if length := res.Header.Get("Content-Length"); len(text) != bytes+envelope || length != strconv.Itoa(len(text)) {
			t.Errorf("got %d bytes and Content-Length %q, want %d", len(text), length, bytes+envelope)
		}
	}
}
