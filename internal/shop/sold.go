package shop

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tandian-dev/tandian/ent"
	entshop "github.com/tandian-dev/tandian/ent/shop"
	"github.com/tandian-dev/tandian/internal/kit/fault"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/store"
)

// OwnerOf returns the merchant that a shop belongs to, nil for nobody, and false if
// there is no such shop. It is as fresh as [Service.ByID].
func (s *Service) OwnerOf(ctx context.Context, shopID int64) (owner *int64, ok bool, err error) {
	shop, err := s.ByID(ctx, shopID)
	if errors.Is(err, fault.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return shop.OwnerID, true, nil
}

// AddSold adds to what shops have sold, by id, negative numbers too. Shops that do
// not exist are overlooked. After the commit the tickets go to [Service.Announce].
func (s *Service) AddSold(ctx context.Context, tx *ent.Tx, sold map[int64]int) ([]outbox.Ticket, error) {
	return s.count(ctx, tx, sold, (*ent.ShopUpdate).AddSold)
}

// AddComments adds to the comments on notes about shops, by id, as [Service.AddSold]
// does to what they sold. After the commit the tickets go to [Service.AnnounceCounts].
func (s *Service) AddComments(ctx context.Context, tx *ent.Tx, comments map[int64]int) ([]outbox.Ticket, error) {
	return s.count(ctx, tx, comments, (*ent.ShopUpdate).AddCommentCount)
}

// count adds to a column of shops.
func (s *Service) count(ctx context.Context, tx *ent.Tx, more map[int64]int, add func(*ent.ShopUpdate, int) *ent.ShopUpdate) ([]outbox.Ticket, error) {
	if len(more) == 0 {
		return nil, nil
	}
	ids := slices.Sorted(maps.Keys(more))
	lock := tx.Shop.Query().Where(entshop.IDIn(ids...)).Order(entshop.ByID()) // in one order, lest two of them wait for each other
	lock.Modify(store.ForUpdate)
	if _, err := lock.IDs(ctx); err != nil {
		return nil, fmt.Errorf("lock %d shops: %w", len(ids), err)
	}
	same := map[int][]int64{} // most have one or two more
	for _, id := range ids {
		same[more[id]] = append(same[more[id]], id)
	}
	for n, some := range same {
		if err := add(tx.Shop.Update().Where(entshop.IDIn(some...)), n).AddVersion(1).Exec(ctx); err != nil {
			return nil, fmt.Errorf("update %d shops: %w", len(some), err)
		}
	}
	return outbox.AddBatch(ctx, s.outbox, tx, shopsChanged, ids...)
}

// Announce is [Service.Changed] for the writer of a change, after its commit: what
// cannot be told now is left to the outbox.
func (s *Service) Announce(ctx context.Context, ids []int64, tickets []outbox.Ticket) {
	s.outbox.Settle(ctx, s.Changed(ctx, ids...), tickets...)
}

// AnnounceCounts is [Service.Announce] for a change that moves no shop in any list: the
// lists stay. With each comment all of them would have to be read anew.
func (s *Service) AnnounceCounts(ctx context.Context, ids []int64, tickets []outbox.Ticket) {
	s.outbox.Settle(ctx, outbox.Later(s.shops.Invalidate(ctx, ids...)), tickets...)
}
