package voucher

import (
	"context"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/ent/flashsale"
	"github.com/tandian-dev/tandian/internal/kit/cache"
)

// maxPinned is how many sales are pinned of those that open soon, and of those that are
// open: those that end first.
const maxPinned = 1000

// PinSales keeps near, until their sale ends, the vouchers whose sale is open or opens
// within a time, and the list of sales for twice that time. Window, size and place of a
// sale are part of its voucher; the pieces left are not: these only Redis knows. It returns
// how many it pinned, and until when their shops will be asked for.
func (s *Service) PinSales(ctx context.Context, soon time.Duration) (sales int, shops map[time.Time][]int64, err error) {
	ctx = cache.ForWarmup(ctx)
	now := s.now()
	if err := s.running.Pin(ctx, now.Add(2*soon), struct{}{}); err != nil {
		return 0, nil, fmt.Errorf("pin the list of sales: %w", err)
	}
	found, err := s.opening(ctx, now, now.Add(soon))
	if err != nil {
		return 0, nil, err
	}
	byEnd := map[time.Time][]int64{}
	for _, p := range found {
		end := time.UnixMilli(p.Ends)
		byEnd[end] = append(byEnd[end], p.ID)
	}
	shops = map[time.Time][]int64{}
	for end, ids := range byEnd {
		if err := s.vouchers.Pin(ctx, end, ids...); err != nil {
			return sales, shops, fmt.Errorf("pin %d vouchers: %w", len(ids), err)
		}
		rows, err := s.ByIDs(ctx, ids)
		if err != nil {
			return sales, shops, err
		}
		for _, v := range rows {
			shops[end] = append(shops[end], v.ShopID)
		}
		sales += len(ids)
	}
	return sales, shops, nil
}

// opening returns the sales that have not ended and begin before a time: from the cached
// list if it has all sales, else by two statements.
func (s *Service) opening(ctx context.Context, now, before time.Time) (found []listKey, err error) {
	list, err := s.running.Get(ctx, struct{}{})
	if err != nil {
		return nil, fmt.Errorf("list flash sales: %w", err)
	}
	if len(list) < headSize {
		for _, p := range list {
			if p.Begins <= before.UnixMilli() && p.Ends > now.UnixMilli() {
				found = append(found, p)
			}
		}
		return found, nil
	}
	at, soon := now.UnixMilli(), before.UnixMilli()
	found, err = s.places(ctx, maxPinned, flashsale.BeginsAtGT(at), flashsale.BeginsAtLTE(soon), flashsale.EndsAtGT(at))
	if err != nil {
		return nil, err
	}
	open, err := s.places(ctx, maxPinned, flashsale.BeginsAtLTE(at), flashsale.EndsAtGT(at))
	return append(found, open...), err
}
