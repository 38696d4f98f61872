package app_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/reconcile"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// damagedStack is a stack with stopped servers and damaged data.
type damagedStack struct {
	stack *apptest.Stack
	found map[string]int // expected findings by scan
}

// reconciled runs the command. It returns the findings and repairs by scan, and the exit
// status.
func (h damagedStack) reconciled(t *testing.T, args ...string) (found, repaired map[string]int, exit int) {
	t.Helper()
	out, errs, exit := h.stack.Command(t, append([]string{"reconcile"}, args...)...)
	found, repaired = map[string]int{}, map[string]int{}
	t.Logf("reconcile %v: exit %d\n%s%s", args, exit, out, errs)
	lines := strings.Split(out, "\n")
	if strings.Join(strings.Fields(lines[0]), " ") != "SCAN COMPARED FOUND REPAIRED TOOK DESCRIPTION" {
		t.Fatalf("exit %d:\n%s%s", exit, out, errs)
	}
	printed := 0
	for _, line := range lines[1:] {
		cells := strings.Fields(line)
		if len(cells) == 0 || strings.HasSuffix(cells[0], ":") {
			printed += len(cells[:min(1, len(cells))])
			continue
		}
		for i, into := range []map[string]int{found, repaired} {
			n, err := strconv.Atoi(cells[2+i])
			if err != nil {
				t.Fatalf("%v in\n%s", err, out)
			}
			if n > 0 {
				into[cells[0]] = n
			}
		}
	}
	sum := 0
	for _, n := range found {
		sum += n
	}
	if printed != sum {
		t.Errorf("got %d printed findings, want %d:\n%s", printed, sum, out)
	}
	return found, repaired, exit
}

func (h damagedStack) snapshot(t *testing.T) []string {
	t.Helper()
	if h.stack.Config.RedisURL == "" { // an embedded Redis has ended
		return storetest.Snapshot(t, h.stack.SQL(t), nil)
	}
	return storetest.Snapshot(t, h.stack.SQL(t), h.redis(t))
}

func (h damagedStack) redis(t *testing.T) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(h.stack.Config.RedisURL)
	if err != nil {
		t.Fatal(err)
	}
	rdb := redis.NewClient(options)
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

const (
	myOrders   = `{ me { orders(first: 5) { edges { node { number } } } } }`
	payAnOrder = `mutation P($id: ID!) { payOrder(orderId: $id, method: ALIPAY) { order { status } userErrors { code } } }`
	cancelIt   = `mutation C($id: ID!) { cancelOrder(orderId: $id) { order { status } userErrors { code } } }`
)

// damage sells to four customers, stops the server and damages the data of each scan.
func damage(t *testing.T, stack *apptest.Stack) damagedStack {
	t.Helper()
	ctx := t.Context()
	m := openMarket(t, stack, 4)
	s := stack.Start(t)
	sale, lunch := m.flash(t, s, 10, -time.Hour, time.Hour), m.ordinary(t, s, false)
	order := func(who person, voucher string) *shownOrder {
		var p placed
		s.As(who.token).Must(t, orderVoucher, map[string]any{"v": voucher}, &p)
		if p.OrderVoucher.Order == nil {
			t.Fatalf("no order: %v", p.code())
		}
		return p.OrderVoucher.Order
	}
	ann, bob, cid, dan := m.customers[0], m.customers[1], m.customers[2], m.customers[3]
	first, dead, last := order(ann, sale), order(cid, sale), order(dan, sale)
	order(bob, lunch)
	order(bob, lunch)
	testkit.Eventually(t, 20*time.Second, func() bool { orders, _, _ := sold(t, stack, sale); return orders == 3 })
	s.As(ann.token).Must(t, payAnOrder, map[string]any{"id": first.ID}, nil)
	s.As(cid.token).Must(t, cancelIt, map[string]any{"id": dead.ID}, nil)
	db := stack.SQL(t)
	sum := func(statement string) (n int) {
		if err := db.QueryRowContext(ctx, statement).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	testkit.Eventually(t, 30*time.Second, func() bool { return sum("SELECT sum(sold) FROM shops") == 1 })
	// Scans ignore orders of the last minute.
	exec := func(statement string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(ctx, statement, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec("UPDATE orders SET created_at = created_at - 120000")
	if err := s.Components().Orders.Invalidate(ctx, number(t, first.ID), number(t, dead.ID)); err != nil {
		t.Fatal(err) // a cached row at another position drops the list
	}
	for _, who := range m.customers {
		key := fmt.Sprintf("td:order:list:{%d}", number(t, who.id))
		testkit.Eventually(t, 20*time.Second, func() bool {
			s.As(who.token).Must(t, myOrders, nil, nil)
			return s.Components().Cache.Exists(t.Context(), key).Val() == 1
		})
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}

	h := damagedStack{stack, map[string]int{"sold": 1, "points": 1}}
	exec("UPDATE shops SET sold = sold + 1 WHERE id = 1")
	exec("UPDATE users SET points = points - 1 WHERE id = $1", number(t, ann.id))
	if stack.Config.RedisURL == "" {
		return h
	}
	rdb, v := h.redis(t), number(t, sale)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	of := fmt.Sprintf("td:sale:{p%d}:%d:", v%8, v)
	list := func(who person) string { return fmt.Sprintf("td:order:list:{%d}", number(t, who.id)) }
	annID, cidID, danID := strconv.FormatInt(number(t, ann.id), 10), strconv.FormatInt(number(t, cid.id), 10), strconv.FormatInt(number(t, dan.id), 10)
	must(rdb.HDel(ctx, of+"buyers:0", annID).Err())              // a live order without its reservation
	must(rdb.HSet(ctx, of+"buyers:0", cidID, dead.Number).Err()) // a cancelled order with one
	must(rdb.Incr(ctx, of+"stock").Err())                        // one item too many
	h.found["sales"] = 3
	newest, err := rdb.ZRevRangeWithScores(ctx, list(bob), 0, 1).Result()
	must(err)
	newest[0].Score, newest[1].Score = newest[1].Score, newest[0].Score
	must(rdb.ZAdd(ctx, list(bob), newest...).Err())        // two orders at swapped positions
	must(rdb.ZRemRangeByRank(ctx, list(ann), 1, -1).Err()) // "complete", but empty
	number, err := strconv.ParseInt(dead.Number, 10, 64)
	must(err)
	must(rdb.ZRem(ctx, list(cid), fmt.Sprintf("%019d", number)).Err()) // one order is missing
	must(rdb.ZAdd(ctx, fmt.Sprintf("td:order:queued:{%s}", annID), redis.Z{Score: float64(time.Now().Add(-2 * time.Minute).UnixMilli()), Member: first.Number}).Err())
	must(rdb.Expire(ctx, fmt.Sprintf("td:order:queued:{%s}", annID), time.Minute).Err())
	h.found["order-lists"] = 4
	queue := fmt.Sprintf("td:sale:{p%d}:orders", v%8)
	must(rdb.Unlink(ctx, queue).Err())  // the stream needs ascending ids
	must(rdb.XAdd(ctx, &redis.XAddArgs{ // an unfinished entry
		Stream: queue, ID: fmt.Sprintf("%d-1", time.Now().Add(-time.Hour).UnixMilli()),
		Values: []any{"v", v, "u", danID, "o", last.Number, "s", 1, "p", 100, "t", time.Now().UnixMilli(), "k", ""},
	}).Err())
	h.found["queues"] = 1
	return h
}

func TestReconcileFindsAndRepairsDamage(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		h := damage(t, stack)
		before := h.snapshot(t)
		found, repaired, exit := h.reconciled(t, "--dry-run")
		if d := cmp.Diff(h.found, found); d != "" || len(repaired) > 0 || exit != 1 {
			t.Errorf("dry run: exit %d, repaired %v, found (-want +got)\n%s", exit, repaired, d)
		}
		if d := cmp.Diff(before, h.snapshot(t)); d != "" {
			t.Errorf("changes of the dry run (-before +after):\n%s", d)
		}
		found, repaired, exit = h.reconciled(t)
		if d := cmp.Diff(h.found, found) + cmp.Diff(h.found, repaired); d != "" || exit != 0 {
			t.Errorf("run: exit %d, found and repaired (-want +got)\n%s", exit, d)
		}
		if found, _, exit = h.reconciled(t); len(found) > 0 || exit != 0 {
			t.Errorf("after the run: exit %d, found %v", exit, found)
		}
	})
}

func TestReconcileReportsUnrepairedDifferences(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		m := openMarket(t, stack, 1)
		s := stack.Start(t)
		sale := m.flash(t, s, 10, -time.Hour, time.Hour)
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		if _, err := stack.SQL(t).ExecContext(t.Context(), "UPDATE flash_sales SET stock = 9 WHERE id = $1", number(t, sale)); err != nil {
			t.Fatal(err)
		}
		h := damagedStack{stack: stack}
		for range 2 {
			found, repaired, exit := h.reconciled(t, "--only", "sold,pieces")
			if found["pieces"] != 1 || len(repaired) > 0 || exit != 1 {
				t.Errorf("exit %d, found %v, repaired %v", exit, found, repaired)
			}
		}
		if found, _, exit := h.reconciled(t, "--only", "sold"); len(found) > 0 || exit != 0 {
			t.Errorf("only sold: exit %d, found %v", exit, found)
		}
	})
}

// runDue runs the due scans of a server.
func runDue(t *testing.T, s *apptest.Server) {
	t.Helper()
	s.Components().Schedule().RunDue(t.Context(), s.Components().Scans().Jobs()...)
}

func TestFailedScansRetryAfterATenthOfTheirInterval(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		s := stack.Start(t)
		scans, ran := s.Components().Scans(), 0
		scans.Add(reconcile.Scan{Name: "broken", Description: "nothing", Every: 10 * time.Hour, Run: func(context.Context, *reconcile.Run) error {
			ran++
			return errors.New("scan failed")
		}})
		runDue(t, s)
		runDue(t, s)
		if ran != 1 {
			t.Errorf("got %d runs in two checks, want 1", ran)
		}
		for _, later := range []struct {
			by   time.Duration
			runs int
		}{{55 * time.Minute, 1}, {5 * time.Minute, 2}} {
			if _, err := stack.SQL(t).ExecContext(t.Context(), "UPDATE settings SET value = CAST(CAST(value AS bigint) - CAST($1 AS bigint) AS text) WHERE name = 'reconcile.broken'", later.by.Milliseconds()); err != nil {
				t.Fatal(err)
			}
			if runDue(t, s); ran != later.runs {
				t.Errorf("after %v more: got %d runs, want %d", later.by, ran, later.runs)
			}
		}
	})
}

// scansOf returns the values of a metric by scan.
func scansOf(t *testing.T, s *apptest.Server, metric string) map[string]float64 {
	t.Helper()
	families, err := s.Metrics().Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "tandian_reconcile_"+metric+"_total" {
				all[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
			}
		}
	}
	return all
}

func TestScansAreCountedFromTheStart(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		s := stack.Start(t)
		want := map[string]float64{
			"pieces": 0, "sales": 0, "queues": 0, "order-lists": 0, "picture-uses": 0, "sold": 0, "points": 0,
			"notes": 0, "note-events": 0, "note-likes": 0, "note-liked": 0, "note-likers": 0, "comments": 0, "comment-likes": 0, "comment-liked": 0,
			"follows": 0, "follow-sets": 0, "feed-inboxes": 0, "check-ins": 0, "balances": 0,
			"shop-ratings": 0, "shop-saves": 0, "shop-saved": 0, "note-saves": 0, "note-saved": 0,
		}
		for _, metric := range []string{"compared", "found", "mended", "failures"} {
			if d := cmp.Diff(want, scansOf(t, s, metric)); d != "" {
				t.Errorf("%s (-want +got)\n%s", metric, d)
			}
		}
		runDue(t, s)
		if n := scansOf(t, s, "compared")["points"]; n == 0 && stack.Config.DatabaseURL == "" {
			t.Error("the users of the demo town were not compared")
		}
		after := maps.Clone(scansOf(t, s, "compared"))
		runDue(t, s)
		if d := cmp.Diff(after, scansOf(t, s, "compared")); d != "" {
			t.Errorf("scans ran before they were due (-before +after)\n%s", d)
		}
	})
}

// The scan is then not due for other processes.
func TestOneProcessScansAtATime(t *testing.T) {
	t.Parallel()
	stack := apptest.Real(t)
	a, b := stack.Start(t), stack.Start(t)
	begun, proceed := make(chan string, 2), make(chan struct{})
	for name, s := range map[string]*apptest.Server{"a": a, "b": b} {
		s.Components().Scans().Add(reconcile.Scan{Name: "slow", Description: "nothing", Run: func(ctx context.Context, r *reconcile.Run) error {
			begun <- name
			<-proceed
			return r.Compare(ctx, 1)
		}})
	}
	done := make(chan struct{})
	go func() { defer close(done); runDue(t, a) }()
	if who := <-begun; who != "a" {
		t.Fatalf("got a scan by %s, want a", who)
	}
	runDue(t, b) // otherwise it would block
	close(proceed)
	<-done
	runDue(t, b)
	if len(begun) > 0 {
		t.Error("b repeated the scan of a")
	}
	if _, err := stack.SQL(t).ExecContext(t.Context(), "UPDATE settings SET value = '1' WHERE name = 'reconcile.slow'"); err != nil {
		t.Fatal(err)
	}
	runDue(t, b)
	if len(begun) != 1 {
		t.Error("b did not scan when it was due")
	}
}
