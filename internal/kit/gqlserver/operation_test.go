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

var asJSON = map[string]string{"Content-Type": request.MediaJSON} //nolint:gochecknoglobals // a constant that Go cannot say

// wantNothingRuns checks that all places were freed.
func (s *house) wantNothingRuns(t *testing.T) {
	t.Helper()
	eventually(t, "all places are free", func() bool {
		return s.server.running.Keys() == 0
	})
	if !s.server.running.Free(s.server.cfg.Limits.Running) {
		t.Fatal("a place is taken by nobody")
	}
	// The gauge follows a place that was freed.
	eventually(t, "no points run", func() bool { return testutil.ToFloat64(s.server.metrics.points) == 0 })
}

func TestAnOperationHasItsTime(t *testing.T) {
	timeouts := func(ctx context.Context, err error) *gqlerror.Error {
		if errors.Is(err, context.DeadlineExceeded) {
			return &gqlerror.Error{Message: "It took too long.", Path: graphql.GetPath(ctx), Extensions: map[string]any{"code": errcode.Timeout}}
		}
		return errcode.Errorf(errcode.Internal, "internal error")
	}
	tests := []struct {
		name, query string
		present     graphql.ErrorPresenterFunc
		want        want
	}{
		{"as the presenter says", "{ slow }", timeouts, want{200, request.MediaJSON, `{"slow":null}`, []string{errcode.Timeout}, nil}},
		{"without a presenter", "{ slow }", nil, want{200, request.MediaJSON, `{"slow":null}`, []string{errcode.Internal}, nil}},
		{"several fields", "{ a: slow sum b: wait }", timeouts, want{200, request.MediaJSON, `{"a":null,"sum":0,"b":null}`, []string{errcode.Timeout, errcode.Timeout}, nil}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := openHouse(t, Config{ErrorPresenter: tt.present, Limits: Limits{OperationTime: 30 * time.Millisecond}})
			res, text := s.ask(t, "POST", "/", query(tt.query), asJSON)
			tt.want.check(t, res, text)
			if s.schema.Running("slow")+s.schema.Running("wait") != 0 {
				t.Error("it runs on")
			}
			s.wantNothingRuns(t)
		})
	}
}

// hold begins a query that waits in each of its fields, as somebody, and returns
// what waits for the answer.
func (s *house) hold(t *testing.T, user, document string) (answered func() (*reply, []byte)) {
	t.Helper()
	before := s.schema.Running("wait")
	var waiting sync.WaitGroup
	var res *reply
	var text []byte
	waiting.Go(func() {
		res, text = s.ask(t, "POST", "/", query(document), map[string]string{"Content-Type": request.MediaJSON, "Authorization": "Bearer " + user})
	})
	fields := strings.Count(document, "wait")
	eventually(t, "it waits", func() bool { return s.schema.Running("wait") == before+fields })
	return func() (*reply, []byte) {
		waiting.Wait()
		return res, text
	}
}

func TestACallerWithManyRequestsDoesNotHoldUpAnother(t *testing.T) {
	s := openHouse(t, Config{Authenticate: named, Limits: Limits{Running: 40, RunningWait: 500 * time.Millisecond}})
	as := func(user string) map[string]string {
		return map[string]string{"Content-Type": request.MediaJSON, "Authorization": "Bearer " + user}
	}
	const five = "{ a: wait b: wait c: wait d: wait e: wait }"
	held := []func() (*reply, []byte){s.hold(t, "ann", five), s.hold(t, "ann", five)}
	if got := testutil.ToFloat64(s.server.metrics.points); got != 10 {
		t.Errorf("%v points run", got)
	}
	busy := want{503, request.MediaJSON, "-", []string{errcode.Unavailable}, map[string]string{"Retry-After": "1"}}
	res, text := s.ask(t, "POST", "/", query("{ sum }"), as("ann"))
	busy.check(t, res, text) // she has her quarter
	res, text = s.ask(t, "POST", "/", query("{ sum }"), as("bob"))
	want{200, request.MediaJSON, `{"sum":0}`, nil, nil}.check(t, res, text)
	if rest := s.stream(t, posted("subscription { count(to: 1) }"), "ann").rest(); !strings.Contains(rest, errcode.Unavailable) {
		t.Errorf("a subscription of hers: %q", rest)
	}
	e := s.stream(t, posted("subscription { ticks { text } }"), "bob")
	eventually(t, "it runs", func() bool { return s.schema.Subscriptions() == 1 })
	eventually(t, "only its beginning takes a place", func() bool { return testutil.ToFloat64(s.server.metrics.points) == 10 })
	e.gone()
	for _, user := range []string{"bob", "cid", "dan"} {
		held = append(held, s.hold(t, user, five), s.hold(t, user, five))
	}
	res, text = s.ask(t, "POST", "/", query("{ sum }"), as("eve"))
	busy.check(t, res, text) // all is taken
	s.schema.Release()
	for _, answered := range held {
		if res, text := answered(); res.StatusCode != 200 || firstCode(text) != "" {
			t.Errorf("%d %s", res.StatusCode, text)
		}
	}
	s.wantNothingRuns(t)
}

func TestWhoFindsNoPlaceWaitsForOne(t *testing.T) {
	s := openHouse(t, Config{Authenticate: named, Limits: Limits{Running: 4, RunningWait: patience}})
	first := s.hold(t, "ann", "{ wait }")
	var second sync.WaitGroup
	second.Go(func() {
		res, text := s.ask(t, "POST", "/", query("{ sum }"), map[string]string{"Content-Type": request.MediaJSON, "Authorization": "Bearer ann"})
		want{200, request.MediaJSON, `{"sum":0}`, nil, nil}.check(t, res, text)
	})
	eventually(t, "it waits", func() bool {
		return s.server.running.Users("u:ann") == 2
	})
	s.schema.Release()
	first()
	second.Wait()
	s.wantNothingRuns(t)
}

func TestAnOperationHeavierThanAShareRunsAlone(t *testing.T) {
	s := openHouse(t, Config{Limits: Limits{Running: 40}})
	res, text := s.ask(t, "POST", "/", query("{ items(first: 100) { id } }"), asJSON)
	want{200, request.MediaJSON, "*", nil, nil}.check(t, res, text)
	s.wantNothingRuns(t)
}

func TestPlacesAreFreedHoweverAnOperationEnds(t *testing.T) {
	tests := []struct{ name, query string }{
		{"well", "{ sum }"},
		{"with an error", "{ fail }"},
		{"with a panic", "{ crash }"},
		{"with a panic that gqlgen does not recover", "{ explode }"},
		{"refused", "{ items(first: 10000) { id } }"},
		{"with an answer that is too long", "{ big(bytes: 6000000) }"},
		{"by GET where it may not", `mutation { setName(name: "x") }`},
		{"with or without the stream that it needs", "subscription { count(to: 1) }"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := openHouse(t, Config{Introspection: true})
			s.ask(t, "POST", "/", query(tt.query), asJSON)
			s.ask(t, "GET", get("query", tt.query), "", nil)
			s.ask(t, "POST", "/", query(tt.query), map[string]string{"Content-Type": request.MediaJSON, "Accept": "application/json, text/event-stream;q=0.1"})
			s.wantNothingRuns(t)
		})
	}
	t.Run("without its client", func(t *testing.T) {
		s := openHouse(t, Config{})
		w := s.wire(t)
		w.posts(jsonHeader, "Content-Length: 20")
		w.send(`{"query":"{ wait }"}`)
		eventually(t, "it runs", func() bool { return s.schema.Running("wait") == 1 })
		_ = w.Close()
		eventually(t, "it ends", func() bool { return s.schema.Running("wait") == 0 })
		s.wantNothingRuns(t)
	})
}

func TestAPanicIsLoggedOnceAndShowsNothing(t *testing.T) {
	tests := []struct {
		name, query, data, logged string
		config                    Config
	}{
		{"in a resolver", "{ sum crash }", `{"sum":0,"crash":null}`, "the resolver crashed", Config{}},
		{"while the answer is written", "{ explode }", "null", "a beat was missed", Config{}},
		{"while it finds out who asks", "{ sum }", "-", "entering", Config{Authenticate: func(context.Context, Credentials) AuthResult {
			return AuthResult{WithContext: func(context.Context) context.Context { panic("entering") }}
		}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := openHouse(t, tt.config)
			res, text := s.ask(t, "POST", "/", query(tt.query), asJSON)
			status := 200
			if tt.data == "-" {
				status = 500
			}
			want{status, request.MediaJSON, tt.data, []string{errcode.Internal}, nil}.check(t, res, text)
			if strings.Contains(string(text), tt.logged) || strings.Contains(string(text), ".go") || !strings.Contains(string(text), `"message":"internal error"`) {
				t.Errorf("the answer is %s", text)
			}
			s.wantPanics(t, 1, tt.logged)
			if log := s.log.String(); !strings.Contains(log, "operation.go") && !strings.Contains(log, "resolvers.go") && !strings.Contains(log, "scalar.go") {
				t.Errorf("no stack of ours is in %s", log)
			}
			s.wantNothingRuns(t)
		})
	}
}

func TestErrorsFromTheInsideAreNotShown(t *testing.T) {
	s := openHouse(t, Config{})
	res, text := s.ask(t, "POST", "/", query("{ fail }"), asJSON)
	want{200, request.MediaJSON, `{"fail":null}`, []string{errcode.Internal}, nil}.check(t, res, text)
	tests := []struct {
		name string
		err  error
		want *gqlerror.Error
	}{
		{"of the inside", errors.New("secret"), &gqlerror.Error{Message: "internal error", Extensions: map[string]any{"code": errcode.Internal}}},
		{"with a cause", &gqlerror.Error{Message: "secret", Err: errors.New("secret")}, &gqlerror.Error{Message: "internal error", Extensions: map[string]any{"code": errcode.Internal}}},
		{"wrapped", fmt.Errorf("secret: %w", errcode.Errorf(errcode.RateLimited, "Too much.")), &gqlerror.Error{Message: "Too much.", Extensions: map[string]any{"code": errcode.RateLimited}}},
		{"of ours", &gqlerror.Error{Message: "Too much.", Path: ast.Path{ast.PathName("a")}, Rule: "secret", Extensions: map[string]any{"code": errcode.RateLimited}}, &gqlerror.Error{Message: "Too much.", Path: ast.Path{ast.PathName("a")}, Extensions: map[string]any{"code": errcode.RateLimited}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, s.server.present(t.Context(), tt.err)); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func TestEncodeWritesAResponse(t *testing.T) {
	oops := gqlerror.List{{Message: "oops <\n"}}
	tests := []struct {
		name string
		res  graphql.Response
		want string
	}{
		{"data", graphql.Response{Data: json.RawMessage(`{"a":1}`)}, `{"data":{"a":1}}`},
		{"null", graphql.Response{Data: json.RawMessage(`null`)}, `{"data":null}`},
		{"a refusal", graphql.Response{Errors: oops}, `{"errors":[{"message":"oops \u003c\n"}]}`},
		{"errors and null", graphql.Response{Errors: oops, Data: json.RawMessage(`null`)}, `{"errors":[{"message":"oops \u003c\n"}],"data":null}`},
		{"a part", graphql.Response{Errors: oops, Data: json.RawMessage(`{"a":1}`)}, `{"errors":[{"message":"oops \u003c\n"}],"data":{"a":1}}`},
		{"extensions", graphql.Response{Data: json.RawMessage(`{}`), Extensions: map[string]any{"b": 1, "a": "x"}}, `{"data":{},"extensions":{"a":"x","b":1}}`},
		{"extensions alone", graphql.Response{Extensions: map[string]any{"a": 1}}, `{"extensions":{"a":1}}`},
		{"no errors, no extensions", graphql.Response{Errors: gqlerror.List{}, Data: json.RawMessage(`{}`), Extensions: map[string]any{}}, `{"data":{}}`},
		{"nothing", graphql.Response{}, `{"data":null}`},
		{"an error that cannot be written", graphql.Response{Errors: gqlerror.List{{Message: "x", Extensions: map[string]any{"c": make(chan int)}}}, Data: json.RawMessage(`{}`)}, `{"errors":[{"message":"An error could not be encoded.","extensions":{"code":"INTERNAL"}}],"data":{}}`},
		{"extensions that cannot be written", graphql.Response{Data: json.RawMessage(`{}`), Extensions: map[string]any{"c": make(chan int)}}, `{"data":{},"extensions":{}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, string(encode(&tt.res))); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func TestWhatASubscriptionSentStaysWhenMoreIsSent(t *testing.T) {
	s := openHouse(t, Config{})
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
		t.Errorf("%d responses came", len(all))
	}
	for i, res := range all {
		if want := fmt.Sprintf(`{"count":%d}`, i+1); string(res.Data) != want {
			t.Errorf("response %d became %s", i+1, res.Data)
		}
	}
}
