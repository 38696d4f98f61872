// Package voucher implements ordinary vouchers and vouchers of flash sales: their lists, and their
// creation and editing by merchants.
//
// The database rows are the source of truth; reads go through a cache. Package flashsale has the
// current stock of a flash voucher.
package voucher

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/notify"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/quota"
)

// A Status is the merchant's decision whether a voucher can be ordered.
type Status string

// All statuses. EXPIRED is computed: a flash voucher after its end.
const (
	OnSale  Status = "ON_SALE"
	OffSale Status = "OFF_SALE"
	Expired Status = "EXPIRED"
)

// A Voucher is an offer of a shop.
type Voucher struct {
	ID         int64   `json:"id"`
	ShopID     int64   `json:"shop"`
	Title      string  `json:"title"`
	SubTitle   *string `json:"sub_title,omitempty"`
	Rules      *string `json:"rules,omitempty"`
	PayValue   int     `json:"pay_value"`  // minor units to pay
	FaceValue  int     `json:"face_value"` // value in minor units
	OnePerUser bool    `json:"one_per_user,omitempty"`
	Off        bool    `json:"off,omitempty"`  // off sale
	Sale       *Sale   `json:"sale,omitempty"` // nil for an ordinary voucher
	// FirstTermsID is the id of the [Terms] before the first edit of texts; 0 without one.
	FirstTermsID int64 `json:"first_terms,omitempty"`
	Version      int64 `json:"version"`
}

// A Sale is the window and size of a flash sale.
type Sale struct {
	VoucherID    int64     `json:"voucher"`
	InitialStock int       `json:"initial"` // including sold items
	BeginsAt     time.Time `json:"begins_at"`
	EndsAt       time.Time `json:"ends_at"`
	Partition    int       `json:"partition"`
	Buckets      int       `json:"buckets"`
	EditSeq      int64     `json:"edit_seq"`
}

// InUse is the code of a refusal because of live orders.
const InUse apierror.Code = "VOUCHER_IN_USE"

// Status returns the status of the voucher at a time. It ignores the stock.
func (v *Voucher) Status(now time.Time) Status {
	switch {
	case v.Sale != nil && !now.Before(v.Sale.EndsAt):
		return Expired
	case v.Off:
		return OffSale
	default:
		return OnSale
	}
}

// A Phase is the phase of a flash sale.
type Phase string

// All phases, in order. A sold-out sale may open again: orders are cancelled, and merchants
// add stock.
const (
	Upcoming Phase = "UPCOMING"
	Open     Phase = "OPEN"
	SoldOut  Phase = "SOLD_OUT"
	Ended    Phase = "ENDED"
)

// Phase returns the phase of the sale at a time with the given stock. The window includes
// BeginsAt and excludes EndsAt.
func (s *Sale) Phase(now time.Time, stock int) Phase {
	switch {
	case !now.Before(s.EndsAt):
		return Ended
	case now.Before(s.BeginsAt):
		return Upcoming
	case stock <= 0:
		return SoldOut
	default:
		return Open
	}
}

// Sales manages the stock of flash sales in Redis.
type Sales interface {
	// PartitionFor returns the partition and buckets of a new sale. They never change.
	PartitionFor(voucherID int64, stock int) (partition, buckets int)
	// DecreaseStock removes stock of a sale in Redis, before the database does. It returns
	// false if too little is left. edit becomes the sale's edit_seq. A sale that is not in
	// Redis is an error.
	DecreaseStock(ctx context.Context, voucherID int64, by int, edit int64) (bool, error)
	// UndoDecrease undoes a DecreaseStock whose transaction failed. It does nothing if the
	// sale in Redis has another edit_seq.
	UndoDecrease(ctx context.Context, voucherID int64, by int, edit int64) error
	// Apply updates sales in Redis from their rows. It may be repeated.
	Apply(ctx context.Context, voucherIDs ...int64) error
	// Stocks returns the current stock.
	Stocks(ctx context.Context, voucherIDs []int64) (map[int64]int, error)
}

// Shops reads the owners of shops.
type Shops interface {
	// OwnerOf returns a nil owner for a shop without one, and false for an unknown shop.
	OwnerOf(ctx context.Context, shopID int64) (owner *int64, ok bool, err error)
	// UpdateVouchers stores in tx until when vouchers of shops are on sale. It locks the shops.
	UpdateVouchers(ctx context.Context, tx *ent.Tx, ids []int64) (changed []int64, jobs []outbox.JobRef, err error)
	// AfterCommit publishes these changes.
	AfterCommit(ctx context.Context, ids []int64, jobs []outbox.JobRef)
}

// Config holds the dependencies of a Service. Sales and Shops are required.
type Config struct {
	Sales Sales
	Shops Shops
	// OnChange is called with new or changed vouchers, after Redis is updated, to notify
	// watchers. It may be called twice for one change and must not block. May be nil.
	OnChange   func(voucherIDs ...int64)
	Notifier   *notify.Hub           // watches sales, see [Service.Subscribe]
	Now        func() time.Time      // nil: time.Now
	Quota      *quota.Limit          // nil: no limit
	Registerer prometheus.Registerer // nil: no metrics
	Log        *slog.Logger          // nil: no logs
}

// A Service manages vouchers. It is safe for concurrent use.
type Service struct {
	db       *ent.Client
	vouchers *cache.Cache[int64, Voucher]
	terms    *cache.Cache[int64, Terms]
	lists    *cache.Cache[shopList, []listEntry]  // lists of shops
	running  *cache.QueryCache[struct{}, listKey] // sales that have not ended
	table    *cache.Table                         // invalidates the list of sales
	byShops  string                               // statement of loadLists
	outbox   *outbox.Box
	sales    Sales
	shops    Shops
	changed  func(voucherIDs ...int64)
	updates  *notify.SharedUpdates[*State]
	now      func() time.Time
	quota    *quota.Limit
	failures *editFailures
}

// New returns a Service. It starts nothing, and the caller closes the dependencies. It panics
// if the Registerer already has its metrics.
func New(db *ent.Client, hub *cache.Client, box *outbox.Box, c Config) *Service {
	s := &Service{
		db: db, byShops: byShopsStatement(db.Dialect()), outbox: box, sales: c.Sales, shops: c.Shops,
		updates: notify.NewSharedUpdates[*State](c.Notifier), changed: c.OnChange, now: c.Now, quota: c.Quota, failures: newEditFailures(c.Registerer, c.Log),
	}
	if s.changed == nil {
		s.changed = func(...int64) {}
	}
	if s.now == nil {
		s.now = time.Now
	}
	s.openCaches(hub)
	s.openOutbox()
	return s
}

// ByID returns one voucher, also if it is off sale, because orders refer to it. It includes
// every write that has returned in this process, and writes of other processes after at most
// one second. It returns [apierror.ErrNotFound] if there is no such voucher. If Redis is
// unavailable, it reads the rows, so any other error means that the database failed.
func (s *Service) ByID(ctx context.Context, id int64) (*Voucher, error) {
	found, err := s.ByIDs(ctx, []int64{id})
	if err != nil {
		return nil, err
	}
	if v := found[id]; v != nil {
		return v, nil
	}
	return nil, apierror.ErrNotFound
}

// ByIDs is [Service.ByID] for many vouchers. It omits unknown ids. It takes one round trip to
// the cache, and two statements for all misses.
func (s *Service) ByIDs(ctx context.Context, ids []int64) (map[int64]*Voucher, error) {
	ctx, span := observe.Span(ctx, "voucher.ByIDs")
	defer span.End()
	found, err := s.vouchers.Refs(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read %d vouchers: %w", len(ids), err)
	}
	return found, nil
}
