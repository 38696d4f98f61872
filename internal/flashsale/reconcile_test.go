package flashsale

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/flashsale"
	"github.com/tandian-dev/tandian/ent/order"
	"github.com/tandian-dev/tandian/ent/voucher"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/sale"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// rounds runs n rounds of a reconciler.
func (g *stage) rounds(n int) {
	g.t.Helper()
	r := &reconciler{s: g.Service, suspect: map[int64]mismatch{}}
	for range n {
		if err := r.round(g.t.Context()); err != nil {
			g.t.Fatal(err)
		}
	}
}

// sale reads a row.
func (g *stage) sale(at location) *ent.FlashSale {
	g.t.Helper()
	return g.DB.FlashSale.Query().Where(flashsale.ID(at.voucher)).OnlyX(g.t.Context())
}

func TestReconcilerRepairsBuyersAndStock(t *testing.T) {
	const user = 5
	tests := []struct {
		name   string
		spoil  func(g *stage, at location, number int64)
		ago    time.Duration // age of the number
		holder bool          // whether the user has the order afterwards
		did    string
		status order.Status // of the row, if the reconciler inserts one
	}{
		{name: "live order missing in Redis", holder: true, did: didReserve, spoil: func(g *stage, at location, n int64) {
			g.row(at, user, n, order.StatusPAID)
		}},
		{name: "cancelled order in Redis", did: didRelease, spoil: func(g *stage, at location, n int64) {
			g.row(at, user, n, order.StatusCANCELLED)
			g.reserves(at, sale.Reservation{Order: n, User: user})
		}},
		{name: "failed order in Redis", did: didRelease, spoil: func(g *stage, at location, n int64) {
			g.row(at, user, n, order.StatusFAILED)
			g.reserves(at, sale.Reservation{Order: n, User: user})
		}},
		{name: "another user's order in Redis", did: didRelease, spoil: func(g *stage, at location, n int64) {
			g.row(at, user+1, n, order.StatusCANCELLED)
			g.reserves(at, sale.Reservation{Order: n, User: user})
		}},
		{name: "lost order", ago: time.Minute, did: didAbort, status: order.StatusFAILED, spoil: func(g *stage, at location, n int64) {
			g.reserves(at, sale.Reservation{Order: n, User: user})
		}},
		{name: "new order without a row", holder: true, spoil: func(g *stage, at location, n int64) {
			g.reserves(at, sale.Reservation{Order: n, User: user})
		}},
		{name: "order waits for a slow database", ago: time.Minute, holder: true, spoil: func(g *stage, at location, n int64) {
			g.admits(at, user, n)
			g.unlink(g.admitter.keys.orders(at.partition)) // a consumer has it
		}},
		{name: "stock too high", did: didSettle, spoil: func(g *stage, at location, _ int64) {
			g.set(g.admitter.keys.stock(at.partition, at.voucher), 99)
		}},
		{name: "stock too low", did: didSettle, spoil: func(g *stage, at location, _ int64) {
			g.set(g.admitter.keys.stock(at.partition, at.voucher), 0)
		}},
		{name: "sale missing in Redis", did: didRebuild, spoil: func(g *stage, at location, _ int64) {
			g.unlink(g.admitter.keys.ofSale(at)...)
		}},
	}
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		g := newStage(t, on)
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				g.t, g.n.ago = t, tt.ago
				at := g.open(stagedSale{stock: 10, buckets: 2})
				number := g.number(at)
				tt.spoil(g, at, number)
				did := func() float64 {
					if tt.did == "" {
						return -1
					}
					return metricValue(t, g, "tandian_sale_reconciled_total", tt.did)
				}
				before := did()
				g.rounds(2)
				if tt.did != "" && did() != before+1 {
					t.Errorf("%s: got %v after %v, want one more", tt.did, did(), before)
				}
				want := map[bool]string{true: decimal(number)}[tt.holder]
				if got := g.holder(at, user); got != want {
					t.Errorf("user: got order %q, want %q", got, want)
				}
				g.checkSale(at, 10, map[bool]int{true: 1}[tt.holder])
				if tt.status != "" {
					if row := g.DB.Order.GetX(t.Context(), number); row.Status != tt.status || row.UserID != user || *row.Failure != codeNotCompleted {
						t.Errorf("got row %v", row)
					}
				}
				g.rounds(3) // nothing is left to repair
				g.checkSale(at, 10, map[bool]int{true: 1}[tt.holder])
			})
		}
	})
}

func TestReconcilerBacksOffUnexplainedMismatches(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		now := time.Now()
		g := newStage(t, on, func(c *Config, _ *redisdb.RedisConfig) { c.Now = func() time.Time { return now } })
		at := g.open(stagedSale{stock: 10})
		g.DB.FlashSale.UpdateOneID(at.voucher).SetStock(9).ExecX(t.Context()) // no order has it
		r := &reconciler{s: g.Service, suspect: map[int64]mismatch{}}
		var compared []int
		for round := range 40 {
			before := r.suspect[at.voucher].until
			if err := r.round(t.Context()); err != nil {
				t.Fatal(err)
			}
			if r.suspect[at.voucher].until != before {
				compared = append(compared, round)
			}
			now = now.Add(reconcileEvery)
		}
		if d := cmp.Diff([]int{1, 2, 4, 8, 16, 32}, compared); d != "" {
			t.Errorf("rounds with a comparison (-want +got)\n%s", d)
		}
	})
}

// A broken sale does not affect the others: a key of a wrong type, or an unavailable server of
// a cluster.
func TestBrokenSaleDoesNotStopTheOthers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		g := newStage(t, on)
		spoilt, at := g.open(stagedSale{stock: 10}), g.open(stagedSale{stock: 10})
		bucket := g.admitter.keys.bucket(spoilt.partition, spoilt.voucher, 0)
		g.set(bucket, 1)
		defer g.unlink(bucket)
		n := g.number(at)
		g.row(at, 5, n, order.StatusPAID)
		r := &reconciler{s: g.Service, suspect: map[int64]mismatch{}}
		for range 2 {
			if err := r.round(t.Context()); err == nil {
				t.Error("got no error of the broken sale")
			}
		}
		if got := g.holder(at, 5); got != decimal(n) {
			t.Errorf("user of the other sale: got order %q, want %d", got, n)
		}
		g.checkSale(at, 10, 1)
	})
}

// The queue of the partition is never empty, because of any sale.
func TestSaleInBusyPartitionIsRepaired(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		g := newStage(t, on)
		at := g.open(stagedSale{stock: 10})
		if err := g.Redis.XAdd(t.Context(), &redis.XAddArgs{Stream: g.admitter.keys.orders(at.partition), Values: []any{"an", "order"}}).Err(); err != nil {
			t.Fatal(err)
		}
		n := g.number(at)
		g.row(at, 5, n, order.StatusPAID)
		g.rounds(noisyRounds)
		if got := g.holder(at, 5); got != "" {
			t.Errorf("compared at once: got order %q", got)
		}
		g.rounds(noisyRounds + 1)
		if got := g.holder(at, 5); got != decimal(n) {
			t.Errorf("user: got order %q, want %d", got, n)
		}
		g.checkSale(at, 10, 1)
	})
}

// The writer of an edit died between Redis and the database.
func TestWindow13UnstoredEditIsReverted(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		g := newStage(t, on)
		at := g.open(stagedSale{stock: 10})
		g.sell(at, 1, 3, 3)
		g.unlink(g.admitter.keys.orders(at.partition))
		if ok, err := g.DecreaseStock(t.Context(), at.voucher, 4, 2); !ok || err != nil {
			t.Fatal(ok, err)
		}
		g.rounds(1)
		g.checkSale(at, 10, 3)
		if got := g.stockCount(at); got.seq != 1 {
			t.Errorf("got edit %d, want 1", got.seq)
		}
	})
}

func TestWindow13RunningEditIsNotReverted(t *testing.T) {
	g := newStage(t, storetest.Real(t)) // on SQLite no other transaction can read meanwhile
	at := g.open(stagedSale{stock: 10})
	tx, err := g.DB.Tx(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	tx.FlashSale.Query().Where(flashsale.ID(at.voucher)).Modify(sqldb.ForUpdate).OnlyX(t.Context())
	if ok, err := g.DecreaseStock(t.Context(), at.voucher, 4, 2); !ok || err != nil {
		t.Fatal(ok, err)
	}
	g.rounds(3)
	g.checkSale(at, 6, 0)
	tx.FlashSale.UpdateOneID(at.voucher).SetStock(6).SetInitialStock(6).SetEditSeq(2).ExecX(t.Context())
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := g.Apply(t.Context(), at.voucher); err != nil {
		t.Fatal(err)
	}
	g.rounds(2)
	g.checkSale(at, 6, 0)
}

func TestWindow13RunningSaleIsEdited(t *testing.T) {
	tests := []struct {
		name   string
		change func(u *ent.FlashSaleUpdateOne)
		off    bool
		want   code // for another user, after 2 of 2 are sold
	}{
		{name: "raised", change: func(u *ent.FlashSaleUpdateOne) { u.AddStock(3).AddInitialStock(3) }, want: admitted},
		{name: "moved into the past", change: func(u *ent.FlashSaleUpdateOne) { u.SetEndsAt(time.Now().UnixMilli()) }, want: ended},
		{name: "moved into the future", change: func(u *ent.FlashSaleUpdateOne) { u.SetBeginsAt(time.Now().Add(time.Minute).UnixMilli()) }, want: notStarted},
		{name: "taken off sale", change: func(*ent.FlashSaleUpdateOne) {}, off: true, want: offSale},
		{name: "not changed", change: func(*ent.FlashSaleUpdateOne) {}, want: outOfStock},
	}
	ways := map[string]func(g *stage, at location) error{
		"by its writer":     func(g *stage, at location) error { return g.Apply(g.t.Context(), at.voucher) },
		"by the reconciler": func(g *stage, _ location) error { g.rounds(1); return nil },
		"twice": func(g *stage, at location) error {
			return g.Apply(g.t.Context(), at.voucher, at.voucher)
		},
	}
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		g := newStage(t, on)
		for _, tt := range tests {
			for way, bring := range ways {
				t.Run(tt.name+" "+way, func(t *testing.T) {
					g.t = t
					at := g.open(stagedSale{stock: 2, begin: -time.Minute})
					orders := g.sell(at, 1, 2, 2)
					edit := g.DB.FlashSale.UpdateOneID(at.voucher).AddEditSeq(1)
					tt.change(edit)
					edit.ExecX(t.Context())
					if tt.off {
						g.DB.Voucher.UpdateOneID(at.voucher).SetStatus("OFF_SALE").ExecX(t.Context())
					}
					if err := bring(g, at); err != nil {
						t.Fatal(err)
					}
					g.wantHeld(at, orders, 1, 2)
					if v := g.admits(at, 3, g.number(at)); v.code != tt.want {
						t.Errorf("got code %s, want %s", v.code, tt.want)
					}
				})
			}
		}
	})
}

func TestStocksFallBackToRows(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		g := newStage(t, on)
		open, absent, over := g.open(stagedSale{stock: 5}), g.put(stagedSale{stock: 7}), g.open(stagedSale{stock: 3})
		g.sell(open, 1, 0, 2)
		g.set(g.admitter.keys.stock(over.partition, over.voucher), -1)
		got, err := g.Stocks(t.Context(), []int64{open.voucher, absent.voucher, over.voucher, 1 << 40})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(map[int64]int{open.voucher: 3, absent.voucher: 7, over.voucher: 0}, got); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
	})
}

func TestASaleLeavesRedisADayAfterItsEnd(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		now := time.Now()
		g := newStage(t, on, func(c *Config, _ *redisdb.RedisConfig) { c.Now = func() time.Time { return now } })
		at := g.open(stagedSale{stock: 5, buckets: 2})
		g.sell(at, 1, 3, 3)
		there := func() int64 {
			var n int64
			for _, key := range g.admitter.keys.ofSale(at) {
				n += g.Redis.Exists(t.Context(), key).Val()
			}
			return n
		}
		for _, tt := range []struct {
			after time.Duration
			want  int64
		}{{time.Hour, 4}, {24 * time.Hour, 4}, {25*time.Hour + time.Second, 0}} {
			now = time.Now().Add(tt.after)
			g.rounds(1)
			if n := there(); n != tt.want {
				t.Errorf("%v later: got %d keys, want %d", tt.after, n, tt.want)
			}
		}
		if g.sale(at).SweptAt == nil {
			t.Error("swept_at is not set")
		}
		g.rounds(2)
		if err := g.Apply(t.Context(), at.voucher); err != nil || there() != 0 {
			t.Errorf("got the sale in Redis again, %v", err)
		}
		g.DB.FlashSale.UpdateOneID(at.voucher).SetEndsAt(now.Add(time.Hour).UnixMilli()).AddEditSeq(1).ExecX(t.Context())
		if err := g.Apply(t.Context(), at.voucher); err != nil {
			t.Fatal(err)
		}
		g.checkSale(at, 5, 3)
		if g.sale(at).SweptAt != nil {
			t.Error("swept_at is still set")
		}
	})
}

// A query every two seconds must not read all ended sales.
func TestEndedSalesAreFoundByIndex(t *testing.T) {
	g := newStage(t, storetest.Real(t))
	ctx := t.Context()
	var vouchers []*ent.VoucherCreate
	shop := g.shop()
	for range 2000 {
		vouchers = append(vouchers, g.DB.Voucher.Create().SetShopID(shop).SetKind(voucher.KindFLASH).SetTitle("tea").SetPayValue(1).SetFaceValue(2).SetOnePerUser(true))
	}
	for part := range slices.Chunk(vouchers, 500) {
		var sales []*ent.FlashSaleCreate
		for _, v := range g.DB.Voucher.CreateBulk(part...).SaveX(ctx) {
			sales = append(sales, g.DB.FlashSale.Create().SetID(v.ID).SetVoucherID(v.ID).SetStock(1).SetInitialStock(1).
				SetBeginsAt(0).SetEndsAt(v.ID).SetPartition(0).SetBuckets(1).SetSweptAt(1))
		}
		g.DB.FlashSale.CreateBulk(sales...).ExecX(ctx)
	}
	if _, err := g.SQL.ExecContext(ctx, "ANALYZE flash_sales"); err != nil {
		t.Fatal(err)
	}
	rows, err := g.SQL.QueryContext(ctx, "EXPLAIN SELECT * FROM flash_sales WHERE swept_at IS NULL AND ends_at <= 1000000 ORDER BY ends_at, id LIMIT 500")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var plan strings.Builder
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		plan.WriteString(line + "\n")
	}
	if err := rows.Err(); err != nil || !strings.Contains(plan.String(), "flashsale_unswept") {
		t.Errorf("got plan, %v:\n%s", err, &plan)
	}
}

// traffic counts round trips to Redis, and the largest of them.
type traffic struct {
	mu                    sync.Mutex
	trips, largest, words int
	named                 map[string]int // commands, by name
}

func (c *traffic) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (c *traffic) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { c.count(cmd); return next(ctx, cmd) }
}

func (c *traffic) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { c.count(cmds...); return next(ctx, cmds) }
}

func (c *traffic) count(cmds ...redis.Cmder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trips++
	words := 0
	for _, cmd := range cmds {
		words += len(cmd.Args())
		if c.named != nil {
			c.named[cmd.Name()]++
		}
	}
	c.largest, c.words = max(c.largest, len(cmds)), max(c.words, words)
}

func TestRoundWithoutDifferencesIsCheap(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		g := newStage(t, on)
		for range 20 {
			at := g.open(stagedSale{stock: 10})
			g.sell(at, 1, 5, 5)
			g.unlink(g.admitter.keys.orders(at.partition))
		}
		g.rounds(1) // loads the scripts
		c := new(traffic)
		g.Redis.AddHook(c)
		selects := func() float64 { return sqlSent(t, g) }
		before := selects()
		g.rounds(1)
		if n := selects() - before; n != 2 { // the running and the ended sales
			t.Errorf("got %v statements, want 2", n)
		}
		if c.trips != 2 { // the sales, the queues
			t.Errorf("got %d round trips to Redis, want 2", c.trips)
		}
	})
}

// sqlSent returns the number of SQL statements of a process.
func sqlSent(t *testing.T, g *stage) (n float64) {
	t.Helper()
	families, err := g.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "tandian_sql_statement_seconds" {
			for _, m := range f.GetMetric() {
				n += float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return n
}

func TestManyBuyersAreComparedInBatches(t *testing.T) {
	testkit.SkipIfShort(t)
	const buyers = 100_000
	g := newStage(t, storetest.Real(t))
	at := g.put(stagedSale{stock: 120_000})
	if _, err := g.SQL.ExecContext(t.Context(), fmt.Sprintf(`
		INSERT INTO orders (id, user_id, voucher_id, shop_id, status, one_per_user, flash, pay_value, version, tallied, created_at, pay_before)
		SELECT 1000000000 + n, n, %d, 7, 'UNPAID', true, true, 1000, 1, false, 1, 1 FROM generate_series(1, %d) AS n`, at.voucher, buyers)); err != nil {
		t.Fatal(err)
	}
	g.DB.FlashSale.UpdateOneID(at.voucher).SetStock(20_000).ExecX(t.Context())
	c := new(traffic)
	g.Redis.AddHook(c)
	begin := time.Now()
	if err := g.compareSale(t.Context(), g.sale(at), queues{}); err != nil {
		t.Fatal(err)
	}
	t.Logf("rebuilt in %v, %d round trips", time.Since(begin), c.trips)
	g.checkSale(at, 120_000, buyers)
	if c.largest > chunkSize || c.words > 3*chunkSize {
		t.Errorf("got a round trip with %d commands, %d words, want at most %d and %d", c.largest, c.words, chunkSize, 3*chunkSize)
	}
}

// Redis lost its last second, in which a user cancelled one order and placed another. The dead
// order blocks the live one in the comparison.
func TestWindow15LiveOrderReplacesDeadOne(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		g := newStage(t, on)
		at := g.open(stagedSale{stock: 5})
		dead, alive := g.number(at), g.number(at)
		g.row(at, 9, dead, order.StatusCANCELLED)
		g.row(at, 9, alive, order.StatusPAID)
		g.reserves(at, sale.Reservation{Order: dead, User: 9})
		if err := g.compareSale(t.Context(), g.sale(at), queues{}); err != nil {
			t.Fatal(err)
		}
		if got := g.holder(at, 9); got != decimal(alive) {
			t.Errorf("holder: got order %q, want %d", got, alive)
		}
	})
}

// Redis stays available with any number of sales.
func TestSalesOfManyBucketsTakeTurns(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		g := newStage(t, on)
		big := stagedSale{stock: 1_000_000, begin: time.Hour, end: 2 * time.Hour}
		first := g.open(big)
		last := first
		for range roundBuckets / first.buckets {
			last = g.open(big)
		}
		spoil := func(at location) { g.set(g.admitter.keys.stock(at.partition, at.voucher), 5) }
		stock := func(at location) int { return g.stockCount(at).stock }
		c := new(traffic)
		g.Redis.AddHook(c)
		r := &reconciler{s: g.Service, suspect: map[int64]mismatch{}}
		spoil(first)
		spoil(last)
		for round, want := range [][2]int{{1_000_000, 5}, {1_000_000, 1_000_000}} {
			if err := r.round(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := [2]int{stock(first), stock(last)}; got != want {
				t.Errorf("round %d: got stocks %v of the first and last sale, want %v", round+1, got, want)
			}
		}
		spoil(first) // the next round starts again
		if err := r.round(t.Context()); err != nil || stock(first) != 1_000_000 {
			t.Errorf("got stock %d, %v", stock(first), err)
		}
		if limit := 2 * maxPipelineBuckets; c.words > limit {
			t.Errorf("got a round trip with %d words, want at most %d", c.words, limit)
		}
	})
}

func TestManyErrorsJoinToAShortMessage(t *testing.T) {
	errs := make([]error, 3000)
	for i := range 2000 {
		errs[i+500] = fmt.Errorf("count sale %d in Redis: %w", i, context.DeadlineExceeded)
	}
	err := joinFew(errs)
	if !errors.Is(err, context.DeadlineExceeded) || len(err.Error()) > 400 || !strings.HasSuffix(err.Error(), "and 1995 more") {
		t.Errorf("got %.1000s, want a short message", err)
	}
	if err := joinFew(make([]error, 3)); err != nil {
		t.Error(err)
	}
}

func TestTwoProcessesRebuildASaleTogether(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		a, b := newStage(t, on), newStage(t, on)
		at := a.put(stagedSale{stock: 700, buckets: 3})
		for user := int64(1); user <= 600; user++ {
			a.row(at, user, a.number(at), order.StatusUNPAID)
		}
		errs := make(chan error, 6)
		for _, g := range []*stage{a, b, a, b, a, b} {
			go func() { errs <- g.Apply(t.Context(), at.voucher) }()
		}
		for range 6 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		a.checkSale(at, 700, 600)
	})
}

// reserve and release are safe under traffic.
func TestCompareSaleIsSafeUnderTraffic(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		g := newStage(t, on)
		at := g.open(stagedSale{stock: 400, buckets: 2})
		row := g.sale(at)
		ctx, stop := context.WithCancel(t.Context())
		var compared sync.WaitGroup
		compared.Go(func() {
			for ctx.Err() == nil {
				if err := g.compareSale(ctx, row, queues{}); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
		var buyers sync.WaitGroup
		for worker := range int64(4) {
			buyers.Go(func() {
				for user := worker*100 + 1; user <= worker*100+75; user++ {
					number := g.number(at)
					if v, err := g.admitter.admit(t.Context(), g.try(at, user, number)); err != nil || v.code != admitted {
						t.Errorf("user %d: got %+v, %v, want admitted", user, v, err)
					}
					if user%3 == 0 {
						if _, err := g.admitter.release(t.Context(), at, []sale.Reservation{{Order: number, User: user}}); err != nil {
							t.Error(err)
						}
						g.unlink(g.admitter.keys.order(number))
					}
				}
			})
		}
		buyers.Wait()
		stop()
		compared.Wait()
		g.unlink(g.admitter.keys.orders(at.partition))
		if got := g.stockCount(at); got.stock+got.buyers != 400 || got.buyers < 200 {
			t.Errorf("got %+v, want at least 200 buyers, and 400 units together", got)
		}
	})
}

// Without a certificate, a queue with many sales is read once.
func TestAQueueIsReadOncePerComparison(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		g := newStage(t, on, func(c *Config, _ *redisdb.RedisConfig) { c.Partitions = 1 })
		var sales []location
		for range 5 {
			sales = append(sales, g.open(stagedSale{stock: 5}))
		}
		for i, at := range sales {
			g.admits(at, int64(i+1), g.number(at))
			g.unlink(g.admitter.keys.bucket(at.partition, at.voucher, 0)) // only the queue has the buyers
		}
		g.unlink(g.admitter.keys.open(0))
		c := &traffic{named: map[string]int{}}
		g.Redis.AddHook(c)
		g.certified()
		if n := c.named["xrange"]; n != 1 {
			t.Errorf("got %d reads of the queue, want 1", n)
		}
		for i, at := range sales {
			if g.holder(at, int64(i+1)) == "" {
				t.Errorf("the buyer of sale %d was not reserved", at.voucher)
			}
			g.checkSale(at, 5, 1)
		}
	})
}

func TestReconcileRunsUntilItIsStopped(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		g := newStage(t, on)
		at := g.put(stagedSale{stock: 5})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- g.Reconcile(ctx) }()
		testkit.Eventually(t, 20*time.Second, func() bool { return g.stockCount(at).complete })
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestKeysOfAPartitionShareASlot(t *testing.T) {
	k := keys{"td"}
	at := location{42, 3, 2}
	all := append(k.ofSale(at), k.open(3), k.orders(3), k.parked(3), k.order(7<<partitionBits|3), k.idem(3, "h"))
	for _, key := range all {
		if !strings.HasPrefix(key, "td:sale:{p3}:") {
			t.Errorf("%s is in another slot", key)
		}
	}
	slices.Sort(all)
	if n := len(slices.Compact(all)); n != 9 {
		t.Errorf("got %d different keys, want 9", n)
	}
}
