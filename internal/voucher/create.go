package voucher

import (
	"context"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/ent"
	entvoucher "github.com/tandian-dev/tandian/ent/voucher"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/optional"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
)

// Details describes a new voucher. Titles become one line each, rules keep their lines; a nil
// or blank SubTitle or Rules means none.
type Details struct {
	ShopID     int64
	Title      string
	SubTitle   *string
	Rules      *string
	PayValue   int  // minor units to pay, at least 1
	FaceValue  int  // value in minor units, at least PayValue
	OnePerUser bool // always true for flash vouchers
}

// FlashDetails describes a new flash voucher. The window is truncated to milliseconds.
type FlashDetails struct {
	Details
	Stock    int       // items
	BeginsAt time.Time // within 366 days
	EndsAt   time.Time // in the future, at most 366 days after BeginsAt
}

func (d Details) changes() Changes {
	return Changes{
		Title: optional.Set(d.Title), SubTitle: optional.Field[string]{Given: true, Value: d.SubTitle}, Rules: optional.Field[string]{Given: true, Value: d.Rules},
	}
}

func (d Details) clean() Details {
	c := d.changes().clean()
	d.Title, d.SubTitle, d.Rules = *c.Title.Value, c.SubTitle.Value, c.Rules.Value
	return d
}

// Create stores an ordinary voucher of a shop, on sale, and returns it as stored. Other processes
// show it within a second. After failures the outbox publishes it.
//
// It returns an [apierror.UserErrors] with all reasons for invalid fields and for an unknown
// shop. Above the editor's hourly limit, it contains [quota.LimitReached]. If the editor does
// not own the shop, the error is [apierror.Forbidden]. Any other error means that the database
// failed. Repeating the call creates another voucher.
func (s *Service) Create(ctx context.Context, by Editor, d Details) (*Voucher, error) {
	ctx, span := observe.Span(ctx, "voucher.Create")
	defer span.End()
	d = d.clean()
	return s.create(ctx, by, d.ShopID, d.check(), func(ctx context.Context, tx *ent.Tx) (*Voucher, error) {
		row, err := d.insert(tx, entvoucher.KindORDINARY).SetOnePerUser(d.OnePerUser).Save(ctx)
		if err != nil {
			return nil, err
		}
		return fromRow(row, nil), nil
	})
}

// CreateFlash is [Service.Create] for a flash voucher. Users can order it from its start. If
// Redis is unavailable, the outbox adds the sale to it later.
func (s *Service) CreateFlash(ctx context.Context, by Editor, d FlashDetails) (*Voucher, error) {
	ctx, span := observe.Span(ctx, "voucher.CreateFlash")
	defer span.End()
	d.Details = d.clean()
	return s.create(ctx, by, d.ShopID, d.check(s.now()), func(ctx context.Context, tx *ent.Tx) (*Voucher, error) {
		return s.insertFlash(ctx, tx, d, nil)
	})
}

// create runs insert in a transaction and publishes the voucher, unless wrong has errors.
func (s *Service) create(ctx context.Context, by Editor, shopID int64, wrong apierror.UserErrors, insert func(context.Context, *ent.Tx) (*Voucher, error)) (*Voucher, error) {
	ctx, writeCtx, cancel := clock.SplitDeadline(ctx, editTimeout, editTimeout)
	defer cancel()
	known, err := s.mayEdit(ctx, by, shopID)
	if err != nil {
		return nil, err
	}
	if !known {
		wrong.Add(apierror.NotFound, "shopId", "This shop doesn't exist.")
	}
	if err := wrong.OrNil(); err != nil {
		return nil, err
	}
	var v *Voucher
	var job []outbox.JobRef
	var shops shopChange
	use := s.quota.Take(ctx, by.UserID) // counts while the transaction begins
	err = ent.WithTx(writeCtx, s.db, func(tx *ent.Tx) (err error) {
		if err := ctx.Err(); err != nil {
			return err
		}
		// Wait before the first row lock. SQLite holds its write lock meanwhile, at most until
		// the deadline of the count.
		if err := use.Wait(); err != nil {
			return err
		}
		if v, err = insert(writeCtx, tx); err != nil {
			return err
		}
		if shops, err = s.updateShops(writeCtx, tx, shopID); err != nil {
			return err
		}
		job, err = outbox.AddBatch(writeCtx, s.outbox, tx, topic, v.ID)
		return err
	})
	if err != nil {
		use.Release(ctx)
		return nil, fmt.Errorf("insert voucher of shop %d: %w", shopID, err)
	}
	s.afterCommit(writeCtx, v, job, shops)
	return v, nil
}

// shopChange holds the shops that a transaction changed, with its jobs.
type shopChange struct {
	ids  []int64
	jobs []outbox.JobRef
}

// updateShops stores until when vouchers of shops are on sale. It locks the shops, after
// sales and vouchers.
func (s *Service) updateShops(ctx context.Context, tx *ent.Tx, ids ...int64) (c shopChange, err error) {
	c.ids, c.jobs, err = s.shops.UpdateVouchers(ctx, tx, ids)
	return c, err
}

func (d Details) insert(tx *ent.Tx, kind entvoucher.Kind) *ent.VoucherCreate {
	return tx.Voucher.Create().SetKind(kind).SetShopID(d.ShopID).SetTitle(d.Title).SetNillableSubTitle(d.SubTitle).SetNillableRules(d.Rules).
		SetPayValue(d.PayValue).SetFaceValue(d.FaceValue)
}

// insertFlash stores a flash voucher with its sale. externalID is its id in a seed, or nil.
func (s *Service) insertFlash(ctx context.Context, tx *ent.Tx, d FlashDetails, externalID *string) (*Voucher, error) {
	row, err := d.insert(tx, entvoucher.KindFLASH).SetOnePerUser(true).SetNillableExternalID(externalID).Save(ctx)
	if err != nil {
		return nil, err
	}
	partition, buckets := s.sales.PartitionFor(row.ID, d.Stock)
	sale, err := tx.FlashSale.Create().SetID(row.ID).SetVoucherID(row.ID).SetStock(d.Stock).SetInitialStock(d.Stock).
		SetBeginsAt(d.BeginsAt.UnixMilli()).SetEndsAt(d.EndsAt.UnixMilli()).SetPartition(partition).SetBuckets(buckets).Save(ctx)
	if err != nil {
		return nil, fmt.Errorf("insert sale: %w", err)
	}
	return fromRow(row, sale), nil
}
