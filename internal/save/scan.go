package save

import (
	"context"
	"fmt"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/reconcile"
)

const (
	scanCounts = 5000 // counts per second
	scanSets   = 500  // sets per second
)

// Scans returns the consistency scans of the numbers of saves and of the sets in Redis.
func (s *Service) Scans() []reconcile.Scan {
	noun := s.noun()
	sets := reconcile.Windows[int64]{
		Format: "saves of user %d", Window: s.saved, Size: savedSize, Load: s.loadSaved, Parse: parseDecimal, Pause: s.pause,
	}
	return []reconcile.Scan{
		{Name: noun + "-saves", Description: "numbers of saves of " + noun + "s, against saves", Rate: scanCounts, Run: func(ctx context.Context, r *reconcile.Run) error {
			return s.counts().Compare(ctx, r, s.db, s.repairCount)
		}},
		{Name: noun + "-saved", Description: "Redis sets of the newest " + noun + "s that users saved, against saves", Rate: scanSets, Redis: true, Run: sets.Compare},
	}
}

func (s *Service) counts() reconcile.RowCounts {
	return reconcile.RowCounts{Format: s.noun() + " %d: %d saves stored, %d counted", Statement: s.sql.count}
}

// repairCount corrects a number while its target is locked. Concurrent saves and repairs wait for
// the lock, so the second of two repairs finds a correct number.
func (s *Service) repairCount(ctx context.Context, id int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	made := pair{Target: id}
	var jobs []outbox.JobRef
	err := s.tx(ctx, func(tx *ent.Tx) error {
		jobs = nil
		saves, add, err := s.cfg.Target.LockSaves(ctx, tx, []int64{id})
		if err != nil {
			return fmt.Errorf("lock target: %w", err)
		}
		if _, exists := saves[id]; !exists {
			return nil
		}
		missing, err := s.counts().Missing(ctx, tx, id)
		if err != nil || missing == 0 {
			return err
		}
		if err := add(ctx, map[int64]int{id: missing}); err != nil {
			return err
		}
		jobs, err = outbox.AddBatch(ctx, s.outbox, tx, s.topic(), made)
		return err
	})
	if err != nil {
		return fmt.Errorf("repair saves of %s %d: %w", s.noun(), id, err)
	}
	s.committed(ctx, []pair{made}, jobs)
	return nil
}
