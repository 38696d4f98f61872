package app_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// collector is an OpenTelemetry collector that stores its requests.
type collector struct {
	mu    sync.Mutex
	raw   []byte // bodies
	text  string // bodies as text
	spans []*tracepb.Span
}

// collect starts a collector and sets it in the environment.
func collect(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request tracepb.TracesData // has the wire format of a request
		if err == nil {
			err = proto.Unmarshal(body, &request)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("a request to %s: %v", r.URL.Path, err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.raw, c.text = append(c.raw, body...), c.text+prototext.Format(&request)
		for _, resource := range request.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				c.spans = append(c.spans, scope.GetSpans()...)
			}
		}
	}))
	t.Cleanup(server.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	return c
}

// paths returns the sorted paths of span names in a trace.
func (c *collector) paths(traceID string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	byID := map[string]*tracepb.Span{}
	for _, s := range c.spans {
		byID[string(s.GetSpanId())] = s
	}
	var path func(s *tracepb.Span) string
	path = func(s *tracepb.Span) string {
		if above := byID[string(s.GetParentSpanId())]; above != nil {
			return path(above) + " > " + s.GetName()
		}
		return s.GetName()
	}
	var list []string
	for _, s := range c.spans {
		if hex.EncodeToString(s.GetTraceId()) == traceID {
			list = append(list, path(s))
		}
	}
	slices.Sort(list)
	return list
}

// opensConnection reports whether a span opens a connection to Redis or loads a script into it. A
// request needs a new connection if background work uses the others, and each Redis loads a
// script once.
func opensConnection(path string) bool {
	return strings.HasSuffix(path, "> HELLO") || strings.HasSuffix(path, "> SCRIPT") || strings.HasSuffix(path, "> PIPELINE CLIENT")
}

const clientTrace = "4bf92f3577b34da6a3ce929d0e0e4736"

func TestQueryIsOneTraceDownToStatements(t *testing.T) {
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		c := collect(t)
		s := stack.Start(t)
		awaitIdle(t, s)
		upsert(t, s, drafts(rand.New(rand.NewPCG(1, 1)), 0, 1))
		s.With("Traceparent", "00-"+clientTrace+"-00f067aa0ba902b7-01").
			Must(t, `query Cafes { shops(first: 1) { edges { node { name type { name } } } } }`, nil, nil)
		if err := s.Stop(); err != nil { // delivers all spans
			t.Fatal(err)
		}
		want := []string{
			"POST /graphql",
			"POST /graphql > query Cafes",
			"POST /graphql > query Cafes > Query.shops",
			"POST /graphql > query Cafes > Query.shops > ShopEdge.node",
			"POST /graphql > query Cafes > Query.shops > ShopEdge.node > Shop.type",
			"POST /graphql > query Cafes > Query.shops > ShopEdge.node > Shop.type > shop.TypeByID",
			"POST /graphql > query Cafes > Query.shops > ShopEdge.node > Shop.type > shop.TypeByID > GET",
			"POST /graphql > query Cafes > Query.shops > ShopEdge.node > Shop.type > shop.TypeByID > PIPELINE EVALSHA",
			"POST /graphql > query Cafes > Query.shops > ShopEdge.node > Shop.type > shop.TypeByID > SELECT shop_types",
			"POST /graphql > query Cafes > Query.shops > shop.List",
			"POST /graphql > query Cafes > Query.shops > shop.List > MGET",
			"POST /graphql > query Cafes > Query.shops > shop.List > PIPELINE EVALSHA",
			"POST /graphql > query Cafes > Query.shops > shop.List > SELECT shops",
			"POST /graphql > query Cafes > Query.shops > shop.List > shop.ByIDs",
			"POST /graphql > query Cafes > Query.shops > shop.List > shop.ByIDs > MGET",
			"POST /graphql > query Cafes > Query.shops > shop.List > shop.ByIDs > PIPELINE EVALSHA",
			"POST /graphql > query Cafes > Query.shops > shop.List > shop.ByIDs > SELECT shops",
			"POST /graphql > query Cafes > graphql.parse",
			"POST /graphql > query Cafes > graphql.validate",
		}
		if d := gocmp.Diff(want, slices.DeleteFunc(slices.Compact(c.paths(clientTrace)), opensConnection)); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
		for _, part := range []string{`"tandian"`, `"graphql.complexity"`, `"graphql.document.hash"`, `"db.query.text"`, `"/graphql"`} {
			if !strings.Contains(c.text, part) {
				t.Errorf("no span has %s", part)
			}
		}
		for _, line := range s.Log.Lines(t) {
			if line["msg"] == "request" && line["operation"] == "Cafes" && line["trace_id"] != clientTrace {
				t.Errorf("got log line %v, want its trace id", line)
			}
		}
	})
}

func TestSpansContainNoSecrets(t *testing.T) {
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		const phone, password, words = "13800001111", "correct horse battery", "needle in a haystack"
		c := collect(t)
		s := stack.Start(t)
		as, id := browser(t, s, phone)
		code := as.Code(t, phone)
		s.Do(t, `mutation { login(input: {phone: "`+phone+`", code: "000000x"}) { token userErrors { code } } }`, nil, nil)
		as.Must(t, setPassword, map[string]any{"p": password, "code": code}, nil)
		token, _ := s.LoginWith(t, map[string]any{"phone": phone, "password": password})
		as.Must(t, `mutation N($n: String) { updateProfile(input: {nickname: $n}) { userErrors { code } } }`, map[string]any{"n": words}, nil)
		again, _ := s.LoginWith(t, map[string]any{"phone": phone, "password": password})
		as.Must(t, `query S($s: String) { shops(filter: {search: $s}, first: 1) { edges { node { name } } } me { phone nickname } }`, map[string]any{"s": words}, nil)
		s.Must(t, `query U($id: ID!) { user(id: $id) { nickname } }`, map[string]any{"id": id}, nil)
		res, err := http.Get(s.URL + "/graphql?token=" + token + "&query=" + url.QueryEscape(`{ shops(filter: {search: "`+words+`"}, first: 1) { edges { cursor } } }`))
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if err := s.As(again).Do(t, `mutation { logout { userErrors { code } } }`, nil, nil).Errors; err != nil {
			t.Fatal(err)
		}
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256([]byte(token))
		session := base64.RawURLEncoding.EncodeToString(sum[:])
		var secrets testkit.Secrets
		for _, secret := range []string{phone, phone[3:], code, token, again, session, password, words, "needle", "000000x"} {
			secrets.Add(secret)
			if bytes.Contains(c.raw, []byte(secret)) {
				t.Errorf("a span shows %q", secret)
			}
		}
		for _, line := range secrets.Leaks(c.text) {
			t.Errorf("a span shows a secret: %s", line)
		}
		// Otherwise the search would find nothing.
		for _, part := range []string{"account.Login", "account.Authenticate", "INSERT users", "UPDATE users", "SELECT sessions", "EVALSHA", "mutation L", "Mutation.login", "GET /graphql"} {
			if !strings.Contains(c.text, `"`+part+`"`) {
				t.Errorf("no span %q", part)
			}
		}
	})
}

func TestUnavailableCollectorDelaysNoRequest(t *testing.T) {
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not detect the disconnect
		<-r.Context().Done()
	}))
	defer hangs.Close()
	const stopTimeout = time.Second
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	stack := apptest.Embedded(t)
	normal := median(t, stack.Start(t))
	for name, url := range map[string]string{"unavailable": "http://127.0.0.1:1", "hangs": hangs.URL} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
			t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "1") // ms: exports all the time
			t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "64")
			stack := apptest.Embedded(t)
			stack.Config.StopTimeout = stopTimeout
			s := stack.Start(t)
			if slow := median(t, s); slow > 10*normal+5*time.Millisecond {
				t.Errorf("got %v per request, %v without traces", slow, normal)
			}
			begin := time.Now()
			if err := s.Stop(); err != nil {
				t.Errorf("the server stopped with %v", err)
			}
			if took := time.Since(begin); took > 5*stopTimeout {
				t.Errorf("the server took %v to stop", took)
			}
			if complaints := strings.Count(s.Log.String(), "traces not delivered"); complaints != 1 {
				t.Errorf("got %d log lines, want one a minute", complaints)
			}
		})
	}
}

// median returns the median time of a small request.
func median(t *testing.T, s *apptest.Server) time.Duration {
	t.Helper()
	took := make([]time.Duration, 200)
	for i := range took {
		begin := time.Now()
		s.Must(t, `{ shopTypes { name } }`, nil, nil)
		took[i] = time.Since(begin)
	}
	slices.Sort(took)
	return took[len(took)/2]
}

func TestNoTracesWithoutCollector(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "")
	s := apptest.Embedded(t).Start(t)
	s.With("Traceparent", "00-"+clientTrace+"-00f067aa0ba902b7-01").Must(t, `{ shopTypes { name } }`, nil, nil)
	if strings.Contains(s.Log.String(), "trace_id") {
		t.Errorf("got a trace id in the log:\n%s", s.Log)
	}
}

func TestInvalidCollectorAddressStopsTheStart(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318")
	_, errs, code := apptest.Embedded(t).Command(t, "serve")
	if code != 1 || !strings.Contains(errs, "OTEL_EXPORTER_OTLP_ENDPOINT") {
		t.Errorf("exit code %d, %s", code, errs)
	}
}

// BenchmarkTraces measures whole requests with and without traces.
func BenchmarkTraces(b *testing.B) {
	sink := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer sink.Close()
	for name, url := range map[string]string{"off": "", "on": sink.URL} {
		b.Run(name, func(b *testing.B) {
			b.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
			s := apptest.Embedded(b).Start(b)
			b.ReportAllocs()
			for b.Loop() {
				s.Must(b, `{ shops(first: 20) { edges { node { name type { name } } } } }`, nil, nil)
			}
		})
	}
}
