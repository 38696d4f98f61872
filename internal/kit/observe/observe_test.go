package observe

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// A site is an observed handler with routes of several kinds.
type site struct {
	handler http.Handler
	reg     *prometheus.Registry
	log     bytes.Buffer
	seen    string // id of the last request in its handler
}

func newSite() *site {
	s := &site{reg: prometheus.NewRegistry()}
	log := NewLogger(&s.log, "json", slog.LevelDebug)
	mux := http.NewServeMux()
	answer := func(route string, status int) {
		mux.HandleFunc(route, func(w http.ResponseWriter, r *http.Request) {
			s.seen = RequestID(r.Context())
			log.WarnContext(r.Context(), "from the handler")
			w.WriteHeader(status)
			w.WriteHeader(http.StatusTeapot) // a second status does not count
		})
	}
	answer("GET /ok/{id}", 200)
	answer("/created", 201)
	answer("/gone", 410)
	answer("/broken", 500)
	answer("/healthz", 503)
	mux.HandleFunc("/silent", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/hints", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusNotFound)
	})
	s.handler = HTTP(mux, s.reg, RequestLog{Log: log})
	return s
}

func (s *site) get(target, id string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, target, strings.NewReader("a secret body"))
	r.Header.Set("Authorization", "Bearer secret-token")
	if id != "" {
		r.Header.Set("X-Request-Id", id)
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w
}

func TestInvalidRequestIDsAreReplaced(t *testing.T) {
	tests := []struct {
		name, id string
		valid    bool
	}{
		{"a UUID", "3f2b8c1e-7a56-4e0b-9d55-0c1c2b3a4d5e", true},
		{"8 letters", "abcdEFGH", true},
		{"64 digits", strings.Repeat("7", 64), true},
		{"none", "", false},
		{"7 letters", "abcdefg", false},
		{"65 letters", strings.Repeat("a", 65), false},
		{"a line end", "abcdefgh\n", false},
		{"a forged log line", "abcdefgh\n{\"level\":\"ERROR\"}", false},
		{"a quote", `abcdefgh"`, false},
		{"a space", "abcd efgh", false},
		{"a letter beyond ASCII", "abcdefghé", false},
		{"a zero byte", "abcdefgh\x00", false},
	}
	generated := regexp.MustCompile(`^[A-Z2-7]{26}$`)
	replacements := map[string]bool{}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite()
			got := s.get("/ok/1", tt.id).Header().Get("X-Request-Id")
			switch {
			case tt.valid && got != tt.id:
				t.Errorf("got id %q", got)
			case !tt.valid && (!generated.MatchString(got) || replacements[got]):
				t.Errorf("got id %q, want a new one", got)
			}
			replacements[got] = true
			if s.seen != got {
				t.Errorf("the handler saw %q, the client %q", s.seen, got)
			}
		})
	}
	if got := RequestID(t.Context()); got != "" {
		t.Errorf("outside a request the id is %q", got)
	}
}

func TestCopyRequestIDKeepsOnlyTheID(t *testing.T) {
	type key struct{}
	if got := CopyRequestID(t.Context(), context.Background()); got != context.Background() {
		t.Errorf("without a request: got %v", got)
	}
	handler := HTTP(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		copied := CopyRequestID(context.WithValue(r.Context(), key{}, "large"), context.Background())
		if id := RequestID(copied); id != "honest-id" || copied.Value(key{}) != nil {
			t.Errorf("got id %q and value %v", id, copied.Value(key{}))
		}
	}), prometheus.NewRegistry(), RequestLog{Log: slog.New(slog.DiscardHandler)})
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("X-Request-Id", "honest-id")
	handler.ServeHTTP(httptest.NewRecorder(), r)
}

func TestRequestLogContainsNoClientData(t *testing.T) {
	tests := []struct {
		name, target string
		want         map[string]any
	}{
		{"a pattern", "/ok/secret-id?token=secret", map[string]any{"level": "INFO", "method": "GET", "route": "GET /ok/{id}", "status": 200.0}},
		{"no response", "/silent", map[string]any{"level": "INFO", "method": "GET", "route": "/silent", "status": 200.0}},
		{"the first status counts", "/gone", map[string]any{"level": "INFO", "method": "GET", "route": "/gone", "status": 410.0}},
		{"early hints are no status", "/hints", map[string]any{"level": "INFO", "method": "GET", "route": "/hints", "status": 404.0}},
		{"an unknown route", "/secret-path", map[string]any{"level": "INFO", "method": "GET", "route": "none", "status": 404.0}},
		{"a health check", "/healthz", map[string]any{"level": "DEBUG", "method": "GET", "route": "/healthz", "status": 503.0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite()
			s.get(tt.target, "request-0001")
			var lines []map[string]any
			for line := range strings.Lines(s.log.String()) {
				var m map[string]any
				if err := json.Unmarshal([]byte(line), &m); err != nil {
					t.Fatalf("%v: %s", err, line)
				}
				if m["request_id"] != "request-0001" {
					t.Errorf("line without the request id: %s", line)
				}
				if m["msg"] == "request" {
					lines = append(lines, m)
				}
			}
			if len(lines) != 1 {
				t.Fatalf("got %d lines, want 1:\n%s", len(lines), s.log.String())
			}
			got := lines[0]
			if ms, ok := got["ms"].(float64); !ok || ms < 0 {
				t.Errorf("ms = %v", got["ms"])
			}
			delete(got, "time")
			delete(got, "ms")
			want := map[string]any{"msg": "request", "request_id": "request-0001", "operation": "", "errors": 0.0, "count": 1.0}
			maps.Copy(want, tt.want)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			if strings.Contains(s.log.String(), "secret") {
				t.Errorf("the log contains client data:\n%s", s.log.String())
			}
		})
	}
}

// series returns the values of a metric by its labels, written "name=value …".
func series(t *testing.T, reg prometheus.Gatherer, metric string) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		if f.GetName() != metric {
			continue
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			out[strings.Join(labels, " ")] = m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount()) + m.GetCounter().GetValue()
		}
	}
	return out
}

func TestRequestsAreCountedByPatternAndClass(t *testing.T) {
	s := newSite()
	if d := cmp.Diff(map[string]float64{"class=2xx route=/graphql": 0}, series(t, s.reg, "tandian_http_request_seconds")); d != "" {
		t.Errorf("at first (-want +got)\n%s", d)
	}
	for _, target := range []string{
		"/ok/1", "/ok/2", "/ok/3", "/created", "/gone", "/broken", "/silent", "/hints",
		"/unknown", "/ok/1/2", "/%00", "/route%22%7D", // arbitrary paths create no labels
	} {
		s.get(target, "")
	}
	want := map[string]float64{
		"class=2xx route=/graphql":     0,
		"class=2xx route=GET /ok/{id}": 3,
		"class=2xx route=/created":     1,
		"class=2xx route=/silent":      1,
		"class=4xx route=/gone":        1,
		"class=4xx route=/hints":       1,
		"class=5xx route=/broken":      1,
		"class=4xx route=none":         4,
	}
	if d := cmp.Diff(want, series(t, s.reg, "tandian_http_request_seconds")); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestRequestsInFlightEndWithPanicsToo(t *testing.T) {
	reg := prometheus.NewRegistry()
	inFlight := func() float64 { return series(t, reg, "tandian_http_requests_in_flight")[""] }
	handler := HTTP(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if n := inFlight(); n != 1 {
			t.Errorf("%v in flight, want 1", n)
		}
		panic(http.ErrAbortHandler)
	}), reg, RequestLog{Log: slog.New(slog.DiscardHandler)})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("got no panic in the server")
			}
		}()
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	}()
	if n := inFlight(); n != 0 {
		t.Errorf("%v in flight after the end, want 0", n)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "class" && l.GetValue() == "2xx" && m.GetHistogram().GetSampleCount() > 0 {
					t.Error("a panic counts as a success")
				}
			}
		}
	}
}

func TestHandlersReachTheConnectionThroughTheObserver(t *testing.T) {
	var err error
	handler := HTTP(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		err = http.NewResponseController(w).Flush()
	}), prometheus.NewRegistry(), RequestLog{Log: slog.New(slog.DiscardHandler)})
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if err != nil || !w.Flushed {
		t.Errorf("flush: %v, flushed: %v", err, w.Flushed)
	}
}

// operate observes one GraphQL operation inside a request.
func operate(s *site, g *GraphQLMetrics, kind ast.Operation, name string, res *graphql.Response) {
	HTTP(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		ctx := graphql.WithOperationContext(r.Context(), &graphql.OperationContext{
			RawQuery: "a secret document", Variables: map[string]any{"phone": "secret"},
			Operation: &ast.OperationDefinition{Operation: kind, Name: name},
		})
		g.InterceptResponse(ctx, func(ctx context.Context) *graphql.Response { return res })
	}), prometheus.NewRegistry(), RequestLog{Log: NewLogger(&s.log, "json", slog.LevelInfo)}).
		ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/graphql", nil))
}

func TestOperationsAreCountedAndLogged(t *testing.T) {
	failure := gqlerror.List{{Message: "secret"}, {Message: "secret"}}
	tests := []struct {
		name, operation string
		kind            ast.Operation
		res             *graphql.Response
		series          string // "" for none
		logged          string
		errors          float64
	}{
		{"a query", "FindCafes", ast.Query, &graphql.Response{Data: json.RawMessage(`{"a":1}`)}, "outcome=ok type=query", "FindCafes", 0},
		{"a query without a name", "", ast.Query, &graphql.Response{Data: json.RawMessage(`{}`)}, "outcome=ok type=query", "", 0},
		{"a mutation", "Pay", ast.Mutation, &graphql.Response{Data: json.RawMessage(`{}`)}, "outcome=ok type=mutation", "Pay", 0},
		{"errors and data", "Q", ast.Query, &graphql.Response{Data: json.RawMessage(`{"a":null}`), Errors: failure}, "outcome=partial type=query", "Q", 2},
		{"errors and null", "Q", ast.Query, &graphql.Response{Data: json.RawMessage(`null`), Errors: failure}, "outcome=failed type=query", "Q", 2},
		{"errors alone", "Q", ast.Query, &graphql.Response{Errors: failure}, "outcome=failed type=query", "Q", 2},
		{"the end of a subscription", "S", ast.Subscription, nil, "", "", 0},
		{"a name of 64", strings.Repeat("n", 64), ast.Query, &graphql.Response{}, "outcome=ok type=query", strings.Repeat("n", 64), 0},
		{"a name of 65", strings.Repeat("n", 65), ast.Query, &graphql.Response{}, "outcome=ok type=query", strings.Repeat("n", 64), 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite()
			operate(s, NewGraphQLMetrics(s.reg), tt.kind, tt.operation, tt.res)
			want := map[string]float64{}
			for _, kind := range []string{"query", "mutation"} {
				for _, outcome := range []string{"ok", "partial", "failed"} {
					want["outcome="+outcome+" type="+kind] = 0
				}
			}
			if tt.series != "" {
				want[tt.series]++
			}
			if d := cmp.Diff(want, series(t, s.reg, "tandian_graphql_operation_seconds")); d != "" {
				t.Errorf("series (-want +got)\n%s", d)
			}
			var line struct {
				Operation string
				Errors    float64
			}
			if err := json.Unmarshal(s.log.Bytes(), &line); err != nil {
				t.Fatalf("%v: %s", err, s.log.String())
			}
			if line.Operation != tt.logged || line.Errors != tt.errors {
				t.Errorf("got %+v, want %q and %v errors", line, tt.logged, tt.errors)
			}
			if strings.Contains(s.log.String(), "secret") {
				t.Errorf("the log contains client data: %s", s.log.String())
			}
		})
	}
}

func TestOperationsOutsideRequestsAreCounted(t *testing.T) {
	reg := prometheus.NewRegistry()
	g := NewGraphQLMetrics(reg)
	answer := func(context.Context) *graphql.Response { return &graphql.Response{Data: json.RawMessage(`{}`)} }
	g.InterceptResponse(t.Context(), answer) // without an operation: a document that does not parse
	ctx := graphql.WithOperationContext(t.Context(), &graphql.OperationContext{Operation: &ast.OperationDefinition{Operation: ast.Query}})
	g.InterceptResponse(ctx, answer)
	if n := series(t, reg, "tandian_graphql_operation_seconds")["outcome=ok type=query"]; n != 1 {
		t.Errorf("%v operations, want 1", n)
	}
}

func TestFieldErrorsAreCountedByCode(t *testing.T) {
	reg := prometheus.NewRegistry()
	g := NewGraphQLMetrics(reg)
	want := map[string]float64{}
	for _, code := range []string{"BAD_USER_INPUT", "UNAUTHENTICATED", "FORBIDDEN", "RATE_LIMITED", "UNAVAILABLE", "TIMEOUT", "INTERNAL", "other"} {
		want["code="+code] = 0
	}
	if d := cmp.Diff(want, series(t, reg, "tandian_graphql_errors_total")); d != "" {
		t.Errorf("series before any error (-want +got)\n%s", d)
	}
	path := ast.Path{ast.PathName("shop")}
	code := func(code any) map[string]any { return map[string]any{"code": code} }
	g.Shown(t.Context(), &gqlerror.Error{Path: path, Extensions: code("INTERNAL")})
	g.Shown(graphql.WithFieldContext(t.Context(), &graphql.FieldContext{}), &gqlerror.Error{Extensions: code("INTERNAL")})
	g.Shown(t.Context(), &gqlerror.Error{Path: path, Extensions: code("FROM_ELSEWHERE")})
	g.Shown(t.Context(), &gqlerror.Error{Path: path})
	g.Shown(t.Context(), &gqlerror.Error{Extensions: code("BAD_USER_INPUT")}) // an error of a request, counted by the server
	want["code=INTERNAL"], want["code=other"] = 2, 2
	if d := cmp.Diff(want, series(t, reg, "tandian_graphql_errors_total")); d != "" {
		t.Errorf("series (-want +got)\n%s", d)
	}
}

func TestRootFieldsAreTimedBySchemaName(t *testing.T) {
	reg := prometheus.NewRegistry()
	g := NewGraphQLMetrics(reg)
	resolve := func(kind ast.Operation, name, alias string) {
		ctx := graphql.WithOperationContext(t.Context(), &graphql.OperationContext{Operation: &ast.OperationDefinition{Operation: kind}})
		ctx = graphql.WithRootFieldContext(ctx, &graphql.RootFieldContext{
			Field: graphql.CollectedField{Field: &ast.Field{Name: name, Alias: alias}},
		})
		if got := g.InterceptRootField(ctx, func(context.Context) graphql.Marshaler { return graphql.Null }); got != graphql.Null {
			t.Errorf("%s answered %v", name, got)
		}
	}
	resolve(ast.Query, "shop", "a")
	resolve(ast.Query, "shop", "b")
	resolve(ast.Mutation, "like", "like")
	resolve(ast.Subscription, "orderUpdated", "orderUpdated")
	want := map[string]float64{"field=shop type=query": 2, "field=like type=mutation": 1}
	if d := cmp.Diff(want, series(t, reg, "tandian_graphql_root_field_seconds")); d != "" {
		t.Errorf("series (-want +got)\n%s", d)
	}
}

func TestLogFormats(t *testing.T) {
	tests := []struct {
		format string
		json   bool
	}{{"json", true}, {"auto", true}, {"text", false}} // other writers than terminals get JSON
	for _, tt := range tests {
		t.Run(tt.format, func(t *testing.T) {
			var out bytes.Buffer
			log := NewLogger(&out, tt.format, slog.LevelInfo)
			handler := HTTP(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				log.DebugContext(r.Context(), "below the level")
				log.With("package", "shop").InfoContext(r.Context(), "hello", "n", 7)
				log.WithGroup("inner").InfoContext(r.Context(), "grouped")
			}), prometheus.NewRegistry(), RequestLog{Log: slog.New(slog.DiscardHandler)})
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.Header.Set("X-Request-Id", "request-0001")
			handler.ServeHTTP(httptest.NewRecorder(), r)
			log.Info("outside")

			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if len(lines) != 3 {
				t.Fatalf("%d lines, want 3:\n%s", len(lines), out.String())
			}
			for i, parts := range [][]string{{"hello", "package", "shop", "7", "request-0001"}, {"grouped", "request-0001"}, {"outside"}} {
				if json.Valid([]byte(lines[i])) != tt.json {
					t.Errorf("JSON: %v, want %v: %s", !tt.json, tt.json, lines[i])
				}
				for _, part := range parts {
					if !strings.Contains(lines[i], part) {
						t.Errorf("%q lacks %q", lines[i], part)
					}
				}
			}
			if strings.Contains(lines[2], "request_id") {
				t.Errorf("got an id outside a request: %s", lines[2])
			}
		})
	}
}
