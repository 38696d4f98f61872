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

// guard makes item(id:) a field that reads by id: an id that begins with "gone"
// names nothing. It returns how many reads there were.
func guard(d *Server) *atomic.Int64 {
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

// itemRefused is an answer without the item.
func itemRefused(seconds int, data string) string {
	return fmt.Sprintf(`{"errors":[{"message":"Too many.","path":["item"],"locations":[{"line":1,"column":3}],"extensions":{"code":"RATE_LIMITED","retryAfterSeconds":%d}}],"data":%s}`, seconds, data)
}

func TestReadsThatEndInNothingHaveALimit(t *testing.T) {
	const found, gone, refused = `{"item":{"id":"1"}}`, `{"item":null}`, "refused"
	type step struct{ token, addr, id, want string }
	ann := func(id, want string) step { return step{"ann", "203.0.113.1", id, want} }
	nobody := func(addr, id, want string) step { return step{"", addr, id, want} }
	tests := []struct {
		name  string
		limit int
		steps []step
	}{
		{"of a user", 2, []step{ann("gone1", gone), ann("gone2", gone), ann("gone3", refused), ann("1", refused)}},
		{"of a user wherever", 2, []step{ann("gone1", gone), {"ann", "203.0.113.9", "gone2", gone}, {"ann", "203.0.113.10", "1", refused}}},
		{"of a user alone", 1, []step{ann("gone", gone), ann("1", refused), {"bob", "203.0.113.1", "1", found}, nobody("203.0.113.1", "1", found)}},
		{"of an address alone", 1, []step{nobody("203.0.113.1", "gone", gone), nobody("203.0.113.1", "1", refused), nobody("203.0.113.2", "1", found), ann("1", found)}},
		{"of an IPv6 subscriber", 1, []step{nobody("2001:db8::1", "gone", gone), nobody("2001:db8::2", "1", refused), nobody("2001:db8:0:1::1", "1", found)}},
		{"not those that find", 1, []step{ann("1", found), ann("1", found), ann("1", found), ann("gone", gone), ann("1", refused)}},
		{"off", -1, []step{ann("gone", gone), ann("gone", gone), ann("gone", gone), ann("1", found)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, hand := openHouse(t, Config{Authenticate: named, TrustedProxies: localProxy(t), Limits: Limits{AbsentReads: tt.limit}}), &handClock{}
			s.server.notFound = ratelimit.NewBudget(tt.limit, time.Minute, hand.now)
			reads := guard(s.server)
			var wantReads int64
			var wantRefused float64
			for i, step := range tt.steps {
				document := fmt.Sprintf("{ item(id: %q) { id } other: sum }", step.id)
				header := map[string]string{"Content-Type": request.MediaJSON, "X-Forwarded-For": step.addr}
				if step.token != "" {
					header["Authorization"] = "Bearer " + step.token
				}
				_, text := s.ask(t, "POST", "/", query(document), header)
				// What else was asked for is answered, whatever becomes of the item.
				want := `{"data":` + strings.TrimSuffix(step.want, "}") + `,"other":0}}`
				if step.want == refused {
					want = itemRefused(60/tt.limit, `{"item":null,"other":0}`)
					wantRefused++
				} else {
					wantReads++
				}
				if string(text) != want {
					t.Errorf("step %d, %+v:\n%s, want\n%s", i, step, text, want)
				}
			}
			if n := reads.Load(); n != wantReads {
				t.Errorf("%d reads, want %d: who is refused must not reach what reads", n, wantReads)
			}
			if n := testutil.ToFloat64(s.server.metrics.refused.WithLabelValues(errcode.RateLimited)); n != wantRefused {
				t.Errorf("%v refusals are counted, want %v", n, wantRefused)
			}
			hand.move(time.Minute)
			if _, text := s.ask(t, "POST", "/", query(`{ item(id: "1") { id } }`), map[string]string{"Content-Type": request.MediaJSON, "Authorization": "Bearer ann", "X-Forwarded-For": "203.0.113.1"}); string(text) != `{"data":`+found+`}` {
				t.Errorf("a minute later: %s", text)
			}
		})
	}
}

func TestASocketAndARequestOfOneUserHaveOneLimitOfReadsThatEndInNothing(t *testing.T) {
	s, hand := start(t, Config{}), &handClock{}
	s.server.notFound = ratelimit.NewBudget(2, time.Minute, hand.now)
	reads := guard(s.server)
	posts := func(token, document string) string {
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
	ann, bob := s.enter(t, "ann"), s.enter(t, "bob")
	credentials := func(v *visitor, id, want string) {
		t.Helper()
		v.subscribe("1", fmt.Sprintf("{ item(id: %q) { id } }", id))
		v.wants(`{"type":"next","id":"1","payload":`+want+`}`, `{"type":"complete","id":"1"}`)
	}
	const nothing, found = `{"data":{"item":null}}`, `{"data":{"item":{"id":"1"}}}`
	refused := itemRefused(30, `{"item":null}`)
	credentials(ann, "gone1", nothing)
	if got := posts("ann", `{ item(id: "gone2") { id } }`); got != nothing {
		t.Errorf("the second that ends in nothing: %s", got)
	}
	credentials(ann, "1", refused)
	if got := posts("ann", `{ item(id: "1") { id } }`); got != refused {
		t.Errorf("by a request: %s", got)
	}
	credentials(bob, "1", found)
	if n := reads.Load(); n != 3 {
		t.Errorf("%d reads, want 3", n)
	}
	hand.move(30 * time.Second)
	credentials(ann, "1", found)
}

func TestWhereThereIsNoOperationEverythingMayBeRead(t *testing.T) {
	RecordNotFound(t.Context(), 1000)
	if wait, ok := AllowRead(t.Context()); !ok {
		t.Errorf("to wait %v", wait)
	}
}
