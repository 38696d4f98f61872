package faulttest_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
	"github.com/tandian-dev/tandian/lab/faulttest"
)

// fixture is a system of in-process servers without faults.
type fixture struct {
	servers         []*apptest.Server
	database, redis string
	people          []faulttest.Person
	since           time.Time
	sql             *sql.DB
}

func (h *fixture) Servers() int               { return len(h.servers) }
func (h *fixture) URL(server int) string      { return h.servers[server].URL }
func (h *fixture) DatabaseURL() string        { return h.database }
func (h *fixture) RedisURL() string           { return h.redis }
func (h *fixture) People() []faulttest.Person { return h.people }
func (h *fixture) Shop() string               { return scalar.ID{Type: "Shop", N: 1}.String() }

func (h *fixture) healthy() (time.Time, bool) { return h.since, true }

// openFixture starts servers of a stack with some customers: two servers if the stack allows
// it.
func openFixture(t *testing.T, stack *apptest.Stack, customers int) *fixture {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens")
	stack.Seed(t, "--users", strconv.Itoa(customers+2), "--shops", "1", "--tokens", path)
	lines, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	h := &fixture{servers: []*apptest.Server{stack.Start(t)}, database: stack.Config.DatabaseURL, redis: stack.Config.RedisURL}
	if h.database == "" {
		h.database = "sqlite://" + filepath.Join(stack.Config.DataDir, "tandian.db")
	} else {
		h.servers = append(h.servers, stack.Start(t))
	}
	for line := range strings.Lines(string(lines)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		h.people = append(h.people, faulttest.Person{ID: f[0], Token: f[2]})
	}
	h.since = time.Now()
	h.sql = stack.SQL(t)
	return h
}

// playTimeout limits the time until a workload has all wanted answers.
const playTimeout = 90 * time.Second

// answer is an answer that a test waits for.
type answer struct {
	op           faulttest.Op
	code, status string
}

// runWorkload runs a workload until each of the answers has come, and one answer after a
// time. It drains the workload and returns the events.
func (h *fixture) runWorkload(t *testing.T, after time.Duration, want ...answer) (events []faulttest.Event) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	history, err := faulttest.Create(filepath.Join(t.TempDir(), "history.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	w := &faulttest.Workload{System: h, History: history, Seed: seed, VoucherEvery: 700 * time.Millisecond, Healthy: h.healthy}
	ctx, cancel := context.WithTimeout(t.Context(), playTimeout)
	defer cancel()
	var watching sync.WaitGroup
	watching.Go(func() {
		defer cancel()
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil && !hasAnswers(history.Events(), after, want) {
			<-tick.C
		}
	})
	if err := w.Run(ctx); err != nil {
		t.Fatal(err)
	}
	watching.Wait()
	ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := w.Drain(ctx); err != nil {
		t.Error(err)
	}
	if err := history.Close(); err != nil {
		t.Error(err)
	}
	if err := faulttest.Settle(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	return history.Events()
}

// hasAnswers reports whether each of the answers is among the events, and a definite answer
// to an order request after a time.
func hasAnswers(events []faulttest.Event, after time.Duration, want []answer) bool {
	left := make(map[answer]bool, len(want))
	for _, a := range want {
		left[a] = true
	}
	late := false
	for _, e := range events {
		delete(left, answer{e.Op, e.Code, e.Status})
		late = late || (e.Op == faulttest.OpOrder && e.Definite() && e.Start > after)
	}
	return late && len(left) == 0
}

func (h *fixture) check(t *testing.T, events []faulttest.Event) faulttest.Verdict {
	t.Helper()
	v, err := faulttest.Check(t.Context(), h, events, faulttest.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestHealthyServerPassesAllChecks(t *testing.T) {
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		h := openFixture(t, stack, 300)
		events := h.runWorkload(
			t, 6*time.Second, // then answers must be definite
			answer{faulttest.OpOrder, "", "UNPAID"}, answer{faulttest.OpOrder, "ALREADY_ORDERED", "UNPAID"}, answer{faulttest.OpOrder, "OUT_OF_STOCK", ""},
			answer{faulttest.OpPay, "", "PAID"}, answer{faulttest.OpCancel, "", "CANCELLED"}, answer{faulttest.OpMe, "", ""}, answer{faulttest.OpEdit, "", ""},
		)
		v := h.check(t, events)
		for _, b := range v.Breaches {
			t.Error(b)
		}
		for _, what := range []string{"order UNPAID", "order ALREADY_ORDERED", "order OUT_OF_STOCK", "pay PAID", "cancel CANCELLED", "me done", "edits confirmed", "purchases in calm periods", "keys", "admissions and releases searched"} {
			if v.Counts[what] == 0 {
				t.Errorf("got no %q", what)
			}
		}
		t.Log(counts(v))
	})
}

// counts formats the counters of a verdict, sorted by name.
func counts(v faulttest.Verdict) string {
	var lines []string
	for what, n := range v.Counts {
		lines = append(lines, fmt.Sprintf("%6d %s", n, what))
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[7:], b[7:]) })
	return "\n" + strings.Join(lines, "\n")
}

// The servers are stopped before the damage, because they would repair some of it.
func TestManualDamageIsFound(t *testing.T) {
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		h := openFixture(t, stack, 200)
		events := h.runWorkload(t, 2*time.Second, answer{faulttest.OpPay, "", "PAID"}, answer{faulttest.OpCancel, "", "CANCELLED"})
		for _, s := range h.servers {
			if err := s.Stop(); err != nil {
				t.Fatal(err)
			}
		}
		if v := h.check(t, events); len(v.Breaches) > 0 {
			t.Fatalf("before the damage: %v", v.Breaches)
		}
		one := h.oneLive(t)
		drop := "DROP INDEX order_live"
		for _, damage := range []struct {
			name   string
			do     []string // $1 the order, $2 its voucher, $3 its user
			undo   []string
			redis  func(*testing.T, *redis.Client) (undo func())
			broken []string
		}{
			{
				name: "deleted order with its unit released", broken: []string{"D"},
				do:   []string{"CREATE TABLE kept AS SELECT * FROM orders WHERE id = $1", "CREATE TABLE money AS SELECT * FROM payments WHERE order_id = $1", "DELETE FROM payments WHERE order_id = $1", "DELETE FROM orders WHERE id = $1", "UPDATE flash_sales SET stock = stock + 1 WHERE id = $2"},
				undo: []string{"INSERT INTO orders SELECT * FROM kept", "INSERT INTO payments SELECT * FROM money", "DROP TABLE kept", "DROP TABLE money", "UPDATE flash_sales SET stock = stock - 1 WHERE id = $2"},
			},
			{
				name: "extra unit", broken: []string{"C"},
				do:   []string{"UPDATE flash_sales SET stock = stock + 1, initial_stock = initial_stock + 1 WHERE id = $2"},
				undo: []string{"UPDATE flash_sales SET stock = stock - 1, initial_stock = initial_stock - 1 WHERE id = $2"},
			},
			{
				name: "second live order", broken: []string{"C", "U"},
				do: []string{
					drop, "CREATE TABLE second AS SELECT * FROM orders WHERE id = $1", "UPDATE second SET id = id + 1, idempotency = NULL",
					"INSERT INTO orders SELECT * FROM second", "DROP TABLE second",
				},
				undo: []string{"DELETE FROM orders WHERE id = $1 + 1"},
			},
			{
				name: "order turned into a tombstone", broken: []string{"D"},
				do:   []string{"UPDATE orders SET status = 'FAILED', failure = 'ORDER_NOT_COMPLETED' WHERE id = $1", "UPDATE flash_sales SET stock = stock + 1 WHERE id = $2"},
				undo: []string{"UPDATE orders SET status = 'PAID', failure = NULL WHERE id = $1", "UPDATE flash_sales SET stock = stock - 1 WHERE id = $2"},
			},
			{
				name: "order of another user", broken: []string{"D", "ids"},
				do:   []string{"UPDATE orders SET user_id = 1 WHERE id = $1"},
				undo: []string{"UPDATE orders SET user_id = $3 WHERE id = $1"},
			},
			{
				name: "extra unit in Redis", broken: []string{"C"},
				redis: func(t *testing.T, rdb *redis.Client) func() {
					key := fmt.Sprintf("td:sale:{p%d}:%d:stock", one.partition, one.voucher)
					must(t, rdb.Incr(t.Context(), key).Err())
					return func() { must(t, rdb.Decr(t.Context(), key).Err()) }
				},
			},
			{
				name: "missing buyer in Redis", broken: []string{"C"},
				redis: func(t *testing.T, rdb *redis.Client) func() {
					key, user := fmt.Sprintf("td:sale:{p%d}:%d:buyers:0", one.partition, one.voucher), strconv.FormatInt(one.user, 10)
					must(t, rdb.HDel(t.Context(), key, user).Err())
					return func() { must(t, rdb.HSet(t.Context(), key, user, one.order).Err()) }
				},
			},
		} {
			if damage.redis != nil && h.redis == "" {
				continue // the embedded Redis has ended
			}
			t.Run(damage.name, func(t *testing.T) {
				undo := func() {}
				if damage.redis != nil {
					opts, err := redis.ParseURL(h.redis)
					must(t, err)
					rdb := redis.NewClient(opts)
					defer func() { _ = rdb.Close() }()
					undo = damage.redis(t, rdb)
				}
				one.run(t, h.sql, damage.do)
				v := h.check(t, events)
				one.run(t, h.sql, damage.undo)
				undo()
				for _, letter := range damage.broken {
					if !slices.ContainsFunc(v.Breaches, func(b faulttest.Breach) bool { return b.Invariant == letter }) {
						t.Errorf("got %[2]v, want a breach of %[1]s", letter, v.Breaches)
					}
				}
			})
		}
		if v := h.check(t, events); len(v.Breaches) > 0 {
			t.Fatalf("after the repair: %v", v.Breaches)
		}
	})
}

// victim is a paid order.
type victim struct {
	order, voucher, user int64
	partition            int
}

func (h *fixture) oneLive(t *testing.T) (v victim) {
	t.Helper()
	must(t, h.sql.QueryRowContext(t.Context(), `SELECT o.id, o.voucher_id, o.user_id, f.partition FROM orders o JOIN flash_sales f ON f.id = o.voucher_id
		WHERE o.status = 'PAID' AND f.stock < f.initial_stock ORDER BY o.id LIMIT 1`).Scan(&v.order, &v.voucher, &v.user, &v.partition))
	return v
}

// run executes statements; $1, $2 and $3 are the order, its voucher and its user.
func (v victim) run(t *testing.T, db *sql.DB, statements []string) {
	t.Helper()
	for _, s := range statements {
		s = strings.NewReplacer("$1", fmt.Sprint(v.order), "$2", fmt.Sprint(v.voucher), "$3", fmt.Sprint(v.user)).Replace(s)
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
