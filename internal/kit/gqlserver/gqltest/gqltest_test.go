package gqltest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/gqltest"
	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// do starts an operation and returns its responses.
func do(t *testing.T, ctx context.Context, s *gqltest.Schema, query string) (graphql.ResponseHandler, context.Context) {
	t.Helper()
	exec := executor.New(s.Executable())
	exec.SetRecoverFunc(func(context.Context, any) error { return errors.New("panicked") })
	ctx = graphql.StartOperationTrace(ctx)
	op, errs := exec.CreateOperationContext(ctx, &graphql.RawParams{Query: query})
	if errs != nil {
		t.Fatalf("%s: %v", query, errs)
	}
	return exec.DispatchOperation(ctx, op)
}

func TestFieldsReturnTheirValues(t *testing.T) {
	tests := []struct {
		name, query, want string
		errors            int
	}{
		{"greeting", `{ hello(name: "Li") }`, `{"hello":"hello Li"}`, 0},
		{
			"nested items", `{ items(first: 1) { id items(first: 2) { id } } item(id: "7") { name parent { id } } }`,
			`{"items":[{"id":"1","items":[{"id":"1"},{"id":"2"}]}],"item":{"name":"item 7","parent":{"id":"7.0"}}}`, 0,
		},
		{"failure", `{ fail hello }`, `{"fail":null,"hello":"hello world"}`, 1},
		{"several failures", `{ failMany(n: 3) }`, `{"failMany":[null,null,null]}`, 3},
		{"panic", `{ crash }`, `{"crash":null}`, 1},
		{"bytes", `{ big(bytes: 3) sum(of: [1, 2]) }`, `{"big":"xxx","sum":3}`, 0},
		{"echo", `{ echo(value: {a: [1, null]}) }`, `{"echo":{"a":[1,null]}}`, 0},
		{
			"mutations", `mutation { setName(name: "x") right: guess(word: "sesame") wrong: guess(word: "x") }`,
			`{"setName":"x","right":true,"wrong":false}`, 0,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			next, ctx := do(t, t.Context(), gqltest.New(), tt.query)
			res := next(ctx)
			var data bytes.Buffer
			if err := json.Compact(&data, res.Data); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, data.String()); d != "" || len(res.Errors) != tt.errors {
				t.Errorf("errors %v, data (-want +got)\n%s", res.Errors, d)
			}
		})
	}
}

func TestSubscriptionsSendTheirEvents(t *testing.T) {
	tests := []struct {
		query string
		want  []string
	}{
		{`subscription { count(to: 2) }`, []string{`{"count":1}`, `{"count":2}`}},
		{`subscription { broken }`, []string{`{"broken":1}`, `{"broken":null}`, `{"broken":3}`}},
	}
	for _, tt := range tests {
		t.Run(tt.query, func(t *testing.T) {
			s := gqltest.New()
			next, ctx := do(t, t.Context(), s, tt.query)
			var got []string
			for res := next(ctx); res != nil; res = next(ctx) {
				got = append(got, string(res.Data))
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			if n := s.Subscriptions(); n != 0 {
				t.Errorf("got %d running subscriptions, want 0", n)
			}
		})
	}
}

func TestEncodingPanicsReachTheServer(t *testing.T) {
	for query, good := range map[string]int{`{ explode }`: 0, `subscription { crashing }`: 1} {
		t.Run(query, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			next, ctx := do(t, ctx, gqltest.New(), query)
			for range good {
				next(ctx)
			}
			defer func() {
				if recover() == nil {
					t.Error("got no panic")
				}
			}()
			next(ctx)
		})
	}
}

func TestTicksReachSubscriptions(t *testing.T) {
	s := gqltest.New()
	ctx, cancel := context.WithCancel(t.Context())
	next, ctx := do(t, ctx, s, `subscription { ticks { number text } }`)
	events := make(chan string)
	go func() {
		defer close(events)
		for res := next(ctx); res != nil; res = next(ctx) {
			events <- string(res.Data)
		}
	}()
	testkit.Eventually(t, 10*time.Second, func() bool { return s.Running("ticks") == 1 })
	if n := s.Push("a"); n != 1 {
		t.Errorf("got %d subscriptions, want 1", n)
	}
	if d := cmp.Diff(`{"ticks":{"number":1,"text":"a"}}`, <-events); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	cancel()
	for range events {
	}
	testkit.Eventually(t, 10*time.Second, func() bool { return s.Running("ticks")+s.Push("b") == 0 })
}

func TestReleaseEndsWait(t *testing.T) {
	s := gqltest.New()
	next, ctx := do(t, t.Context(), s, `{ wait }`)
	done := make(chan string)
	go func() { done <- string(next(ctx).Data) }()
	testkit.Eventually(t, 10*time.Second, func() bool { return s.Running("wait") == 1 })
	if n := s.Release(); n != 1 {
		t.Errorf("got %d released fields, want 1", n)
	}
	if d := cmp.Diff(`{"wait":"released"}`, <-done); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestSlowRunsUntilItsContextEnds(t *testing.T) {
	s := gqltest.New()
	ctx, cancel := context.WithCancel(gqltest.WithViewer(t.Context(), "ann"))
	next, ctx := do(t, ctx, s, `{ slow viewer running(field: "slow") }`)
	done := make(chan *graphql.Response)
	go func() { done <- next(ctx) }()
	testkit.Eventually(t, 10*time.Second, func() bool { return s.Running("slow") == 1 })
	cancel()
	if res := <-done; len(res.Errors) != 1 || s.Running("slow") != 0 {
		t.Errorf("got data %s, errors %v; want one error and no running field", res.Data, res.Errors)
	}
}

func TestViewerComesFromContext(t *testing.T) {
	next, ctx := do(t, gqltest.WithViewer(t.Context(), "ann"), gqltest.New(), `{ viewer }`)
	if d := cmp.Diff(`{"viewer":"ann"}`, string(next(ctx).Data)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}
