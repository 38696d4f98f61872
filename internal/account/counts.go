package account

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

func countsOf(r *ent.User) Counts {
	return Counts{FollowerCount: r.FollowerCount, FolloweeCount: r.FolloweeCount, NoteCount: r.NoteCount}
}

// LockCounts locks users until tx ends, in the order of their ids. It returns the counts
// of the users that exist.
func (s *Service) LockCounts(ctx context.Context, tx *ent.Tx, ids []int64) (map[int64]Counts, error) {
	now := make(map[int64]Counts, len(ids))
	if err := s.sql.lockCounts.Each(ctx, tx, ids, scanCounts(now)); err != nil {
		return nil, fmt.Errorf("lock %d users: %w", len(ids), err)
	}
	return now, nil
}

func scanCounts(into map[int64]Counts) func(*sql.Rows) error {
	return func(rows *sql.Rows) error {
		var id int64
		var c Counts
		err := rows.Scan(&id, &c.FollowerCount, &c.FolloweeCount, &c.NoteCount)
		into[id] = c
		return err
	}
}

// AddCounts adds to the counts of users, by id. Numbers may be negative. It locks the
// rows until tx ends, in the order of ids, unless the caller has locked them with
// [Service.LockCounts]. It returns the new counts of the users that exist. A change of
// the followees raises the user's follow version. After the commit, pass the jobs to
// [Service.AfterCommit].
func (s *Service) AddCounts(ctx context.Context, tx *ent.Tx, more map[int64]Counts, locked bool) (now map[int64]Counts, jobs []outbox.JobRef, err error) {
	if len(more) > 1 && !locked { // a fixed order prevents deadlocks
		if _, err := s.LockCounts(ctx, tx, slices.Collect(maps.Keys(more))); err != nil {
			return nil, nil, err
		}
	}
	rows := make([]addition, 0, len(more))
	for id, n := range more {
		rows = append(rows, addition{ID: id, Followers: n.FollowerCount, Followees: n.FolloweeCount, Notes: n.NoteCount})
	}
	now, err = s.add(ctx, tx, rows)
	if err != nil {
		return nil, nil, err
	}
	jobs, err = outbox.AddBatch(ctx, s.outbox, tx, usersChanged, slices.Sorted(maps.Keys(now))...)
	return now, jobs, err
}

// addition is an element of the parameter of add_counts: increments for one user.
type addition struct {
	ID        int64 `json:"id"`
	Followers int   `json:"followers"`
	Followees int   `json:"followees"`
	Notes     int   `json:"notes"`
	Points    int   `json:"points"`
}

func (s *Service) add(ctx context.Context, tx *ent.Tx, rows []addition) (map[int64]Counts, error) {
	now := make(map[int64]Counts, len(rows))
	if len(rows) == 0 {
		return now, nil
	}
	if err := sqldb.Each(sqldb.Prepared(ctx), tx, s.sql.addCounts, []any{sqldb.JSON(rows)}, scanCounts(now)); err != nil {
		return nil, fmt.Errorf("update %d users: %w", len(rows), err)
	}
	return now, nil
}
