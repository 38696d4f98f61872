package like

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/batch"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/quota"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// errBusy is returned when too many likes wait to be written.
var errBusy = apierror.New(apierror.Unavailable, "Too many likes at the moment. Please try again.")

// Like stores a like of a target by a user. It is idempotent: it finds an existing like
// without a lock and writes nothing. The unique index admits one of two concurrent likes;
// both calls succeed. All processes see the like after Like returns.
//
// It returns an [apierror.UserErrors] if there is no such target, or above the user's hourly limit
// ([quota.LimitReached]). It returns UNAVAILABLE if too many likes wait. All other errors come from
// the database. A repeated like succeeds even if the target was deleted meanwhile.
func (s *Service) Like(ctx context.Context, user, id int64) error {
	_, _, err := s.LikeAndCount(ctx, user, id)
	return err
}

// LikeAndCount is [Service.Like]. It also returns the likes of the target after the change.
// known is false for an existing like, because then they are not read.
func (s *Service) LikeAndCount(ctx context.Context, user, id int64) (likes int, known bool, err error) {
	ctx, span := observe.Span(ctx, "like.Like")
	defer span.End()
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	a, err := s.likes.Join(ctx, Draft{Target: id, User: user})
	if err != nil {
		return 0, false, fmt.Errorf("like %s %d as user %d: %w", s.noun(), id, user, err)
	}
	return a.likes, a.known, nil
}

// Unlike removes a like. It is idempotent and returns the errors of [Service.Like]. It
// checks the target only if the like exists.
func (s *Service) Unlike(ctx context.Context, user, id int64) error {
	ctx, span := observe.Span(ctx, "like.Unlike")
	defer span.End()
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if _, err := s.unlikes.Join(ctx, Draft{Target: id, User: user}); err != nil {
		return fmt.Errorf("unlike %s %d as user %d: %w", s.noun(), id, user, err)
	}
	return nil
}

type result struct {
	likes int // likes of the target after the change
	known bool
}

type calls = []*batch.Call[Draft, result]

func newBatcher(run batch.Run[Draft, result]) *batch.Batcher[Draft, result] {
	return batch.New(run, batch.Config{Timeout: writeTimeout, Busy: errBusy, Retryable: sqldb.Retryable, Shared: sqldb.Unavailable})
}

func (s *Service) likeAll(ctx context.Context, group calls) (after func(), err error) {
	if s.sql.likeNotes != "" {
		return s.likeNotes(ctx, group)
	}
	return s.likeRows(ctx, group)
}

// likeRows is likeAll with a transaction of several statements.
func (s *Service) likeRows(ctx context.Context, group calls) (after func(), err error) {
	return s.changeAll(ctx, group, func(row int64) bool { return row != 0 }, func(tx *ent.Tx, w *work) error {
		rows, err := s.insert(ctx, tx, w.drafts)
		if err != nil {
			return err
		}
		for _, r := range rows { // by id; new ids are the largest of their targets
			w.more[r.Target]++
			behind := w.likes[r.Target]+w.more[r.Target] > likersSize
			w.changes[r.Draft] = change{Target: r.Target, User: r.User, Behind: behind}
		}
		return nil
	})
}

func (s *Service) unlikeAll(ctx context.Context, group calls) (after func(), err error) {
	return s.changeAll(ctx, group, func(row int64) bool { return row == 0 }, func(tx *ent.Tx, w *work) error {
		ids := make(map[int64]Draft, len(w.drafts))
		for _, d := range w.drafts {
			ids[w.rows[d]] = d
		}
		// Delete by id: a like that was added after the lookup stays.
		args := []any{sqldb.JSON(slices.Collect(maps.Keys(ids)))}
		err := sqldb.Each(sqldb.Prepared(ctx), tx, s.sql.remove, args, func(rows *sql.Rows) error {
			var id int64
			err := rows.Scan(&id)
			d := ids[id]
			if w.likes[d.Target]+w.more[d.Target] > 0 { // the scan repairs a count that is too low
				w.more[d.Target]--
			}
			w.changes[d] = change{Target: d.Target, User: d.User, Removed: id}
			return err
		})
		if err != nil {
			return fmt.Errorf("delete %d likes: %w", len(ids), err)
		}
		return nil
	})
}

type outcome struct {
	refused map[Draft]error
	changes map[Draft]change
	likes   map[int64]int // likes of changed targets, after the change
	jobs    []outbox.JobRef
}

// work is the state of one transaction.
type work struct {
	outcome
	rows   map[Draft]int64 // ids of existing likes
	drafts []Draft         // to change, each once, in the order of calls
	more   map[int64]int   // to add to the likes of targets

	afterCommit func(*cache.Pipeline)
}

// changeAll runs a group. done reports whether a call needs no write, by the id of its
// existing like or 0. write changes the rows of the others, whose targets are locked.
//
// Locks come first, so transactions on one target run one after the other. The ids of its
// likes follow the order of commits, and readers see first likers in that order.
//
// Each successful change counts against the user's hourly limit. The count runs while the
// transaction begins.
func (s *Service) changeAll(ctx context.Context, group calls, done func(row int64) bool, write func(*ent.Tx, *work) error) (after func(), err error) {
	w := &work{}
	if w.rows, err = s.rowsOf(ctx, group); err != nil {
		return nil, err
	}
	uses := make(map[Draft]*quota.Use)
	for _, c := range group {
		if _, taken := uses[c.In]; !taken && !done(w.rows[c.In]) {
			w.drafts = append(w.drafts, c.In)
			uses[c.In] = s.quota.Take(ctx, c.In.User)
		}
	}
	if len(w.drafts) > 0 {
		err = ent.WithTx(ctx, s.db, func(tx *ent.Tx) error { return s.changeRows(ctx, tx, w, uses, write) })
	}
	if err == nil {
		for d := range w.changes {
			delete(uses, d)
		}
	}
	release(ctx, uses)
	if err != nil {
		return nil, err
	}
	return s.finish(ctx, group, &w.outcome, w.afterCommit), nil
}

// finish sets the results of a group. after updates Redis; afterCommit adds the counts of
// the targets to its pipeline.
func (s *Service) finish(ctx context.Context, group calls, o *outcome, afterCommit func(*cache.Pipeline)) (after func()) {
	var changes, repeats []change
	for _, c := range group {
		if c.Err = o.refused[c.In]; c.Err != nil {
			continue
		}
		if made, changed := o.changes[c.In]; changed {
			changes = append(changes, made)
			c.Out = result{o.likes[c.In.Target], true}
			delete(o.changes, c.In) // a second equal call is a repeat
		} else {
			repeats = append(repeats, change{Target: c.In.Target, User: c.In.User})
		}
	}
	return func() {
		if len(changes) > 0 {
			p := s.hub.Pipeline()
			afterCommit(p)
			s.invalidateSetsIn(p, changes...)
			// The write succeeded, so callers get no error. If Redis fails, the outbox retries.
			s.outbox.Finish(ctx, outbox.Transient(p.Exec(ctx)), o.jobs...)
		}
		if len(repeats) > 0 {
			// The writer of an existing like may not have updated Redis yet, and the caller must see
			// the change. Ignore errors: the outbox job of the writer covers them.
			_ = s.invalidate(ctx, repeats...)
		}
	}
}

// changeRows is the transaction of changeAll.
func (s *Service) changeRows(ctx context.Context, tx *ent.Tx, w *work, uses map[Draft]*quota.Use, write func(*ent.Tx, *work) error) error {
	w.outcome = outcome{refused: map[Draft]error{}, changes: map[Draft]change{}}
	// Wait before the first row lock. SQLite holds its write lock meanwhile, at most until the
	// deadline of the limiter.
	for d, use := range uses {
		if err := use.Wait(); err != nil {
			w.refused[d] = err
		}
	}
	w.drafts = slices.DeleteFunc(w.drafts, func(d Draft) bool { return w.refused[d] != nil })
	if len(w.drafts) == 0 {
		return nil
	}
	likes, add, err := s.target.LockLikes(ctx, tx, sorted(w.drafts, func(d Draft) int64 { return d.Target }))
	if err != nil {
		return fmt.Errorf("lock targets: %w", err)
	}
	w.drafts = slices.DeleteFunc(w.drafts, func(d Draft) bool {
		_, exists := likes[d.Target]
		if !exists {
			w.refused[d] = s.notFound()
		}
		return !exists
	})
	if len(w.drafts) == 0 {
		return nil
	}
	w.likes, w.more = likes, map[int64]int{}
	if err := write(tx, w); err != nil {
		return err
	}
	if len(w.changes) == 0 {
		return nil
	}
	if w.afterCommit, err = add(ctx, w.more); err != nil {
		return fmt.Errorf("count likes: %w", err)
	}
	for id, n := range w.more {
		w.likes[id] += n
	}
	w.jobs, err = outbox.AddBatch(ctx, s.outbox, tx, s.topic(), slices.Collect(maps.Values(w.changes))...)
	return err
}

func (s *Service) notFound() error {
	return apierror.Refuse(apierror.NotFound, "The "+s.noun()+" was not found.", "id")
}

// rowsOf returns the ids of the existing likes of a group.
func (s *Service) rowsOf(ctx context.Context, group calls) (map[Draft]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	drafts := make([]Draft, len(group))
	for i, c := range group {
		drafts[i] = c.In
	}
	rows, err := s.readRows(ctx, s.db, s.sql.find, string(s.kind), sqldb.JSON(drafts))
	if err != nil {
		return nil, fmt.Errorf("select %d likes: %w", len(group), err)
	}
	found := make(map[Draft]int64, len(rows))
	for _, r := range rows {
		found[r.Draft] = r.id
	}
	return found, nil
}

type row struct {
	id int64
	Draft
}

// readRows runs a statement that returns likes. It sorts them by id.
func (s *Service) readRows(ctx context.Context, db sqldb.Querier, statement string, args ...any) ([]row, error) {
	var list []row
	err := sqldb.Each(sqldb.Prepared(ctx), db, statement, args, func(rows *sql.Rows) error {
		var r row
		err := rows.Scan(&r.id, &r.Target, &r.User)
		list = append(list, r)
		return err
	})
	slices.SortFunc(list, func(a, b row) int { return cmp.Compare(a.id, b.id) })
	return list, err
}
