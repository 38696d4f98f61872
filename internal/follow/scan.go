package follow

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/reconcile"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

const (
	scanPage  = 500
	scanRows  = 5000             // follows and counts a second
	scanSets  = 100              // sets a second: each may have 5000 members, and as many rows
	pageLimit = 30 * time.Second // of the statement that reads a page, and of comparing a set
)

// Scans are what this room compares: what is counted of follows, and whom each follows.
func (s *Service) Scans() []reconcile.Scan {
	return []reconcile.Scan{
		{Name: "follows", Description: "followers and followees counted of each user, with the follows, and follows with their users", Rate: scanRows, Run: s.scanFollows},
		{Name: "follow-sets", Description: "sets of whom users follow in Redis, with the follows", Rate: scanSets, Redis: true, Run: s.scanSets},
	}
}

// scanFollows ends the follows of who is gone first: that changes what is counted.
func (s *Service) scanFollows(ctx context.Context, r *reconcile.Run) error {
	if err := s.scanOrphans(ctx, r); err != nil {
		return err
	}
	return s.scanCounts(ctx, r)
}

// scanOrphans looks for follows of users, or by users, that are gone.
func (s *Service) scanOrphans(ctx context.Context, r *reconcile.Run) error {
	type row struct {
		id, follower, followee int64
		both                   bool
	}
	for after, n := int64(0), scanPage; n == scanPage; {
		var page []row
		err := s.page(ctx, s.db, s.sql.orphans, after, scanPage, func(rows *sql.Rows) error {
			var f row
			err := rows.Scan(&f.id, &f.follower, &f.followee, &f.both)
			page = append(page, f)
			return err
		})
		if err != nil {
			return fmt.Errorf("read follows behind %d: %w", after, err)
		}
		if n = len(page); n == 0 {
			return nil
		}
		after = page[n-1].id
		if err := r.Compare(ctx, n); err != nil {
			return err
		}
		for _, f := range page {
			if f.both {
				continue
			}
			r.Report(fmt.Sprintf("follow %d: user %d follows user %d, and one of them is gone", f.id, f.follower, f.followee))
			if r.DryRun {
				continue
			}
			if err := s.removeOrphan(ctx, pair{f.follower, f.followee}, f.id); err != nil {
				return err
			}
			r.CountRepaired(1)
		}
	}
	return nil
}

// removeOrphan deletes a follow by its id.
func (s *Service) removeOrphan(ctx context.Context, p pair, row int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	var w *work
	err := s.tx(ctx, func(tx *ent.Tx) error {
		w = &work{pairs: []pair{p}, rows: map[pair]int64{p: row}}
		return s.end(ctx, tx, w)
	})
	if errors.Is(err, errFaster) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete follow %d: %w", row, err)
	}
	s.outbox.Finish(ctx, s.tell(ctx, w.done...), w.own...)
	s.cfg.Users.AfterCommit(ctx, usersOf(w.done), w.users)
	return nil
}

// page runs the statement of a page in its time.
func (s *Service) page(ctx context.Context, db sqldb.Querier, statement string, after int64, most int, row func(*sql.Rows) error) error {
	ctx, cancel := context.WithTimeout(ctx, pageLimit)
	defer cancel()
	return sqldb.Each(ctx, db, statement, []any{after, most}, row)
}

// A drift is what is counted of a user's follows, and what the rows say.
type drift struct {
	user                         int64
	followers, followees         int
	wantsFollowers, wantsFollows int
}

func (d drift) right() bool { return d.followers == d.wantsFollowers && d.followees == d.wantsFollows }

// scanCounts compares what is counted of each user, in pages.
func (s *Service) scanCounts(ctx context.Context, r *reconcile.Run) error {
	read := func(ctx context.Context, after int64, most int) ([]drift, error) {
		return s.counts(ctx, s.db, after, most)
	}
	return reconcile.Counters(ctx, r, scanPage, read, drift.look, s.mend)
}

// look says how counts differ.
func (d drift) look() (user int64, differs string) {
	if !d.right() {
		differs = fmt.Sprintf("user %d: it has %d followers and follows %d, and the follows say %d and %d",
			d.user, d.followers, d.followees, d.wantsFollowers, d.wantsFollows)
	}
	return d.user, differs
}

// counts reads a page of users behind an id.
func (s *Service) counts(ctx context.Context, db sqldb.Querier, after int64, most int) (page []drift, err error) {
	err = s.page(ctx, db, s.sql.counts, after, most, func(rows *sql.Rows) error {
		var d drift
		err := rows.Scan(&d.user, &d.followers, &d.followees, &d.wantsFollowers, &d.wantsFollows)
		page = append(page, d)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count the follows of each user behind %d: %w", after, err)
	}
	return page, nil
}

// mend sets what is counted of a user to what the rows say while the user is locked: who
// follows or is followed counts before or after, and stores in the same transaction.
func (s *Service) mend(ctx context.Context, user int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pageLimit) // it counts them all
	defer cancel()
	var tickets []outbox.JobRef
	err := s.tx(ctx, func(tx *ent.Tx) error {
		tickets = nil
		if _, err := s.cfg.Users.LockFollows(ctx, tx, []int64{user}); err != nil {
			return fmt.Errorf("lock it: %w", err)
		}
		page, err := s.counts(ctx, tx, user-1, 1)
		if err != nil || len(page) == 0 || page[0].user != user || page[0].right() {
			return err
		}
		d := page[0]
		tickets, err = s.cfg.Users.AddFollows(ctx, tx,
			map[int64]int{user: d.wantsFollows - d.followees}, map[int64]int{user: d.wantsFollowers - d.followers})
		return err
	})
	if err != nil {
		return fmt.Errorf("set the counts of user %d right: %w", user, err)
	}
	s.cfg.Users.AfterCommit(ctx, []int64{user}, tickets)
	return nil
}

// scanSets walks over the sets in Redis. A set that is not there is right.
func (s *Service) scanSets(ctx context.Context, r *reconcile.Run) error {
	for at, begun := (cache.ScanCursor{}), false; !begun || at != (cache.ScanCursor{}); begun = true {
		kept, next, err := s.out.Scan(ctx, at, parseDecimal)
		if err != nil {
			return fmt.Errorf("walk over the sets of whom users follow: %w", err)
		}
		at = next
		if err := r.Compare(ctx, len(kept)); err != nil {
			return err
		}
		flaws, err := s.flaws(ctx, kept)
		if err != nil {
			return err
		}
		if len(flaws) == 0 {
			continue
		}
		if err := s.secondLook(ctx, r, flaws); err != nil {
			return err
		}
	}
	return nil
}

// secondLook looks again at sets that were wrong, after a moment in which a writer who
// was between his commit and Redis has told it, and drops those in which the same is
// wrong as before.
func (s *Service) secondLook(ctx context.Context, r *reconcile.Run, before map[int64]string) error {
	if err := clock.Sleep(ctx, s.cfg.settle); err != nil {
		return err
	}
	for user, flaw := range before {
		if err := r.WaitAgain(ctx, 1); err != nil {
			return err
		}
		again, err := s.look(ctx, user)
		if err != nil {
			return err
		}
		if again == "" || again != flaw {
			continue
		}
		r.Report(fmt.Sprintf("set of whom user %d follows: %s", user, flaw))
		if r.DryRun {
			continue
		}
		if err := s.out.Invalidate(ctx, user); err != nil {
			return fmt.Errorf("drop the wrong set of user %d: %w", user, err)
		}
		if again, err = s.look(ctx, user); err != nil { // a reader was quick
			return err
		}
		if again == "" {
			r.CountRepaired(1)
		}
	}
	return nil
}

// look says what is wrong with a user's set now, "" for nothing.
func (s *Service) look(ctx context.Context, user int64) (string, error) {
	kept, err := s.out.Peek(ctx, user)
	if err != nil {
		return "", fmt.Errorf("look at the set of user %d: %w", user, err)
	}
	flaws, err := s.flaws(ctx, kept)
	return flaws[user], err
}

// flaws says what is wrong with sets, by user. One that is right is left out.
func (s *Service) flaws(ctx context.Context, kept []cache.WindowSnapshot[int64]) (map[int64]string, error) {
	flaws := map[int64]string{}
	for _, one := range kept {
		flaw, err := s.flawOf(ctx, one)
		if err != nil {
			return nil, err
		}
		if flaw != "" {
			flaws[one.Key] = flaw
		}
	}
	return flaws, nil
}

// flawOf compares a set with the rows: followees, ids of follows, and what the marker says.
func (s *Service) flawOf(ctx context.Context, kept cache.WindowSnapshot[int64]) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, pageLimit)
	defer cancel()
	n := len(kept.Entries)
	rows, err := s.loadFollowees(ctx, []cache.ListRange[int64]{{Owner: kept.Key, Before: math.MaxInt64, Limit: n + 1}})
	if err != nil {
		return "", err
	}
	want := rows[kept.Key]
	if !kept.Whole {
		want = want[:min(len(want), n)]
	}
	i := 0
	for i < n && i < len(want) && kept.Entries[i] == entry(want[i]) {
		i++
	}
	switch {
	case i == n && i == len(want):
		return "", nil
	case i == n:
		return fmt.Sprintf("it ends before user %d, and says that it is whole", want[i].ID), nil
	case i == len(want):
		return fmt.Sprintf("it has user %s, and there are no more than %d", kept.Entries[i].Member, i), nil
	}
	return fmt.Sprintf("in place %d it has user %s, and should have user %d", i+1, kept.Entries[i].Member, want[i].ID), nil
}
