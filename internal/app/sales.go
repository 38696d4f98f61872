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
// that it needs. Ids, times and plain structs cross them.

// openSales builds the services of vouchers, balances, orders and flash sales.
func (h *Components) openSales(ctx context.Context, cfg *config.Config, client *ent.Client, limits *quota.Set, reg prometheus.Registerer, log *slog.Logger) error {
	numbers, err := sequence.New(h.DB.DB, sequence.Options{Dialect: h.DB.Dialect, Name: "orders", Registerer: reg, Log: log})
	if err != nil {
		return fmt.Errorf("open the order numbers: %w", err)
	}
	h.numbers = numbers
	h.closers = append(h.closers, func() error { numbers.Wait(); return nil })
	locks, err := h.openLocks(cfg, reg, log) //nolint:contextcheck // locks close after the end of all contexts
	if err != nil {
		return err
	}
	h.Notifier = notify.New(h.bus, notify.Options{Registerer: reg, Log: log})
	h.localWorkers["live hints"] = h.Notifier.Run

	adapter := &saleAdapter{}
	h.Vouchers = voucher.New(client, h.hub, h.outbox, voucher.Config{
		Sales: adapter, Shops: h.Shops,
		OnChange: func(ids ...int64) { h.Notifier.Notify(stocksOf(ids)...) }, Notifier: h.Notifier, Quota: limits.Limit("vouchers", cfg.VouchersPerUser), Registerer: reg, Log: log,
	})
	h.Balances = balance.New(client, nil)
	h.Orders = order.New(client, h.hub, h.outbox, order.Config{
		Redis: h.State, Locks: locks, Registerer: reg, Log: log,
		Prefix: cfg.RedisPrefix, Vouchers: voucherAdapter{h.Vouchers, h.Shops}, Sales: adapter, Shops: h.Shops, Users: h.Accounts, Numbers: numbers,
		Ledger: h.Balances, Provider: paymentProvider(cfg), PayWithin: cfg.PayWithin, Zone: h.zone, ListSize: cfg.OrderListSize, Stripes: cfg.OrderListStripes,
		OnChange: h.Notifier.Notify, StockKey: voucher.StockKey,
	})
	sales, err := flashsale.New(ctx, client, h.outbox, flashsale.Config{
		Numbers: numbers, Orders: orderAdapter{h.Orders}, Registerer: reg, Log: log,
		Prefix: cfg.RedisPrefix, Locks: h.exclusive, State: h.State, Partitions: h.partitions(cfg),
		Instance: rand.Text(), Wait: orderWait(cfg), PayWithin: cfg.PayWithin, Bus: h.bus, MadeAt: sequence.At, Queued: h.Orders.QueuedKey,
		Dial: h.dialSales,
	})
	if err != nil {
		return fmt.Errorf("open flash sales: %w", err)
	}
	adapter.Service = sales
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

// embeddedOrderWait is the minimum wait for the commit of an order on an embedded Redis. A
// QUEUED order would be lost with the process.
const embeddedOrderWait = 2 * time.Second

// orderWait returns how long orderVoucher waits; -1 is not at all.
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
func (h *Components) dialSales(certify func(context.Context, *redis.Conn) error) (redis.UniversalClient, error) {
	c := h.state
	c.Role, c.Retries, c.OnConnect, c.MinIdle = "sale", 1, certify, 0
	c.PoolTimeout = salePoolTimeout // a burst waits; the database path is for an unavailable Redis
	client, err := redisdb.OpenRedis(c, h.metrics)
	h.admissions = client
	return client, err
}

// partitions returns the number of sale partitions that a first start sets.
func (h *Components) partitions(cfg *config.Config) int {
	if cfg.RedisURL == "" {
		return flashsale.PartitionsEmbedded
	}
	if _, ok := h.State.(*redis.ClusterClient); ok {
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
// enough: shop, price and partition of a sale never change, and the sale itself checks
// its state.
func (v voucherAdapter) VoucherByID(ctx context.Context, id int64) (*order.Voucher, error) {
	found, err := v.ByID(cache.AllowLocal(ctx), id)
	if err != nil || found.Sale == nil || found.Sale.EndsAt.Before(time.Now()) {
		found, err = v.ByID(ctx, id)
	}
	if err != nil {
		return nil, err
	}
	// A slightly old owner is enough here.
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

// stocksOf returns the notification keys of the stock of vouchers.
func stocksOf(vouchers []int64) []string {
	keys := make([]string, len(vouchers))
	for i, id := range vouchers {
		keys[i] = voucher.StockKey(id)
	}
	return keys
}
