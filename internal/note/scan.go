package note

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/reconcile"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

const (
	scanPage   = 500
	scanCounts = 5000             // users per second
	scanEvents = 50_000           // numbers per second
	eventPage  = 5000             // numbers per statement
	countLimit = 30 * time.Second // per statement
)

// Scans returns the consistency scans of note counts and of the feed log.
func (s *Service) Scans() []reconcile.Scan {
	return []reconcile.Scan{
		{Name: "notes", Description: "note counts of users, against notes", Rate: scanCounts, Run: s.scanCounts},
		{Name: "note-events", Description: "feed log, against missing numbers", Rate: scanEvents, Run: s.scanEvents},
	}
}

type countDrift struct {
	user           int64
	stored, actual int
}

func (s *Service) scanCounts(ctx context.Context, r *reconcile.Run) error {
	read := func(ctx context.Context, after int64, limit int) ([]countDrift, error) {
		return s.drifts(ctx, s.db, after, limit)
	}
	return reconcile.Counters(ctx, r, scanPage, read, countDrift.describe, s.repairCount)
}

func (d countDrift) describe() (user int64, differs string) {
	if d.stored != d.actual {
		differs = fmt.Sprintf("user %d: %d notes stored, %d counted", d.user, d.stored, d.actual)
	}
	return d.user, differs
}

func (s *Service) drifts(ctx context.Context, db sqldb.Querier, after int64, limit int) (page []countDrift, err error) {
	ctx, cancel := context.WithTimeout(ctx, countLimit)
	defer cancel()
	err = sqldb.Each(ctx, db, s.sql.counts, []any{after, limit}, func(rows *sql.Rows) error {
		var d countDrift
		err := rows.Scan(&d.user, &d.stored, &d.actual)
		page = append(page, d)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count notes of users after %d: %w", after, err)
	}
	return page, nil
}

// repairCount corrects a user's count under the lock of the user's row. Publishing and
// deleting change the count under the same lock.
func (s *Service) repairCount(ctx context.Context, user int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), countLimit)
	defer cancel()
	var jobs []outbox.JobRef
	err := s.tx(ctx, func(tx *ent.Tx) error {
		jobs = nil
		if _, _, err := s.users.AddNotes(ctx, tx, map[int64]int{user: 0}); err != nil { // only locks the row
			return err
		}
		page, err := s.drifts(ctx, tx, user-1, 1)
		if err != nil || len(page) == 0 || page[0].user != user || page[0].stored == page[0].actual {
			return err
		}
		_, jobs, err = s.users.AddNotes(ctx, tx, map[int64]int{user: page[0].actual - page[0].stored})
		return err
	})
	if err != nil {
		return fmt.Errorf("repair note count of user %d: %w", user, err)
	}
	s.users.AfterCommit(ctx, []int64{user}, jobs)
	return nil
}

// scanEvents reports gaps in the numbers of the feed, up to the head at its start. It cannot
// repair them, because the lost events are unknown.
func (s *Service) scanEvents(ctx context.Context, r *reconcile.Run) error {
	head, err := s.db.FeedHead.Get(ctx, 1)
	if err != nil {
		return fmt.Errorf("read feed head: %w", err)
	}
	for from := int64(0); from < head.Seq; from += eventPage {
		until := min(from+eventPage, head.Seq)
		if err := r.Compare(ctx, int(until-from)); err != nil {
			return err
		}
		n, err := s.eventsIn(ctx, from, until)
		if err != nil {
			return err
		}
		if missing := until - from - int64(n); missing != 0 {
			r.Report(fmt.Sprintf("feed: %d numbers missing from %d to %d", missing, from+1, until))
		}
	}
	return nil
}
