package account

import (
	"context"
	"maps"
	"slices"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
)

// Level returns the member level of a number of points, 0 to 9. The levels begin at 0,
// 100, 300, 1 000, 3 000, 10 000, 30 000, 100 000, 300 000 and 1 000 000 points.
func Level(points int) int {
	level := 0
	for _, threshold := range []int{100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000} {
		if points >= threshold {
			level++
		}
	}
	return level
}

// AddPoints adds to the points of users, by id. Numbers may be negative. It ignores users
// that do not exist. After the commit, pass the jobs to [Service.AfterCommit].
//
// The scan of points restores the sum of paid orders and check-ins. Add a new source to
// internal/order/sql/count_points.sql, otherwise the scan removes its points.
func (s *Service) AddPoints(ctx context.Context, tx *ent.Tx, points map[int64]int) ([]outbox.JobRef, error) {
	if len(points) > 1 { // a fixed order prevents deadlocks
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

// AfterCommit invalidates users after the commit of a change. If that fails, the outbox
// repeats it.
func (s *Service) AfterCommit(ctx context.Context, ids []int64, jobs []outbox.JobRef) {
	s.afterCommit(ctx, jobs, ids...)
}

// Level returns the user's member level, see the function [Level].
func (u *User) Level() int { return Level(u.Points) }
