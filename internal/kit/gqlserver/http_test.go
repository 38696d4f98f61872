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

// A house is a door over the test schema, behind a real HTTP server.
type house struct {
	*httptest.Server
	server *Server
	schema *gqltest.Schema
	reg    *prometheus.Registry
	log    *bytes.Buffer // to be read when nothing runs
}

func openHouse(t *testing.T, cfg Config) *house {
	t.Helper()
	s := &house{schema: gqltest.New(), reg: prometheus.NewRegistry(), log: &bytes.Buffer{}}
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
			t.Errorf("the door did not close: %v", err)
		}
		server.Close()
	})
	return s
}

// A want is what an answer must be like.
type want struct {
	status int
	media  string
	data   string // of the answer, as JSON; "-" for no such property, "*" for whatever
	codes  []string
	header map[string]string
}

// A reply is the head of an answer.
type reply struct {
	StatusCode int
	Header     http.Header
	Close      bool // whether the connection closes
}

// ask sends a request and reads the whole answer.
func (s *house) ask(t *testing.T, method, target, body string, header map[string]string) (*reply, []byte) {
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
	return &reply{res.StatusCode, res.Header, res.Close}, text
}

// query is the body of a request.
func query(text string) string {
	body, err := json.Marshal(map[string]string{"query": text})
	if err != nil {
		panic(err)
	}
	return string(body)
}

// get is the target of a GET.
func get(pairs ...string) string {
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
	}
	return "/?" + values.Encode()
}

// check compares an answer.
func (w want) check(t *testing.T, res *reply, text []byte) {
	t.Helper()
	if res.StatusCode != w.status {
		t.Errorf("status %d, want %d: %s", res.StatusCode, w.status, text)
	}
	if got := res.Header.Get("Content-Type"); w.media != "" && got != w.media+"; charset=utf-8" {
		t.Errorf("the type is %q, want %s", got, w.media)
	}
	for k, v := range w.header {
		if got := strings.Join(res.Header.Values(k), ", "); got != v {
			t.Errorf("%s is %q, want %q", k, got, v)
		}
	}
	var answer struct {
		Data   json.RawMessage
		Errors []struct {
			Message    string
			Extensions struct{ Code string }
		}
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if bytes.Contains(text, []byte(gqltest.Secret)) {
		t.Errorf("the answer shows the inside: %s", text)
	}
	data := string(answer.Data)
	if !bytes.Contains(text, []byte(`"data":`)) {
		data = "-"
	}
	if w.data != "*" && data != w.data {
		t.Errorf("data is %s, want %s: %s", data, w.data, text)
	}
	var codes []string
	for _, e := range answer.Errors {
		codes = append(codes, e.Extensions.Code)
		if e.Message == "" {
			t.Error("an error says nothing")
		}
	}
	if d := cmp.Diff(w.codes, codes); d != "" {
		t.Errorf("codes (-want +got)\n%s in %s", d, text)
	}
}

func TestARequestGetsTheStatusTypeAndCodesOfTheSpecification(t *testing.T) {
	s := openHouse(t, Config{Introspection: true})
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
		{"a query", "POST", "/", query(`{ sum(of: [1, 2]) }`), jsonBody, want{200, request.MediaJSON, `{"sum":3}`, nil, map[string]string{"Cache-Control": "no-store"}}},
		{"a query, answered in the new type", "POST", "/", query(`{ sum(of: [1, 2]) }`), modern, want{200, request.MediaGraphQL, `{"sum":3}`, nil, nil}},
		{"a query by GET", "GET", get("query", "query A { sum(of: [1]) } query B { sum(of: [2]) }", "operationName", "B"), "", nil, want{200, request.MediaJSON, `{"sum":2}`, nil, nil}},
		{"a GET with variables", "GET", get("query", "query($n: [Int!]) { sum(of: $n) }", "variables", `{"n":[4,5]}`), "", nil, want{200, request.MediaJSON, `{"sum":9}`, nil, nil}},
		{"a charset", "POST", "/", query(`{ sum }`), map[string]string{"Content-Type": "application/json; charset=UTF-8"}, want{200, request.MediaJSON, `{"sum":0}`, nil, nil}},
		{"unknown properties, nulls, an empty name", "POST", "/", `{"query":"{ sum }","operationName":"","variables":null,"extensions":null,"id":1}`, jsonBody, want{200, request.MediaJSON, `{"sum":0}`, nil, nil}},
		{"a partial result", "POST", "/", query(`{ sum fail }`), modern, want{200, request.MediaGraphQL, `{"sum":0,"fail":null}`, []string{errcode.Internal}, nil}},
		{"a panic", "POST", "/", query(`{ sum crash }`), modern, want{200, request.MediaGraphQL, `{"sum":0,"crash":null}`, []string{errcode.Internal}, nil}},
		{"a panic where gqlgen does not recover", "POST", "/", query(`{ explode }`), modern, want{200, request.MediaGraphQL, `null`, []string{errcode.Internal}, nil}},
		{"errors in each of a hundred", "POST", "/", query(`{ failMany(n: 100) }`), modern, want{200, request.MediaGraphQL, "*", repeat(errcode.Internal, 20), nil}},

		{"a syntax error", "POST", "/", query(`{ sum`), jsonBody, want{200, request.MediaJSON, "-", []string{errcode.ParseFailed}, nil}},
		{"a syntax error, answered in the new type", "POST", "/", query(`{ sum`), modern, want{400, request.MediaGraphQL, "-", []string{errcode.ParseFailed}, nil}},
		{"an unknown field", "POST", "/", query(`{ nothing }`), modern, want{400, request.MediaGraphQL, "-", []string{errcode.ValidationFailed}, nil}},
		{"three unknown fields", "POST", "/", query(`{ a b c }`), modern, want{400, request.MediaGraphQL, "-", repeat(errcode.ValidationFailed, 3), nil}},
		{"nine unknown fields", "POST", "/", query(`{ a b c d e f g h i }`), modern, want{400, request.MediaGraphQL, "-", repeat(errcode.ValidationFailed, 5), nil}},
		{"an unknown operation", "POST", "/", `{"query":"query A { sum }","operationName":"B"}`, modern, want{400, request.MediaGraphQL, "-", []string{errcode.ValidationFailed}, nil}},
		{"no operation chosen", "POST", "/", query(`query A { sum } query B { sum }`), modern, want{400, request.MediaGraphQL, "-", []string{errcode.ValidationFailed}, nil}},
		{"fragments alone", "POST", "/", query(`fragment F on Item { id }`), modern, want{400, request.MediaGraphQL, "-", []string{errcode.ValidationFailed}, nil}},
		{"a variable of another type", "POST", "/", `{"query":"query($n: [Int!]) { sum(of: $n) }","variables":{"n":["x"]}}`, modern, want{400, request.MediaGraphQL, "-", []string{errcode.ValidationFailed}, nil}},
		{"@defer", "POST", "/", query(`{ item(id: 1) { ...F @defer } } fragment F on Item { id }`), modern, want{400, request.MediaGraphQL, "-", []string{errcode.ValidationFailed}, nil}},

		{"no query", "POST", "/", `{}`, jsonBody, want{400, request.MediaJSON, "-", []string{errcode.BadRequest}, nil}},
		{"null", "POST", "/", `null`, jsonBody, want{400, request.MediaJSON, "-", []string{errcode.BadRequest}, nil}},
		{"nothing", "POST", "/", ``, jsonBody, want{400, request.MediaJSON, "-", []string{errcode.BadRequest}, nil}},
		{"half a request", "POST", "/", `{"query":"{ sum }"`, jsonBody, want{400, request.MediaJSON, "-", []string{errcode.BadRequest}, nil}},
		{"two requests", "POST", "/", query(`{ sum }`) + query(`{ sum }`), jsonBody, want{400, request.MediaJSON, "-", []string{errcode.BadRequest}, nil}},
		{"a batch", "POST", "/", `[` + query(`{ sum }`) + `]`, jsonBody, want{400, request.MediaJSON, "-", []string{errcode.BatchingNotSupported}, nil}},
		{"a query that is a number", "POST", "/", `{"query":1}`, modern, want{400, request.MediaGraphQL, "-", []string{errcode.BadRequest}, nil}},
		{"variables that are a list", "POST", "/", `{"query":"{ sum }","variables":[]}`, modern, want{400, request.MediaGraphQL, "-", []string{errcode.BadRequest}, nil}},
		{"extensions that are text", "POST", "/", `{"query":"{ sum }","extensions":"x"}`, modern, want{400, request.MediaGraphQL, "-", []string{errcode.BadRequest}, nil}},
		{"an operation's name that is a list", "POST", "/", `{"query":"{ sum }","operationName":[]}`, modern, want{400, request.MediaGraphQL, "-", []string{errcode.BadRequest}, nil}},
		{"bytes that are no UTF-8", "POST", "/", "{\"query\":\"{ sum }\xff\"}", jsonBody, want{400, request.MediaJSON, "-", []string{errcode.BadRequest}, nil}},
		{"a long operation's name", "POST", "/", `{"query":"{ sum }","operationName":"` + strings.Repeat("a", 257) + `"}`, jsonBody, want{400, request.MediaJSON, "-", []string{errcode.BadRequest}, nil}},
		{"a GET of nothing", "GET", "/", "", nil, want{400, request.MediaJSON, "-", []string{errcode.BadRequest}, nil}},
		{"a GET whose variables are no JSON", "GET", get("query", "{ sum }", "variables", "{"), "", nil, want{400, request.MediaJSON, "-", []string{errcode.BadRequest}, nil}},
		{"a GET with a broken escape", "GET", "/?query=%zz", "", nil, want{400, request.MediaJSON, "-", []string{errcode.BadRequest}, nil}},
		{"a long GET", "GET", get("query", "{ sum #"+strings.Repeat("a", 20<<10)+"\n}"), "", nil, want{414, request.MediaJSON, "-", []string{errcode.PayloadTooLarge}, nil}},

		{"a mutation by GET", "GET", get("query", `mutation { setName(name: "x") }`), "", nil, want{405, request.MediaJSON, "-", []string{errcode.MethodNotAllowed}, map[string]string{"Allow": "POST"}}},
		{"another method", "PUT", "/", query(`{ sum }`), jsonBody, want{405, request.MediaJSON, "-", []string{errcode.MethodNotAllowed}, map[string]string{"Allow": "GET, POST"}}},
		{"text", "POST", "/", query(`{ sum }`), map[string]string{"Content-Type": "text/plain"}, want{415, request.MediaJSON, "-", []string{errcode.UnsupportedMediaType}, nil}},
		{"a form", "POST", "/", "query={sum}", map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, want{415, request.MediaJSON, "-", []string{errcode.UnsupportedMediaType}, nil}},
		{"no type", "POST", "/", query(`{ sum }`), nil, want{415, request.MediaJSON, "-", []string{errcode.UnsupportedMediaType}, nil}},
		{"another charset", "POST", "/", query(`{ sum }`), map[string]string{"Content-Type": "application/json; charset=utf-16"}, want{415, request.MediaJSON, "-", []string{errcode.UnsupportedMediaType}, nil}},
		{"a compressed body", "POST", "/", query(`{ sum }`), with("Content-Encoding", "gzip"), want{415, request.MediaJSON, "-", []string{errcode.UnsupportedMediaType}, nil}},
		{"an answer in HTML", "POST", "/", query(`{ sum }`), with("Accept", "text/html"), want{406, request.MediaJSON, "-", []string{errcode.NotAcceptable}, nil}},
		{"a subscription without a stream", "POST", "/", query(`subscription { count(to: 3) }`), jsonBody, want{406, request.MediaJSON, "-", []string{errcode.NotAcceptable}, nil}},
		{"a page of another site", "POST", "/", query(`{ sum }`), with("Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"), want{403, request.MediaJSON, "-", []string{errcode.CSRF}, nil}},
		{"files without the header", "POST", "/", "x", map[string]string{"Content-Type": "multipart/form-data; boundary=x"}, want{400, request.MediaJSON, "-", []string{errcode.CSRF}, nil}},
		{"files of somebody unknown", "POST", "/", "x", map[string]string{"Content-Type": "multipart/form-data; boundary=x", "GraphQL-Require-Preflight": "1"}, want{401, request.MediaJSON, "-", []string{errcode.Unauthenticated}, nil}},
		{"a body above the limit", "POST", "/", `{"query":"{ sum }","x":"` + strings.Repeat("a", 1<<20) + `"}`, jsonBody, want{413, request.MediaJSON, "-", []string{errcode.PayloadTooLarge}, nil}},
		{"an answer above the limit", "POST", "/", query(`{ big(bytes: 6000000) }`), modern, want{200, request.MediaGraphQL, "null", []string{errcode.ResponseTooLarge}, nil}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res, text := s.ask(t, tt.method, tt.target, tt.body, tt.header)
			tt.want.check(t, res, text)
			if closes := len(tt.body) > freeBytes; res.Close != closes {
				t.Errorf("the connection is closed: %v, want %v", res.Close, closes)
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

func TestALargeAnswerIsCompressedAndSaysWhatItVariesBy(t *testing.T) {
	s := openHouse(t, Config{})
	res, text := s.ask(t, "POST", "/", query(`{ big(bytes: 20000) }`), map[string]string{"Content-Type": "application/json", "Accept-Encoding": "gzip"})
	if res.Header.Get("Content-Encoding") != "gzip" || len(text) > 5000 {
		t.Fatalf("%d bytes in %q", len(text), res.Header.Get("Content-Encoding"))
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := io.ReadAll(unpacked)
	if err != nil || len(whole) < 20000 {
		t.Errorf("%d bytes, %v", len(whole), err)
	}
	vary := strings.Join(res.Header.Values("Vary"), ", ")
	if !strings.Contains(vary, "Accept-Encoding") || !strings.HasSuffix(vary, "Accept") {
		t.Errorf("Vary is %q", vary)
	}
	res, _ = s.ask(t, "POST", "/", query(`{ sum }`), map[string]string{"Content-Type": "application/json", "Accept-Encoding": "gzip"})
	if got := res.Header.Get("Content-Encoding"); got != "" {
		t.Errorf("a small answer is in %q", got)
	}
}

func TestOnlyAnAnonymousGETOfPublicFieldsMayBeKept(t *testing.T) {
	s := openHouse(t, Config{CacheableFields: map[string]time.Duration{"public": time.Minute, "sum": time.Hour}})
	tests := []struct {
		name, method, query, token, want string
	}{
		{"a public field", "GET", "{ public }", "", "public, max-age=60"},
		{"two, and the type's name", "GET", "{ __typename s: sum public }", "", "public, max-age=60"},
		{"another", "GET", "{ sum }", "", "public, max-age=3600"},
		{"one inside a fragment", "GET", "{ ...F } fragment F on Query { sum }", "", "public, max-age=3600"},
		{"with a private one", "GET", "{ public viewer }", "", "no-store"},
		{"with a private one inside a fragment", "GET", "{ public ...F } fragment F on Query { viewer }", "", "no-store"},
		{"the type's name alone", "GET", "{ __typename }", "", "no-store"},
		{"of somebody", "GET", "{ public }", "token", "no-store"},
		{"with an error", "GET", `{ public sum(of: [2147483647, 1]) fail }`, "", "no-store"},
		{"that is refused", "GET", "{ public nothing }", "", "no-store"},
		{"by POST", "POST", "{ public }", "", "no-store"},
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
			res, text := s.ask(t, tt.method, target, body, header)
			if got := res.Header.Get("Cache-Control"); got != tt.want {
				t.Errorf("got %q, want %q: %s", got, tt.want, text)
			}
			if vary := strings.Join(res.Header.Values("Vary"), ", "); strings.HasPrefix(tt.want, "public") && !strings.Contains(vary, "Authorization") {
				t.Errorf("Vary is %q", vary)
			}
		})
	}
}

func TestUsualContentTypesAreParsed(t *testing.T) {
	for _, charset := range []string{"", "; charset=utf-8", "; charset=UTF-8", ";charset=utf-8", ";charset=UTF-8"} {
		media, _, err := contentType(request.MediaJSON + charset)
		want, attributes, _ := mime.ParseMediaType(request.MediaJSON + charset)
		if err != nil || media != want || !jsonbody.IsUTF8(attributes["charset"]) {
			t.Errorf("Content-Type: %s%s: got %s, %v", request.MediaJSON, charset, media, err)
		}
	}
}

func TestAnAnswerOfAnyLengthSaysHowLongItIs(t *testing.T) {
	s := openHouse(t, Config{})
	around := len(`{"data":{"big":""}}`)
	for _, bytes := range []int{1, longAnswer - around - 1, longAnswer - around, longAnswer - around + 1, 3 * longAnswer} {
		res, text := s.ask(t, "POST", "/", query("{ big(bytes: "+strconv.Itoa(bytes)+") }"), map[string]string{"Content-Type": request.MediaJSON, "Accept-Encoding": "identity"})
		if public := res.Header.Get("Content-Length"); len(text) != bytes+around || public != strconv.Itoa(len(text)) {
			t.Errorf("%d bytes came of %d, with a length of %q", len(text), bytes+around, public)
		}
	}
}
