package order

import (
	"context"
	"fmt"
	"strconv"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/observe"
)

// A Viewer identifies the caller. Viewers see their own orders, those of shops that they own,
// or all.
type Viewer struct {
	UserID  int64
	IsAdmin bool // sees all orders
}

// ByIDs returns the orders that the viewer may see, including QUEUED ones of any process. Rows
// include every change that has returned. It returns an error if the database fails, or if
// Redis is needed and unavailable.
func (s *Service) ByIDs(ctx context.Context, v Viewer, ids []int64) (map[int64]*Order, error) {
	ctx, span := observe.Span(ctx, "order.ByIDs")
	defer span.End()
	found, err := s.find(ctx, ids)
	if err != nil {
		return nil, err
	}
	owned := map[int64]bool{}
	for id, o := range found {
		if v.IsAdmin || o.UserID == v.UserID {
			continue
		}
		mine, known := owned[o.ShopID]
		if !known {
			if mine, err = s.owns(ctx, v, o.ShopID); err != nil {
				return nil, err
			}
			owned[o.ShopID] = mine
		}
		if !mine {
			delete(found, id)
		}
	}
	return found, nil
}

// ByID is [Service.ByIDs] for one order. It returns [apierror.ErrNotFound] if the viewer may
// see no such order.
func (s *Service) ByID(ctx context.Context, v Viewer, id int64) (*Order, error) {
	found, err := s.ByIDs(ctx, v, []int64{id})
	if err != nil {
		return nil, err
	}
	if o := found[id]; o != nil {
		return o, nil
	}
	return nil, apierror.ErrNotFound
}

// ByNumber is [Service.ByID] for an order number in decimal. An invalid number is not found.
func (s *Service) ByNumber(ctx context.Context, v Viewer, number string) (*Order, error) {
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil || id <= 0 {
		return nil, apierror.ErrNotFound
	}
	return s.ByID(ctx, v, id)
}

// owns reports whether the viewer is the owner of a shop, or an administrator.
func (s *Service) owns(ctx context.Context, v Viewer, shopID int64) (bool, error) {
	if v.IsAdmin {
		return true, nil
	}
	owner, ok, err := s.cfg.Shops.OwnerOf(ctx, shopID)
	if err != nil {
		return false, fmt.Errorf("read owner of shop %d: %w", shopID, err)
	}
	return ok && owner != nil && *owner == v.UserID, nil
}
