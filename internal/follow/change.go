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

// writeTimeout bounds what one call does to the stores.
const writeTimeout = 5 * time.Second

var (
	// errBusy is returned when too many follows wait to be written.
	errBusy = apierror.New(apierror.Unavailable, "Too many follows at the moment. Please try again.")

	// errFaster undoes a transaction because another one has written the same follow after
	// the lookup.
	errFaster = errors.New("another transaction wrote the same follow")
)

// Follow has a user follow another. It may be repeated: a follow that exists stays as it is.
//
// An existing follow is found without a lock, and nothing is written. Otherwise the users'
// rows are locked and counted before anything else, which makes the limit exact. When Follow
// returns nil, lists and [Service.IsFollowed] show it in every process; if Redis was away, as
// soon as the outbox reaches it.
//
// It refuses, as [fault.UserErrors], to follow oneself, a user that does not exist, more
// than [MaxFollowees], or more than the hourly limit, with [quota.LimitReached]. Any other
// error means that the database failed.
func (s *Service) Follow(ctx context.Context, follower, followee int64) error {
	ctx, span := observe.Span(ctx, "follow.Follow")
	defer span.End()
	if follower == followee {
		return apierror.Refuse(CannotFollowSelf, "You cannot follow yourself.", "userId")
	}
	if err := s.change(ctx, s.begins, pair{follower, followee}); err != nil {
		return fmt.Errorf("have user %d follow user %d: %w", follower, followee, err)
	}
	return nil
}

// Unfollow ends that a user follows another. It may be repeated, and whoever disappeared
// can be unfollowed. Without such a user and without a follow of it, it refuses as
// [Service.Follow] does.
//
// When it returns nil, no list has it and [Service.IsFollowed] denies it in every process;
// if Redis was away, as soon as the outbox reaches it.
func (s *Service) Unfollow(ctx context.Context, follower, followee int64) error {
	ctx, span := observe.Span(ctx, "follow.Unfollow")
	defer span.End()
	if err := s.change(ctx, s.ends, pair{follower, followee}); err != nil {
		return fmt.Errorf("have user %d unfollow user %d: %w", follower, followee, err)
	}
	return nil
}

// change runs one call in a group.
func (s *Service) change(ctx context.Context, b *batch.Batcher[pair, struct{}], p pair) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	_, err := b.Join(ctx, p)
	if errors.Is(err, errFaster) { // again and again: the follow is as the caller wants it
		s.tellAgain(ctx, []pair{p})
		return nil
	}
	return err
}

func noSuchUser() error {
	return apierror.Refuse(apierror.NotFound, "There is no such user.", "userId")
}

// pair is a follower and a followee.
type pair [2]int64

func (p pair) follower() int64 { return p[0] }
func (p pair) followee() int64 { return p[1] }

// calls are those of one group.
type calls = []*batch.Call[pair, struct{}]

// newBatcher returns a batcher for follows that begin or for follows that end.
func newBatcher(run batch.Run[pair, struct{}]) *batch.Batcher[pair, struct{}] {
	return batch.New(run, batch.Config{
		Timeout: writeTimeout, Busy: errBusy, Shared: sqldb.Unavailable,
		Retryable: func(err error) bool { return sqldb.Retryable(err) || errors.Is(err, errFaster) },
	})
}

// work is what one transaction does.
type work struct {
	rows    map[pair]int64 // ids of the follows that the lookup found
	pairs   []pair         // to be changed, each once, in the order of their calls
	refused map[pair]error

	done       []change
	users, own []outbox.JobRef // users: of the changed counts
}

// followAll is Follow for the callers of one moment.
func (s *Service) followAll(ctx context.Context, group calls) (after func(), err error) {
	w, err := s.newWork(ctx, group)
	if err != nil {
		return nil, err
	}
	w.pairs = slices.DeleteFunc(w.pairs, func(p pair) bool { return w.rows[p] != 0 })
	return s.run(ctx, group, w, s.begin)
}

// unfollowAll is Unfollow for the callers of one moment.
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
			return nil, fmt.Errorf("look for %d users: %w", len(followees), err)
		}
		for _, c := range group {
			if _, ok := exist[c.In.followee()]; !ok && w.rows[c.In] == 0 {
				w.refused[c.In] = noSuchUser()
			}
		}
	}
	return s.run(ctx, group, w, s.end)
}

// newWork looks for the follows of a group, without a lock.
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

// run changes the pairs of w in a transaction. Each change counts against the follower's
// hourly limit, unless it fails. The count runs while the transaction begins.
func (s *Service) run(ctx context.Context, group calls, w *work, change func(context.Context, *ent.Tx, *work) error) (after func(), err error) {
	if len(w.pairs) > 0 {
		uses := make(map[pair]*quota.Use, len(w.pairs))
		for _, p := range w.pairs {
			uses[p] = s.cfg.Quota.Take(ctx, p.follower())
		}
		err = ent.WithTx(ctx, s.db, func(tx *ent.Tx) error {
			// Before the first row lock. SQLite holds its write lock meanwhile, at most until
			// the deadline of the count.
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
	for _, c := range w.done { // a second call for the same is a repeat
		i := slices.Index(repeats, pair{c.follower(), c.followee()})
		repeats = slices.Delete(repeats, i, i+1)
	}
	return func() {
		if len(w.done) > 0 {
			// The write stands, so callers get no error. If Redis fails, the outbox repeats this.
			s.outbox.Finish(ctx, s.tell(ctx, w.done...), w.own...)
			s.cfg.Users.AfterCommit(ctx, usersOf(w.done), w.users)
		}
		if len(repeats) > 0 {
			s.tellAgain(ctx, repeats)
		}
	}, nil
}

// tellAgain updates the caches for callers who repeat a change. The transaction that made it
// may not have done so yet, and the callers are to see it. A failure is covered by the
// outbox job of that transaction.
func (s *Service) tellAgain(ctx context.Context, repeats []pair) {
	changes := changesOf(repeats)
	_ = s.tell(ctx, changes...)
	s.cfg.Users.AfterCommit(ctx, usersOf(changes), nil)
}

// begin stores follows. Locks: the users, then the head of the feed, which keeps all
// publishers waiting. So everything but the insert comes before it.
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
			w.refused[p] = apierror.New(apierror.Unauthenticated, "Your account does not exist any more.")
		case !followeeExists:
			w.refused[p] = noSuchUser()
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
		err = errFaster
	}
	return err
}

// refuseOver refuses pairs above the limit, unless they exist: another transaction may have
// taken the last place for the same follow.
func (s *Service) refuseOver(ctx context.Context, tx *ent.Tx, w *work, over []pair) error {
	if len(over) == 0 {
		return nil
	}
	rows, err := s.find(ctx, tx, over)
	for _, p := range over {
		if rows[p] == 0 {
			w.refused[p] = apierror.Refuse(quota.LimitReached, fmt.Sprintf("You can follow %d people at most.", s.cfg.limit), "userId")
		}
	}
	return err
}

// end deletes follows by their ids: one that began again after the lookup is another row.
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
		return errors.Join(err, errFaster)
	}
	return nil
}

// find returns the ids of follows, without those that do not exist.
func (s *Service) find(ctx context.Context, db sqldb.Querier, pairs []pair) (map[pair]int64, error) {
	rows, err := readRows(ctx, db, s.sql.find, sqldb.JSON(pairs))
	if err != nil {
		return nil, fmt.Errorf("look for %d follows: %w", len(pairs), err)
	}
	return rows, nil
}

// insert stores the follows that do not exist yet, with the head of the feed, and returns
// their ids. All users of the pairs are locked.
func (s *Service) insert(ctx context.Context, tx *ent.Tx, pairs []pair) (map[pair]int64, error) {
	since, err := s.cfg.Head(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("read the head of the feed: %w", err)
	}
	rows, err := readRows(ctx, tx, s.sql.insert, sqldb.JSON(pairs), since, s.cfg.Now().UnixMilli())
	if err != nil {
		return nil, fmt.Errorf("insert %d follows: %w", len(pairs), err)
	}
	return rows, nil
}

// readRows runs a statement that returns follows.
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

// usersOf returns the users of changes, each once.
func usersOf(changes []change) []int64 {
	ids := make(map[int64]bool, 2*len(changes))
	for _, c := range changes {
		ids[c.follower()], ids[c.followee()] = true, true
	}
	return slices.Sorted(maps.Keys(ids))
}
