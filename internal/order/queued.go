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
	// queuedMost is how many of a user's queued orders are looked at.
	queuedMost = 200
	// queuedDoubt is how long a number that nobody knows may still be one whose
	// admission is under way. It takes a fraction of that, and clocks differ.
	queuedDoubt = 10 * time.Second
)

// waiting returns the orders of a user that are queued, and those that were a moment
// ago: these have a row, and the list may not show it yet. In no order.
//
// It takes up to four round trips, because each needs the numbers of the one before:
// the set, the sales, the rows of those that they do not know, and removing what is
// over. A user who has nothing queued costs the first.
//
// Without an answer of Redis it returns none: they appear when they are committed.
func (s *Service) waiting(ctx context.Context, user int64) ([]*Order, error) {
	hints, err := s.lists.hints(ctx, user)
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
	committed, err := s.landed(ctx, user, unknown)
	return append(orders, committed...), err
}

// landed returns the rows of orders that are not queued any more, and has the set
// of the queued forget them, and what will never have a row.
//
// The list is told first: until the order is in it, the set is what shows it.
func (s *Service) landed(ctx context.Context, user int64, unknown []listEntry) ([]*Order, error) {
	if len(unknown) == 0 {
		return nil, nil
	}
	ids := make([]int64, len(unknown))
	for i, u := range unknown {
		ids[i] = u.Number
	}
	rows, err := s.db.Order.Query().Where(entorder.IDIn(ids...), entorder.UserID(user)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select %d orders of user %d that were queued: %w", len(ids), user, err)
	}
	orders, there := make([]*Order, len(rows)), make(map[int64]bool, len(rows))
	over := make([]listEntry, len(rows))
	for i, r := range rows {
		orders[i], there[r.ID], over[i] = fromRow(r), true, listEntry{user, r.ID, r.CreatedAt}
	}
	// What announces them may be late. No cache knows that there were none.
	if err := s.lists.addOnce(ctx, over); err != nil {
		s.metrics.failed(ctx, "queued", err)
		over = nil // the set keeps them
	}
	doubt := s.now().Add(-queuedDoubt).UnixMilli()
	for _, u := range unknown {
		if !there[u.Number] && u.Ms < doubt {
			over = append(over, u)
		}
	}
	if err := s.lists.unqueue(ctx, over); err != nil {
		s.metrics.failed(ctx, "queued", err)
	}
	return orders, nil
}

// hints reads the newest entries of a user's set of queued orders.
func (l *listCache) hints(ctx context.Context, user int64) ([]listEntry, error) {
	ctx, cancel := context.WithTimeout(ctx, redisTrip)
	defer cancel()
	found, err := l.rdb.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{
		Key: l.keys.queued(user), Start: 0, Stop: queuedMost - 1, Rev: true,
	}).Result()
	if err != nil {
		return nil, fmt.Errorf("read what user %d has queued: %w", user, err)
	}
	return markedBy(user, found), nil
}

// markedBy reads members of a user's set of queued orders.
func markedBy(user int64, found []redis.Z) []listEntry {
	hints := make([]listEntry, 0, len(found))
	for _, z := range found {
		member, _ := z.Member.(string)
		if n, err := strconv.ParseInt(member, 10, 64); err == nil && n > 0 {
			hints = append(hints, listEntry{user, n, int64(z.Score)})
		}
	}
	return hints
}
