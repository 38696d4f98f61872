package save

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
	scanCounts = 5000             // counts per second
	scanSets   = 500              // sets per second
	countLimit = 30 * time.Second // per statement
)

// Scans returns the consistency scans of the numbers of saves and of the sets in Redis.
func (s *Service) Scans() []reconcile.Scan {
	noun := s.noun()
	sets := reconcile.Windows[int64]{
		Format: "saves of user %d", Window: s.saved, Size: savedSize, Load: s.loadSaved, Parse: parseDecimal, Pause: s.pause,
	}
	return []reconcile.Scan{
		{Name: noun + "-saves", Description: "numbers of saves of " + noun + "s, against saves", Rate: scanCounts, Run: s.scanCounts},
		{Name: noun + "-saved", Description: "Redis sets of the newest " + noun + "s that users saved, against saves", Rate: scanSets, Redis: true, Run: sets.Compare},
	}
}

type drift struct {
	id             int64
	stored, actual int
}

func (s *Service) scanCounts(ctx context.Context, r *reconcile.Run) error {
	read := func(ctx context.Context, after int64, limit int) ([]drift, error) {
		return s.drifts(ctx, s.db, after, limit)
	}
	describe := func(d drift) (id int64, differs string) {
		if d.stored != d.actual {
			differs = fmt.Sprintf("%s %d: %d saves stored, %d counted", s.noun(), d.id, d.stored, d.actual)
		}
		return d.id, differs
	}
	return reconcile.Counters(ctx, r, scanPage, read, describe, s.repairCount)
}

func (s *Service) drifts(ctx context.Context, db sqldb.Querier, after int64, limit int) (list []drift, err error) {
	ctx, cancel := context.WithTimeout(ctx, countLimit)
	defer cancel()
	err = sqldb.Each(ctx, db, s.sql.count, []any{after, limit}, func(rows *sql.Rows) error {
		var d drift
		err := rows.Scan(&d.id, &d.stored, &d.actual)
		list = append(list, d)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count saves of each %s after %d: %w", s.noun(), after, err)
	}
	return list, nil
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
		list, err := s.drifts(ctx, tx, id-1, 1)
		if err != nil || len(list) == 0 || list[0].id != id || list[0].stored == list[0].actual {
			return err
		}
		if err := add(ctx, map[int64]int{id: list[0].actual - list[0].stored}); err != nil {
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
