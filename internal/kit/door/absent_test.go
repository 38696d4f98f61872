package door

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestABudgetIsSpentAfterwardsAndComesBackWithTime(t *testing.T) {
	type step struct {
		After time.Duration
		Spend int
		Wait  time.Duration // what left says then; 0 is that there is some
	}
	const tick = time.Second // between two tokens of 60 a minute
	tests := []struct {
		name string
		n    int
		want []step
	}{
		{"all of it", 60, []step{{0, 0, 0}, {0, 59, 0}, {0, 1, tick}}},
		{"one comes back", 60, []step{{0, 60, tick}, {tick - 1, 0, 1}, {1, 0, 0}, {0, 1, tick}}},
		{"all come back in a minute", 60, []step{{0, 60, tick}, {time.Minute, 59, 0}, {0, 1, tick}}},
		{"no more than all come back", 60, []step{{0, 60, tick}, {time.Hour, 60, tick}}},
		{"what is owed must be waited for", 60, []step{{0, 70, 11 * tick}, {10 * tick, 0, tick}, {tick, 0, 0}}},
		{"a debt grows", 60, []step{{0, 70, 11 * tick}, {0, 5, 16 * tick}}},
		{"more than another minute is forgiven", 60, []step{{0, 1 << 60, 61 * tick}, {0, 100, 61 * tick}, {61 * tick, 0, 0}}},
		{"nothing spent costs nothing", 60, []step{{0, 0, 0}, {0, -5, 0}, {0, 60, tick}}},
		{"fifty a minute", 50, []step{{0, 49, 0}, {0, 1, 1200 * time.Millisecond}}},
		{"one a minute", 1, []step{{0, 1, time.Minute}, {time.Minute, 100, 2 * time.Minute}}},
		{"no limit", 0, []step{{0, 1 << 60, 0}}},
		{"a limit below none is none", -1, []step{{0, 1 << 60, 0}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var clock handClock
			b := newBudgets(tt.n, time.Minute, clock.now)
			var got []step
			for _, s := range tt.want {
				clock.move(s.After)
				b.spend("ann", s.Spend)
				wait, ok := b.left("ann")
				if ok != (wait == 0) {
					t.Errorf("left said %v, and to wait %v", ok, wait)
				}
				if other, ok := b.left("bob"); !ok {
					t.Errorf("somebody else has to wait %v", other)
				}
				s.Wait = wait
				got = append(got, s)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

// textbookBudget is the bucket that forgets nothing: what is in it, in
// nanoseconds, which may be less than nothing.
type textbookBudget struct{ inside, last time.Duration }

func (l *textbookBudget) spend(at, cost, span time.Duration) {
	l.inside, l.last = min(span, l.inside+at-l.last), at
	l.inside = max(l.inside-cost, -span)
}

func TestBudgetsForgetNoDebtWhenGenerationsRotate(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var clock handClock
	b := newBudgets(6, time.Second, clock.now)
	budgets := map[string]*textbookBudget{}
	rotations, owing, generation := 0, 0, b.nextRotation
	for i := range 50_000 {
		clock.move(time.Duration(random.Int64N(int64(100 * time.Millisecond))))
		key := strconv.Itoa(int(random.ExpFloat64() * 4))
		at := time.Duration(clock.at.Load())
		l := budgets[key]
		if l == nil {
			l = &textbookBudget{inside: b.span, last: at}
			budgets[key] = l
		}
		n := random.IntN(4) * random.IntN(4)
		b.spend(key, n)
		l.spend(at, time.Duration(n)*b.interval, b.span)
		wait, _ := b.left(key)
		if want := max(0, b.interval-l.inside); wait != want {
			t.Fatalf("step %d, of %s after %v: to wait %v, want %v", i, key, at, wait, want)
		}
		if l.inside < 0 {
			owing++
		}
		if b.nextRotation != generation {
			generation = b.nextRotation
			rotations++
		}
	}
	if rotations < 100 || owing < 100 {
		t.Errorf("only %d rotations and %d debts: the test shows nothing", rotations, owing)
	}
}

// Those who find nothing wrong must not pay for a flood of others.
func TestAFloodOfCallersTakesNobodysBudget(t *testing.T) {
	var clock handClock
	b := newBudgets(3, time.Minute, clock.now)
	b.spend("ann", 3)
	for i := range 2 * maxKeys {
		b.spend(fmt.Sprint("flood ", i), 3)
	}
	for key, want := range map[string]bool{"ann": false, "flood 0": false, "flood 99999": true, "a stranger": true} {
		if _, ok := b.left(key); ok != want {
			t.Errorf("%s: something left %v, want %v", key, ok, want)
		}
	}
	if n := len(b.young) + len(b.old); n > maxKeys {
		t.Errorf("%d callers are kept", n)
	}
}

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
			return nil, later(codeRate, "Too many.", wait)
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
			s.server.absent = newBudgets(tt.limit, time.Minute, hand.now)
			reads := guard(s.server)
			var wantReads int64
			var wantRefused float64
			for i, step := range tt.steps {
				document := fmt.Sprintf("{ item(id: %q) { id } other: sum }", step.id)
				header := map[string]string{"Content-Type": mediaJSON, "X-Forwarded-For": step.addr}
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
			if n := testutil.ToFloat64(s.server.metrics.refused.WithLabelValues(codeRate)); n != wantRefused {
				t.Errorf("%v refusals are counted, want %v", n, wantRefused)
			}
			hand.move(time.Minute)
			if _, text := s.ask(t, "POST", "/", query(`{ item(id: "1") { id } }`), map[string]string{"Content-Type": mediaJSON, "Authorization": "Bearer ann", "X-Forwarded-For": "203.0.113.1"}); string(text) != `{"data":`+found+`}` {
				t.Errorf("a minute later: %s", text)
			}
		})
	}
}

func TestASocketAndARequestOfOneUserHaveOneLimitOfReadsThatEndInNothing(t *testing.T) {
	s, hand := start(t, Config{}), &handClock{}
	s.server.absent = newBudgets(2, time.Minute, hand.now)
	reads := guard(s.server)
	posts := func(token, document string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, strings.NewReader(query(document)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", mediaJSON)
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
	asks := func(v *visitor, id, want string) {
		t.Helper()
		v.subscribe("1", fmt.Sprintf("{ item(id: %q) { id } }", id))
		v.wants(`{"type":"next","id":"1","payload":`+want+`}`, `{"type":"complete","id":"1"}`)
	}
	const nothing, found = `{"data":{"item":null}}`, `{"data":{"item":{"id":"1"}}}`
	refused := itemRefused(30, `{"item":null}`)
	asks(ann, "gone1", nothing)
	if got := posts("ann", `{ item(id: "gone2") { id } }`); got != nothing {
		t.Errorf("the second that ends in nothing: %s", got)
	}
	asks(ann, "1", refused)
	if got := posts("ann", `{ item(id: "1") { id } }`); got != refused {
		t.Errorf("by a request: %s", got)
	}
	asks(bob, "1", found)
	if n := reads.Load(); n != 3 {
		t.Errorf("%d reads, want 3", n)
	}
	hand.move(30 * time.Second)
	asks(ann, "1", found)
}

func TestWhereThereIsNoOperationEverythingMayBeRead(t *testing.T) {
	RecordNotFound(t.Context(), 1000)
	if wait, ok := AllowRead(t.Context()); !ok {
		t.Errorf("to wait %v", wait)
	}
}
