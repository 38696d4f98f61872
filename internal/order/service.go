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
	"github.com/tandian-dev/tandian/internal/kit/door"
	"github.com/tandian-dev/tandian/internal/kit/lock"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/sale"
)

// A Voucher is what this room needs to know of one.
type Voucher struct {
	ID, ShopID int64
	Owner      int64 // user that owns the shop; 0 if none does
	Price      int   // minor units to pay
	OnePerUser bool  // at most one live order of a user; always so of a flash voucher
	Off        bool  // taken off sale
	Sale       *Sale
}

// A Sale is the flash sale of a voucher.
type Sale struct {
	Partition, Buckets int
	BeginsAt, EndsAt   time.Time
}

// Vouchers knows what can be ordered.
type Vouchers interface {
	// VoucherByID returns [fault.ErrNotFound] if there is none.
	VoucherByID(ctx context.Context, id int64) (*Voucher, error)
}

// Sales are the flash sales.
type Sales interface {
	Order(ctx context.Context, t sale.Request) (sale.Response, error)
	// Entries returns those of the numbers that wait for their commit, as QUEUED orders.
	Entries(ctx context.Context, numbers []int64) (map[int64]*Order, error)
	// Release gives pieces back in the transaction that ends their orders. It locks
	// the sales' rows: a caller has written no row of an order before.
	Release(ctx context.Context, tx outbox.Execer, holds []sale.Reservation) ([]outbox.JobRef, error)
	// AfterRelease does the rest of it after the commit, and settles the tickets.
	AfterRelease(ctx context.Context, holds []sale.Reservation, tickets []outbox.JobRef)
}

// Shops know who owns them, and count what they sold.
type Shops interface {
	// OwnerOf returns nil for a shop that nobody owns, and false if there is none.
	OwnerOf(ctx context.Context, shopID int64) (owner *int64, ok bool, err error)
	// AddSold adds to what shops sold, by id, negative numbers too.
	AddSold(ctx context.Context, tx *ent.Tx, sold map[int64]int) ([]outbox.JobRef, error)
	// AfterCommit tells of that after the commit.
	AfterCommit(ctx context.Context, ids []int64, tickets []outbox.JobRef)
}

// Users have points.
type Users interface {
	// AddPoints adds to the points of users, by id, negative numbers too.
	AddPoints(ctx context.Context, tx *ent.Tx, points map[int64]int) ([]outbox.JobRef, error)
	// AfterCommit tells of that after the commit.
	AfterCommit(ctx context.Context, ids []int64, tickets []outbox.JobRef)
}

// A Ledger has users' balances. Both calls write in the caller's transaction, which has
// locked the row of the order.
type Ledger interface {
	// Pay takes the money of an attempt. It reports false if the balance is too small.
	Pay(ctx context.Context, tx *ent.Tx, userID, paymentID int64, amount int) (bool, error)
	// Refund returns what Pay took for the attempt.
	Refund(ctx context.Context, tx *ent.Tx, userID, paymentID int64) error
}

// Numbers makes the numbers of orders: positive, never twice, the partition in the
// low six bits.
type Numbers interface {
	Next(ctx context.Context, partition int) (int64, error)
}

// ordinary is the partition of numbers that no flash sale made.
const ordinary = 63

// Config holds the dependencies and settings of a Service. The dependencies without a
// default are required.
type Config struct {
	Redis    redis.Cmdable
	Prefix   string       // of the Redis keys
	Locks    *lock.Locker // of all processes
	Vouchers Vouchers
	Sales    Sales
	Shops    Shops
	Users    Users
	Numbers  Numbers
	StockKey func(voucherID int64) string // the name by which a sale is watched
	Ledger   Ledger
	// Provider takes payments, but for those from the balance. Nil: [Service.Pay] is
	// UNAVAILABLE, whatever the method.
	Provider Provider

	PayWithin time.Duration  // from the order to its cancellation by time; default 15 min
	Zone      *time.Location // whose days sales are counted by; default UTC
	ListSize  int            // newest orders of a user in Redis; default 200
	Stripes   int            // locks under which lists are rebuilt; default 128
	// Notify says that something about these names may have changed, to whoever watches:
	// a user's orders, or a sale. It does not block. Nil: nobody watches.
	Notify func(keys ...string)
	Now    func() time.Time // default time.Now

	Registerer prometheus.Registerer
	Log        *slog.Logger

	payWait time.Duration // how long Pay waits for a confirmation; default 2 s
}

// Service answers for orders. It is safe for concurrent use.
type Service struct {
	db       *ent.Client
	outbox   *outbox.Box
	cfg      Config
	rows     *cache.Cache[int64, Order]
	lists    *listCache
	tries    *door.PerUser // of users to order
	metrics  *metrics
	digested int64 // milliseconds: no older order has a digest; of the job order.digests alone
}

// New returns a Service. It starts nothing, and the caller closes the dependencies.
// [Service.Expire], [Service.UpdateCounters] and [Service.Jobs] do the background work.
func New(db *ent.Client, hub *cache.Client, box *outbox.Box, cfg Config) *Service {
	cfg.PayWithin = cmp.Or(cfg.PayWithin, 15*time.Minute)
	cfg.Zone = cmp.Or(cfg.Zone, time.UTC)
	cfg.ListSize = cmp.Or(cfg.ListSize, 200)
	cfg.Stripes = cmp.Or(cfg.Stripes, 128)
	cfg.payWait = cmp.Or(cfg.payWait, 2*time.Second)
	if cfg.Notify == nil {
		cfg.Notify = func(...string) {}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Provider == nil {
		cfg.Provider = noProvider{}
	}
	s := &Service{
		db: db, outbox: box, cfg: cfg,
		tries: door.NewPerUser(triesPerSecond, triesPerSecond, cfg.Now), metrics: newMetrics(cfg.Registerer, cfg.Log),
	}
	s.openCaches(hub)
	s.lists = newLists(db, hub, cfg, newListMetrics(cfg.Registerer, s.metrics.failed))
	s.openOutbox()
	return s
}

// now is the time in whole milliseconds, as rows have it.
func (s *Service) now() time.Time { return s.cfg.Now().Truncate(time.Millisecond) }
