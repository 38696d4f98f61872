package follow

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/ent"
	entfollow "github.com/tandian-dev/tandian/ent/follow"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/fault"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/quota"
	"github.com/tandian-dev/tandian/internal/kit/sqlfile"
)

// writeTimeout bounds what one call does to the stores.
const writeTimeout = 5 * time.Second

// errFaster undoes a transaction whose work somebody else has done meanwhile.
var errFaster = errors.New("somebody was faster")

// Follow has a user follow another. It may be repeated: who follows already goes on
// following, since then.
//
// That is looked up without a lock first, and ends there without a write. Otherwise the
// users' rows are locked and counted before anything else, which decides the limit among
// all who follow at that moment; the unique index decides who was first. When Follow
// returns nil, lists and [Service.Followed] show it in every process; if Redis was away, as
// soon as the outbox reaches it.
//
// It refuses, as [fault.UserErrors], to follow oneself, a user that does not exist, more
// than [MaxFollowees], or more than the hourly limit, with [quota.LimitReached]. Any other
// error means that the database failed.
func (s *Service) Follow(ctx context.Context, follower, followee int64) error {
	ctx, span := observe.Span(ctx, "follow.Follow")
	defer span.End()
	if follower == followee {
		return fault.Refuse(CannotFollowSelf, "You cannot follow yourself.", "userId")
	}
	request, whole, cancel := clock.Split(ctx, writeTimeout, writeTimeout)
	defer cancel()
	row, err := s.rowOf(request, s.db, follower, followee)
	switch {
	case err != nil:
		return err
	case row != 0:
		return s.ended(whole, errFaster, change{follower, followee}, nil, nil)
	}
	return s.follow(whole, follower, followee)
}

// Unfollow ends that a user follows another. It may be repeated, and whoever disappeared
// can be unfollowed. Without such a user and without a follow of it, it refuses as
// [Service.Follow] does.
//
// When it returns nil, no list has it and [Service.Followed] denies it in every process;
// if Redis was away, as soon as the outbox reaches it.
func (s *Service) Unfollow(ctx context.Context, follower, followee int64) error {
	ctx, span := observe.Span(ctx, "follow.Unfollow")
	defer span.End()
	request, whole, cancel := clock.Split(ctx, writeTimeout, writeTimeout)
	defer cancel()
	row, err := s.rowOf(request, s.db, follower, followee)
	if err != nil {
		return err
	}
	if row != 0 {
		return s.unfollow(whole, follower, followee, row)
	}
	counts, err := s.cfg.Users.Followees(request, []int64{followee})
	if err != nil {
		return fmt.Errorf("look for user %d: %w", followee, err)
	}
	if _, there := counts[followee]; !there {
		return noSuchUser()
	}
	return s.ended(whole, errFaster, change{follower, followee}, nil, nil)
}

func noSuchUser() error { return fault.Refuse(fault.NotFound, "There is no such user.", "userId") }

// rowOf returns the id of a follow, 0 if there is none.
func (s *Service) rowOf(ctx context.Context, db *ent.Client, follower, followee int64) (int64, error) {
	id, err := db.Follow.Query().Where(entfollow.FollowerID(follower), entfollow.FolloweeID(followee)).OnlyID(ctx)
	if err != nil && !ent.IsNotFound(err) {
		return 0, fmt.Errorf("look whether user %d follows user %d: %w", follower, followee, err)
	}
	return id, nil
}

// follow stores a follow. The job is added before the head is taken, which is the last
// lock and stops everybody who publishes: only the insert comes after it.
func (s *Service) follow(ctx context.Context, follower, followee int64) error {
	var users, own []outbox.Ticket
	use := s.cfg.Quota.Take(ctx, follower) // counted while the transaction begins
	err := s.tx(ctx, func(tx *ent.Tx) (err error) {
		users, own = nil, nil
		// Before the first row lock. SQLite holds its write lock meanwhile, at most the
		// deadline of the count.
		if err := use.Wait(); err != nil {
			return err
		}
		var now Counted
		if now, users, err = s.cfg.Users.AddFollows(ctx, tx, follower, followee, 1); err != nil {
			return fmt.Errorf("count it: %w", err)
		}
		if err := s.mayFollow(ctx, tx, now, follower, followee); err != nil {
			return err
		}
		if own, err = outbox.AddBatch(ctx, s.outbox, tx, topic, change{follower, followee}); err != nil {
			return err
		}
		stored, err := s.insert(ctx, tx, [][2]int64{{follower, followee}})
		if err == nil && len(stored) == 0 {
			err = errFaster
		}
		return err
	})
	if err != nil {
		use.Release(ctx)
	}
	return s.ended(ctx, err, change{follower, followee}, users, own)
}

// mayFollow decides while both users are locked.
func (s *Service) mayFollow(ctx context.Context, tx *ent.Tx, now Counted, follower, followee int64) error {
	switch {
	case !now.Follower:
		return fault.New(fault.Unauthenticated, "Your account does not exist any more.")
	case !now.Followee:
		return noSuchUser()
	case now.Followees <= s.cfg.limit:
		return nil
	}
	// The one who was faster may have had the last place, for the same follow.
	row, err := s.rowOf(ctx, tx.Client(), follower, followee)
	switch {
	case err != nil:
		return err
	case row != 0:
		return errFaster
	}
	return fault.Refuse(quota.LimitReached, fmt.Sprintf("You can follow %d people at most.", s.cfg.limit), "userId")
}

// unfollow deletes a follow by its id: one that began anew since is another row.
func (s *Service) unfollow(ctx context.Context, follower, followee, row int64) error {
	var users, own []outbox.Ticket
	use := s.cfg.Quota.Take(ctx, follower)
	err := s.tx(ctx, func(tx *ent.Tx) (err error) {
		users, own = nil, nil
		// Before the first row lock. SQLite holds its write lock meanwhile, at most the
		// deadline of the count.
		if err := use.Wait(); err != nil {
			return err
		}
		if _, users, err = s.cfg.Users.AddFollows(ctx, tx, follower, followee, -1); err != nil {
			return fmt.Errorf("count it: %w", err)
		}
		if own, err = outbox.AddBatch(ctx, s.outbox, tx, topic, change{follower, followee, row}); err != nil {
			return err
		}
		n, err := tx.Follow.Delete().Where(entfollow.ID(row)).Exec(ctx)
		if err == nil && n == 0 {
			err = errFaster
		}
		return err
	})
	if err != nil {
		use.Release(ctx)
	}
	return s.ended(ctx, err, change{follower, followee, row}, users, own)
}

// ended tells of a transaction that was committed. It has no error of its own then,
// because the write stands: what Redis could not be told is left to the outbox.
//
// Whoever was slower tells too, without a job: who was faster may be between his commit
// and Redis, and what this call promises its caller does not wait for him.
func (s *Service) ended(ctx context.Context, err error, c change, users, own []outbox.Ticket) error {
	switch {
	case errors.Is(err, errFaster):
		s.outbox.Settle(ctx, s.tell(ctx, c))
		s.cfg.Users.Announce(ctx, []int64{c.follower(), c.followee()}, nil)
		return nil
	case err != nil:
		verb := "follow"
		if c.row() != 0 {
			verb = "unfollow"
		}
		return fmt.Errorf("have user %d %s user %d: %w", c.follower(), verb, c.followee(), err)
	}
	s.outbox.Settle(ctx, s.tell(ctx, c), own...)
	s.cfg.Users.Announce(ctx, []int64{c.follower(), c.followee()}, users)
	return nil
}

// insert stores the pairs of follower and followee that are not there yet, with the head
// of the feed, and returns those that it stored. All users of the pairs are locked.
func (s *Service) insert(ctx context.Context, tx *ent.Tx, pairs [][2]int64) (stored [][2]int64, err error) {
	text, err := json.Marshal(pairs)
	if err != nil {
		return nil, fmt.Errorf("write down %d follows: %w", len(pairs), err)
	}
	since, err := s.cfg.Head(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("read the head of the feed: %w", err)
	}
	err = sqlfile.Each(ctx, tx, s.sql.insert, []any{string(text), since, s.cfg.Now().UnixMilli()}, func(rows *sql.Rows) error {
		var id int64
		var one [2]int64
		err := rows.Scan(&id, &one[0], &one[1])
		stored = append(stored, one)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("insert %d follows: %w", len(pairs), err)
	}
	return stored, nil
}
