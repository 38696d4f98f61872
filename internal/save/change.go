package save

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/batch"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/quota"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// errBusy is returned when too many saves wait to be written.
var errBusy = apierror.New(apierror.Unavailable, "Too many saves at the moment. Please try again.")

// Save stores a save of a target by a user. It is idempotent: it finds an existing save without a
// lock and writes nothing. All processes see the save after Save returns; if Redis is
// unavailable, once the outbox reaches it.
//
// It returns an [apierror.UserErrors] if there is no such target, or above the user's hourly limit
// ([quota.LimitReached]). It returns UNAVAILABLE if too many saves wait. All other errors come from
// the database. A repeated save succeeds even if the target was deleted meanwhile.
func (s *Service) Save(ctx context.Context, user, id int64) error {
	ctx, span := observe.Span(ctx, "save.Save")
	defer span.End()
	return s.join(ctx, s.saves, "save", pair{id, user})
}

// Unsave removes a save. It is idempotent and returns the errors of [Service.Save]. It checks the
// target only if the save exists.
func (s *Service) Unsave(ctx context.Context, user, id int64) error {
	ctx, span := observe.Span(ctx, "save.Unsave")
	defer span.End()
	return s.join(ctx, s.unsaves, "unsave", pair{id, user})
}

func (s *Service) join(ctx context.Context, b *batch.Batcher[pair, struct{}], verb string, p pair) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if _, err := b.Join(ctx, p); err != nil {
		return fmt.Errorf("%s %s %d as user %d: %w", verb, s.noun(), p.Target, p.User, err)
	}
	return nil
}

// pair is the key of a save. Outbox jobs consist of pairs.
type pair struct {
	Target int64 `json:"target"`
	User   int64 `json:"user"`
}

type calls = []*batch.Call[pair, struct{}]

func newBatcher(run batch.Run[pair, struct{}]) *batch.Batcher[pair, struct{}] {
	return batch.New(run, batch.Config{Timeout: writeTimeout, Busy: errBusy, Retryable: sqldb.Retryable, Shared: sqldb.Unavailable})
}

func (s *Service) saveAll(ctx context.Context, group calls) (after func(), err error) {
	return s.changeAll(ctx, group, 1, func(tx *ent.Tx, w *work) ([]pair, error) {
		rows, now := make([]row, len(w.pairs)), s.cfg.Now().UnixMilli()
		for i, p := range w.pairs {
			rows[i] = row{p, now}
		}
		return s.insert(ctx, tx, rows)
	})
}

func (s *Service) unsaveAll(ctx context.Context, group calls) (after func(), err error) {
	return s.changeAll(ctx, group, -1, func(tx *ent.Tx, w *work) (removed []pair, err error) {
		// Delete by id: a save that was added after the lookup stays.
		ids := make([]int64, len(w.pairs))
		for i, p := range w.pairs {
			ids[i] = w.rows[p]
		}
		err = s.sql.remove.Each(ctx, tx, ids, func(rows *sql.Rows) error {
			var p pair
			err := rows.Scan(&p.Target, &p.User)
			removed = append(removed, p)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("delete %d saves: %w", len(ids), err)
		}
		return removed, nil
	})
}

// work is the state of one group.
type work struct {
	rows    map[pair]int64 // ids of existing saves
	pairs   []pair         // to change, each once, in the order of calls
	uses    map[pair]*quota.Use
	refused map[pair]error

	changed []pair
	jobs    []outbox.JobRef
}

// changeAll runs a group. Each change adds by, 1 or -1, to the number of saves of its target. write
// changes the rows of pairs, whose targets are locked, and returns the changed ones.
//
// Each change counts against the user's hourly limit. The count runs while the transaction
// begins.
func (s *Service) changeAll(ctx context.Context, group calls, by int, write func(*ent.Tx, *work) ([]pair, error)) (after func(), err error) {
	w := &work{uses: map[pair]*quota.Use{}, refused: map[pair]error{}}
	if w.rows, err = s.find(ctx, group); err != nil {
		return nil, err
	}
	for _, c := range group {
		if _, twice := w.uses[c.In]; !twice && (w.rows[c.In] == 0) == (by > 0) {
			w.pairs = append(w.pairs, c.In)
			w.uses[c.In] = s.cfg.Quota.Take(ctx, c.In.User)
		}
	}
	if len(w.pairs) > 0 {
		err = ent.WithTx(ctx, s.db, func(tx *ent.Tx) error { return s.changeRows(ctx, tx, w, by, write) })
	}
	if err != nil {
		w.changed = nil
	}
	for p, use := range w.uses {
		if !slices.Contains(w.changed, p) {
			use.Release(ctx)
		}
	}
	if err != nil {
		return nil, err
	}
	var users []int64 // of all successful calls
	for _, c := range group {
		if c.Err = w.refused[c.In]; c.Err == nil {
			users = append(users, c.In.User)
		}
	}
	return func() {
		if len(w.changed) > 0 {
			s.committed(ctx, w.changed, w.jobs)
		}
		if len(w.changed) < len(users) {
			// The writer of an existing save may not have updated Redis yet, and the caller must see
			// the change. Ignore errors: the outbox job of the writer covers them. The counts of
			// targets stay cached, because repeats are unlimited.
			_ = s.saved.Invalidate(ctx, users...)
		}
	}, nil
}

// changeRows is the transaction of changeAll. It locks the targets first, so the transactions of
// one target run one after the other, and the counts are exact.
func (s *Service) changeRows(ctx context.Context, tx *ent.Tx, w *work, by int, write func(*ent.Tx, *work) ([]pair, error)) error {
	// Wait before the first row lock. SQLite holds its write lock meanwhile, at most until the
	// deadline of the limiter.
	for p, use := range w.uses {
		if err := use.Wait(); err != nil {
			w.refused[p] = err
		}
	}
	w.pairs = slices.DeleteFunc(w.pairs, func(p pair) bool { return w.refused[p] != nil })
	if len(w.pairs) == 0 {
		return nil
	}
	saves, add, err := s.cfg.Target.LockSaves(ctx, tx, targetsOf(w.pairs))
	if err != nil {
		return fmt.Errorf("lock targets: %w", err)
	}
	w.pairs = slices.DeleteFunc(w.pairs, func(p pair) bool {
		_, exists := saves[p.Target]
		if !exists {
			w.refused[p] = apierror.Refuse(apierror.NotFound, "The "+s.noun()+" was not found.", "id")
		}
		return !exists
	})
	if len(w.pairs) == 0 {
		return nil
	}
	if w.changed, err = write(tx, w); err != nil || len(w.changed) == 0 {
		return err
	}
	w.jobs, err = s.count(ctx, tx, w.changed, by, saves, add)
	return err
}

// count adds by to the saves of the target of each changed row, and adds the outbox jobs.
func (s *Service) count(ctx context.Context, tx *ent.Tx, changed []pair, by int, saves map[int64]int, add func(context.Context, map[int64]int) error) ([]outbox.JobRef, error) {
	more := map[int64]int{}
	for _, p := range changed {
		more[p.Target] = max(more[p.Target]+by, -saves[p.Target]) // the scan repairs a number that is too low
	}
	if err := add(ctx, more); err != nil {
		return nil, fmt.Errorf("count saves: %w", err)
	}
	return outbox.AddBatch(ctx, s.outbox, tx, s.topic(), changed...)
}

// find returns the ids of the existing saves of a group.
func (s *Service) find(ctx context.Context, group calls) (map[pair]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	pairs := make([]pair, len(group))
	for i, c := range group {
		pairs[i] = c.In
	}
	found := make(map[pair]int64, len(group))
	err := sqldb.Each(sqldb.Prepared(ctx), s.db, s.sql.find, []any{string(s.cfg.Kind), sqldb.JSON(pairs)}, func(rows *sql.Rows) error {
		var id int64
		var p pair
		err := rows.Scan(&id, &p.Target, &p.User)
		found[p] = id
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("select %d saves: %w", len(group), err)
	}
	return found, nil
}

type row struct {
	pair
	CreatedAt int64 `json:"created"`
}

// insert stores missing saves and returns them.
func (s *Service) insert(ctx context.Context, tx *ent.Tx, rows []row) (added []pair, err error) {
	err = sqldb.Each(sqldb.Prepared(ctx), tx, s.sql.insert, []any{string(s.cfg.Kind), sqldb.JSON(rows)}, func(rows *sql.Rows) error {
		var p pair
		err := rows.Scan(&p.Target, &p.User)
		added = append(added, p)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("insert %d saves: %w", len(rows), err)
	}
	return added, nil
}

func (s *Service) topic() string { return s.noun() + "-saves" }

// committed updates the caches after the commit of changes. The write succeeded, so the outbox
// retries errors of Redis.
func (s *Service) committed(ctx context.Context, changed []pair, jobs []outbox.JobRef) {
	s.outbox.Finish(ctx, s.invalidate(ctx, changed...), jobs...)
}

// invalidate is the outbox handler. It runs if the writer fails after its commit. It drops the
// sets of users. Adding an entry instead could restore a save that was removed meanwhile.
func (s *Service) invalidate(ctx context.Context, changed ...pair) error {
	users := distinct(changed, func(p pair) int64 { return p.User })
	return outbox.Transient(errors.Join(s.saved.Invalidate(ctx, users...), s.cfg.Target.InvalidateSaves(ctx, targetsOf(changed)...))) // Redis is unavailable
}

func targetsOf(pairs []pair) []int64 { return distinct(pairs, func(p pair) int64 { return p.Target }) }

// distinct returns the distinct ids of pairs, ascending.
func distinct(pairs []pair, id func(pair) int64) []int64 {
	ids := map[int64]bool{}
	for _, p := range pairs {
		ids[id(p)] = true
	}
	return slices.Sorted(maps.Keys(ids))
}
