package shop

import (
	"time"

	"entgo.io/ent/dialect/sql"

	"github.com/tandian-dev/tandian/ent/predicate"
	entshop "github.com/tandian-dev/tandian/ent/shop"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
)

// Filter holds conditions on shops; nil fields match all shops. A shop must meet all.
type Filter struct {
	OpenNow      *bool    // open now; false is known to be closed
	MinScore     *float64 // 1 to 5
	MinPrice     *int     // minor units per person
	MaxPrice     *int     // minor units per person
	HasVoucher   *bool    // a voucher is on sale
	HasFlashSale *bool    // a flash voucher is on sale and has not ended
}

func (f Filter) check() error {
	switch {
	case f.MinScore != nil && !(*f.MinScore >= 1 && *f.MinScore <= MaxScore):
		return apierror.BadInput("minScore must be 1 to %v", MaxScore)
	case f.MinPrice != nil && *f.MinPrice < 0, f.MaxPrice != nil && *f.MaxPrice < 0:
		return apierror.BadInput("minPrice and maxPrice must be 0 or more")
	}
	return nil
}

// filters returns the conditions of q on rows, except position and search. Rows that meet
// them must also meet lists, which decides about opening hours.
func (q Query) filters() []predicate.Shop {
	var where []predicate.Shop
	if q.TypeID != 0 {
		where = append(where, entshop.TypeID(q.TypeID))
	}
	if q.OwnerID != 0 {
		where = append(where, entshop.OwnerID(q.OwnerID))
	}
	f := q.Filter
	if f.OpenNow != nil {
		where = append(where, maybeOpen(q.now, *f.OpenNow))
	}
	if f.MinScore != nil {
		where = append(where, func(sel *sql.Selector) {
			sel.Where(sql.P(func(b *sql.Builder) { b.WriteString(rankColumn(sel) + " >= ").Arg(*f.MinScore) }))
		})
	}
	if f.MinPrice != nil {
		where = append(where, entshop.AvgPriceGTE(*f.MinPrice))
	}
	if f.MaxPrice != nil {
		where = append(where, entshop.AvgPriceLTE(*f.MaxPrice))
	}
	if f.HasVoucher != nil {
		where = append(where, until(entshop.VouchersUntilGT(q.now.UnixMilli()), entshop.VouchersUntilLTE(q.now.UnixMilli()), entshop.VouchersUntilIsNil(), *f.HasVoucher))
	}
	if f.HasFlashSale != nil {
		where = append(where, until(entshop.FlashUntilGT(q.now.UnixMilli()), entshop.FlashUntilLTE(q.now.UnixMilli()), entshop.FlashUntilIsNil(), *f.HasFlashSale))
	}
	return where
}

func until(later, over, none predicate.Shop, is bool) predicate.Shop {
	if is {
		return later
	}
	return entshop.Or(over, none)
}

// maybeOpen selects the shops that may be open at a time, or closed.
func maybeOpen(now time.Time, is bool) predicate.Shop {
	not := string(closed)
	if !is {
		not = string(open)
	}
	return func(sel *sql.Selector) {
		sel.Where(sql.P(func(b *sql.Builder) {
			b.WriteString("substr(" + sel.C(entshop.FieldOpenMask) + ", ").Arg(maskIndex(now)).WriteString(", 1) <> ").Arg(not)
		}))
	}
}

// lists reports whether a shop meets the conditions of filters, exactly.
func (q Query) lists(s *Shop) bool {
	if q.TypeID != 0 && s.TypeID != q.TypeID || q.OwnerID != 0 && (s.OwnerID == nil || *s.OwnerID != q.OwnerID) {
		return false
	}
	f, now := q.Filter, q.now.UnixMilli()
	return (f.MinScore == nil || s.Score != nil && *s.Score >= *f.MinScore) &&
		(f.MinPrice == nil || s.AvgPrice != nil && *s.AvgPrice >= *f.MinPrice) &&
		(f.MaxPrice == nil || s.AvgPrice != nil && *s.AvgPrice <= *f.MaxPrice) &&
		(f.HasVoucher == nil || *f.HasVoucher == (s.VouchersUntil > now)) &&
		(f.HasFlashSale == nil || *f.HasFlashSale == (s.FlashUntil > now)) &&
		(f.OpenNow == nil || is(q.isOpen(s, q.now), *f.OpenNow))
}

func is(known *bool, want bool) bool { return known != nil && *known == want }
