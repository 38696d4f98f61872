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

// Adapters between vouchers, flash sales and orders. Each package declares the interfaces
// that it needs. Only ids, times and plain structs cross them.

// openSales builds the services of vouchers, balances, orders and flash sales.
func (c *Components) openSales(ctx context.Context, cfg *config.Config, client *ent.Client, limits *quota.Set, reg prometheus.Registerer, log *slog.Logger) error {
	numbers, err := sequence.New(c.DB.DB, sequence.Options{Dialect: c.DB.Dialect, Name: "orders", Registerer: reg, Log: log})
	if err != nil {
		return fmt.Errorf("open the order numbers: %w", err)
	}
	c.numbers = numbers
	c.closers = append(c.closers, func() error { numbers.Wait(); return nil })
	locks, err := c.openLocks(cfg, reg, log) //nolint:contextcheck // locks close after all contexts end
	if err != nil {
		return err
	}
	c.Notifier = notify.New(c.bus, notify.Options{Registerer: reg, Log: log})
	c.localWorkers["live hints"] = c.Notifier.Run

	adapter := &saleAdapter{}
	c.Vouchers = voucher.New(client, c.hub, c.outbox, voucher.Config{
		Sales: adapter, Shops: c.Shops,
		OnChange: func(ids ...int64) { c.Notifier.Notify(stocksOf(ids)...) }, Notifier: c.Notifier, Quota: limits.Limit("vouchers", cfg.VouchersPerUser), Registerer: reg, Log: log,
	})
	c.Balances = balance.New(client, nil)
	c.Orders = order.New(client, c.hub, c.outbox, order.Config{
		Redis: c.State, Locks: locks, Registerer: reg, Log: log,
		Prefix: cfg.RedisPrefix, Vouchers: voucherAdapter{c.Vouchers, c.Shops}, Sales: adapter, Shops: c.Shops, Users: c.Accounts, Numbers: numbers,
		Ledger: c.Balances, Provider: paymentProvider(cfg), PayWithin: cfg.PayWithin, Zone: c.zone, ListSize: cfg.OrderListSize, Stripes: cfg.OrderListStripes,
		OnChange: c.Notifier.Notify, StockKey: voucher.StockKey,
	})
	sales, err := flashsale.New(ctx, client, c.outbox, flashsale.Config{
		Numbers: numbers, Orders: orderAdapter{c.Orders}, Registerer: reg, Log: log,
		Prefix: cfg.RedisPrefix, Locks: c.exclusive, State: c.State, Partitions: c.partitions(cfg),
		Instance: rand.Text(), Wait: orderWait(cfg), PayWithin: cfg.PayWithin, Bus: c.bus, MadeAt: sequence.At, Queued: c.Orders.QueuedKey,
		Dial: c.dialSales,
	})
	if err != nil {
		return fmt.Errorf("open flash sales: %w", err)
	}
	adapter.Service = sales
	c.sales = sales
	c.localWorkers["sale certificates"] = sales.Certify
	c.localWorkers["queued orders"] = sales.WatchPending
	c.sharedWorkers["sale reconciler"] = sales.Reconcile
	c.sharedWorkers["sale orders"] = sales.Consume
	c.sharedWorkers["unpaid orders"] = c.Orders.Expire
	c.sharedWorkers["paid orders"] = c.Orders.UpdateCounters
	c.closers = append(c.closers, sales.Close)
	return nil
}

// embeddedOrderWait is the minimum wait for the commit of an order with an embedded Redis,
// which loses QUEUED orders with the process.
const embeddedOrderWait = 2 * time.Second

// orderWait returns how long orderVoucher waits for the commit, or -1 for not at all.
func orderWait(cfg *config.Config) time.Duration {
	switch {
	case cfg.OrderWait == 0:
		return -1
	case cfg.RedisURL == "":
		return max(cfg.OrderWait, embeddedOrderWait)
	}
	return cfg.OrderWait
}

// paymentProvider returns the provider, or nil if payments are not set up.
func paymentProvider(cfg *config.Config) order.Provider {
	switch {
	case cfg.FakesPayments():
		return &order.Fake{}
	case cfg.PaymentWebhookSecret != "":
		return order.Callback{}
	}
	return nil
}

// salePoolTimeout is how long an admission waits for a connection.
const salePoolTimeout = 2 * time.Second

// dialSales opens the Redis client for admissions.
func (c *Components) dialSales(certify func(context.Context, *redis.Conn) error) (redis.UniversalClient, error) {
	conf := c.state
	conf.Role, conf.Retries, conf.OnConnect, conf.MinIdle = "sale", 1, certify, 0
	conf.PoolTimeout = salePoolTimeout // in a burst; the database path is only for an unavailable Redis
	client, err := redisdb.OpenRedis(conf, c.metrics)
	c.admissions = client
	return client, err
}

// partitions returns the number of sale partitions, which only the first start sets.
func (c *Components) partitions(cfg *config.Config) int {
	if cfg.RedisURL == "" {
		return flashsale.PartitionsEmbedded
	}
	if _, ok := c.State.(*redis.ClusterClient); ok {
		return flashsale.PartitionsCluster
	}
	return flashsale.PartitionsServer
}

// saleAdapter adapts flash sales to vouchers and orders. Its Service is set after all
// three are built.
type saleAdapter struct{ *flashsale.Service }

// Entries returns queued orders, which wait for their commit.
func (s *saleAdapter) Entries(ctx context.Context, numbers []int64) (map[int64]*order.Order, error) {
	entries, err := s.Service.Entries(ctx, numbers)
	found := make(map[int64]*order.Order, len(entries))
	for n, e := range entries {
		found[n] = &order.Order{
			ID: e.Order, UserID: e.User, VoucherID: e.Voucher, ShopID: e.Shop,
			Status: order.Queued, PayValue: e.Price, CreatedAt: e.At.Truncate(time.Millisecond),
		}
	}
	return found, err
}

// orderAdapter adapts orders to flash sales.
type orderAdapter struct{ *order.Service }

// AfterCommit completes decided orders after their commit.
func (a orderAdapter) AfterCommit(ctx context.Context, decided []flashsale.Decided, jobs []outbox.JobRef) {
	changed := make([]order.StoredOrder, len(decided))
	for i, d := range decided {
		changed[i] = order.StoredOrder{Order: d.Order, User: d.User, Voucher: d.Voucher, At: d.At}
	}
	a.Service.AfterCommit(ctx, changed, jobs)
}

// voucherAdapter adapts vouchers to orders.
type voucherAdapter struct {
	*voucher.Service
	shops *shop.Service
}

// VoucherByID returns a voucher for an order. During its sale, a locally cached value is
// enough: its shop, price and partition never change, and the sale checks its own state.
func (v voucherAdapter) VoucherByID(ctx context.Context, id int64) (*order.Voucher, error) {
	found, err := v.ByID(cache.AllowLocal(ctx), id)
	if err != nil || found.Sale == nil || found.Sale.EndsAt.Before(time.Now()) {
		found, err = v.ByID(ctx, id)
	}
	if err != nil {
		return nil, err
	}
	owner, _, err := v.shops.OwnerOf(cache.AllowLocal(ctx), found.ShopID) // a slightly old owner is enough
	if err != nil {
		return nil, err
	}
	out := &order.Voucher{ID: found.ID, ShopID: found.ShopID, Owner: optional.Value(owner), Price: found.PayValue, OnePerUser: found.OnePerUser, Off: found.Off}
	if s := found.Sale; s != nil {
		out.Sale = &order.Sale{Partition: s.Partition, Buckets: s.Buckets, BeginsAt: s.BeginsAt, EndsAt: s.EndsAt}
	}
	return out, nil
}

// stocksOf returns the notification keys of the stock of vouchers.
func stocksOf(vouchers []int64) []string {
	keys := make([]string, len(vouchers))
	for i, id := range vouchers {
		keys[i] = voucher.StockKey(id)
	}
	return keys
}
