package order

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/lock"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/ratelimit"
	"github.com/tandian-dev/tandian/internal/sale"
)

// A Voucher is the part of a voucher that orders need.
type Voucher struct {
	ID, ShopID int64
	Owner      int64 // user that owns the shop; 0: none
	Price      int   // minor units to pay
	OnePerUser bool  // at most one live order per user; always true for flash vouchers
	Off        bool  // taken off sale
	Sale       *Sale
}

// A Sale is the flash sale of a voucher.
type Sale struct {
	Partition, Buckets int
	BeginsAt, EndsAt   time.Time
}

// Vouchers reads vouchers.
type Vouchers interface {
	// VoucherByID returns [apierror.ErrNotFound] if there is no such voucher.
	VoucherByID(ctx context.Context, id int64) (*Voucher, error)
}

// Sales decides and stores orders of flash sales.
type Sales interface {
	Order(ctx context.Context, t sale.Request) (sale.Response, error)
	// Entries returns the orders among numbers that wait for their commit, as QUEUED orders.
	Entries(ctx context.Context, numbers []int64) (map[int64]*Order, error)
	// Release returns stock in the transaction that ends the orders. It locks the rows of the
	// sales: the caller must not have written an order row before.
	Release(ctx context.Context, tx outbox.Execer, reservations []sale.Reservation) ([]outbox.JobRef, error)
	// AfterRelease completes Release after the commit, and finishes its jobs.
	AfterRelease(ctx context.Context, reservations []sale.Reservation, jobs []outbox.JobRef)
}

// Shops reads shop owners and updates sales counters.
type Shops interface {
	// OwnerOf returns a nil owner for a shop without one, and false for an unknown shop.
	OwnerOf(ctx context.Context, shopID int64) (owner *int64, ok bool, err error)
	// AddSold adds to the sales counters of shops, by id. Numbers may be negative.
	AddSold(ctx context.Context, tx *ent.Tx, sold map[int64]int) ([]outbox.JobRef, error)
	// AfterCommit publishes the change of the counters.
	AfterCommit(ctx context.Context, ids []int64, jobs []outbox.JobRef)
}

// Users updates the points of users.
type Users interface {
	// AddPoints adds to the points of users, by id. Numbers may be negative.
	AddPoints(ctx context.Context, tx *ent.Tx, points map[int64]int) ([]outbox.JobRef, error)
	// AfterCommit publishes the change of the points.
	AfterCommit(ctx context.Context, ids []int64, jobs []outbox.JobRef)
}

// A Ledger stores the balances of users. Its methods write in the transaction of the caller,
// which has locked the row of the order.
type Ledger interface {
	// Pay takes the money of a payment attempt. It returns false if the balance is too small.
	Pay(ctx context.Context, tx *ent.Tx, userID, paymentID int64, amount int) (bool, error)
	// Refund returns the money that Pay took for the attempt.
	Refund(ctx context.Context, tx *ent.Tx, userID, paymentID int64) error
}

// Numbers creates order numbers: positive and unique, with the partition in the low six bits.
type Numbers interface {
	Next(ctx context.Context, partition int) (int64, error)
}

// ordinary is the partition in the numbers of orders without a flash sale.
const ordinary = 63

// Config holds the dependencies and settings of a Service. Dependencies without a default are
// required.
type Config struct {
	Redis    redis.Cmdable
	Prefix   string       // prefix of the Redis keys
	Locks    *lock.Locker // shared by all processes
	Vouchers Vouchers
	Sales    Sales
	Shops    Shops
	Users    Users
	Numbers  Numbers
	StockKey func(voucherID int64) string // notification key of a sale
	Ledger   Ledger
	// Provider takes payments, except from the balance. If it is nil, [Service.Pay] is
	// UNAVAILABLE for every method.
	Provider Provider

	PayWithin time.Duration  // time to pay until the order expires; default 15 min
	Zone      *time.Location // time zone of daily sales; default UTC
	ListSize  int            // newest orders of a user cached in Redis; default 200
	Stripes   int            // number of locks for list rebuilds; default 128
	// OnChange reports notification keys that may have changed: of a user's orders, or of a
	// sale. It must not block. Nil: no notifications.
	OnChange func(keys ...string)
	Now      func() time.Time // default time.Now

	Registerer prometheus.Registerer
	Log        *slog.Logger

	payWait time.Duration // maximum wait of Pay for a confirmation; default 2 s
}

// A Service manages orders. It is safe for concurrent use.
type Service struct {
	db           *ent.Client
	outbox       *outbox.Box
	cfg          Config
	rows         *cache.Cache[int64, Order]
	lists        *listCache
	limiter      *ratelimit.PerUser // of order attempts
	metrics      *metrics
	digestCursor int64 // milliseconds; no older order has a digest; only the job order.digests uses it
}

// New returns a Service. It starts nothing, and the caller closes the dependencies.
// [Service.Expire], [Service.UpdateCounters] and [Service.Jobs] run the background work.
func New(db *ent.Client, hub *cache.Client, box *outbox.Box, cfg Config) *Service {
	cfg.PayWithin = cmp.Or(cfg.PayWithin, 15*time.Minute)
	cfg.Zone = cmp.Or(cfg.Zone, time.UTC)
	cfg.ListSize = cmp.Or(cfg.ListSize, 200)
	cfg.Stripes = cmp.Or(cfg.Stripes, 128)
	cfg.payWait = cmp.Or(cfg.payWait, 2*time.Second)
	if cfg.OnChange == nil {
		cfg.OnChange = func(...string) {}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Provider == nil {
		cfg.Provider = noProvider{}
	}
	s := &Service{
		db: db, outbox: box, cfg: cfg,
		limiter: ratelimit.NewPerUser(triesPerSecond, triesPerSecond, cfg.Now), metrics: newMetrics(cfg.Registerer, cfg.Log),
	}
	s.openCaches(hub)
	s.lists = newLists(db, hub, cfg, newListMetrics(cfg.Registerer, s.metrics.failed))
	s.openOutbox()
	return s
}

// now returns the time in whole milliseconds, the precision of rows.
func (s *Service) now() time.Time { return s.cfg.Now().Truncate(time.Millisecond) }
