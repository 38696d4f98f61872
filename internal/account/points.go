package account

import (
	"context"
	"maps"
	"slices"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
)

// Level is a member's standing by points, 0 to 9. The levels begin at 0, 100, 300,
// 1 000, 3 000, 10 000, 30 000, 100 000, 300 000 and 1 000 000 points.
func Level(points int) int {
	level := 0
	for _, threshold := range []int{100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000} {
		if points >= threshold {
			level++
		}
	}
	return level
}

// AddPoints adds to the points of users, by id, negative numbers too. Users that do
// not exist are overlooked. What adds here has to be in the sum that the scan of points
// compares, of paid orders and check-ins (internal/order/sql/count_points.sql): else the
// scan takes it back. After the commit the tickets go to [Service.AfterCommit].
func (s *Service) AddPoints(ctx context.Context, tx *ent.Tx, points map[int64]int) ([]outbox.JobRef, error) {
	if len(points) > 1 { // in one order, so that two transactions do not wait for each other
		if _, err := s.LockCounts(ctx, tx, slices.Collect(maps.Keys(points))); err != nil {
			return nil, err
		}
	}
	rows := make([]addition, 0, len(points))
	for id, n := range points {
		rows = append(rows, addition{ID: id, Points: n})
	}
	now, err := s.add(ctx, tx, rows)
	if err != nil {
		return nil, err
	}
	return outbox.AddBatch(ctx, s.outbox, tx, usersChanged, slices.Sorted(maps.Keys(now))...)
}

// AfterCommit is [Service.Invalidate] for the writer of a change, after its commit: what
// cannot be told now is left to the outbox.
func (s *Service) AfterCommit(ctx context.Context, ids []int64, jobs []outbox.JobRef) {
	s.afterCommit(ctx, jobs, ids...)
}

// Level is the user's standing by points: see the function of this name.
func (u *User) Level() int { return Level(u.Points) }
