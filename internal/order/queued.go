package order

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	entorder "github.com/tandian-dev/tandian/ent/order"
)

const (
	// maxQueued is the maximum number of queued orders of a user that are read.
	maxQueued = 200
	// maxAdmission is the time after which an unknown number is no longer an admission in
	// progress. An admission takes a fraction of that, and clocks differ.
	maxAdmission = 10 * time.Second
)

// queued returns a user's queued orders, and orders that have just been committed and may not be in
// the list yet, unsorted.
//
// It takes one round trip for a user without queued orders. Otherwise it takes up to five: the set,
// the sales, the rows of other orders, an addition to the list, a removal from the set.
//
// If Redis is unavailable, it returns none: the orders appear after their commit.
func (s *Service) queued(ctx context.Context, user int64) ([]*Order, error) {
	hints, err := s.lists.queuedEntries(ctx, user)
	if err != nil {
		s.metrics.failed(ctx, "queued", err)
		return nil, ctx.Err()
	}
	if len(hints) == 0 {
		return nil, nil
	}
	numbers := make([]int64, len(hints))
	for i, h := range hints {
		numbers[i] = h.Number
	}
	found, err := s.cfg.Sales.Entries(ctx, numbers)
	if err != nil {
		s.metrics.failed(ctx, "queued", err)
		return nil, ctx.Err()
	}
	var orders []*Order
	var unknown []listEntry
	for _, h := range hints {
		if o := found[h.Number]; o != nil && o.UserID == user {
			orders = append(orders, o)
			continue
		}
		unknown = append(unknown, h)
	}
	committed, err := s.resolveQueued(ctx, user, unknown)
	return append(orders, committed...), err
}

// resolveQueued returns the rows of orders that are no longer queued. It adds them to the list
// first, because only the set shows an order that is not in the list. Then it removes them from the
// set, and numbers that will never have a row.
func (s *Service) resolveQueued(ctx context.Context, user int64, unknown []listEntry) ([]*Order, error) {
	if len(unknown) == 0 {
		return nil, nil
	}
	ids := make([]int64, len(unknown))
	for i, u := range unknown {
		ids[i] = u.Number
	}
	rows, err := s.db.Order.Query().Where(entorder.IDIn(ids...), entorder.UserID(user)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select %d queued orders of user %d: %w", len(ids), user, err)
	}
	orders, stored := make([]*Order, len(rows)), make(map[int64]bool, len(rows))
	over := make([]listEntry, len(rows))
	for i, r := range rows {
		orders[i], stored[r.ID], over[i] = fromRow(r), true, listEntry{user, r.ID, r.CreatedAt}
	}
	// Their writer may not have updated the list yet. No cache stores their absence.
	if err := s.lists.addOnce(ctx, over); err != nil {
		s.metrics.failed(ctx, "queued", err)
		over = nil // retry them from the set
	}
	oldest := s.now().Add(-maxAdmission).UnixMilli()
	for _, u := range unknown {
		if !stored[u.Number] && u.Ms < oldest {
			over = append(over, u)
		}
	}
	if err := s.lists.unqueue(ctx, over); err != nil {
		s.metrics.failed(ctx, "queued", err)
	}
	return orders, nil
}

func (l *listCache) queuedEntries(ctx context.Context, user int64) ([]listEntry, error) {
	ctx, cancel := context.WithTimeout(ctx, redisTrip)
	defer cancel()
	found, err := l.rdb.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{
		Key: l.keys.queued(user), Start: 0, Stop: maxQueued - 1, Rev: true,
	}).Result()
	if err != nil {
		return nil, fmt.Errorf("read queued orders of user %d: %w", user, err)
	}
	return parseQueued(user, found), nil
}

func parseQueued(user int64, found []redis.Z) []listEntry {
	hints := make([]listEntry, 0, len(found))
	for _, z := range found {
		member, _ := z.Member.(string)
		if n, err := strconv.ParseInt(member, 10, 64); err == nil && n > 0 {
			hints = append(hints, listEntry{user, n, int64(z.Score)})
		}
	}
	return hints
}
