// Package visit counts who visits the site and its shops.
package visit

import (
	"context"
	"errors"

	"github.com/tandian-dev/tandian/internal/kit/calendar"
)

// Stats are how often something was visited.
type Stats struct {
	Date           *calendar.Date // nil for a range of days
	UniqueVisitors int
	Views          int
}

// Service is the room.
type Service struct{}

// SawShop counts that whoever ctx says looked at a shop.
func (*Service) SawShop(ctx context.Context, shop int64) {}

// OfShop returns the visits to a shop in a range of days.
func (s *Service) OfShop(ctx context.Context, shop int64, from, to calendar.Date) (*Stats, error) {
	return nil, errors.ErrUnsupported
}

// OfShopByDay returns the visits to a shop on each day.
func (s *Service) OfShopByDay(ctx context.Context, shop int64, from, to calendar.Date) ([]Stats, error) {
	return nil, errors.ErrUnsupported
}

// OfSite returns the visits to the site on each day.
func (s *Service) OfSite(ctx context.Context, from, to calendar.Date) ([]Stats, error) {
	return nil, errors.ErrUnsupported
}
