package flashsale

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/ent/order"
	"github.com/tandian-dev/tandian/internal/kit/reconcile"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/sale"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// scan runs a scan of the stage.
func (g *stage) scan(name string, dry bool) reconcile.Outcome {
	g.t.Helper()
	scans := reconcile.New(prometheus.NewRegistry(), g.Log)
	scans.Add(g.Scans()...)
	found, err := scans.ByName(name)
	if err != nil {
		g.t.Fatal(err)
	}
	o, err := scans.RunOnce(g.t.Context(), found[0], reconcile.Options{DryRun: dry})
	if err != nil {
		g.t.Fatal(err)
	}
	return o
}

// fault damages a sale of ten units with stored orders of the users 1 and 2.
type fault struct {
	name   string
	scan   string
	do     func(g *stage, at location, orders [3]int64)
	old    bool // two minutes old
	found  int
	left   int          // reported and not repaired
	buyers int          // in Redis afterwards
	status order.Status // of the order of user 3 afterwards; "" for no order
}

func faults() []fault {
	bucket := func(g *stage, at location, user int64) string {
		return g.admitter.keys.bucket(at.partition, at.voucher, at.bucketOf(user))
	}
	return []fault{
		{name: "nothing", scan: "sales", buyers: 2, do: func(*stage, location, [3]int64) {}},
		{name: "missing buyer", scan: "sales", found: 2, buyers: 2, do: func(g *stage, at location, _ [3]int64) {
			g.must(g.Redis.HDel(g.t.Context(), bucket(g, at, 1), "1").Err())
		}},
		{name: "stock too high", scan: "sales", found: 1, buyers: 2, do: func(g *stage, at location, _ [3]int64) {
			g.must(g.Redis.Incr(g.t.Context(), g.admitter.keys.stock(at.partition, at.voucher)).Err())
		}},
		{name: "dead buyer", scan: "sales", found: 1, buyers: 2, status: order.StatusCANCELLED, do: func(g *stage, at location, orders [3]int64) {
			g.row(at, 3, orders[2], order.StatusCANCELLED)
			g.reserves(at, sale.Reservation{Order: orders[2], User: 3})
		}},
		{name: "dead buyer and missing buyer", scan: "sales", found: 2, buyers: 2, status: order.StatusCANCELLED, do: func(g *stage, at location, orders [3]int64) {
			g.row(at, 3, orders[2], order.StatusCANCELLED)
			g.reserves(at, sale.Reservation{Order: orders[2], User: 3})
			g.releases(at, sale.Reservation{Order: orders[0], User: 1})
		}},
		{name: "dead order instead of the live one", scan: "sales", found: 2, buyers: 2, do: func(g *stage, at location, orders [3]int64) {
			g.row(at, 1, orders[2], order.StatusREFUNDED)
			g.must(g.Redis.HSet(g.t.Context(), bucket(g, at, 1), "1", decimal(orders[2])).Err())
		}, status: order.StatusREFUNDED},
		{name: "another user's order", scan: "sales", found: 1, buyers: 2, do: func(g *stage, at location, orders [3]int64) {
			g.reserves(at, sale.Reservation{Order: orders[0], User: 3})
		}},
		{name: "missing sale", scan: "sales", found: 1, buyers: 2, do: func(g *stage, at location, _ [3]int64) {
			g.unlink(g.admitter.keys.ofSale(at)...)
		}},
		{name: "unstored edit", scan: "sales", found: 1, buyers: 2, do: func(g *stage, at location, _ [3]int64) {
			if ok, err := g.DecreaseStock(g.t.Context(), at.voucher, 4, 2); err != nil || !ok {
				g.t.Fatal(ok, err)
			}
		}},
		{name: "edit missing in Redis", scan: "sales", found: 1, buyers: 2, do: func(g *stage, at location, _ [3]int64) {
			g.DB.FlashSale.UpdateOneID(at.voucher).AddEditSeq(1).ExecX(g.t.Context())
		}},
		{name: "another window", scan: "sales", found: 1, buyers: 2, do: func(g *stage, at location, _ [3]int64) {
			g.must(g.Redis.HSet(g.t.Context(), g.admitter.keys.meta(at.partition, at.voucher), "end", "9999999999999").Err())
		}},

		{name: "young entry", scan: "queues", buyers: 3, do: func(g *stage, at location, orders [3]int64) {
			g.admits(at, 3, orders[2])
		}},
		{name: "entry with a row", scan: "queues", old: true, found: 1, buyers: 3, status: order.StatusUNPAID, do: func(g *stage, at location, orders [3]int64) {
			g.admits(at, 3, orders[2])
			g.row(at, 3, orders[2], order.StatusUNPAID)
		}},
		{name: "entry of a tombstone with a reservation", scan: "queues", old: true, found: 1, buyers: 2, status: order.StatusFAILED, do: func(g *stage, at location, orders [3]int64) {
			g.admits(at, 3, orders[2])
			g.row(at, 3, orders[2], order.StatusFAILED)
		}},
		{name: "unread entry", scan: "queues", old: true, found: 1, buyers: 3, status: order.StatusUNPAID, do: func(g *stage, at location, orders [3]int64) {
			g.admits(at, 3, orders[2])
		}},
		{name: "entry without a reservation", scan: "queues", found: 1, buyers: 3, do: func(g *stage, at location, orders [3]int64) {
			g.admits(at, 3, orders[2])
			g.releases(at, sale.Reservation{Order: orders[2], User: 3})
		}},
		{name: "malformed entry", scan: "queues", old: true, found: 1, buyers: 2, do: func(g *stage, at location, _ [3]int64) {
			g.must(g.Redis.XAdd(g.t.Context(), &redis.XAddArgs{Stream: g.admitter.keys.orders(at.partition), Values: []any{"o", "nonsense"}}).Err())
		}},
		{name: "buyer without row and entry", scan: "queues", old: true, found: 1, buyers: 2, status: order.StatusFAILED, do: func(g *stage, at location, orders [3]int64) {
			g.reserves(at, sale.Reservation{Order: orders[2], User: 3})
		}},
		{name: "order without an entry", scan: "queues", old: true, found: 1, buyers: 2, status: order.StatusFAILED, do: func(g *stage, at location, orders [3]int64) {
			g.admits(at, 3, orders[2])
			g.unlink(g.admitter.keys.orders(at.partition))
		}},

		{name: "no difference", scan: "pieces", buyers: 2, do: func(*stage, location, [3]int64) {}},
		{name: "unit without an order", scan: "pieces", found: 1, left: 1, buyers: 2, do: func(g *stage, at location, _ [3]int64) {
			g.DB.FlashSale.UpdateOneID(at.voucher).AddStock(-1).ExecX(g.t.Context())
		}},
	}
}

func (g *stage) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *stage) releases(at location, holds ...sale.Reservation) {
	g.t.Helper()
	if n, err := g.admitter.release(g.t.Context(), at, holds); err != nil || n != len(holds) {
		g.t.Fatal(n, err)
	}
}

// A dry run finds each fault and changes nothing. A run repairs it. The next run finds nothing.
func TestScansFindAndRepairDifferences(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		var ahead atomic.Int64
		now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		g := newStage(t, on, func(c *Config, _ *redisdb.RedisConfig) { c.Now = now })
		g.recheckAfter = 20 * time.Millisecond // no changes are in progress
		for _, h := range faults() {
			t.Run(h.name, func(t *testing.T) {
				g.t = t
				ahead.Store(0)
				at := g.open(stagedSale{stock: 10, buckets: 2})
				orders := [3]int64{g.number(at), g.number(at), g.number(at)}
				for i, user := range []int64{1, 2} {
					g.row(at, user, orders[i], order.StatusUNPAID)
					g.reserves(at, sale.Reservation{Order: orders[i], User: user})
				}
				h.do(g, at, orders)
				if h.old {
					ahead.Store(int64(2 * time.Minute))
				}
				before := storetest.Snapshot(t, g.SQL.DB, g.Redis)
				dry := g.scan(h.scan, true)
				if d := cmp.Diff(before, storetest.Snapshot(t, g.SQL.DB, g.Redis)); d != "" {
					t.Errorf("the dry run changed something (-before +after):\n%s", d)
				}
				if dry.Found != h.found || dry.Repaired != 0 || len(dry.Lines) != h.found || dry.Compared == 0 {
					t.Errorf("dry run: got %+v, want %d findings", dry, h.found)
				}
				if run := g.scan(h.scan, false); run.Found != h.found || run.Unrepaired() != h.left {
					t.Errorf("run: got %+v, want %d findings, %d left", run, h.found, h.left)
				}
				if after := g.scan(h.scan, false); after.Found != h.left {
					t.Errorf("second run: got %+v, want %d findings", after, h.left)
				}
				if h.left > 0 {
					g.DB.FlashSale.UpdateOneID(at.voucher).AddStock(1).ExecX(t.Context()) // for the next case
				}
				g.checkSale(at, 10, h.buyers)
				g.endsAs(orders[2], h.status)
				// The next case uses only its own sale.
				g.unlink(append(g.admitter.keys.ofSale(at), g.admitter.keys.orders(at.partition))...)
				g.DB.FlashSale.UpdateOneID(at.voucher).SetSweptAt(1).ExecX(t.Context())
			})
		}
	})
}

// endsAs fails the test unless the row of an order has the status, "" for no row.
func (g *stage) endsAs(number int64, want order.Status) {
	g.t.Helper()
	rows := g.DB.Order.Query().Where(order.ID(number)).AllX(g.t.Context())
	var got order.Status
	if len(rows) == 1 {
		got = rows[0].Status
	}
	if got != want {
		g.t.Errorf("got order %q, want %q", got, want)
	}
}

func TestEntryTimeIsReadFromItsID(t *testing.T) {
	for id, want := range map[string]time.Time{"1700000000123-4": time.UnixMilli(1_700_000_000_123), "7": time.UnixMilli(7), "x-1": {}, "": {}} {
		if got := writtenAt(id); !got.Equal(want) {
			t.Errorf("%q: got %v, want %v", id, got, want)
		}
	}
}

// A scan ends even if the queue grows faster than it compares.
func TestAScanOfAQueueEndsUnderTraffic(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		g := newStage(t, on)
		at := g.open(stagedSale{stock: 10})
		write := func(n int) {
			pipe := g.Redis.Pipeline()
			for range n {
				pipe.XAdd(t.Context(), &redis.XAddArgs{Stream: g.admitter.keys.orders(at.partition), Values: []any{"o", "nonsense"}})
			}
			if _, err := pipe.Exec(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		const waiting = 2*chunkSize + 1
		write(waiting)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		scans := reconcile.New(prometheus.NewRegistry(), g.Log)
		o, err := scans.RunOnce(ctx, reconcile.Scan{Name: "queues", Run: g.scanQueues}, reconcile.Options{OnProgress: func(n int) {
			if n > 10*chunkSize {
				cancel()
			}
			write(chunkSize)
		}})
		if err != nil || o.Compared != waiting || o.Found != 0 {
			t.Errorf("got %+v, %v, want the first %d entries", o, err, waiting)
		}
	})
}

// The second comparison of a sale is as slow as the first one, and is not counted.
func TestRepeatedComparisonsKeepTheScanRate(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		g := newStage(t, on)
		g.recheckAfter = 0
		const buyers, perSecond, free = 300, 500, 500
		at := g.open(stagedSale{stock: buyers, buckets: 1})
		for user := range int64(buyers) {
			number := g.number(at)
			g.row(at, user+1, number, order.StatusUNPAID)
			g.reserves(at, sale.Reservation{Order: number, User: user + 1})
		}
		g.must(g.Redis.Incr(t.Context(), g.admitter.keys.stock(at.partition, at.voucher)).Err())
		scans := reconcile.New(prometheus.NewRegistry(), g.Log)
		o, err := scans.RunOnce(t.Context(), reconcile.Scan{Name: "sales", Run: g.scanSales}, reconcile.Options{DryRun: true, Rate: perSecond})
		const compared = 1 + 2*buyers // the sale, its orders, its buyers
		if err != nil || o.Found != 1 || o.Compared != compared {
			t.Errorf("got %+v, %v, want %d objects compared", o, err, compared)
		}
		if limit := time.Duration(2*compared-free) * time.Second / perSecond; o.Duration < limit {
			t.Errorf("got %v for two comparisons, want at least %v", o.Duration, limit)
		}
	})
}

// deadlineDB records the deadline of a query.
type deadlineDB struct{ left time.Duration }

func (d *deadlineDB) QueryContext(ctx context.Context, _ string, _ ...any) (*sql.Rows, error) {
	if end, ok := ctx.Deadline(); ok {
		d.left = time.Until(end)
	}
	return nil, errors.New("recorded")
}

func TestStockCountsHaveATimeout(t *testing.T) {
	var db deadlineDB
	s := &Service{orderQueue: orderQueue{writer: &orderWriter{}}}
	if _, _, err := s.scanStocksPage(context.Background(), &db, &reconcile.Run{}, 0); err == nil || db.left <= 0 || db.left > countTimeout {
		t.Errorf("got a timeout of %v: %v", db.left, err)
	}
}

// Lost buyers of many sales cost one extra read of a partition's queue.
func TestAScanReadsTheQueueOfAPartitionTwice(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		g := newStage(t, on, func(c *Config, _ *redisdb.RedisConfig) {
			c.Now = func() time.Time { return time.Now().Add(2 * time.Minute) }
		})
		const sales = 3 * manyPartitions
		var locations []location
		for range sales {
			at := g.open(stagedSale{stock: 10})
			g.reserves(at, sale.Reservation{Order: g.number(at), User: 1})
			locations = append(locations, at)
		}
		c := &traffic{named: map[string]int{}}
		g.Redis.AddHook(c)
		if o := g.scan("queues", false); o.Found != sales || o.Unrepaired() != 0 {
			t.Errorf("got %+v, want %d lost buyers", o, sales)
		}
		if n := c.named["xrevrange"]; n != 2*manyPartitions { // for its entries, for the lost buyers
			t.Errorf("got %d reads of queues, want %d", n, 2*manyPartitions)
		}
		for _, at := range locations {
			g.checkSale(at, 10, 0)
		}
	})
}
