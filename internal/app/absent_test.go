package app_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// absent returns the id of a missing object.
func absent(typ string) string { return scalar.ID{Type: typ, N: 987_654_321}.String() }

// from returns the server for a new client in its own network.
func from(s *apptest.Server, network int) *apptest.Server {
	return s.With("X-Forwarded-For", fmt.Sprintf("203.0.113.%d", network))
}

// storeCalls returns the statements and Redis round trips of f.
func storeCalls(t *testing.T, s *apptest.Server, f func()) (statements, trips float64) {
	t.Helper()
	count := func() (float64, float64) {
		return s.Counter(t, "tandian_sql_statement_seconds"), s.Counter(t, "tandian_redis_round_trip_seconds", "role", "state")
	}
	statements, trips = count()
	f()
	nowStatements, nowTrips := count()
	return nowStatements - statements, nowTrips - trips
}

// readsNothing fails unless f reaches no store. Background work of the server reaches stores
// too, so it takes the fewest reads of five calls of f.
func readsNothing(t *testing.T, s *apptest.Server, f func()) {
	t.Helper()
	fewest := math.Inf(1)
	for range 5 {
		statements, trips := storeCalls(t, s, f)
		if fewest = min(fewest, statements+trips); fewest == 0 {
			return
		}
	}
	t.Errorf("each of five calls cost statements and round trips to Redis, at least %v", fewest)
}

// It covers every nullable field that takes an id.
func TestRepeatedAbsentReadsReachNoStore(t *testing.T) {
	const limit = 4 // a minute: one in 15 s
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		stack.Config.AbsentReads, stack.Config.TrustedProxies = limit, []string{"127.0.0.1"}
		s := startStaff(t, stack).anonymous
		awaitIdle(t, s)
		shop := someShop(t, s)
		for network, tt := range []struct {
			name, field string // with %[1]q for an id
			gone, there string
			counts      int
			null        string // value of a refused field
		}{
			{"a shop", `it: shop(id: %[1]q) { id }`, absent("Shop"), shop, 1, `null`},
			{"a user", `it: user(id: %[1]q) { id }`, absent("User"), absent("User"), 1, `null`},
			{"a note", `it: note(id: %[1]q) { id }`, absent("Note"), absent("Note"), 1, `null`},
			{"a node that is a comment", `it: node(id: %[1]q) { id }`, absent("Comment"), shop, 1, `null`},
			{"a node", `it: node(id: %[1]q) { id }`, absent("Shop"), shop, 1, `null`},
			{"a node of another type", `it: node(id: %[1]q) { id }`, absent("ShopType"), absent("User"), 1, `null`},
			{"one of several nodes", `it: nodes(ids: [%[1]q]) { id }`, absent("Shop"), shop, 1, `[null]`},
			{"several nodes", `it: nodes(ids: [%[1]q, %[1]q]) { id }`, absent("User"), shop, 2, `[null,null]`},
		} {
			t.Run(tt.name, func(t *testing.T) {
				s := from(s, network)
				gone, there := fmt.Sprintf("{ "+tt.field+" }", tt.gone), fmt.Sprintf("{ "+tt.field+" }", tt.there)
				for range limit / tt.counts {
					s.Must(t, gone, nil, nil)
				}
				refused := s.Counter(t, "tandian_door_refused_total", "code", "RATE_LIMITED")
				var answers []apptest.Answer
				readsNothing(t, s, func() {
					answers = append(answers, s.Do(t, gone, nil, nil), s.Do(t, there, nil, nil))
				})
				for _, a := range append(answers, s.Do(t, strings.Replace(there, "{", "{ shopTypes { id } ", 1), nil, nil)) {
					if c := code(t, a); c != "RATE_LIMITED" {
						t.Fatalf("got %q: %s, want RATE_LIMITED", c, a.Data)
					}
					e := a.Errors[0]
					if after := e.Extensions.RetryAfterSeconds; after < 1 || after > 60/limit || fmt.Sprint(e.Path) != "[it]" {
						t.Errorf("error of %v: retry after %d s", e.Path, after)
					}
				}
				var rest struct {
					It        json.RawMessage
					ShopTypes []any
				}
				last := s.Do(t, strings.Replace(there, "{", "{ shopTypes { id } ", 1), nil, nil)
				if err := json.Unmarshal(last.Data, &rest); err != nil || string(rest.It) != tt.null || len(rest.ShopTypes) == 0 {
					t.Errorf("got %v, %s, want the other fields", err, last.Data)
				}
				if n := s.Counter(t, "tandian_door_refused_total", "code", "RATE_LIMITED") - refused; n != float64(len(answers)+2) {
					t.Errorf("got %v counted refusals, want %d", n, len(answers)+2)
				}
			})
		}
	})
}

func TestAbsentReadsCountForTheirCallerOnly(t *testing.T) {
	const limit = 4
	stack := apptest.Embedded(t)
	stack.Config.AbsentReads, stack.Config.TrustedProxies = limit, []string{"127.0.0.1"}
	staff := startStaff(t, stack)
	shop := someShop(t, staff.anonymous)
	s := from(staff.anonymous, 1)
	for range 3 * limit {
		s.Must(t, shopByID, map[string]any{"id": shop}, nil)
		s.Must(t, `query N($ids: [ID!]!) { nodes(ids: $ids) { id } }`, map[string]any{"ids": []string{shop, shop, shop}}, nil)
		for _, query := range []string{`{ shop(id: %q) { id } }`, `{ user(id: %q) { id } }`, `{ node(id: %q) { id } }`, `{ nodes(ids: [%q]) { id } }`} {
			for _, id := range []string{absent("Voucher"), "no id"} {
				if c := code(t, s.Do(t, fmt.Sprintf(query, id), nil, nil)); c != "BAD_USER_INPUT" {
					t.Fatalf("%s of %q: %q", query, id, c)
				}
			}
		}
	}
	gone := map[string]any{"id": absent("Shop")}
	for range limit - 1 {
		s.Must(t, shopByID, gone, nil)
	}
	s.Must(t, shopByID, map[string]any{"id": shop}, nil)
	three := fmt.Sprintf(`{ nodes(ids: [%q, %q, %[1]q, %[1]q]) { id } }`, absent("User"), shop)
	s.Must(t, three, nil, nil) // two reads are beyond the limit
	a := s.Do(t, shopByID, map[string]any{"id": shop}, nil)
	if c := code(t, a); c != "RATE_LIMITED" {
		t.Fatalf("beyond the limit: %q", c)
	}
	if after := a.Errors[0].Extensions.RetryAfterSeconds; after <= 30 || after > 45 {
		t.Errorf("retry after %d s, want 31 to 45: reads beyond the limit count", after)
	}
	if c := code(t, s.Do(t, fmt.Sprintf(`{ shop(id: %q) { id } }`, absent("User")), nil, nil)); c != "BAD_USER_INPUT" {
		t.Errorf("an id of another type: %q", c)
	}
	from(staff.anonymous, 2).Must(t, shopByID, map[string]any{"id": shop}, nil)
	for range limit {
		from(staff.customer, 1).Must(t, shopByID, gone, nil)
	}
	if c := code(t, from(staff.customer, 2).Do(t, shopByID, gone, nil)); c != "RATE_LIMITED" {
		t.Errorf("a user on another network: got %q", c)
	}
	from(staff.merchant, 1).Must(t, shopByID, gone, nil)
}

func TestAbsentReadLimitAppliesToSockets(t *testing.T) {
	stack := apptest.Embedded(t)
	stack.Config.AbsentReads = 2
	s := startStaff(t, stack).anonymous
	shop := someShop(t, s)
	c := dial(t, s, "")
	c.acknowledged(t)
	for range 2 {
		if got, _ := c.ask(t, fmt.Sprintf(`{ shop(id: %q) { id } }`, absent("Shop"))); got != `{"data":{"shop":null}}` {
			t.Errorf("a missing shop: %s", got)
		}
	}
	if got, _ := c.ask(t, fmt.Sprintf(`{ shop(id: %q) { id } shopTypes { sort } }`, shop)); !strings.Contains(got, `"RATE_LIMITED"`) || !strings.Contains(got, `"shop":null,"shopTypes":[{"sort":`) {
		t.Errorf("beyond the limit: %s", got)
	}
	if c := code(t, s.Do(t, shopByID, map[string]any{"id": shop}, nil)); c != "RATE_LIMITED" {
		t.Errorf("a request from the same network: %q", c)
	}
}
