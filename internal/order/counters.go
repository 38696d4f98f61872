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
	tallyEvery = 5 * time.Second
	tallyBatch = 500 // orders counted in one transaction

	// perPoint is how many minor units that were paid earn one point. Of each order
	// the rest is dropped, so a refund takes back what the order gave.
	perPoint = 100
)

// UpdateCounters counts paid orders into what their shops sold and their users' points, and
// refunded ones out of it, within about five seconds, until ctx ends. Each is counted
// once, by whichever process: any number of them may run it.
func (s *Service) UpdateCounters(ctx context.Context) error {
	for clock.Sleep(ctx, tallyEvery) == nil {
		for n := tallyBatch; n == tallyBatch && ctx.Err() == nil; {
			var err error
			if n, err = s.tally(ctx); err != nil {
				s.metrics.failed(ctx, "tally", err)
			}
		}
	}
	return nil
}

// A delta is what a batch of orders adds.
type delta struct {
	in, out      []int64 // orders
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

// tally counts one batch in one transaction, and returns how many orders it has.
// Locks: orders, then shops, then users.
func (s *Service) tally(ctx context.Context) (n int, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	var c delta
	var shops, users []outbox.JobRef
	err = s.tx(ctx, func(tx *ent.Tx) error {
		c, shops, users = delta{}, nil, nil
		batch := tx.Order.Query().Where(func(s *sql.Selector) { s.Where(sql.ExprP(schema.UntalliedOrder)) }).
			Order(entorder.ByID()).Limit(tallyBatch)
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
			return fmt.Errorf("add to what %d shops sold: %w", len(c.sold), err)
		}
		if users, err = s.cfg.Users.AddPoints(ctx, tx, c.points); err != nil {
			return fmt.Errorf("add to the points of %d users: %w", len(c.points), err)
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("tally %d orders: %w", n, err)
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

// mark notes which orders are counted. It is nothing that a reader of orders sees.
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
