package order

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"entgo.io/ent/dialect/sql"

	"github.com/tandian-dev/tandian/ent"
	entorder "github.com/tandian-dev/tandian/ent/order"
	"github.com/tandian-dev/tandian/ent/schema"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

const (
	countEvery = 5 * time.Second
	countBatch = 500 // orders per transaction

	// perPoint is the number of paid minor units per point. It rounds down for each order, so
	// a refund subtracts the points that the order earned.
	perPoint = 100
)

// UpdateCounters counts paid orders in the sales of their shops and the points of their users.
// It subtracts refunded orders. It runs until ctx ends, with a delay of about five seconds.
// Each order counts once. Any number of processes may run it.
func (s *Service) UpdateCounters(ctx context.Context) error {
	for clock.Sleep(ctx, countEvery) == nil {
		for n := countBatch; n == countBatch && ctx.Err() == nil; {
			var err error
			if n, err = s.countOrders(ctx); err != nil {
				s.metrics.failed(ctx, "tally", err)
			}
		}
	}
	return nil
}

// A delta is the sum of a batch of orders.
type delta struct {
	in, out      []int64 // orders to count, and to subtract
	sold, points map[int64]int
}

func countOf(rows []*ent.Order) delta {
	c := delta{sold: map[int64]int{}, points: map[int64]int{}}
	for _, r := range rows {
		sign := 1
		if r.Tallied {
			sign = -1
			c.out = append(c.out, r.ID)
		} else {
			c.in = append(c.in, r.ID)
		}
		c.sold[r.ShopID] += sign
		c.points[r.UserID] += sign * (r.PayValue / perPoint)
	}
	nothing := func(_ int64, n int) bool { return n == 0 }
	maps.DeleteFunc(c.sold, nothing)
	maps.DeleteFunc(c.points, nothing)
	return c
}

// countOrders counts one batch in one transaction and returns its size. It locks orders, then
// shops, then users.
func (s *Service) countOrders(ctx context.Context) (n int, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	var c delta
	var shops, users []outbox.JobRef
	err = s.tx(ctx, func(tx *ent.Tx) error {
		c, shops, users = delta{}, nil, nil
		batch := tx.Order.Query().Where(func(s *sql.Selector) { s.Where(sql.ExprP(schema.UntalliedOrder)) }).
			Order(entorder.ByID()).Limit(countBatch)
		batch.Modify(sqldb.ForUpdateSkipLocked)
		rows, err := batch.All(ctx)
		if n = len(rows); err != nil || n == 0 {
			return err
		}
		c = countOf(rows)
		if err := mark(ctx, tx, c); err != nil {
			return err
		}
		if shops, err = s.cfg.Shops.AddSold(ctx, tx, c.sold); err != nil {
			return fmt.Errorf("update sales of %d shops: %w", len(c.sold), err)
		}
		if users, err = s.cfg.Users.AddPoints(ctx, tx, c.points); err != nil {
			return fmt.Errorf("update points of %d users: %w", len(c.points), err)
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("count %d orders: %w", n, err)
	}
	s.metrics.count("tallied", n)
	if len(c.sold) > 0 {
		s.cfg.Shops.AfterCommit(ctx, slices.Collect(maps.Keys(c.sold)), shops)
	}
	if len(c.points) > 0 {
		s.cfg.Users.AfterCommit(ctx, slices.Collect(maps.Keys(c.points)), users)
	}
	return n, nil
}

// mark stores whether orders are counted. Readers of orders do not see it.
func mark(ctx context.Context, tx *ent.Tx, c delta) error {
	for tallied, ids := range map[bool][]int64{true: c.in, false: c.out} {
		if len(ids) == 0 {
			continue
		}
		if err := tx.Order.Update().Where(entorder.IDIn(ids...)).SetTallied(tallied).Exec(ctx); err != nil {
			return fmt.Errorf("mark %d orders: %w", len(ids), err)
		}
	}
	return nil
}
