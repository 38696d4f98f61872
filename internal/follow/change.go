package follow

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/batch"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/quota"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

const writeTimeout = 5 * time.Second // per call

var (
	// errBusy is returned when too many follows wait.
	errBusy = apierror.New(apierror.Unavailable, "Too many follows at the moment. Please try again.")

	// errConflict rolls back a transaction if another one has written the same follow since the
	// lookup.
	errConflict = errors.New("another transaction wrote the same follow")
)

// Follow makes follower follow followee. It is idempotent: it finds an existing follow without
// locks or writes. Otherwise it locks the users' rows first, so the limit is exact.
//
// When it returns nil, lists and [Service.IsFollowed] include the follow in every process. If
// Redis is unavailable, they do so once the outbox reaches it.
//
// It returns [apierror.UserErrors] for following oneself, a missing user, more than
// [MaxFollowees] or more than the hourly limit. The last one has the code [quota.LimitReached].
// It returns UNAVAILABLE if too many follows wait, and UNAUTHENTICATED if follower does not exist.
// Any other error means that the database failed.
func (s *Service) Follow(ctx context.Context, follower, followee int64) error {
	ctx, span := observe.Span(ctx, "follow.Follow")
	defer span.End()
	if follower == followee {
		return apierror.Refuse(CannotFollowSelf, "You can't follow yourself.", "userId")
	}
	if err := s.change(ctx, s.begins, pair{follower, followee}); err != nil {
		return fmt.Errorf("follow user %d as user %d: %w", followee, follower, err)
	}
	return nil
}

// Unfollow ends a follow. It is idempotent, and works for deleted users. If neither the user nor
// the follow exists, it returns the error of [Service.Follow].
//
// When it returns nil, lists and [Service.IsFollowed] exclude the follow in every process. If
// Redis is unavailable, they do so once the outbox reaches it.
func (s *Service) Unfollow(ctx context.Context, follower, followee int64) error {
	ctx, span := observe.Span(ctx, "follow.Unfollow")
	defer span.End()
	if err := s.change(ctx, s.ends, pair{follower, followee}); err != nil {
		return fmt.Errorf("unfollow user %d as user %d: %w", followee, follower, err)
	}
	return nil
}

func (s *Service) change(ctx context.Context, b *batch.Batcher[pair, struct{}], p pair) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	_, err := b.Join(ctx, p)
	if errors.Is(err, errConflict) { // after retries: another writer made the same change
		s.invalidateAgain(ctx, []pair{p})
		return nil
	}
	return err
}

func errUserNotFound() error {
	return apierror.Refuse(apierror.NotFound, "This user doesn't exist.", "userId")
}

type pair [2]int64

func (p pair) follower() int64 { return p[0] }
func (p pair) followee() int64 { return p[1] }

type calls = []*batch.Call[pair, struct{}]

func newBatcher(run batch.Run[pair, struct{}]) *batch.Batcher[pair, struct{}] {
	return batch.New(run, batch.Config{
		Timeout: writeTimeout, Busy: errBusy, Shared: sqldb.Unavailable,
		Retryable: func(err error) bool { return sqldb.Retryable(err) || errors.Is(err, errConflict) },
	})
}

// work is the state of one transaction.
type work struct {
	rows    map[pair]int64 // ids of existing follows
	pairs   []pair         // to change, unique, in the order of calls
	refused map[pair]error

	done       []change
	users, own []outbox.JobRef // users: jobs for the changed counts
}

func (s *Service) followAll(ctx context.Context, group calls) (after func(), err error) {
	w, err := s.newWork(ctx, group)
	if err != nil {
		return nil, err
	}
	w.pairs = slices.DeleteFunc(w.pairs, func(p pair) bool { return w.rows[p] != 0 })
	return s.run(ctx, group, w, s.begin)
}

func (s *Service) unfollowAll(ctx context.Context, group calls) (after func(), err error) {
	w, err := s.newWork(ctx, group)
	if err != nil {
		return nil, err
	}
	var followees []int64 // of calls without a follow
	w.pairs = slices.DeleteFunc(w.pairs, func(p pair) bool {
		if w.rows[p] == 0 {
			followees = append(followees, p.followee())
		}
		return w.rows[p] == 0
	})
	if len(followees) > 0 {
		exist, err := s.cfg.Users.Followees(ctx, followees)
		if err != nil {
			return nil, fmt.Errorf("read %d users: %w", len(followees), err)
		}
		for _, c := range group {
			if _, ok := exist[c.In.followee()]; !ok && w.rows[c.In] == 0 {
				w.refused[c.In] = errUserNotFound()
			}
		}
	}
	return s.run(ctx, group, w, s.end)
}

// newWork reads the follows of a batch, without locks.
func (s *Service) newWork(ctx context.Context, group calls) (*work, error) {
	w := &work{refused: map[pair]error{}}
	for _, c := range group {
		if !slices.Contains(w.pairs, c.In) {
			w.pairs = append(w.pairs, c.In)
		}
	}
	var err error
	w.rows, err = s.find(ctx, s.db, w.pairs)
	return w, err
}

// run changes the pairs of w in a transaction. Each change counts against the follower's hourly
// limit unless it fails. The count runs while the transaction begins.
func (s *Service) run(ctx context.Context, group calls, w *work, change func(context.Context, *ent.Tx, *work) error) (after func(), err error) {
	if len(w.pairs) > 0 {
		uses := make(map[pair]*quota.Use, len(w.pairs))
		for _, p := range w.pairs {
			uses[p] = s.cfg.Quota.Take(ctx, p.follower())
		}
		err = ent.WithTx(ctx, s.db, func(tx *ent.Tx) error {
			// Wait before the first row lock. SQLite holds its write lock until the deadline of
			// the count at most.
			w.pairs = slices.DeleteFunc(w.pairs, func(p pair) bool {
				if err := uses[p].Wait(); err != nil {
					w.refused[p] = err
				}
				return w.refused[p] != nil
			})
			if len(w.pairs) == 0 {
				return nil
			}
			return change(ctx, tx, w)
		})
		for _, c := range w.done {
			if err == nil {
				delete(uses, pair{c.follower(), c.followee()})
			}
		}
		for _, use := range uses { // of changes that were not made
			use.Release(ctx)
		}
	}
	if err != nil {
		return nil, err
	}
	var repeats []pair
	for _, c := range group {
		if c.Err = w.refused[c.In]; c.Err == nil {
			repeats = append(repeats, c.In)
		}
	}
	for _, c := range w.done { // a second call for the same pair is a repeat
		i := slices.Index(repeats, pair{c.follower(), c.followee()})
		repeats = slices.Delete(repeats, i, i+1)
	}
	return func() {
		if len(w.done) > 0 {
			// The write is committed, so callers get no error. The outbox repeats failures.
			s.outbox.Finish(ctx, s.invalidate(ctx, w.done...), w.own...)
			s.cfg.Users.AfterCommit(ctx, usersOf(w.done), w.users)
		}
		if len(repeats) > 0 {
			s.invalidateAgain(ctx, repeats)
		}
	}, nil
}

// invalidateAgain repeats the invalidation when the change already exists. Its writer may not
// have reached Redis yet, but callers must see the change. The outbox job of that transaction
// covers a failure.
func (s *Service) invalidateAgain(ctx context.Context, repeats []pair) {
	changes := changesOf(repeats)
	_ = s.invalidate(ctx, changes...)
	s.cfg.Users.AfterCommit(ctx, usersOf(changes), nil)
}

// begin stores follows. It locks the users, then the feed head, which blocks all publishers. So
// only the insert comes after the head.
func (s *Service) begin(ctx context.Context, tx *ent.Tx, w *work) error {
	followees, err := s.cfg.Users.LockFollows(ctx, tx, usersOf(changesOf(w.pairs)))
	if err != nil {
		return fmt.Errorf("lock users: %w", err)
	}
	var pairs, over []pair
	for _, p := range w.pairs {
		n, exists := followees[p.follower()]
		_, followeeExists := followees[p.followee()]
		switch {
		case !exists:
			w.refused[p] = apierror.New(apierror.Unauthenticated, "Your account no longer exists.")
		case !followeeExists:
			w.refused[p] = errUserNotFound()
		case n >= s.cfg.limit:
			over = append(over, p)
		default:
			followees[p.follower()]++
			pairs = append(pairs, p)
		}
	}
	if err := s.refuseOver(ctx, tx, w, over); err != nil || len(pairs) == 0 {
		return err
	}
	followers, followed := countsOf(pairs)
	if w.users, err = s.cfg.Users.AddFollows(ctx, tx, followers, followed); err != nil {
		return fmt.Errorf("count %d follows: %w", len(pairs), err)
	}
	w.done = changesOf(pairs)
	if w.own, err = outbox.AddBatch(ctx, s.outbox, tx, topic, w.done...); err != nil {
		return err
	}
	stored, err := s.insert(ctx, tx, pairs)
	if err == nil && len(stored) < len(pairs) {
		err = errConflict
	}
	return err
}

// refuseOver refuses pairs above the limit, unless they exist: another transaction may have
// inserted the same follow.
func (s *Service) refuseOver(ctx context.Context, tx *ent.Tx, w *work, over []pair) error {
	if len(over) == 0 {
		return nil
	}
	rows, err := s.find(ctx, tx, over)
	for _, p := range over {
		if rows[p] == 0 {
			w.refused[p] = apierror.Refuse(quota.LimitReached, fmt.Sprintf("You can follow up to %d people.", s.cfg.limit), "userId")
		}
	}
	return err
}

// end deletes follows by id. A follow that began again after the lookup has another id.
func (s *Service) end(ctx context.Context, tx *ent.Tx, w *work) error {
	ids := make([]int64, len(w.pairs))
	for i, p := range w.pairs {
		ids[i] = w.rows[p]
		w.done = append(w.done, change{p.follower(), p.followee(), w.rows[p]})
	}
	if _, err := s.cfg.Users.LockFollows(ctx, tx, usersOf(w.done)); err != nil {
		return fmt.Errorf("lock users: %w", err)
	}
	followers, followees := countsOf(w.pairs)
	for _, counts := range []map[int64]int{followers, followees} {
		for id, n := range counts {
			counts[id] = -n
		}
	}
	var err error
	if w.users, err = s.cfg.Users.AddFollows(ctx, tx, followers, followees); err != nil {
		return fmt.Errorf("count %d follows: %w", len(ids), err)
	}
	if w.own, err = outbox.AddBatch(ctx, s.outbox, tx, topic, w.done...); err != nil {
		return err
	}
	result, err := tx.ExecContext(sqldb.Prepared(ctx), s.sql.remove, sqldb.JSON(ids))
	if err != nil {
		return fmt.Errorf("delete %d follows: %w", len(ids), err)
	}
	if n, err := result.RowsAffected(); err != nil || n < int64(len(ids)) {
		return errors.Join(err, errConflict)
	}
	return nil
}

func (s *Service) find(ctx context.Context, db sqldb.Querier, pairs []pair) (map[pair]int64, error) {
	rows, err := readRows(ctx, db, s.sql.find, sqldb.JSON(pairs))
	if err != nil {
		return nil, fmt.Errorf("select %d follows: %w", len(pairs), err)
	}
	return rows, nil
}

// insert stores the follows that do not exist yet, with the feed head, and returns their ids. The
// caller has locked all users of the pairs.
func (s *Service) insert(ctx context.Context, tx *ent.Tx, pairs []pair) (map[pair]int64, error) {
	since, err := s.cfg.Head(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("read feed head: %w", err)
	}
	rows, err := readRows(ctx, tx, s.sql.insert, sqldb.JSON(pairs), since, s.cfg.Now().UnixMilli())
	if err != nil {
		return nil, fmt.Errorf("insert %d follows: %w", len(pairs), err)
	}
	return rows, nil
}

func readRows(ctx context.Context, db sqldb.Querier, statement string, args ...any) (map[pair]int64, error) {
	found := make(map[pair]int64)
	err := sqldb.Each(sqldb.Prepared(ctx), db, statement, args, func(rows *sql.Rows) error {
		var id int64
		var p pair
		err := rows.Scan(&id, &p[0], &p[1])
		found[p] = id
		return err
	})
	return found, err
}

// usersOf returns the users of changes, without duplicates.
func usersOf(changes []change) []int64 {
	ids := make(map[int64]bool, 2*len(changes))
	for _, c := range changes {
		ids[c.follower()], ids[c.followee()] = true, true
	}
	return slices.Sorted(maps.Keys(ids))
}
