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
	scanCounts       = 5000             // counts a second
	scanSets         = 500              // sets a second
	setsPerStatement = 50               // sets whose rows one statement reads
	countLimit       = 30 * time.Second // of a statement that counts a page, or reads such rows
	recheckDelay     = time.Second      // after which a set that was only behind is not any more
)

// Scans are what this Service compares: the counts of its targets, and its sets in Redis.
func (s *Service) Scans() []reconcile.Scan {
	noun := s.noun()
	scans := []reconcile.Scan{
		{Name: noun + "-likes", Description: "counted likes of each " + noun + ", with the likes", Rate: scanCounts, Run: s.scanCounts},
		{Name: noun + "-liked", Description: "sets in Redis of the newest " + noun + "s that users like, with the likes", Rate: scanSets, Redis: true, Run: func(ctx context.Context, r *reconcile.Run) error {
			return s.scanSets(ctx, r, likeSet{"what user %d likes", s.liked, likedSize, s.loadLiked})
		}},
	}
	if s.likers != nil {
		scans = append(scans, reconcile.Scan{
			Name: noun + "-likers", Description: "sets in Redis of who liked each " + noun + " first, with the likes", Rate: scanSets, Redis: true, Run: func(ctx context.Context, r *reconcile.Run) error {
				return s.scanSets(ctx, r, likeSet{"likers of " + noun + " %d", s.likers, likersSize, s.loadLikers})
			},
		})
	}
	return scans
}

// A drift is a count that is not what the rows say.
type drift struct {
	id             int64
	stored, actual int
}

// scanCounts compares the likes of all targets, in pages.
func (s *Service) scanCounts(ctx context.Context, r *reconcile.Run) error {
	read := func(ctx context.Context, after int64, limit int) ([]drift, error) {
		return s.counts(ctx, s.db, after, limit)
	}
	return reconcile.Counters(ctx, r, scanPage, read, s.describe, s.repairCount)
}

// describe says how a count differs.
func (s *Service) describe(d drift) (id int64, differs string) {
	if d.stored != d.actual {
		differs = fmt.Sprintf("%s %d: it counts %d likes, and there are %d", s.noun(), d.id, d.stored, d.actual)
	}
	return d.id, differs
}

// counts reads a page of counts behind an id.
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
		return nil, fmt.Errorf("count the likes of each %s behind %d: %w", s.noun(), after, err)
	}
	return page, nil
}

// repairCount sets a count to what the rows say while it is locked: whoever likes the target
// changes both before that, or after it, and of two that mend it the second one finds it
// right.
func (s *Service) repairCount(ctx context.Context, id int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	made := change{Target: id}
	var job []outbox.JobRef
	err := s.tx(ctx, func(tx *ent.Tx) error {
		job = nil
		likes, add, err := s.target.LockLikes(ctx, tx, []int64{id})
		if err != nil {
			return fmt.Errorf("lock it: %w", err)
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
		return fmt.Errorf("set the likes of %s %d right: %w", s.noun(), id, err)
	}
	s.outbox.Finish(ctx, s.invalidate(ctx, made), job...)
	return nil
}

// likeSet are windows of one kind, as a scan sees them.
type likeSet struct {
	name   string // of one, for people, with %d for its key
	window *cache.Window[int64]
	size   int
	load   cache.WindowLoader[int64]
}

// scanSets walks over the sets in Redis and compares them with the rows. A set that is
// not there is right.
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

// compareSets finds the wrong ones of some sets, and drops them. Between a commit and
// what it tells Redis a set is behind, and right: so one is wrong only if after a while
// it is still the same, and wrong in the same way.
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
			return fmt.Errorf("drop a wrong set: %w", err)
		}
		again, err := of.recheck(ctx, map[int64]mismatch{id: is}) // a reader may have been quick
		if err != nil {
			return err
		}
		if len(again) == 0 {
			r.CountRepaired(1)
		}
	}
	return nil
}

// A mismatch is what is wrong with a set.
type mismatch struct {
	set  cache.WindowSnapshot[int64]
	text string
}

// recheck says what is wrong now with sets that were.
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

// mismatches compares sets with the rows, and returns the wrong ones.
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

// difference says what is wrong with a set, "" for nothing.
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
		return fmt.Sprintf("it ends before %s, and says that it is whole", want[i].Member)
	case i == len(want):
		return fmt.Sprintf("it has %s, and there are no more than %d", stored.Entries[i].Member, i)
	}
	return fmt.Sprintf("in place %d it has %v, and should have %v", i+1, stored.Entries[i], want[i])
}
