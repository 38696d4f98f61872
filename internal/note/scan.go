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
	scanCounts = 5000             // users a second
	scanEvents = 50_000           // numbers a second
	eventPage  = 5000             // numbers in one statement
	countLimit = 30 * time.Second // of the statement that counts a page
)

// Scans are what this room compares: how many notes users have, and the numbers of the
// feed.
func (s *Service) Scans() []reconcile.Scan {
	return []reconcile.Scan{
		{Name: "notes", Description: "notes of each user, with the rows", Rate: scanCounts, Run: s.scanCounts},
		{Name: "note-events", Description: "the numbers of the feed: none is missing below the head", Rate: scanEvents, Run: s.scanEvents},
	}
}

// A countDrift is a user whose notes are not counted as the rows say.
type countDrift struct {
	user           int64
	stored, actual int
}

// scanCounts compares how many notes all users have, in pages.
func (s *Service) scanCounts(ctx context.Context, r *reconcile.Run) error {
	read := func(ctx context.Context, after int64, limit int) ([]countDrift, error) {
		return s.drifts(ctx, s.db, after, limit)
	}
	return reconcile.Counters(ctx, r, scanPage, read, countDrift.describe, s.repairCount)
}

// describe says how a count differs.
func (d countDrift) describe() (user int64, differs string) {
	if d.stored != d.actual {
		differs = fmt.Sprintf("user %d: the row has %d notes, and there are %d", d.user, d.stored, d.actual)
	}
	return d.user, differs
}

// drifts reads the counts of users behind an id.
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
		return nil, fmt.Errorf("count the notes of users behind %d: %w", after, err)
	}
	return page, nil
}

// repairCount sets a user's count to what the rows say while the user's row is locked: who
// publishes or deletes counts under the same lock.
func (s *Service) repairCount(ctx context.Context, user int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), countLimit)
	defer cancel()
	var jobs []outbox.JobRef
	err := s.tx(ctx, func(tx *ent.Tx) error {
		jobs = nil
		if _, _, err := s.users.AddNotes(ctx, tx, map[int64]int{user: 0}); err != nil { // only locks
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
		return fmt.Errorf("set the notes of user %d right: %w", user, err)
	}
	s.users.AfterCommit(ctx, []int64{user}, jobs)
	return nil
}

// scanEvents looks for holes in the numbers of the feed, up to the head that it began
// with. One cannot be mended: nobody knows what was there.
func (s *Service) scanEvents(ctx context.Context, r *reconcile.Run) error {
	head, err := s.db.FeedHead.Get(ctx, 1)
	if err != nil {
		return fmt.Errorf("read the head of the feed: %w", err)
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
			r.Report(fmt.Sprintf("feed: %d numbers are missing of %d to %d", missing, from+1, until))
		}
	}
	return nil
}
