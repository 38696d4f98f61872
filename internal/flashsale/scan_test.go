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

// A fault is something that goes wrong with a sale of ten pieces, of which the users 1
// and 2 hold stored orders.
type fault struct {
	name   string
	scan   string
	do     func(g *stage, at location, orders [3]int64)
	old    bool // it happened two minutes ago
	found  int
	left   int          // that is told and not mended
	buyers int          // in Redis afterwards
	status order.Status // of the order of user 3 afterwards; "" if it has none
}

func faults() []fault {
	bucket := func(g *stage, at location, user int64) string {
		return g.admitter.keys.bucket(at.partition, at.voucher, at.bucketOf(user))
	}
	return []fault{
		{name: "nothing", scan: "sales", buyers: 2, do: func(*stage, location, [3]int64) {}},
		{name: "a buyer is gone", scan: "sales", found: 2, buyers: 2, do: func(g *stage, at location, _ [3]int64) {
			g.must(g.Redis.HDel(g.t.Context(), bucket(g, at, 1), "1").Err())
		}},
		{name: "a piece too many", scan: "sales", found: 1, buyers: 2, do: func(g *stage, at location, _ [3]int64) {
			g.must(g.Redis.Incr(g.t.Context(), g.admitter.keys.stock(at.partition, at.voucher)).Err())
		}},
		{name: "a dead buyer", scan: "sales", found: 1, buyers: 2, status: order.StatusCANCELLED, do: func(g *stage, at location, orders [3]int64) {
			g.row(at, 3, orders[2], order.StatusCANCELLED)
			g.reserves(at, sale.Reservation{Order: orders[2], User: 3})
		}},
		{name: "a dead buyer beside a live one that is gone", scan: "sales", found: 2, buyers: 2, status: order.StatusCANCELLED, do: func(g *stage, at location, orders [3]int64) {
			g.row(at, 3, orders[2], order.StatusCANCELLED)
			g.reserves(at, sale.Reservation{Order: orders[2], User: 3})
			g.releases(at, sale.Reservation{Order: orders[0], User: 1})
		}},
		{name: "a dead order in the place of the live one", scan: "sales", found: 2, buyers: 2, do: func(g *stage, at location, orders [3]int64) {
			g.row(at, 1, orders[2], order.StatusREFUNDED)
			g.must(g.Redis.HSet(g.t.Context(), bucket(g, at, 1), "1", decimal(orders[2])).Err())
		}, status: order.StatusREFUNDED},
		{name: "an order of somebody else", scan: "sales", found: 1, buyers: 2, do: func(g *stage, at location, orders [3]int64) {
			g.reserves(at, sale.Reservation{Order: orders[0], User: 3})
		}},
		{name: "no sale at all", scan: "sales", found: 1, buyers: 2, do: func(g *stage, at location, _ [3]int64) {
			g.unlink(g.admitter.keys.ofSale(at)...)
		}},
		{name: "an edit that was never stored", scan: "sales", found: 1, buyers: 2, do: func(g *stage, at location, _ [3]int64) {
			if ok, err := g.DecreaseStock(g.t.Context(), at.voucher, 4, 2); err != nil || !ok {
				g.t.Fatal(ok, err)
			}
		}},
		{name: "an edit that Redis was not told of", scan: "sales", found: 1, buyers: 2, do: func(g *stage, at location, _ [3]int64) {
			g.DB.FlashSale.UpdateOneID(at.voucher).AddEditSeq(1).ExecX(g.t.Context())
		}},
		{name: "another window", scan: "sales", found: 1, buyers: 2, do: func(g *stage, at location, _ [3]int64) {
			g.must(g.Redis.HSet(g.t.Context(), g.admitter.keys.meta(at.partition, at.voucher), "end", "9999999999999").Err())
		}},

		{name: "a young entry", scan: "queues", buyers: 3, do: func(g *stage, at location, orders [3]int64) {
			g.admits(at, 3, orders[2])
		}},
		{name: "an entry whose order has its row", scan: "queues", old: true, found: 1, buyers: 3, status: order.StatusUNPAID, do: func(g *stage, at location, orders [3]int64) {
			g.admits(at, 3, orders[2])
			g.row(at, 3, orders[2], order.StatusUNPAID)
		}},
		{name: "an entry of a tombstone that has its piece", scan: "queues", old: true, found: 1, buyers: 2, status: order.StatusFAILED, do: func(g *stage, at location, orders [3]int64) {
			g.admits(at, 3, orders[2])
			g.row(at, 3, orders[2], order.StatusFAILED)
		}},
		{name: "an entry that nobody takes", scan: "queues", old: true, found: 1, buyers: 3, status: order.StatusUNPAID, do: func(g *stage, at location, orders [3]int64) {
			g.admits(at, 3, orders[2])
		}},
		{name: "an entry without a piece", scan: "queues", found: 1, buyers: 3, do: func(g *stage, at location, orders [3]int64) {
			g.admits(at, 3, orders[2])
			g.releases(at, sale.Reservation{Order: orders[2], User: 3})
		}},
		{name: "an entry that cannot be read", scan: "queues", old: true, found: 1, buyers: 2, do: func(g *stage, at location, _ [3]int64) {
			g.must(g.Redis.XAdd(g.t.Context(), &redis.XAddArgs{Stream: g.admitter.keys.orders(at.partition), Values: []any{"o", "nonsense"}}).Err())
		}},
		{name: "a buyer without row and entry", scan: "queues", old: true, found: 1, buyers: 2, status: order.StatusFAILED, do: func(g *stage, at location, orders [3]int64) {
			g.reserves(at, sale.Reservation{Order: orders[2], User: 3})
		}},
		{name: "an order whose entry is gone", scan: "queues", old: true, found: 1, buyers: 2, status: order.StatusFAILED, do: func(g *stage, at location, orders [3]int64) {
			g.admits(at, 3, orders[2])
			g.unlink(g.admitter.keys.orders(at.partition))
		}},

		{name: "pieces that are where they should be", scan: "pieces", buyers: 2, do: func(*stage, location, [3]int64) {}},
		{name: "a piece that no order has", scan: "pieces", found: 1, left: 1, buyers: 2, do: func(g *stage, at location, _ [3]int64) {
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

// Each fault is found by a dry run, which changes nothing; then it is mended; then
// there is nothing to find.
func TestScansFindAndRepairDifferences(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		var ahead atomic.Int64
		now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		g := newStage(t, on, func(c *Config, _ *redisdb.RedisConfig) { c.Now = now })
		g.recheckAfter = 20 * time.Millisecond // nothing is under way
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
					t.Errorf("the dry run: %+v, want %d findings", dry, h.found)
				}
				if run := g.scan(h.scan, false); run.Found != h.found || run.Left() != h.left {
					t.Errorf("the run: %+v, want %d findings, %d left", run, h.found, h.left)
				}
				if after := g.scan(h.scan, false); after.Found != h.left {
					t.Errorf("afterwards: %+v, want %d findings", after, h.left)
				}
				if h.left > 0 {
					g.DB.FlashSale.UpdateOneID(at.voucher).AddStock(1).ExecX(t.Context()) // for the next case
				}
				g.checkSale(at, 10, h.buyers)
				g.endsAs(orders[2], h.status)
				// The next case is about its own sale alone.
				g.unlink(append(g.admitter.keys.ofSale(at), g.admitter.keys.orders(at.partition))...)
				g.DB.FlashSale.UpdateOneID(at.voucher).SetSweptAt(1).ExecX(t.Context())
			})
		}
	})
}

// endsAs wants the row of an order to have a status, or that there is none.
func (g *stage) endsAs(number int64, want order.Status) {
	g.t.Helper()
	rows := g.DB.Order.Query().Where(order.ID(number)).AllX(g.t.Context())
	var got order.Status
	if len(rows) == 1 {
		got = rows[0].Status
	}
	if got != want {
		g.t.Errorf("the order is %q, want %q", got, want)
	}
}

func TestEntryTimeIsReadFromItsID(t *testing.T) {
	for id, want := range map[string]time.Time{"1700000000123-4": time.UnixMilli(1_700_000_000_123), "7": time.UnixMilli(7), "x-1": {}, "": {}} {
		if got := writtenAt(id); !got.Equal(want) {
			t.Errorf("%q was written at %v, want %v", id, got, want)
		}
	}
}

// A queue into which more is written than is compared comes to its end all the same.
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
			t.Errorf("%+v, %v, want the %d entries that there were", o, err, waiting)
		}
	})
}

// Later looks at a sale are as slow as the first one, and are not counted.
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
		const look = 1 + 2*buyers // the sale, its orders, its buyers
		if err != nil || o.Found != 1 || o.Compared != look {
			t.Errorf("%+v, %v, want %d things compared", o, err, look)
		}
		if least := time.Duration(2*look-free) * time.Second / perSecond; o.Duration < least {
			t.Errorf("two looks took %v, want at least %v", o.Duration, least)
		}
	})
}

// deadlineDB is a database that is asked until when it may take.
type deadlineDB struct{ left time.Duration }

func (d *deadlineDB) QueryContext(ctx context.Context, _ string, _ ...any) (*sql.Rows, error) {
	if end, ok := ctx.Deadline(); ok {
		d.left = time.Until(end)
	}
	return nil, errors.New("asked")
}

func TestPieceCountsHaveATimeout(t *testing.T) {
	var db deadlineDB
	s := &Service{orderQueue: orderQueue{writer: &orderWriter{}}}
	if _, _, err := s.scanPiecesPage(context.Background(), &db, &reconcile.Run{}, 0); err == nil || db.left <= 0 || db.left > countTimeout {
		t.Errorf("a page may take %v: %v", db.left, err)
	}
}

// However many sales of a partition have lost buyers, its queue is read once for them.
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
		if o := g.scan("queues", false); o.Found != sales || o.Left() != 0 {
			t.Errorf("%+v, want %d lost buyers", o, sales)
		}
		if n := c.named["xrevrange"]; n != 2*manyPartitions { // for its entries, for the lost buyers
			t.Errorf("queues were read %d times, want %d", n, 2*manyPartitions)
		}
		for _, at := range locations {
			g.checkSale(at, 10, 0)
		}
	})
}
