package like

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/reconcile"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

const (
	scanPage         = 500
	scanCounts       = 5000             // counts per second
	scanSets         = 500              // sets per second
	setsPerStatement = 50               // sets per statement
	countLimit       = 30 * time.Second // per statement
	recheckDelay     = time.Second      // until pending invalidations have reached Redis
)

// Scans returns the consistency scans of like counts and of the sets in Redis.
func (s *Service) Scans() []reconcile.Scan {
	noun := s.noun()
	scans := []reconcile.Scan{
		{Name: noun + "-likes", Description: "like counts of " + noun + "s, against likes", Rate: scanCounts, Run: s.scanCounts},
		{Name: noun + "-liked", Description: "Redis sets of the newest " + noun + "s that users like, against likes", Rate: scanSets, Redis: true, Run: func(ctx context.Context, r *reconcile.Run) error {
			return s.scanSets(ctx, r, likeSet{"likes of user %d", s.liked, likedSize, s.loadLiked})
		}},
	}
	if s.likers != nil {
		scans = append(scans, reconcile.Scan{
			Name: noun + "-likers", Description: "Redis sets of the first likers of " + noun + "s, against likes", Rate: scanSets, Redis: true, Run: func(ctx context.Context, r *reconcile.Run) error {
				return s.scanSets(ctx, r, likeSet{"likers of " + noun + " %d", s.likers, likersSize, s.loadLikers})
			},
		})
	}
	return scans
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

// likeSet describes the windows of one kind to a scan.
type likeSet struct {
	name   string // format of a description, with %d for the key
	window *cache.Window[int64]
	size   int
	load   cache.WindowLoader[int64]
}

// scanSets compares the sets in Redis with the rows. A missing set is correct.
func (s *Service) scanSets(ctx context.Context, r *reconcile.Run, of likeSet) error {
	for at := (cache.ScanCursor{}); ; {
		stored, next, err := of.window.Scan(ctx, at, parseDecimal)
		if err != nil {
			return err
		}
		for part := range slices.Chunk(stored, setsPerStatement) {
			if err := r.Compare(ctx, len(part)); err != nil {
				return err
			}
			if err := s.compareSets(ctx, r, of, part); err != nil {
				return err
			}
		}
		if at = next; at == (cache.ScanCursor{}) {
			return nil
		}
	}
}

// compareSets drops wrong sets. A set may be outdated between a commit and its invalidation.
// So a set is wrong only if it has the same content and the same mismatch after a pause.
func (s *Service) compareSets(ctx context.Context, r *reconcile.Run, of likeSet, stored []cache.WindowSnapshot[int64]) error {
	before, err := of.mismatches(ctx, stored)
	if err != nil || len(before) == 0 {
		return err
	}
	if err := clock.Sleep(ctx, s.pause); err != nil {
		return err
	}
	now, err := of.recheck(ctx, before)
	if err != nil {
		return err
	}
	for id, was := range before {
		is, ok := now[id]
		if !ok || is.text != was.text || !slices.Equal(is.set.Entries, was.set.Entries) {
			continue
		}
		r.Report(fmt.Sprintf(of.name+": %s", id, is.text))
		if r.DryRun {
			continue
		}
		if err := of.window.Invalidate(ctx, id); err != nil {
			return fmt.Errorf("drop incorrect set: %w", err)
		}
		again, err := of.recheck(ctx, map[int64]mismatch{id: is}) // a reader may have reloaded it
		if err != nil {
			return err
		}
		if len(again) == 0 {
			r.CountRepaired(1)
		}
	}
	return nil
}

type mismatch struct {
	set  cache.WindowSnapshot[int64]
	text string
}

func (of likeSet) recheck(ctx context.Context, wrong map[int64]mismatch) (map[int64]mismatch, error) {
	ids := make([]int64, 0, len(wrong))
	for id := range wrong {
		ids = append(ids, id)
	}
	stored, err := of.window.Peek(ctx, ids...)
	if err != nil {
		return nil, err
	}
	return of.mismatches(ctx, stored)
}

func (of likeSet) mismatches(ctx context.Context, stored []cache.WindowSnapshot[int64]) (map[int64]mismatch, error) {
	if len(stored) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, countLimit)
	defer cancel()
	ids := make([]int64, len(stored))
	for i, k := range stored {
		ids[i] = k.Key
	}
	rows, err := of.load(ctx, ids, of.size+1)
	if err != nil {
		return nil, err
	}
	wrong := make(map[int64]mismatch)
	for _, k := range stored {
		if text := difference(k, rows[k.Key]); text != "" {
			wrong[k.Key] = mismatch{k, text}
		}
	}
	return wrong, nil
}

// difference describes the first difference between a set and the rows, or returns "".
func difference(stored cache.WindowSnapshot[int64], want []cache.Entry) string {
	n, i := len(stored.Entries), 0
	if !stored.Whole {
		want = want[:min(len(want), n)]
	}
	for i < n && i < len(want) && stored.Entries[i] == want[i] {
		i++
	}
	switch {
	case i == n && i == len(want):
		return ""
	case i == n:
		return fmt.Sprintf("missing %s, but marked complete", want[i].Member)
	case i == len(want):
		return fmt.Sprintf("extra member %s after %d", stored.Entries[i].Member, i)
	}
	return fmt.Sprintf("position %d: got %v, want %v", i+1, stored.Entries[i], want[i])
}
