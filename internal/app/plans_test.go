package app_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"entgo.io/ent/dialect"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/account"
	"github.com/tandian-dev/tandian/internal/app"
	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/civil"
	"github.com/tandian-dev/tandian/internal/kit/geo"
	"github.com/tandian-dev/tandian/internal/kit/page"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/order"
	"github.com/tandian-dev/tandian/internal/shop"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
	"github.com/tandian-dev/tandian/internal/voucher"
)

// smallTable is the number of rows up to which a full scan is as good as an index.
const smallTable = 500

// excused lists statements that may read a whole table, by a part of their text.
var excused = map[string]struct { //nolint:gochecknoglobals // constant
	generic, sent bool // plans that may
	why           string
}{
	`("orders"."pay_before" < $3 OR (NOT (EXISTS`: {
		generic: true,
		why:     "a generic plan cannot use the index of unpaid orders, which covers only that status; statements of ent are not prepared",
	},
	`AND NOT EXISTS (SELECT "picture_uses"."id"`: {
		generic: true, sent: true,
		why: "the collector reads all pictures, once an hour",
	},
	`done_at >= (extract(epoch FROM statement_timestamp()) * 1000)::bigint - $2::bigint`: {
		generic: true, sent: true,
		why: "replays after a loss of Redis are rare, and finished jobs are soon deleted",
	},
}

// recorder records every statement with the arguments of its first execution.
type recorder struct {
	dialect.Driver
	mu   sync.Mutex
	seen map[string][]any
}

func (r *recorder) note(text string, args any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, there := r.seen[text]; !there {
		r.seen[text], _ = args.([]any)
	}
}

func (r *recorder) Query(ctx context.Context, text string, args, v any) error {
	r.note(text, args)
	return r.Driver.Query(ctx, text, args, v)
}

func (r *recorder) Exec(ctx context.Context, text string, args, v any) error {
	r.note(text, args)
	return r.Driver.Exec(ctx, text, args, v)
}

func (r *recorder) Tx(ctx context.Context) (dialect.Tx, error) { return r.BeginTx(ctx, nil) }

func (r *recorder) BeginTx(ctx context.Context, opts *sql.TxOptions) (dialect.Tx, error) {
	tx, err := r.Driver.(interface { //nolint:forcetypeassert // ent does the same
		BeginTx(ctx context.Context, opts *sql.TxOptions) (dialect.Tx, error)
	}).BeginTx(ctx, opts)
	return recordedTx{tx, r}, err
}

func (r *recorder) QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	r.note(text, args)
	return r.Driver.(sqldb.Querier).QueryContext(ctx, text, args...) //nolint:forcetypeassert // ent does the same
}

type recordedTx struct {
	dialect.Tx
	r *recorder
}

func (t recordedTx) Query(ctx context.Context, text string, args, v any) error {
	t.r.note(text, args)
	return t.Tx.Query(ctx, text, args, v)
}

func (t recordedTx) Exec(ctx context.Context, text string, args, v any) error {
	t.r.note(text, args)
	return t.Tx.Exec(ctx, text, args, v)
}

func (t recordedTx) QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	t.r.note(text, args)
	return t.Tx.(sqldb.Querier).QueryContext(ctx, text, args...) //nolint:forcetypeassert // ent does the same
}

func (t recordedTx) ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error) {
	t.r.note(text, args)
	return t.Tx.(interface { //nolint:forcetypeassert // ent does the same
		ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error)
	}).ExecContext(ctx, text, args...)
}

// Statements of requests and of periodic jobs use an index, with a generic plan (as for
// prepared statements) and with a plan for their arguments. The test covers all SQL files,
// and the statements that ent sends in the calls below.
func TestStatementsUseIndexes(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	cfg := config.Default()
	cfg.DatabaseURL, cfg.RedisURL, cfg.LogReader, cfg.CodeSender = storetest.Postgres(t), storetest.Redis(t), "off", "console"
	cfg.DataDir, cfg.DemoPictures, cfg.L1Bytes, cfg.Without = t.TempDir(), false, 0, []string{"cache"}
	var sent *recorder
	c, err := app.OpenThrough(ctx, &cfg, prometheus.NewRegistry(), slog.New(slog.DiscardHandler), func(d dialect.Driver) dialect.Driver {
		sent = &recorder{Driver: d, seen: map[string][]any{}}
		return sent
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	bulk, err := os.ReadFile("testdata/town.sql")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.DB.ExecContext(ctx, string(bulk)); err != nil {
		t.Fatal(err)
	}
	big := bigTables(t, c.DB.DB)
	for _, name := range []string{"shops", "users", "notes", "note_counts", "note_events", "comments", "likes", "follows", "orders", "payments", "vouchers", "flash_sales", "outbox_jobs", "sessions", "visit_days", "pictures", "picture_uses", "check_ins"} {
		if !big[name] {
			t.Errorf("got too few %s for a plan to matter", name)
		}
	}
	clear(sent.seen)
	var workers sync.WaitGroup
	for name, call := range reads(c) {
		one := func() {
			if err := call(ctx); err != nil && !errors.Is(err, apierror.ErrNotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if slices.Contains(momentary, name) {
			workers.Go(one)
		} else {
			one()
		}
	}
	workers.Wait()
	texts := fileStatements(t)
	maps.Copy(texts, sent.seen)
	conn, err := c.DB.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	checked := 0
	for _, text := range slices.Sorted(maps.Keys(texts)) {
		anyPlan, sentPlan := excuses(text)
		plans := map[string]string{}
		if !anyPlan {
			plans["any arguments"] = generic(t, conn, text)
		}
		if args := texts[text]; len(args) > 0 && !sentPlan {
			plans["its arguments"] = explained(t, conn, "EXPLAIN (FORMAT JSON) "+text, args...)
		}
		for of, plan := range plans {
			checked++
			if scanned := scans(t, plan, big); len(scanned) > 0 {
				t.Errorf("the plan for %s reads all of %v:\n%s\n%s", of, scanned, text, plan)
			}
		}
	}
	all := strings.Join(slices.Collect(maps.Keys(texts)), "\n")
	for part, e := range excused {
		if !strings.Contains(all, part) {
			t.Errorf("no statement contains the excused %q (%s)", part, e.why)
		}
	}
	if checked < 100 {
		t.Errorf("got %d checked plans, want at least 100", checked)
	}
	t.Logf("%d plans of %d statements", checked, len(texts))
}

// reads returns the reading calls of clients and workers, and some writes.
func reads(h *app.Components) map[string]func(context.Context) error {
	calls := map[string]func(context.Context) error{}
	add := func(name string, call func(context.Context) error) { calls[name] = call }
	some := []int64{11, 12, 13}
	near := &geo.Circle{Center: geo.Point{Lat: 21.05, Lng: 105.05}, Radius: 3000}
	for i, q := range []shop.Query{
		{Order: shop.ByScore},
		{Order: shop.BySold},
		{Order: shop.ByNewest},
		{Order: shop.ByScore, OwnerID: 5},
		{Order: shop.BySold, OwnerID: 5},
		{Order: shop.ByNewest, OwnerID: 5},
		{Near: near},
		{Near: near, Order: shop.ByScore},
		{Search: "shop 1234"},
		{Search: "shop 1234", Near: near},
		{Search: "shop 1234", Order: shop.BySold},
	} {
		for _, kind := range []int64{0, 2} {
			q.TypeID, q.First = kind, 20
			add(fmt.Sprintf("list of shops %d of type %d", i, kind), func(ctx context.Context) error {
				for range 3 { // page by page
					p, err := h.Shops.List(ctx, q)
					if err != nil || p.Info.EndCursor == nil {
						return err
					}
					q.After = *p.Info.EndCursor
				}
				return nil
			})
		}
	}
	orders := func(status ...order.Status) order.Filter { return order.Filter{Status: status, First: 20} }
	after := func(p order.Filter, number int64) order.Filter {
		p.After = page.Encode("orders", int64(1_700_000_000_000), number)
		return p
	}
	from, to := civil.Date{Year: 2026, Month: 1, Day: 1}, civil.Date{Year: 2026, Month: 1, Day: 31}
	add("a shop", func(ctx context.Context) error { _, err := h.Shops.ByID(ctx, 11); return err })
	add("shops", func(ctx context.Context) error { _, err := h.Shops.ByIDs(ctx, some); return err })
	add("shop types", func(ctx context.Context) error { _, err := h.Shops.Types(ctx); return err })
	add("a user", func(ctx context.Context) error { _, err := h.Accounts.ByID(ctx, 11); return err })
	add("users", func(ctx context.Context) error { _, err := h.Accounts.ByIDs(ctx, some); return err })
	add("a session", func(ctx context.Context) error { h.Accounts.Authenticate(ctx, strings.Repeat("A", 43)); return nil })
	add("a login", func(ctx context.Context) error {
		_, err := h.Accounts.Login(ctx, account.Credentials{Phone: "+8613900000011", Password: new("wrong horse")})
		if _, refused := errors.AsType[apierror.UserErrors](err); refused {
			return nil
		}
		return err
	})
	add("a note", func(ctx context.Context) error { _, err := h.Notes.ByID(ctx, 11); return err })
	add("notes", func(ctx context.Context) error { _, err := h.Notes.ByIDs(ctx, some); return err })
	add("counts of notes", func(ctx context.Context) error { _, err := h.Notes.Counts(ctx, some); return err })
	add("an author's notes", func(ctx context.Context) error { _, err := h.Notes.ByAuthors(ctx, some, 20, ""); return err })
	add("a shop's notes", func(ctx context.Context) error { _, err := h.Notes.ByShops(ctx, some, 20, ""); return err })
	add("existing notes", func(ctx context.Context) error { _, err := h.Notes.Exist(ctx, some); return err })
	add("notes past the cache", func(ctx context.Context) error { _, err := h.Notes.ByIDsOrSnapshot(ctx, some); return err })
	add("hot notes", func(ctx context.Context) error { _, err := h.Notes.Hot(ctx, 20, ""); return err })
	add("comments", func(ctx context.Context) error { _, err := h.Comments.ByIDs(ctx, some); return err })
	add("comments of notes", func(ctx context.Context) error { _, err := h.Comments.ByNotes(ctx, some, 20, ""); return err })
	add("replies", func(ctx context.Context) error { _, err := h.Comments.Replies(ctx, some, 20, ""); return err })
	add("likes of a user", func(ctx context.Context) error { _, err := h.NoteLikes.Liked(ctx, 11, some); return err })
	add("old notes that a user likes", func(ctx context.Context) error { _, err := h.NoteLikes.Liked(ctx, 1, []int64{1, 2, 3}); return err })
	add("first likers", func(ctx context.Context) error { _, err := h.NoteLikes.FirstLikers(ctx, some, 10); return err })
	add("follows of a user among some", func(ctx context.Context) error { _, err := h.Follows.IsFollowed(ctx, 1, some); return err })
	add("followers", func(ctx context.Context) error { _, err := h.Follows.Followers(ctx, some, 20, ""); return err })
	add("followees", func(ctx context.Context) error { _, err := h.Follows.Followees(ctx, some, 20, ""); return err })
	add("followees in common", func(ctx context.Context) error { _, err := h.Follows.Common(ctx, 11, 12, 20, ""); return err })
	add("the newest notes", func(ctx context.Context) error { return h.Feed.RefreshFanOuts(ctx) })
	add("a feed", func(ctx context.Context) error { _, err := h.Feed.Page(ctx, 11, 20, ""); return err })
	add("a feed with thousands of followees", func(ctx context.Context) error {
		// The test needs the statements only, and the page takes many of them.
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if _, err := h.Feed.Page(ctx, 1, 20, ""); ctx.Err() == nil {
			return err
		}
		return nil
	})
	add("vouchers", func(ctx context.Context) error { _, err := h.Vouchers.ByIDs(ctx, some); return err })
	add("vouchers of shops", func(ctx context.Context) error {
		_, err := h.Vouchers.ByShops(ctx, some, func(id int64) bool { return id == 11 })
		return err
	})
	add("flash sales", func(ctx context.Context) error {
		_, err := h.Vouchers.FlashSales(ctx, voucher.Query{First: 20})
		return err
	})
	add("an order", func(ctx context.Context) error {
		_, err := h.Orders.ByID(ctx, order.Viewer{UserID: 11, IsAdmin: true}, 11)
		return err
	})
	add("orders of a user", func(ctx context.Context) error { _, err := h.Orders.ByUser(ctx, 11, orders()); return err })
	add("old orders of a user", func(ctx context.Context) error { _, err := h.Orders.ByUser(ctx, 11, after(orders(), 5000)); return err })
	add("unpaid orders of a user", func(ctx context.Context) error { _, err := h.Orders.ByUser(ctx, 11, orders(order.Unpaid)); return err })
	add("orders of a shop", func(ctx context.Context) error { _, err := h.Orders.ByShop(ctx, 11, orders()); return err })
	add("paid orders of a shop", func(ctx context.Context) error {
		_, err := h.Orders.ByShop(ctx, 11, after(orders(order.Paid), 5000))
		return err
	})
	add("sales of a shop", func(ctx context.Context) error {
		_, err := h.Orders.SalesByDay(ctx, new(int64(11)), from, to)
		return err
	})
	add(momentary[0], aMoment(h.Orders.Expire))
	add(momentary[1], aMoment(h.Orders.UpdateCounters))
	add("visits of a shop", func(ctx context.Context) error { _, err := h.Visits.ShopStatsByDay(ctx, 11, from, to); return err })
	add("check-ins", func(ctx context.Context) error { _, err := h.CheckIns.Month(ctx, 11, ""); return err })
	add("orphaned pictures", func(ctx context.Context) error { _, err := h.Media.DeleteOrphans(ctx); return err })
	add("checking in", func(ctx context.Context) error { _, _, err := h.CheckIns.CheckIn(ctx, 13); return err })
	add("liking", func(ctx context.Context) error { return h.NoteLikes.Like(ctx, 13, 14) })
	add("following", func(ctx context.Context) error { return h.Follows.Follow(ctx, 13, 19_999) })
	return calls
}

// momentary lists the calls by [aMoment]. They run in parallel, because each takes seconds.
var momentary = []string{"expired orders", "uncounted orders"} //nolint:gochecknoglobals // constant

// aMoment runs a worker for 2.5 seconds, so that it reads the due rows.
func aMoment(worker func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 2500*time.Millisecond)
		defer cancel()
		return worker(ctx)
	}
}

// fileStatements returns the Postgres statements of all SQL files.
func fileStatements(t *testing.T) map[string][]any {
	t.Helper()
	texts := map[string][]any{}
	for _, pattern := range []string{"../*/sql/*.sql", "../kit/{outbox,schedule,sequence}/sql/*.sql"} {
		for _, in := range expand(pattern) {
			paths, err := filepath.Glob(in)
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range paths {
				if strings.Contains(path, ".sqlite.") {
					continue
				}
				text, err := os.ReadFile(path) //nolint:gosec // a file of this repository
				if err != nil {
					t.Fatal(err)
				}
				texts[sqldb.Statement(string(text))] = nil
			}
		}
	}
	if len(texts) < 40 {
		t.Fatalf("got %d statements in files, want at least 40", len(texts))
	}
	return texts
}

// expand returns a pattern for each word in braces.
func expand(pattern string) (all []string) {
	before, rest, found := strings.Cut(pattern, "{")
	words, after, _ := strings.Cut(rest, "}")
	if !found {
		return []string{pattern}
	}
	for word := range strings.SplitSeq(words, ",") {
		all = append(all, before+word+after)
	}
	return all
}

// excuses reports which plans of a statement are not checked.
func excuses(text string) (generic, sent bool) {
	for part, e := range excused {
		if strings.Contains(text, part) {
			return e.generic, e.sent
		}
	}
	return false, false
}

func bigTables(t *testing.T, db *sql.DB) map[string]bool {
	t.Helper()
	big := map[string]bool{}
	err := sqldb.Each(t.Context(), db, "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND reltuples > $1", []any{smallTable}, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		big[name] = true
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return big
}

var placeholder = regexp.MustCompile(`\$(\d+)`) //nolint:gochecknoglobals // constant

// generic returns the generic plan of a statement.
func generic(t *testing.T, conn *sql.Conn, text string) string {
	t.Helper()
	args := 0
	for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[1])
		args = max(args, n)
	}
	for _, statement := range []string{"SET plan_cache_mode = force_generic_plan", "DEALLOCATE ALL", "PREPARE inspected AS " + text} {
		if _, err := conn.ExecContext(t.Context(), statement); err != nil {
			t.Errorf("%v: %s", err, statement)
			return ""
		}
	}
	call := ""
	if args > 0 {
		call = "(NULL" + strings.Repeat(", NULL", args-1) + ")"
	}
	return explained(t, conn, "EXPLAIN (FORMAT JSON) EXECUTE inspected"+call)
}

func explained(t *testing.T, conn *sql.Conn, explain string, args ...any) (plan string) {
	t.Helper()
	if err := conn.QueryRowContext(t.Context(), explain, args...).Scan(&plan); err != nil {
		t.Errorf("%v: %s", err, explain)
	}
	return plan
}

// scans returns the big tables that a plan reads as a whole.
func scans(t *testing.T, plan string, big map[string]bool) (tables []string) {
	t.Helper()
	if plan == "" {
		return nil // already reported
	}
	var all any
	if err := json.Unmarshal([]byte(plan), &all); err != nil {
		t.Fatal(err)
	}
	var walk func(any)
	walk = func(node any) {
		switch n := node.(type) {
		case []any:
			for _, child := range n {
				walk(child)
			}
		case map[string]any:
			if table, _ := n["Relation Name"].(string); n["Node Type"] == "Seq Scan" && big[table] {
				tables = append(tables, table)
			}
			for _, child := range n {
				walk(child)
			}
		}
	}
	walk(all)
	return tables
}
