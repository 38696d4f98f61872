package like

import (
	"context"
	"fmt"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/reconcile"
)

const (
	scanCounts = 5000 // counts per second
	scanSets   = 500  // sets per second
)

// Scans returns the consistency scans of like counts and of the sets in Redis.
func (s *Service) Scans() []reconcile.Scan {
	noun := s.noun()
	liked := s.setsOf("likes of user %d", s.liked, likedSize, s.loadLiked)
	scans := []reconcile.Scan{
		{Name: noun + "-likes", Description: "like counts of " + noun + "s, against likes", Rate: scanCounts, Run: func(ctx context.Context, r *reconcile.Run) error {
			return s.counts().Compare(ctx, r, s.db, s.repairCount)
		}},
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

func (s *Service) counts() reconcile.RowCounts {
	return reconcile.RowCounts{Format: s.noun() + " %d: %d likes stored, %d counted", Statement: s.sql.count}
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
		missing, err := s.counts().Missing(ctx, tx, id)
		if err != nil || missing == 0 {
			return err
		}
		if _, err := add(ctx, map[int64]int{id: missing}); err != nil {
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
