package flashsale

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/ent"
	entorder "github.com/tandian-dev/tandian/ent/order"
	"github.com/tandian-dev/tandian/internal/kit/eventbus"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/sale"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// rig is a Service with the stores and recorders of its test.
type rig struct {
	*Service
	storetest.Process
	box    *outbox.Box
	orders *recordedOrders
	reg    *prometheus.Registry
}

// rigOptions changes the defaults of a rig.
type rigOptions struct {
	cfg  func(*Config)
	dial func(ctx context.Context, network, addr string) (net.Conn, error) // to Redis
}

var rigs atomic.Int64

// newRig opens a Service on stores, as another process. It starts no workers.
func newRig(t testing.TB, on storetest.Stores, o rigOptions) *rig {
	t.Helper()
	if o.dial != nil {
		on.Redis.Dial = o.dial
	}
	on.Redis.Timeout, on.Redis.PoolTimeout = 10*time.Second, 10*time.Second // a busy machine must not look like an unavailable Redis
	p := storetest.Open(t, on)
	r := &rig{Process: p, box: p.NewOutbox(t), orders: &recordedOrders{}, reg: prometheus.NewRegistry()}
	r.orders.box = r.box
	r.box.Handle("orders-decided", outbox.Handler{Do: outbox.DoBatch(func(context.Context, ...int64) error { return nil })})
	n := rigs.Add(1)
	cfg := Config{
		Numbers: &rigNumbers{salt: n}, Orders: r.orders, Registerer: r.reg, Log: p.Log,
		Prefix: storetest.Prefix, Locks: p.Locks, Instance: fmt.Sprintf("rig-%d", n), State: p.Redis, Partitions: 2, Bus: eventbus.NewMemory(),
		MadeAt: func(number int64) time.Time { return time.UnixMilli(number >> 20) },
		Dial: func(certify func(context.Context, *redis.Conn) error) (redis.UniversalClient, error) {
			sale := on.Redis
			sale.Role, sale.Retries, sale.OnConnect = "sale", 1, certify
			return redisdb.OpenRedis(sale, redisdb.NewRedisMetrics(prometheus.NewRegistry()))
		},
		Wait: 5 * time.Second,
	}
	if o.cfg != nil {
		o.cfg(&cfg)
	}
	s, err := New(t.Context(), p.DB, r.box, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	s.block = 50 * time.Millisecond // a stop waits at most this long
	r.Service = s
	return r
}

// run runs workers until the test ends.
func (r *rig) run(t testing.TB, workers ...func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var all sync.WaitGroup
	for _, w := range workers {
		all.Go(func() {
			if err := w(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	stop = sync.OnceFunc(func() { cancel(); all.Wait() })
	t.Cleanup(stop)
	return stop
}

// open creates a running sale in the database and in Redis.
func (r *rig) open(t testing.TB, stock int) sale.Request {
	t.Helper()
	v := r.sale(t, stock, -time.Hour, time.Hour)
	if err := r.Apply(t.Context(), v.VoucherID); err != nil {
		t.Fatal(err)
	}
	return v
}

// sale creates a sale in the database.
func (r *rig) sale(t testing.TB, stock int, begins, ends time.Duration) sale.Request {
	t.Helper()
	ctx := t.Context()
	kind, err := r.DB.ShopType.Query().FirstID(ctx)
	if ent.IsNotFound(err) {
		kind = r.DB.ShopType.Create().SetName("Food").SetKey("FOOD").SetSort(1).SaveX(ctx).ID
	} else if err != nil {
		t.Fatal(err)
	}
	shop := r.DB.Shop.Create().SetTypeID(kind).SetName("Shop").SetLat(1).SetLng(1).SetGeo(1).SetSearch("shop").SaveX(ctx)
	v := r.DB.Voucher.Create().SetShopID(shop.ID).SetKind("FLASH").SetTitle("Tea").SetPayValue(500).SetFaceValue(900).SetOnePerUser(true).SaveX(ctx)
	partition, buckets := r.PartitionFor(v.ID, stock)
	now := time.Now()
	r.DB.FlashSale.Create().SetID(v.ID).SetVoucherID(v.ID).SetStock(stock).SetInitialStock(stock).SetPartition(partition).SetBuckets(buckets).
		SetBeginsAt(now.Add(begins).UnixMilli()).SetEndsAt(now.Add(ends).UnixMilli()).SaveX(ctx)
	return sale.Request{VoucherID: v.ID, ShopID: shop.ID, Price: 500, Partition: partition, Buckets: buckets}
}

func by(t sale.Request, user int64) sale.Request { t.UserID = user; return t }

// attemptOf returns an attempt as the queue delivers it.
func (r *rig) attemptOf(t testing.TB, v sale.Request) attempt {
	t.Helper()
	number, err := r.cfg.Numbers.Next(t.Context(), v.Partition)
	if err != nil {
		t.Fatal(err)
	}
	return attempt{
		Entry: Entry{Order: number, User: v.UserID, Voucher: v.VoucherID, Shop: v.ShopID, Price: v.Price, At: time.UnixMilli(1_790_000_000_000)},
		key:   v.Key, final: true,
	}
}

// stock returns the units left in the database.
func (r *rig) stock(t testing.TB, v sale.Request) int {
	t.Helper()
	return r.DB.FlashSale.GetX(t.Context(), v.VoucherID).Stock
}

// counts returns the number of orders of a sale by status.
func (r *rig) counts(t testing.TB, v sale.Request) map[entorder.Status]int {
	t.Helper()
	all := map[entorder.Status]int{}
	for _, o := range r.DB.Order.Query().Where(entorder.VoucherID(v.VoucherID)).AllX(t.Context()) {
		all[o.Status]++
	}
	return all
}

// redisStock returns the units left in Redis, and the number of buyers.
func (r *rig) redisStock(t testing.TB, v sale.Request) (stock, buyers int) {
	t.Helper()
	stock, _ = r.Redis.Get(t.Context(), r.admitter.keys.stock(v.Partition, v.VoucherID)).Int()
	for i := range v.Buckets {
		buyers += int(r.Redis.HLen(t.Context(), r.admitter.keys.bucket(v.Partition, v.VoucherID, i)).Val())
	}
	return stock, buyers
}

// rigNumbers issues the numbers of one process.
type rigNumbers struct {
	salt int64
	n    atomic.Int64
}

func (n *rigNumbers) Next(_ context.Context, partition int) (int64, error) {
	return time.Now().UnixMilli()<<20 | n.n.Add(1)&0x3ff<<10 | n.salt&0xf<<6 | int64(partition), nil
}

// recordedOrders records the decided orders.
type recordedOrders struct {
	box    *outbox.Box
	poison int64 // panics on this order; 0 for none

	mu      sync.Mutex
	decided map[int64]string // failure by order
	calls   int
}

func (h *recordedOrders) EnqueueJobs(ctx context.Context, tx outbox.Execer, orders []int64) ([]outbox.JobRef, error) {
	if h.poison != 0 && slices.Contains(orders, h.poison) {
		panic("poison")
	}
	return outbox.AddBatch(ctx, h.box, tx, "orders-decided", orders...)
}

func (h *recordedOrders) AfterCommit(ctx context.Context, decided []Decided, jobs []outbox.JobRef) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.decided == nil {
		h.decided = map[int64]string{}
	}
	for _, d := range decided {
		h.decided[d.Order] = d.Failure
	}
	h.calls++
	h.box.Finish(ctx, nil, jobs...)
}

func (h *recordedOrders) outcome(order int64) (failure string, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	failure, ok = h.decided[order]
	return failure, ok
}

type (
	rigTx  = *ent.Tx
	jobRef = outbox.JobRef
)

func entTx(t testing.TB, r *rig, work func(tx rigTx) error) error {
	t.Helper()
	return ent.WithTx(t.Context(), r.DB, work)
}
