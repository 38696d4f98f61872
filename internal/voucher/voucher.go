// Package voucher is the room of vouchers: what a shop sells, ordinary ones and
// those of a flash sale, and what merchants change about them.
//
// The rows of the database are the truth; vouchers are read through a cache. How
// many pieces of a flash voucher are left right now is internal/flashsale's to say.
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

// A Status says whether a voucher can be ordered, as far as its merchant is asked.
type Status string

// All statuses. EXPIRED is computed: a flash voucher after its end.
const (
	OnSale  Status = "ON_SALE"
	OffSale Status = "OFF_SALE"
	Expired Status = "EXPIRED"
)

// A Voucher is what a shop sells.
type Voucher struct {
	ID         int64   `json:"id"`
	ShopID     int64   `json:"shop"`
	Title      string  `json:"title"`
	SubTitle   *string `json:"sub_title,omitempty"`
	Rules      *string `json:"rules,omitempty"`
	PayValue   int     `json:"pay_value"`  // minor units to pay
	FaceValue  int     `json:"face_value"` // minor units that it is worth
	OnePerUser bool    `json:"one_per_user,omitempty"`
	Off        bool    `json:"off,omitempty"`  // taken off sale
	Sale       *Sale   `json:"sale,omitempty"` // of a flash voucher; else nil
	// FirstTermsID names the [Terms] before the first edit of words; 0 if there was none.
	FirstTermsID int64 `json:"first_terms,omitempty"`
	Version      int64 `json:"version"`
}

// A Sale is the window and size of a flash sale.
type Sale struct {
	VoucherID    int64     `json:"voucher"`
	InitialStock int       `json:"initial"` // pieces, those that are sold included
	BeginsAt     time.Time `json:"begins_at"`
	EndsAt       time.Time `json:"ends_at"`
	Partition    int       `json:"partition"`
	Buckets      int       `json:"buckets"`
	EditSeq      int64     `json:"edit_seq"`
}

// InUse is the code of a refusal: live orders forbid the change.
const InUse apierror.Code = "VOUCHER_IN_USE"

// Status says whether the voucher can be ordered at a time, as far as its merchant
// is asked.
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

// A Phase says where a flash sale is in its life.
type Phase string

// All phases, as they follow each other. A sale that is sold out may open again: an
// order is cancelled, the merchant adds pieces.
const (
	Upcoming Phase = "UPCOMING"
	Open     Phase = "OPEN"
	SoldOut  Phase = "SOLD_OUT"
	Ended    Phase = "ENDED"
)

// Phase is that of the sale at a time when so many pieces are left. The sale
// begins with the first moment of its window and is over with the last.
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

// Sales is what the room of flash sales does for this one.
type Sales interface {
	// PartitionFor says where the keys of a new sale lie: fixed for its life.
	PartitionFor(voucherID int64, stock int) (partition, buckets int)
	// DecreaseStock takes pieces out of a sale in Redis before the database does: false if
	// there are not so many left. edit is the sale's edit_seq from then on. A sale
	// that Redis does not have is an error.
	DecreaseStock(ctx context.Context, voucherID int64, by int, edit int64) (bool, error)
	// UndoDecrease takes a Lower back whose transaction failed. It does nothing if the
	// sale's edit is another one: the Lower was never done.
	UndoDecrease(ctx context.Context, voucherID int64, by int, edit int64) error
	// Apply brings sales in Redis to what their rows say. It may be repeated.
	Apply(ctx context.Context, voucherIDs ...int64) error
	// Stocks returns the pieces left right now.
	Stocks(ctx context.Context, voucherIDs []int64) (map[int64]int, error)
}

// Shops says to whom shops belong.
type Shops interface {
	// OwnerOf returns a shop's owner, nil for nobody; false if there is no such shop.
	OwnerOf(ctx context.Context, shopID int64) (owner *int64, ok bool, err error)
}

// Config holds the dependencies of a Service. Sales and Shops are required.
type Config struct {
	Sales Sales
	Shops Shops
	// Changed hears of vouchers that were added or changed, after Redis has: for
	// who watches a sale live. It may be called twice for one change, and must not
	// block. Nil: nobody does.
	Changed    func(voucherIDs ...int64)
	Notifier   *notify.Hub           // by which sales are watched, see [Service.Subscribe]
	Now        func() time.Time      // nil: time.Now
	Quota      *quota.Limit          // nil: no limit
	Registerer prometheus.Registerer // nil: no metrics
	Log        *slog.Logger          // nil: nothing is logged
}

// Service answers for vouchers. It is safe for concurrent use.
type Service struct {
	db       *ent.Client
	vouchers *cache.Cache[int64, Voucher]
	terms    *cache.Cache[int64, Terms]
	lists    *cache.Cache[shopList, []listEntry]  // of shops
	running  *cache.QueryCache[struct{}, listKey] // the sales that have not ended
	table    *cache.Table                         // whose writes end that list
	ofShops  string                               // the statement of lists
	outbox   *outbox.Box
	sales    Sales
	shops    Shops
	changed  func(voucherIDs ...int64)
	live     *notify.SharedUpdates[*State]
	now      func() time.Time
	quota    *quota.Limit
	troubles *editFailures
}

// New returns a Service. It starts nothing, and the caller closes the dependencies. It
// panics if the Registerer has these metrics already.
func New(db *ent.Client, hub *cache.Client, box *outbox.Box, c Config) *Service {
	s := &Service{
		db: db, ofShops: ofShops(db.Dialect()), outbox: box, sales: c.Sales, shops: c.Shops,
		live: notify.NewSharedUpdates[*State](c.Notifier), changed: c.Changed, now: c.Now, quota: c.Quota, troubles: newTroubles(c.Registerer, c.Log),
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

// ByID returns one voucher, also one that was taken off sale: orders refer to it.
// It sees every write whose call returned in this process, those of other
// processes within moments, a second at most. It returns [fault.ErrNotFound] if
// there is none. When Redis is down it reads the rows, so any other error means
// that the database failed.
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

// ByIDs returns those of the vouchers that exist, as [Service.ByID] would, with
// one round trip to the cache, and two statements for all that it does not have.
func (s *Service) ByIDs(ctx context.Context, ids []int64) (map[int64]*Voucher, error) {
	ctx, span := observe.Span(ctx, "voucher.ByIDs")
	defer span.End()
	found, err := s.vouchers.Refs(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read %d vouchers: %w", len(ids), err)
	}
	return found, nil
}
