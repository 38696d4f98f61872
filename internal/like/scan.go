package like

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/reconcile"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

const (
	scanPage   = 500
	scanCounts = 5000             // counts per second
	scanSets   = 500              // sets per second
	countLimit = 30 * time.Second // per statement
)

// Scans returns the consistency scans of like counts and of the sets in Redis.
func (s *Service) Scans() []reconcile.Scan {
	noun := s.noun()
	liked := s.setsOf("likes of user %d", s.liked, likedSize, s.loadLiked)
	scans := []reconcile.Scan{
		{Name: noun + "-likes", Description: "like counts of " + noun + "s, against likes", Rate: scanCounts, Run: s.scanCounts},
		{Name: noun + "-liked", Description: "Redis sets of the newest " + noun + "s that users like, against likes", Rate: scanSets, Redis: true, Run: liked.Compare},
	}
	if s.likers != nil {
		likers := s.setsOf("likers of "+noun+" %d", s.likers, likersSize, s.loadLikers)
		scans = append(scans, reconcile.Scan{
			Name: noun + "-likers", Description: "Redis sets of the first likers of " + noun + "s, against likes", Rate: scanSets, Redis: true, Run: likers.Compare,
		})
	}
	return scans
}

func (s *Service) setsOf(format string, window *cache.Window[int64], size int, load cache.WindowLoader[int64]) reconcile.Windows[int64] {
	return reconcile.Windows[int64]{Format: format, Window: window, Size: size, Load: load, Parse: parseDecimal, Pause: s.pause}
}

type drift struct {
	id             int64
	stored, actual int
}

func (s *Service) scanCounts(ctx context.Context, r *reconcile.Run) error {
	read := func(ctx context.Context, after int64, limit int) ([]drift, error) {
		return s.counts(ctx, s.db, after, limit)
	}
	return reconcile.Counters(ctx, r, scanPage, read, s.describe, s.repairCount)
}

func (s *Service) describe(d drift) (id int64, differs string) {
	if d.stored != d.actual {
		differs = fmt.Sprintf("%s %d: %d likes stored, %d counted", s.noun(), d.id, d.stored, d.actual)
	}
	return d.id, differs
}

func (s *Service) counts(ctx context.Context, db sqldb.Querier, after int64, limit int) (page []drift, err error) {
	ctx, cancel := context.WithTimeout(ctx, countLimit)
	defer cancel()
	err = sqldb.Each(ctx, db, s.sql.count, []any{after, limit}, func(rows *sql.Rows) error {
		var d drift
		err := rows.Scan(&d.id, &d.stored, &d.actual)
		page = append(page, d)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count likes of each %s after %d: %w", s.noun(), after, err)
	}
	return page, nil
}

// repairCount corrects a count while it is locked. Concurrent likes and repairs wait for the
// lock, so the second of two repairs finds a correct count.
func (s *Service) repairCount(ctx context.Context, id int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	made := change{Target: id}
	var job []outbox.JobRef
	err := s.tx(ctx, func(tx *ent.Tx) error {
		job = nil
		likes, add, err := s.target.LockLikes(ctx, tx, []int64{id})
		if err != nil {
			return fmt.Errorf("lock counts: %w", err)
		}
		if _, exists := likes[id]; !exists {
			return nil
		}
		page, err := s.counts(ctx, tx, id-1, 1)
		if err != nil || len(page) == 0 || page[0].id != id || page[0].stored == page[0].actual {
			return err
		}
		if _, err := add(ctx, map[int64]int{id: page[0].actual - page[0].stored}); err != nil {
			return err
		}
		job, err = outbox.AddBatch(ctx, s.outbox, tx, s.topic(), made)
		return err
	})
	if err != nil {
		return fmt.Errorf("repair likes of %s %d: %w", s.noun(), id, err)
	}
	s.outbox.Finish(ctx, s.invalidate(ctx, made), job...)
	return nil
}
