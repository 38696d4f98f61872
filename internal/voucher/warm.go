package voucher

import (
	"context"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/ent/flashsale"
	"github.com/tandian-dev/tandian/internal/kit/cache"
)

// maxPinned limits the pinned sales that open soon, and the pinned open sales. The earliest
// ends have priority.
const maxPinned = 1000

// PinSales pins flash vouchers in process memory until their sale ends, if the sale is open or
// opens within soon. It pins the list of sales for 2×soon. A voucher includes window, size and
// partition of its sale, but not the stock. PinSales returns the number of pinned sales, and the
// ids of their shops by the end of the sale.
func (s *Service) PinSales(ctx context.Context, soon time.Duration) (sales int, shops map[time.Time][]int64, err error) {
	ctx = cache.ForWarmup(ctx)
	now := s.now()
	if err := s.running.Pin(ctx, now.Add(2*soon), struct{}{}); err != nil {
		return 0, nil, fmt.Errorf("pin list of sales: %w", err)
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

// opening returns the sales that have not ended and begin before a time. It uses the cached
// list if that has all sales, otherwise two statements.
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
	found, err = s.listKeys(ctx, maxPinned, flashsale.BeginsAtGT(at), flashsale.BeginsAtLTE(soon), flashsale.EndsAtGT(at))
	if err != nil {
		return nil, err
	}
	open, err := s.listKeys(ctx, maxPinned, flashsale.BeginsAtLTE(at), flashsale.EndsAtGT(at))
	return append(found, open...), err
}
