package shop

import (
	"context"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/cache"
)

// PinTypes pins all types and their list in memory until a time, because every page shows
// some. It returns the number of types.
func (s *Service) PinTypes(ctx context.Context, until time.Time) (types int, err error) {
	ctx = cache.ForWarmup(ctx)
	if err := s.typeList.Pin(ctx, until, struct{}{}); err != nil {
		return 0, fmt.Errorf("pin list of shop types: %w", err)
	}
	ids, err := s.typeList.Get(ctx, struct{}{})
	if err != nil {
		return 0, fmt.Errorf("read list of shop types: %w", err)
	}
	if err := s.types.Pin(ctx, until, ids...); err != nil {
		return 0, fmt.Errorf("pin %d shop types: %w", len(ids), err)
	}
	return len(ids), nil
}

// WarmPages loads the first shops of each list, by type and order, into the cache. It
// returns their ids, each once.
func (s *Service) WarmPages(ctx context.Context, first int) (shops []int64, err error) {
	ctx = cache.ForWarmup(ctx)
	types, err := s.typeList.Get(ctx, struct{}{})
	if err != nil {
		return nil, fmt.Errorf("read list of shop types: %w", err)
	}
	seen := map[int64]bool{}
	for _, typ := range append([]int64{0}, types...) { // one type at a time, to leave capacity for requests
		lists, err := s.heads.GetMany(ctx, []firstPage{{typ, ByScore, ""}, {typ, BySold, ""}, {typ, ByNewest, ""}})
		if err != nil {
			return shops, fmt.Errorf("read first shops of type %d: %w", typ, err)
		}
		var page []int64
		for _, list := range lists {
			for _, k := range list[:min(first, len(list))] {
				if !seen[k.ID] {
					seen[k.ID], page = true, append(page, k.ID)
				}
			}
		}
		if _, err := s.shops.GetMany(ctx, page); err != nil {
			return shops, fmt.Errorf("read %d shops: %w", len(page), err)
		}
		shops = append(shops, page...)
	}
	return shops, nil
}

// Pin pins shops in memory until a time.
func (s *Service) Pin(ctx context.Context, until time.Time, ids ...int64) error {
	if err := s.shops.Pin(ctx, until, ids...); err != nil {
		return fmt.Errorf("pin %d shops: %w", len(ids), err)
	}
	return nil
}
