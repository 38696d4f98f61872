package gqlserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/request"
)

var jsonHeaders = map[string]string{"Content-Type": request.MediaJSON} //nolint:gochecknoglobals // a constant map

// wantIdle waits until all slots are free.
func (s *testServer) wantIdle(t *testing.T) {
	t.Helper()
	eventually(t, "all slots are free", func() bool {
		return s.server.running.Keys() == 0
	})
	if !s.server.running.Free(s.server.cfg.Limits.Running) {
		t.Fatal("got a used slot without a user")
	}
	// The gauge is updated after the slot is freed.
	eventually(t, "no points are in use", func() bool { return testutil.ToFloat64(s.server.metrics.points) == 0 })
}

func TestOperationTimeIsLimited(t *testing.T) {
	timeouts := func(ctx context.Context, err error) *gqlerror.Error {
		if errors.Is(err, context.DeadlineExceeded) {
			return &gqlerror.Error{Message: "The operation timed out.", Path: graphql.GetPath(ctx), Extensions: map[string]any{"code": errcode.Timeout}}
		}
		return errcode.Errorf(errcode.Internal, "internal error")
	}
	tests := []struct {
		name, query string
		present     graphql.ErrorPresenterFunc
		want        want
	}{
		{"with a presenter", "{ slow }", timeouts, want{200, request.MediaJSON, `{"slow":null}`, []string{errcode.Timeout}, nil}},
		{"without a presenter", "{ slow }", nil, want{200, request.MediaJSON, `{"slow":null}`, []string{errcode.Internal}, nil}},
		{"several fields", "{ a: slow sum b: wait }", timeouts, want{200, request.MediaJSON, `{"a":null,"sum":0,"b":null}`, []string{errcode.Timeout, errcode.Timeout}, nil}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newTestServer(t, Config{ErrorPresenter: tt.present, Limits: Limits{OperationTime: 30 * time.Millisecond}})
			res, text := s.do(t, "POST", "/", query(tt.query), jsonHeaders)
			tt.want.check(t, res, text)
			if s.schema.Running("slow")+s.schema.Running("wait") != 0 {
				t.Error("a resolver still runs")
			}
			s.wantIdle(t)
		})
	}
}

// startQuery starts a query of user that blocks in each of its fields. The returned function
// waits for the response.
func (s *testServer) startQuery(t *testing.T, user, document string) (answered func() (*responseHead, []byte)) {
	t.Helper()
	before := s.schema.Running("wait")
	var waiting sync.WaitGroup
	var res *responseHead
	var text []byte
	waiting.Go(func() {
		res, text = s.do(t, "POST", "/", query(document), map[string]string{"Content-Type": request.MediaJSON, "Authorization": "Bearer " + user})
	})
	fields := strings.Count(document, "wait")
	eventually(t, "the query blocks", func() bool { return s.schema.Running("wait") == before+fields })
	return func() (*responseHead, []byte) {
		waiting.Wait()
		return res, text
	}
}

func TestBusyCallerDoesNotBlockOthers(t *testing.T) {
	s := newTestServer(t, Config{Authenticate: tokenAsUser, Limits: Limits{Running: 40, RunningWait: 500 * time.Millisecond}})
	as := func(user string) map[string]string {
		return map[string]string{"Content-Type": request.MediaJSON, "Authorization": "Bearer " + user}
	}
	const five = "{ a: wait b: wait c: wait d: wait e: wait }"
	held := []func() (*responseHead, []byte){s.startQuery(t, "ann", five), s.startQuery(t, "ann", five)}
	if got := testutil.ToFloat64(s.server.metrics.points); got != 10 {
		t.Errorf("got %v points in use, want 10", got)
	}
	busy := want{503, request.MediaJSON, "-", []string{errcode.Unavailable}, map[string]string{"Retry-After": "1"}}
	res, text := s.do(t, "POST", "/", query("{ sum }"), as("ann"))
	busy.check(t, res, text) // ann uses the quarter of one caller
	res, text = s.do(t, "POST", "/", query("{ sum }"), as("bob"))
	want{200, request.MediaJSON, `{"sum":0}`, nil, nil}.check(t, res, text)
	if rest := s.stream(t, postRequest("subscription { count(to: 1) }"), "ann").readAll(); !strings.Contains(rest, errcode.Unavailable) {
		t.Errorf("subscription of ann: got %q, want the code %s", rest, errcode.Unavailable)
	}
	e := s.stream(t, postRequest("subscription { ticks { text } }"), "bob")
	eventually(t, "the subscription runs", func() bool { return s.schema.Subscriptions() == 1 })
	eventually(t, "only the start of a subscription uses a slot", func() bool { return testutil.ToFloat64(s.server.metrics.points) == 10 })
	e.cancel()
	for _, user := range []string{"bob", "cid", "dan"} {
		held = append(held, s.startQuery(t, user, five), s.startQuery(t, user, five))
	}
	res, text = s.do(t, "POST", "/", query("{ sum }"), as("eve"))
	busy.check(t, res, text) // all slots are in use
	s.schema.Release()
	for _, answered := range held {
		if res, text := answered(); res.StatusCode != 200 || firstCode(text) != "" {
			t.Errorf("got %d %s, want 200 without errors", res.StatusCode, text)
		}
	}
	s.wantIdle(t)
}

func TestOperationWaitsForFreeSlot(t *testing.T) {
	s := newTestServer(t, Config{Authenticate: tokenAsUser, Limits: Limits{Running: 4, RunningWait: testTimeout}})
	first := s.startQuery(t, "ann", "{ wait }")
	var second sync.WaitGroup
	second.Go(func() {
		res, text := s.do(t, "POST", "/", query("{ sum }"), map[string]string{"Content-Type": request.MediaJSON, "Authorization": "Bearer ann"})
		want{200, request.MediaJSON, `{"sum":0}`, nil, nil}.check(t, res, text)
	})
	eventually(t, "the second query waits", func() bool {
		return s.server.running.Users("u:ann") == 2
	})
	s.schema.Release()
	first()
	second.Wait()
	s.wantIdle(t)
}

func TestHeavyOperationRunsAlone(t *testing.T) {
	s := newTestServer(t, Config{Limits: Limits{Running: 40}})
	res, text := s.do(t, "POST", "/", query("{ items(first: 100) { id } }"), jsonHeaders)
	want{200, request.MediaJSON, "*", nil, nil}.check(t, res, text)
	s.wantIdle(t)
}

func TestSlotsAreFreedOnEveryOutcome(t *testing.T) {
	tests := []struct{ name, query string }{
		{"success", "{ sum }"},
		{"error", "{ fail }"},
		{"panic", "{ crash }"},
		{"panic that gqlgen does not recover", "{ explode }"},
		{"rejected", "{ items(first: 10000) { id } }"},
		{"response above the limit", "{ big(bytes: 6000000) }"},
		{"mutation by GET", `mutation { setName(name: "x") }`},
		{"subscription with and without a stream", "subscription { count(to: 1) }"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newTestServer(t, Config{Introspection: true})
			s.do(t, "POST", "/", query(tt.query), jsonHeaders)
			s.do(t, "GET", get("query", tt.query), "", nil)
			s.do(t, "POST", "/", query(tt.query), map[string]string{"Content-Type": request.MediaJSON, "Accept": "application/json, text/event-stream;q=0.1"})
			s.wantIdle(t)
		})
	}
	t.Run("client disconnects", func(t *testing.T) {
		s := newTestServer(t, Config{})
		w := s.dial(t)
		w.writePOST(jsonHeader, "Content-Length: 20")
		w.send(`{"query":"{ wait }"}`)
		eventually(t, "the query runs", func() bool { return s.schema.Running("wait") == 1 })
		_ = w.Close()
		eventually(t, "the query ends", func() bool { return s.schema.Running("wait") == 0 })
		s.wantIdle(t)
	})
}

func TestPanicIsLoggedOnceAndHidden(t *testing.T) {
	tests := []struct {
		name, query, data, logged string
		config                    Config
	}{
		{"in a resolver", "{ sum crash }", `{"sum":0,"crash":null}`, "the resolver crashed", Config{}},
		{"while the response is encoded", "{ explode }", "null", "a beat was missed", Config{}},
		{"in WithContext", "{ sum }", "-", "with context", Config{Authenticate: func(context.Context, Credentials) AuthResult {
			return AuthResult{WithContext: func(context.Context) context.Context { panic("with context") }}
		}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newTestServer(t, tt.config)
			res, text := s.do(t, "POST", "/", query(tt.query), jsonHeaders)
			status := 200
			if tt.data == "-" {
				status = 500
			}
			want{status, request.MediaJSON, tt.data, []string{errcode.Internal}, nil}.check(t, res, text)
			if strings.Contains(string(text), tt.logged) || strings.Contains(string(text), ".go") || !strings.Contains(string(text), `"message":"internal error"`) {
				t.Errorf("got %s, want only an internal error", text)
			}
			s.wantPanics(t, 1, tt.logged)
			if log := s.log.String(); !strings.Contains(log, "operation.go") && !strings.Contains(log, "resolvers.go") && !strings.Contains(log, "scalar.go") {
				t.Errorf("got log %s, want a stack of this package", log)
			}
			s.wantIdle(t)
		})
	}
}

func TestInternalErrorsAreHidden(t *testing.T) {
	s := newTestServer(t, Config{})
	res, text := s.do(t, "POST", "/", query("{ fail }"), jsonHeaders)
	want{200, request.MediaJSON, `{"fail":null}`, []string{errcode.Internal}, nil}.check(t, res, text)
	tests := []struct {
		name string
		err  error
		want *gqlerror.Error
	}{
		{"internal", errors.New("secret"), &gqlerror.Error{Message: "internal error", Extensions: map[string]any{"code": errcode.Internal}}},
		{"with a cause", &gqlerror.Error{Message: "secret", Err: errors.New("secret")}, &gqlerror.Error{Message: "internal error", Extensions: map[string]any{"code": errcode.Internal}}},
		{"wrapped", fmt.Errorf("secret: %w", errcode.Errorf(errcode.RateLimited, "Too much.")), &gqlerror.Error{Message: "Too much.", Extensions: map[string]any{"code": errcode.RateLimited}}},
		{"with a code", &gqlerror.Error{Message: "Too much.", Path: ast.Path{ast.PathName("a")}, Rule: "secret", Extensions: map[string]any{"code": errcode.RateLimited}}, &gqlerror.Error{Message: "Too much.", Path: ast.Path{ast.PathName("a")}, Extensions: map[string]any{"code": errcode.RateLimited}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, s.server.present(t.Context(), tt.err)); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func TestEncodeWritesResponse(t *testing.T) {
	oops := gqlerror.List{{Message: "oops <\n"}}
	tests := []struct {
		name string
		res  graphql.Response
		want string
	}{
		{"data", graphql.Response{Data: json.RawMessage(`{"a":1}`)}, `{"data":{"a":1}}`},
		{"null", graphql.Response{Data: json.RawMessage(`null`)}, `{"data":null}`},
		{"rejection", graphql.Response{Errors: oops}, `{"errors":[{"message":"oops \u003c\n"}]}`},
		{"errors and null", graphql.Response{Errors: oops, Data: json.RawMessage(`null`)}, `{"errors":[{"message":"oops \u003c\n"}],"data":null}`},
		{"partial data", graphql.Response{Errors: oops, Data: json.RawMessage(`{"a":1}`)}, `{"errors":[{"message":"oops \u003c\n"}],"data":{"a":1}}`},
		{"extensions", graphql.Response{Data: json.RawMessage(`{}`), Extensions: map[string]any{"b": 1, "a": "x"}}, `{"data":{},"extensions":{"a":"x","b":1}}`},
		{"only extensions", graphql.Response{Extensions: map[string]any{"a": 1}}, `{"extensions":{"a":1}}`},
		{"no errors, no extensions", graphql.Response{Errors: gqlerror.List{}, Data: json.RawMessage(`{}`), Extensions: map[string]any{}}, `{"data":{}}`},
		{"empty", graphql.Response{}, `{"data":null}`},
		{"unencodable error", graphql.Response{Errors: gqlerror.List{{Message: "x", Extensions: map[string]any{"c": make(chan int)}}}, Data: json.RawMessage(`{}`)}, `{"errors":[{"message":"An error could not be encoded.","extensions":{"code":"INTERNAL"}}],"data":{}}`},
		{"unencodable extensions", graphql.Response{Data: json.RawMessage(`{}`), Extensions: map[string]any{"c": make(chan int)}}, `{"data":{},"extensions":{}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, string(encode(&tt.res))); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func TestSubscriptionResponsesAreNotOverwritten(t *testing.T) {
	s := newTestServer(t, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	op, refused := s.server.start(ctx, caller{key: "a"}, &graphql.RawParams{Query: "subscription { count(to: 5) }"})
	if refused != nil {
		t.Fatal(refused.Errors)
	}
	defer op.close()
	if refused = op.run(); refused != nil {
		t.Fatal(refused.Errors)
	}
	var all []*graphql.Response
	for res := op.next(); res != nil; res = op.next() {
		all = append(all, res)
	}
	if len(all) != 5 || op.next() != nil {
		t.Errorf("got %d responses, want 5 and the end", len(all))
	}
	for i, res := range all {
		if want := fmt.Sprintf(`{"count":%d}`, i+1); string(res.Data) != want {
			t.Errorf("response %d: got %s, want %s", i+1, res.Data, want)
		}
	}
}
