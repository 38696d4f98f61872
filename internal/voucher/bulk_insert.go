package voucher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/ent"
	entshop "github.com/tandian-dev/tandian/ent/shop"
	entvoucher "github.com/tandian-dev/tandian/ent/voucher"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
)

const bulkInsertTimeout = time.Minute

// A Draft is a voucher of a seed or of the demo data.
type Draft struct {
	// ExternalID is the id of the voucher in its seed, for example "demo:lunch". If a stored
	// voucher has it, the draft is skipped. Required.
	ExternalID string
	Shop       string // external id of the shop
	Title      string
	SubTitle   string // "" is none
	Rules      string // "" is none
	PayValue   int    // minor units to pay
	FaceValue  int    // value in minor units
	OnePerUser bool

	Stock            int // items of a flash voucher; 0: ordinary voucher
	BeginsAt, EndsAt time.Time
}

// SaveCounts counts the results of drafts.
type SaveCounts struct {
	Added   int
	Present int // already stored and unchanged
	Skipped int // shop not found
}

// BulkInsert stores the drafts that are not stored yet, in one transaction. It does not check
// the owners of the shops. It may be repeated, also after merchants have edited the vouchers.
// An invalid draft is an error, and nothing is stored.
func (s *Service) BulkInsert(ctx context.Context, drafts []Draft) (SaveCounts, error) {
	ctx, cancel := context.WithTimeout(ctx, bulkInsertTimeout)
	defer cancel()
	var sum SaveCounts
	var ids []int64
	var jobs []outbox.JobRef
	var shops shopChange
	err := ent.WithTx(ctx, s.db, func(tx *ent.Tx) (err error) {
		sum, ids = SaveCounts{}, nil
		for _, d := range drafts {
			id, err := s.insertIfNew(ctx, tx, d, &sum)
			if err != nil {
				return fmt.Errorf("insert voucher %s: %w", d.ExternalID, err)
			}
			if id != 0 {
				ids = append(ids, id)
			}
		}
		if jobs, err = outbox.AddBatch(ctx, s.outbox, tx, topic, ids...); err != nil {
			return err
		}
		changed, err := shopsOf(ctx, tx, ids)
		if err != nil {
			return err
		}
		shops, err = s.updateShops(ctx, tx, changed...)
		return err
	})
	if err != nil {
		return SaveCounts{}, fmt.Errorf("insert %d vouchers: %w", len(drafts), err)
	}
	if len(ids) > 0 {
		s.outbox.Finish(ctx, s.Invalidate(ctx, ids...), jobs...)
	}
	if len(shops.ids) > 0 {
		s.shops.AfterCommit(ctx, shops.ids, shops.jobs)
	}
	return sum, nil
}

// shopsOf returns the shops of vouchers, each once.
func shopsOf(ctx context.Context, tx *ent.Tx, vouchers []int64) ([]int64, error) {
	var shops []int64
	if err := tx.Voucher.Query().Where(entvoucher.IDIn(vouchers...)).GroupBy(entvoucher.FieldShopID).Scan(ctx, &shops); err != nil {
		return nil, fmt.Errorf("select the shops of %d vouchers: %w", len(vouchers), err)
	}
	return shops, nil
}

// insertIfNew stores one draft and returns its id, or 0 if it stored nothing.
func (s *Service) insertIfNew(ctx context.Context, tx *ent.Tx, d Draft, sum *SaveCounts) (int64, error) {
	if d.ExternalID == "" {
		return 0, errors.New("external id is missing")
	}
	stored, err := tx.Voucher.Query().Where(entvoucher.ExternalID(d.ExternalID)).Exist(ctx)
	if err != nil {
		return 0, fmt.Errorf("find voucher: %w", err)
	}
	if stored {
		sum.Present++
		return 0, nil
	}
	shopID, err := tx.Shop.Query().Where(entshop.ExternalID(d.Shop)).OnlyID(ctx)
	switch {
	case ent.IsNotFound(err):
		sum.Skipped++
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("find shop %s: %w", d.Shop, err)
	}
	sum.Added++
	return s.insertDraft(ctx, tx, d, shopID)
}

func (s *Service) insertDraft(ctx context.Context, tx *ent.Tx, d Draft, shopID int64) (int64, error) {
	details := Details{
		ShopID: shopID, Title: d.Title, SubTitle: &d.SubTitle, Rules: &d.Rules, PayValue: d.PayValue, FaceValue: d.FaceValue, OnePerUser: d.OnePerUser,
	}.clean()
	if d.Stock == 0 {
		if err := details.check().OrNil(); err != nil {
			return 0, err
		}
		row, err := details.insert(tx, entvoucher.KindORDINARY).SetOnePerUser(d.OnePerUser).SetExternalID(d.ExternalID).Save(ctx)
		if err != nil {
			return 0, err
		}
		return row.ID, nil
	}
	flash := FlashDetails{Details: details, Stock: d.Stock, BeginsAt: d.BeginsAt, EndsAt: d.EndsAt}
	if err := flash.check(s.now()).OrNil(); err != nil {
		return 0, err
	}
	v, err := s.insertFlash(ctx, tx, flash, &d.ExternalID)
	if err != nil {
		return 0, err
	}
	return v.ID, nil
}
