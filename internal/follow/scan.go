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
	scanPage    = 500
	scanRows    = 5000             // follows and users per second
	scanSets    = 100              // sets per second: each may have 5000 members, and as many rows
	pageTimeout = 30 * time.Second // per page or set
)

// Scans returns the reconcile scans of the counts and of the sets.
func (s *Service) Scans() []reconcile.Scan {
	return []reconcile.Scan{
		{Name: "follows", Description: "follower and followee counts, with the follows, and follows with their users", Rate: scanRows, Run: s.scanFollows},
		{Name: "follow-sets", Description: "followee sets in Redis, with the follows", Rate: scanSets, Redis: true, Run: s.scanSets},
	}
}

// scanFollows deletes orphans first, because that changes counts.
func (s *Service) scanFollows(ctx context.Context, r *reconcile.Run) error {
	if err := s.scanOrphans(ctx, r); err != nil {
		return err
	}
	return s.scanCounts(ctx, r)
}

// scanOrphans deletes follows whose follower or followee does not exist.
func (s *Service) scanOrphans(ctx context.Context, r *reconcile.Run) error {
	type row struct {
		id, follower, followee int64
		both                   bool
	}
	for after, n := int64(0), scanPage; n == scanPage; {
		var page []row
		err := s.readPage(ctx, s.db, s.sql.orphans, after, scanPage, func(rows *sql.Rows) error {
			var f row
			err := rows.Scan(&f.id, &f.follower, &f.followee, &f.both)
			page = append(page, f)
			return err
		})
		if err != nil {
			return fmt.Errorf("read follows after %d: %w", after, err)
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
			r.Report(fmt.Sprintf("follow %d: user %d follows user %d, and one of them does not exist", f.id, f.follower, f.followee))
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

func (s *Service) removeOrphan(ctx context.Context, p pair, row int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	var w *work
	err := s.tx(ctx, func(tx *ent.Tx) error {
		w = &work{pairs: []pair{p}, rows: map[pair]int64{p: row}}
		return s.end(ctx, tx, w)
	})
	if errors.Is(err, errConflict) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete follow %d: %w", row, err)
	}
	s.outbox.Finish(ctx, s.invalidate(ctx, w.done...), w.own...)
	s.cfg.Users.AfterCommit(ctx, usersOf(w.done), w.users)
	return nil
}

func (s *Service) readPage(ctx context.Context, db sqldb.Querier, statement string, after int64, limit int, row func(*sql.Rows) error) error {
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	return sqldb.Each(ctx, db, statement, []any{after, limit}, row)
}

type drift struct {
	user                         int64
	followers, followees         int
	wantFollowers, wantFollowees int
}

func (d drift) correct() bool {
	return d.followers == d.wantFollowers && d.followees == d.wantFollowees
}

func (s *Service) scanCounts(ctx context.Context, r *reconcile.Run) error {
	read := func(ctx context.Context, after int64, limit int) ([]drift, error) {
		return s.counts(ctx, s.db, after, limit)
	}
	return reconcile.Counters(ctx, r, scanPage, read, drift.finding, s.repairCounts)
}

func (d drift) finding() (user int64, differs string) {
	if !d.correct() {
		differs = fmt.Sprintf("user %d: got %d followers and %d followees, want %d and %d",
			d.user, d.followers, d.followees, d.wantFollowers, d.wantFollowees)
	}
	return d.user, differs
}

func (s *Service) counts(ctx context.Context, db sqldb.Querier, after int64, limit int) (page []drift, err error) {
	err = s.readPage(ctx, db, s.sql.counts, after, limit, func(rows *sql.Rows) error {
		var d drift
		err := rows.Scan(&d.user, &d.followers, &d.followees, &d.wantFollowers, &d.wantFollowees)
		page = append(page, d)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count follows of users after %d: %w", after, err)
	}
	return page, nil
}

// repairCounts corrects the counts of a user under the lock of the user's row. Writers change rows
// and counts under the same lock.
func (s *Service) repairCounts(ctx context.Context, user int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pageTimeout) // it counts all rows
	defer cancel()
	var jobs []outbox.JobRef
	err := s.tx(ctx, func(tx *ent.Tx) error {
		jobs = nil
		if _, err := s.cfg.Users.LockFollows(ctx, tx, []int64{user}); err != nil {
			return fmt.Errorf("lock user: %w", err)
		}
		page, err := s.counts(ctx, tx, user-1, 1)
		if err != nil || len(page) == 0 || page[0].user != user || page[0].correct() {
			return err
		}
		d := page[0]
		jobs, err = s.cfg.Users.AddFollows(ctx, tx,
			map[int64]int{user: d.wantFollowees - d.followees}, map[int64]int{user: d.wantFollowers - d.followers})
		return err
	})
	if err != nil {
		return fmt.Errorf("repair counts of user %d: %w", user, err)
	}
	s.cfg.Users.AfterCommit(ctx, []int64{user}, jobs)
	return nil
}

// scanSets compares all sets in Redis with the rows. A missing set is no finding.
func (s *Service) scanSets(ctx context.Context, r *reconcile.Run) error {
	for at, started := (cache.ScanCursor{}), false; !started || at != (cache.ScanCursor{}); started = true {
		sets, next, err := s.followees.Scan(ctx, at, parseDecimal)
		if err != nil {
			return fmt.Errorf("scan followee sets: %w", err)
		}
		at = next
		if err := r.Compare(ctx, len(sets)); err != nil {
			return err
		}
		findings, err := s.checkSets(ctx, sets)
		if err != nil {
			return err
		}
		if len(findings) == 0 {
			continue
		}
		if err := s.recheck(ctx, r, findings); err != nil {
			return err
		}
	}
	return nil
}

// recheck compares sets again after a delay, in which pending invalidations reach Redis. It drops
// the sets with the same finding as before.
func (s *Service) recheck(ctx context.Context, r *reconcile.Run, before map[int64]string) error {
	if err := clock.Sleep(ctx, s.cfg.recheckDelay); err != nil {
		return err
	}
	for user, finding := range before {
		if err := r.WaitAgain(ctx, 1); err != nil {
			return err
		}
		again, err := s.checkSet(ctx, user)
		if err != nil {
			return err
		}
		if again == "" || again != finding {
			continue
		}
		r.Report(fmt.Sprintf("followees of user %d: %s", user, finding))
		if r.DryRun {
			continue
		}
		if err := s.followees.Invalidate(ctx, user); err != nil {
			return fmt.Errorf("drop set of user %d: %w", user, err)
		}
		if again, err = s.checkSet(ctx, user); err != nil { // a reader may have loaded it
			return err
		}
		if again == "" {
			r.CountRepaired(1)
		}
	}
	return nil
}

// checkSet returns the finding about a user's set, "" for none.
func (s *Service) checkSet(ctx context.Context, user int64) (string, error) {
	sets, err := s.followees.Peek(ctx, user)
	if err != nil {
		return "", fmt.Errorf("read set of user %d: %w", user, err)
	}
	findings, err := s.checkSets(ctx, sets)
	return findings[user], err
}

func (s *Service) checkSets(ctx context.Context, sets []cache.WindowSnapshot[int64]) (map[int64]string, error) {
	findings := map[int64]string{}
	for _, one := range sets {
		finding, err := s.compareSet(ctx, one)
		if err != nil {
			return nil, err
		}
		if finding != "" {
			findings[one.Key] = finding
		}
	}
	return findings, nil
}

// compareSet compares a set with the rows: followees, ids of follows, and the end marker.
func (s *Service) compareSet(ctx context.Context, sets cache.WindowSnapshot[int64]) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	n := len(sets.Entries)
	rows, err := s.loadFollowees(ctx, []cache.ListRange[int64]{{Owner: sets.Key, Before: math.MaxInt64, Limit: n + 1}})
	if err != nil {
		return "", err
	}
	want := rows[sets.Key]
	if !sets.Whole {
		want = want[:min(len(want), n)]
	}
	i := 0
	for i < n && i < len(want) && sets.Entries[i] == cacheEntry(want[i]) {
		i++
	}
	switch {
	case i == n && i == len(want):
		return "", nil
	case i == n:
		return fmt.Sprintf("set is marked complete, but lacks user %d", want[i].ID), nil
	case i == len(want):
		return fmt.Sprintf("user %s is not among the %d rows", sets.Entries[i].Member, i), nil
	}
	return fmt.Sprintf("position %d: got user %s, want user %d", i+1, sets.Entries[i].Member, want[i].ID), nil
}
