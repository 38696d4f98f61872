package gqlserver

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/request"
	"github.com/tandian-dev/tandian/internal/kit/ratelimit"
)

// limitItemReads makes item(id:) a field that reads by id. An id with the prefix "gone" is not
// found. It returns the counter of reads.
func limitItemReads(d *Server) *atomic.Int64 {
	var reads atomic.Int64
	d.exec.AroundFields(func(ctx context.Context, next graphql.Resolver) (any, error) {
		field := graphql.GetFieldContext(ctx)
		if field.Object != "Query" || field.Field.Name != "item" {
			return next(ctx)
		}
		if wait, ok := AllowRead(ctx); !ok {
			RecordRefusal(ctx, wait)
			return nil, errcode.RetryLater(errcode.RateLimited, "Too many.", wait)
		}
		reads.Add(1)
		if id, _ := field.Args["id"].(string); strings.HasPrefix(id, "gone") {
			RecordNotFound(ctx, 1)
			return nil, nil //nolint:nilnil // null is the answer
		}
		return next(ctx)
	})
	return &reads
}

// refusedItem is the response to a rejected read of the item.
func refusedItem(seconds int, data string) string {
	return fmt.Sprintf(`{"errors":[{"message":"Too many.","path":["item"],"locations":[{"line":1,"column":3}],"extensions":{"code":"RATE_LIMITED","retryAfterSeconds":%d}}],"data":%s}`, seconds, data)
}

func TestNotFoundReadsAreLimited(t *testing.T) {
	const found, gone, refused = `{"item":{"id":"1"}}`, `{"item":null}`, "refused"
	type step struct{ token, addr, id, want string }
	ann := func(id, want string) step { return step{"ann", "203.0.113.1", id, want} }
	anonymous := func(addr, id, want string) step { return step{"", addr, id, want} }
	tests := []struct {
		name  string
		limit int
		steps []step
	}{
		{"user", 2, []step{ann("gone1", gone), ann("gone2", gone), ann("gone3", refused), ann("1", refused)}},
		{"user with several addresses", 2, []step{ann("gone1", gone), {"ann", "203.0.113.9", "gone2", gone}, {"ann", "203.0.113.10", "1", refused}}},
		{"one user only", 1, []step{ann("gone", gone), ann("1", refused), {"bob", "203.0.113.1", "1", found}, anonymous("203.0.113.1", "1", found)}},
		{"one address only", 1, []step{anonymous("203.0.113.1", "gone", gone), anonymous("203.0.113.1", "1", refused), anonymous("203.0.113.2", "1", found), ann("1", found)}},
		{"IPv6 network", 1, []step{anonymous("2001:db8::1", "gone", gone), anonymous("2001:db8::2", "1", refused), anonymous("2001:db8:0:1::1", "1", found)}},
		{"found reads do not count", 1, []step{ann("1", found), ann("1", found), ann("1", found), ann("gone", gone), ann("1", refused)}},
		{"off", -1, []step{ann("gone", gone), ann("gone", gone), ann("gone", gone), ann("1", found)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, clock := newTestServer(t, Config{Authenticate: tokenAsUser, TrustedProxies: localProxy(t), Limits: Limits{AbsentReads: tt.limit}}), &manualClock{}
			s.server.notFound = ratelimit.NewBudget(tt.limit, time.Minute, clock.now)
			reads := limitItemReads(s.server)
			var wantReads int64
			var wantRefused float64
			for i, step := range tt.steps {
				document := fmt.Sprintf("{ item(id: %q) { id } other: sum }", step.id)
				header := map[string]string{"Content-Type": request.MediaJSON, "X-Forwarded-For": step.addr}
				if step.token != "" {
					header["Authorization"] = "Bearer " + step.token
				}
				_, text := s.do(t, "POST", "/", query(document), header)
				// Other fields are answered in any case.
				want := `{"data":` + strings.TrimSuffix(step.want, "}") + `,"other":0}}`
				if step.want == refused {
					want = refusedItem(60/tt.limit, `{"item":null,"other":0}`)
					wantRefused++
				} else {
					wantReads++
				}
				if string(text) != want {
					t.Errorf("step %d, %+v: got\n%s, want\n%s", i, step, text, want)
				}
			}
			if n := reads.Load(); n != wantReads {
				t.Errorf("got %d reads, want %d", n, wantReads)
			}
			if n := testutil.ToFloat64(s.server.metrics.refused.WithLabelValues(errcode.RateLimited)); n != wantRefused {
				t.Errorf("got %v counted refusals, want %v", n, wantRefused)
			}
			clock.move(time.Minute)
			if _, text := s.do(t, "POST", "/", query(`{ item(id: "1") { id } }`), map[string]string{"Content-Type": request.MediaJSON, "Authorization": "Bearer ann", "X-Forwarded-For": "203.0.113.1"}); string(text) != `{"data":`+found+`}` {
				t.Errorf("a minute later: got %s, want the item", text)
			}
		})
	}
}

func TestSocketsAndRequestsShareNotFoundLimit(t *testing.T) {
	s, clock := startServer(t, Config{}), &manualClock{}
	s.server.notFound = ratelimit.NewBudget(2, time.Minute, clock.now)
	reads := limitItemReads(s.server)
	post := func(token, document string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, strings.NewReader(query(document)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", request.MediaJSON)
		r.Header.Set("Authorization", "Bearer "+token)
		res, err := s.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	ann, bob := s.connectAs(t, "ann"), s.connectAs(t, "bob")
	check := func(v *wsClient, id, want string) {
		t.Helper()
		v.subscribe("1", fmt.Sprintf("{ item(id: %q) { id } }", id))
		v.wantMessages(`{"type":"next","id":"1","payload":`+want+`}`, `{"type":"complete","id":"1"}`)
	}
	const nothing, found = `{"data":{"item":null}}`, `{"data":{"item":{"id":"1"}}}`
	refused := refusedItem(30, `{"item":null}`)
	check(ann, "gone1", nothing)
	if got := post("ann", `{ item(id: "gone2") { id } }`); got != nothing {
		t.Errorf("second read that is not found: got %s, want %s", got, nothing)
	}
	check(ann, "1", refused)
	if got := post("ann", `{ item(id: "1") { id } }`); got != refused {
		t.Errorf("request: got %s, want %s", got, refused)
	}
	check(bob, "1", found)
	if n := reads.Load(); n != 3 {
		t.Errorf("got %d reads, want 3", n)
	}
	clock.move(30 * time.Second)
	check(ann, "1", found)
}

func TestReadsWithoutOperationAreUnlimited(t *testing.T) {
	RecordNotFound(t.Context(), 1000)
	if wait, ok := AllowRead(t.Context()); !ok {
		t.Errorf("got a wait of %v, want none", wait)
	}
}
