package flashsale

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/ent/flashsale"
	"github.com/tandian-dev/tandian/ent/order"
	"github.com/tandian-dev/tandian/ent/voucher"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/sale"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// madeAt returns the issue time of a test number: 31 bits of seconds, 26 of a sequence, 6 of
// the partition.
func madeAt(number int64) time.Time { return time.Unix(number>>32, 0) }

// numbers issues numbers of now, or of some time ago.
type numbers struct {
	ago  time.Duration
	next atomic.Int64
}

func (n *numbers) Next(_ context.Context, partition int) (int64, error) {
	return time.Now().Add(-n.ago).Unix()<<32 | n.next.Add(1)<<partitionBits | int64(partition), nil
}

// noOrders is an Orders that does nothing.
type noOrders struct{}

func (noOrders) EnqueueJobs(context.Context, outbox.Execer, []int64) ([]outbox.JobRef, error) {
	return nil, nil
}
func (noOrders) AfterCommit(context.Context, []Decided, []outbox.JobRef) {}

const manyPartitions = 4

// stage is a Service of one of several processes. It runs no workers.
type stage struct {
	*Service
	storetest.Process
	t *testing.T
	n numbers
}

// tuning changes the configuration of a stage.
type tuning func(c *Config, sale *redisdb.RedisConfig)

// partitionBits is the number of low bits with the partition in an order number.
const partitionBits = 6

func newStage(t *testing.T, on storetest.Stores, tunings ...tuning) *stage {
	t.Helper()
	g := &stage{Process: storetest.Open(t, on), t: t}
	sale := on.Redis
	sale.Role, sale.Retries = "sale", 1
	cfg := Config{
		Numbers: &g.n, Orders: noOrders{}, Registerer: g.Registry, Log: g.Log,
		Prefix: storetest.Prefix, Locks: g.Locks, Instance: t.Name(), State: g.Redis, Partitions: manyPartitions,
		MadeAt: madeAt, Queued: func(user int64) string { return fmt.Sprintf("%s:order:queued:{%d}", storetest.Prefix, user) },
	}
	for _, set := range tunings {
		set(&cfg, &sale)
	}
	cfg.Dial = func(certify func(context.Context, *redis.Conn) error) (redis.UniversalClient, error) {
		sale.OnConnect = certify
		return redisdb.OpenRedis(sale, redisdb.NewRedisMetrics(prometheus.NewRegistry()))
	}
	s, err := New(t.Context(), g.DB, g.NewOutbox(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	g.Service = s
	return g
}

// stagedSale describes a sale to create.
type stagedSale struct {
	stock, buckets int           // 0 buckets: the default
	begin, end     time.Duration // from now; 0 end: an hour
	off            bool
}

// shop creates a shop and returns its id.
func (g *stage) shop() int64 {
	g.t.Helper()
	ctx := g.t.Context()
	kind := g.DB.ShopType.Create().SetKey(fmt.Sprint("k", time.Now().UnixNano())).SetName("tea").SetSort(1).SaveX(ctx)
	return g.DB.Shop.Create().SetTypeID(kind.ID).SetName("Lu Yu").SetLat(30).SetLng(120).SetGeo(1).SetSearch("lu yu").SaveX(ctx).ID
}

// put creates the rows of a sale, but not in Redis.
func (g *stage) put(of stagedSale) location {
	g.t.Helper()
	ctx, now := g.t.Context(), time.Now()
	status := voucher.StatusON_SALE
	if of.off {
		status = voucher.StatusOFF_SALE
	}
	if of.end == 0 {
		of.end = time.Hour
	}
	v := g.DB.Voucher.Create().SetShopID(g.shop()).SetKind(voucher.KindFLASH).SetTitle("tea").SetPayValue(1000).SetFaceValue(2000).
		SetOnePerUser(true).SetStatus(status).SaveX(ctx)
	p, buckets := g.PartitionFor(v.ID, of.stock)
	if of.buckets > 0 {
		buckets = of.buckets
	}
	g.DB.FlashSale.Create().SetID(v.ID).SetVoucherID(v.ID).SetStock(of.stock).SetInitialStock(of.stock).
		SetBeginsAt(now.Add(of.begin).UnixMilli()).SetEndsAt(now.Add(of.end).UnixMilli()).
		SetPartition(p).SetBuckets(buckets).ExecX(ctx)
	return location{v.ID, p, buckets}
}

// open creates a sale, also in Redis, and certifies it.
func (g *stage) open(of stagedSale) location {
	g.t.Helper()
	at := g.put(of)
	if err := g.Apply(g.t.Context(), at.voucher); err != nil {
		g.t.Fatal(err)
	}
	g.certified()
	return at
}

// certified runs certify until all partitions are certified.
func (g *stage) certified() {
	g.t.Helper()
	// The breaker may still reject calls of a recovered Redis: Certify would retry.
	var again bool
	var err error
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if again, err = g.certify(g.t.Context()); err == nil && !again {
			return
		}
	}
	g.t.Fatalf("no certificate: again %t, %v", again, err)
}

func (g *stage) number(at location) int64 {
	n, _ := g.n.Next(g.t.Context(), at.partition)
	return n
}

func (g *stage) try(at location, user, number int64) admission {
	return admission{
		Request: sale.Request{UserID: user, VoucherID: at.voucher, ShopID: 7, Price: 1000, Partition: at.partition, Buckets: at.buckets},
		order:   number, queued: g.cfg.Queued(user),
	}
}

// entry returns the entry of an order in Redis, or nil.
func (g *stage) entry(number int64) (*Entry, error) {
	all, err := g.admitter.entries(g.t.Context(), []int64{number})
	return all[number], err
}

// admits requests a unit and fails the test on an error.
func (g *stage) admits(at location, user, number int64) decision {
	g.t.Helper()
	v, err := g.admitter.admit(g.t.Context(), g.try(at, user, number))
	for end := time.Now().Add(20 * time.Second); redisdb.NotSent(err) && time.Now().Before(end); {
		time.Sleep(time.Millisecond) // the breaker still rejects calls of a recovered Redis
		v, err = g.admitter.admit(g.t.Context(), g.try(at, user, number))
	}
	if err != nil {
		g.t.Fatal(err)
	}
	return v
}

// row stores an order and takes its unit if it is live.
func (g *stage) row(at location, user, number int64, status order.Status) {
	g.t.Helper()
	ctx := g.t.Context()
	g.DB.Order.Create().SetID(number).SetUserID(user).SetVoucherID(at.voucher).SetShopID(7).SetStatus(status).
		SetOnePerUser(true).SetFlash(true).SetPayValue(1000).SetCreatedAt(time.Now().UnixMilli()).SetPayBefore(time.Now().UnixMilli()).ExecX(ctx)
	switch status {
	case order.StatusCANCELLED, order.StatusREFUNDED, order.StatusFAILED:
	default:
		g.DB.FlashSale.Update().Where(flashsale.ID(at.voucher)).AddStock(-1).ExecX(ctx)
	}
}

// stockCount returns the counters of a sale in Redis.
func (g *stage) stockCount(at location) stockCount {
	g.t.Helper()
	got := g.admitter.count(g.t.Context(), []location{at})[0]
	if got.err != nil {
		g.t.Fatal(got.err)
	}
	return got
}

// holder returns the order of a user in Redis, or "".
func (g *stage) holder(at location, user int64) string {
	g.t.Helper()
	held, err := g.Redis.HGet(g.t.Context(), g.admitter.keys.bucket(at.partition, at.voucher, at.bucketOf(user)), decimal(user)).Result()
	if err != nil && err != redis.Nil { //nolint:errorlint // it is not wrapped
		g.t.Fatal(err)
	}
	return held
}

// losing returns a dialer whose connections close instead of the next n replies of Redis.
func losing(dial func(context.Context, string, string) (net.Conn, error), n *atomic.Int32) func(context.Context, string, string) (net.Conn, error) {
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		return losingConn{conn, n}, err
	}
}

type losingConn struct {
	net.Conn
	next *atomic.Int32
}

func (c losingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err == nil && c.next.Load() > 0 && c.next.Add(-1) >= 0 {
		_ = c.Close()
		return 0, net.ErrClosed
	}
	return n, err
}
