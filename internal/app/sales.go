package app

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/balance"
	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/flashsale"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/notify"
	"github.com/tandian-dev/tandian/internal/kit/optional"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/quota"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/kit/sequence"
	"github.com/tandian-dev/tandian/internal/order"
	"github.com/tandian-dev/tandian/internal/shop"
	"github.com/tandian-dev/tandian/internal/voucher"
)

// How the rooms of vouchers, sales and orders know each other: each says what it
// needs of the others, and what stands here hands it on. Ids, times and plain
// structs cross.

// openSales builds the rooms of what is sold.
func (h *Components) openSales(ctx context.Context, cfg *config.Config, client *ent.Client, limits *quota.Set, reg prometheus.Registerer, log *slog.Logger) error {
	numbers, err := sequence.New(h.DB.DB, sequence.Options{Dialect: h.DB.Dialect, Name: "orders", Registerer: reg, Log: log})
	if err != nil {
		return fmt.Errorf("numbers of orders: %w", err)
	}
	h.numbers = numbers
	h.closers = append(h.closers, func() error { numbers.Wait(); return nil })
	locks, err := h.openLocks(cfg, reg, log) //nolint:contextcheck // they close at the end of all contexts
	if err != nil {
		return err
	}
	h.Notifier = notify.New(h.bus, notify.Options{Registerer: reg, Log: log})
	h.localWorkers["live hints"] = h.Notifier.Run

	joint := &saleAdapter{}
	h.Vouchers = voucher.New(client, h.hub, h.outbox, voucher.Config{
		Sales: joint, Shops: h.Shops,
		Changed: func(ids ...int64) { h.Notifier.Notify(stocksOf(ids)...) }, Notifier: h.Notifier, Quota: limits.Limit("vouchers", cfg.VouchersPerUser), Registerer: reg, Log: log,
	})
	h.Balances = balance.New(client, nil)
	h.Orders = order.New(client, h.hub, h.outbox, order.Config{
		Redis: h.State, Locks: locks, Registerer: reg, Log: log,
		Prefix: cfg.RedisPrefix, Vouchers: voucherAdapter{h.Vouchers, h.Shops}, Sales: joint, Shops: h.Shops, Users: h.Accounts, Numbers: numbers,
		Ledger: h.Balances, Provider: paymentProvider(cfg), PayWithin: cfg.PayWithin, Zone: h.zone, ListSize: cfg.OrderListSize, Stripes: cfg.OrderListStripes,
		Notify: h.Notifier.Notify, StockKey: voucher.StockKey,
	})
	sales, err := flashsale.New(ctx, client, h.outbox, flashsale.Config{
		Numbers: numbers, Orders: orderAdapter{h.Orders}, Registerer: reg, Log: log,
		Prefix: cfg.RedisPrefix, Locks: h.exclusive, State: h.State, Partitions: h.partitions(cfg),
		Instance: rand.Text(), Wait: orderWait(cfg), PayWithin: cfg.PayWithin, Bus: h.bus, MadeAt: sequence.At, Queued: h.Orders.QueuedKey,
		Dial: h.dialSales,
	})
	if err != nil {
		return fmt.Errorf("flash sales: %w", err)
	}
	joint.Service = sales
	h.sales = sales
	h.localWorkers["sale certificates"] = sales.Certify
	h.localWorkers["queued orders"] = sales.WatchPending
	h.sharedWorkers["sale reconciler"] = sales.Reconcile
	h.sharedWorkers["sale orders"] = sales.Consume
	h.sharedWorkers["unpaid orders"] = h.Orders.Expire
	h.sharedWorkers["paid orders"] = h.Orders.UpdateCounters
	h.closers = append(h.closers, sales.Close)
	return nil
}

// patientWait is how long an order waits for its commit if the Redis that has it ends
// with this process: nobody would know of what was told QUEUED.
const patientWait = 2 * time.Second

// orderWait is how long orderVoucher waits, negative for not at all.
func orderWait(cfg *config.Config) time.Duration {
	switch {
	case cfg.OrderWait == 0:
		return -1
	case cfg.RedisURL == "":
		return max(cfg.OrderWait, patientWait)
	}
	return cfg.OrderWait
}

// paymentProvider returns nil where no payments are set up.
func paymentProvider(cfg *config.Config) order.Provider {
	switch {
	case cfg.FakesPayments():
		return &order.Fake{}
	case cfg.PaymentWebhookSecret != "":
		return order.Callback{}
	}
	return nil
}

// salePatience is how long an order waits for a connection.
const salePatience = 2 * time.Second

// dialSales opens the client by which orders are admitted.
func (h *Components) dialSales(certify func(context.Context, *redis.Conn) error) (redis.UniversalClient, error) {
	c := h.state
	c.Role, c.Retries, c.OnConnect, c.MinIdle = "sale", 1, certify, 0
	c.PoolTimeout = salePatience // a burst waits its turn; the way past Redis is for a Redis that is away
	client, err := redisdb.OpenRedis(c, h.metrics)
	h.admissions = client
	return client, err
}

// partitions is how many partitions a first start chooses.
func (h *Components) partitions(cfg *config.Config) int {
	if cfg.RedisURL == "" {
		return flashsale.PartitionsEmbedded
	}
	if _, ok := h.State.(*redis.ClusterClient); ok {
		return flashsale.PartitionsCluster
	}
	return flashsale.PartitionsServer
}

// saleAdapter is the flash sales as vouchers and orders need them. It is built before
// them, and they before the sales.
type saleAdapter struct{ *flashsale.Service }

// Entries returns the orders that wait for their commit.
func (j *saleAdapter) Entries(ctx context.Context, numbers []int64) (map[int64]*order.Order, error) {
	entries, err := j.Service.Entries(ctx, numbers)
	found := make(map[int64]*order.Order, len(entries))
	for n, e := range entries {
		found[n] = &order.Order{
			ID: e.Order, UserID: e.User, VoucherID: e.Voucher, ShopID: e.Shop,
			Status: order.Queued, PayValue: e.Price, CreatedAt: e.At.Truncate(time.Millisecond),
		}
	}
	return found, err
}

// orderAdapter is the orders as flash sales need them.
type orderAdapter struct{ *order.Service }

// AfterCommit does what must happen after the commit of decided orders.
func (a orderAdapter) AfterCommit(ctx context.Context, decided []flashsale.Decided, tickets []outbox.JobRef) {
	changed := make([]order.StoredOrder, len(decided))
	for i, d := range decided {
		changed[i] = order.StoredOrder{Order: d.Order, User: d.User, Voucher: d.Voucher, At: d.At}
	}
	a.Service.AfterCommit(ctx, changed, tickets)
}

// voucherAdapter are the vouchers as orders need them.
type voucherAdapter struct {
	*voucher.Service
	shops *shop.Service
}

// VoucherByID returns what an order needs to know of a voucher. Of one that is in a sale
// which is not over, what this process holds will do: shop, price and place of the sale
// never change, and whether it is on sale the sale is asked itself.
func (v voucherAdapter) VoucherByID(ctx context.Context, id int64) (*order.Voucher, error) {
	found, err := v.ByID(cache.AllowLocal(ctx), id)
	if err != nil || found.Sale == nil || found.Sale.EndsAt.Before(time.Now()) {
		found, err = v.ByID(ctx, id)
	}
	if err != nil {
		return nil, err
	}
	// The cached owner may be slightly old; that is enough here.
	owner, _, err := v.shops.OwnerOf(cache.AllowLocal(ctx), found.ShopID)
	if err != nil {
		return nil, err
	}
	out := &order.Voucher{ID: found.ID, ShopID: found.ShopID, Owner: optional.Value(owner), Price: found.PayValue, OnePerUser: found.OnePerUser, Off: found.Off}
	if s := found.Sale; s != nil {
		out.Sale = &order.Sale{Partition: s.Partition, Buckets: s.Buckets, BeginsAt: s.BeginsAt, EndsAt: s.EndsAt}
	}
	return out, nil
}

// stocksOf are the names by which sales are watched.
func stocksOf(vouchers []int64) []string {
	keys := make([]string, len(vouchers))
	for i, id := range vouchers {
		keys[i] = voucher.StockKey(id)
	}
	return keys
}
