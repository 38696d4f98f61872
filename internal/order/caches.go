package order

import (
	"context"
	"fmt"
	"strconv"
	"time"

	entorder "github.com/tandian-dev/tandian/ent/order"
	"github.com/tandian-dev/tandian/internal/kit/cache"
)

// openCaches creates the cache of orders. See invalidate.go for its invalidation.
func (s *Service) openCaches(hub *cache.Client) {
	s.rows = cache.New(hub, cache.Policy{
		// Clients poll for QUEUED orders before their rows exist. Absence is not cached, so the
		// commits of a sale need no invalidation here. There is no local memory, because an
		// order has one reader, which waits for its changes.
		Name: "order", TTL: 30 * time.Minute, StaleTTL: 10 * time.Minute, Beta: 1, NegativeTTL: -1,
	}, cache.Source[int64, Order]{
		Key: decimal, Load: s.loadOrders,
		Version: func(o Order) int64 { return o.Version },
	})
}

func decimal(id int64) string { return strconv.FormatInt(id, 10) }

func (s *Service) loadOrders(ctx context.Context, ids []int64) (map[int64]Order, error) {
	rows, err := s.db.Order.Query().Where(entorder.IDIn(ids...)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select %d orders: %w", len(ids), err)
	}
	found := make(map[int64]Order, len(rows))
	for _, r := range rows {
		found[r.ID] = *fromRow(r)
	}
	return found, nil
}
