package like

import (
	"context"
	stdsql "database/sql"
	"errors"
	"fmt"

	"github.com/tandian-dev/tandian/ent"
	entlike "github.com/tandian-dev/tandian/ent/like"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/fault"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/store"
)

// errFaster means that somebody did the same a moment before.
var errFaster = errors.New("somebody was faster")

// Like has a user like a target. To repeat it does no harm: what is there already is
// found without a lock, and nothing is written. Of two taps that race, both find
// nothing; the unique index lets one of them in, and the other one rolls back, which is
// success too. When the one that wrote returns, every process shows the like.
//
// It returns a [fault.UserErrors] without such a target, and above the user's hourly limit
// ([quota.LimitReached]). Any other error means that the database failed. If
// the user already likes the target, a repeated like changes nothing and succeeds, even if
// the target was deleted meanwhile.
func (s *Service) Like(ctx context.Context, user, id int64) error {
	ctx, span := observe.Span(ctx, "like.Like")
	defer span.End()
	request, whole, cancel := clock.Split(ctx, readTimeout, writeTimeout)
	defer cancel()
	row, err := s.row(request, user, id)
	if err == nil && row != 0 {
		s.tellAgain(whole, user, id)
	}
	if err != nil || row != 0 {
		return err
	}
	err = s.change(whole, user, func(tx *ent.Tx) (change, teller, error) {
		total, tell, err := s.add(whole, tx, id, 1)
		if err != nil {
			return change{}, nil, err
		}
		_, err = tx.Like.Create().SetKind(entlike.Kind(s.kind)).SetTargetID(id).SetUserID(user).SetCreatedAt(s.now().UnixMilli()).
			OnConflictColumns(entlike.FieldKind, entlike.FieldTargetID, entlike.FieldUserID).DoNothing().ID(whole)
		if errors.Is(err, stdsql.ErrNoRows) {
			return change{}, nil, errFaster
		}
		// Its id is the largest of the target's: with so many likes it stands behind the first.
		return change{Target: id, User: user, Behind: total > likersSize}, tell, err
	})
	if errors.Is(err, errFaster) {
		s.tellAgain(whole, user, id)
		return nil
	}
	if err != nil {
		return fmt.Errorf("user %d likes %s %d: %w", user, s.noun(), id, err)
	}
	return nil
}

// Unlike takes a like back. It is idempotent as [Service.Like] is, with the same errors,
// and asks for the target only if there is a like of it.
func (s *Service) Unlike(ctx context.Context, user, id int64) error {
	ctx, span := observe.Span(ctx, "like.Unlike")
	defer span.End()
	request, whole, cancel := clock.Split(ctx, readTimeout, writeTimeout)
	defer cancel()
	row, err := s.row(request, user, id)
	if err == nil && row == 0 {
		s.tellAgain(whole, user, id)
	}
	if err != nil || row == 0 {
		return err
	}
	err = s.change(whole, user, func(tx *ent.Tx) (change, teller, error) {
		// Nothing is counted before it is known that there is something to take back: the
		// count of a target that nobody likes any more can go no lower.
		total, tell, err := s.add(whole, tx, id, 0)
		if err != nil {
			return change{}, nil, err
		}
		// By its id: a like that came after the look is another one, and stays.
		n, err := tx.Like.Delete().Where(entlike.ID(row)).Exec(whole)
		if err == nil && n == 0 {
			err = errFaster
		}
		if err == nil && total > 0 { // a count that is too low, by a flaw, is the scan's to mend
			_, tell, err = s.add(whole, tx, id, -1)
		}
		return change{Target: id, User: user, Gone: row}, tell, err
	})
	if errors.Is(err, errFaster) {
		s.tellAgain(whole, user, id)
		return nil
	}
	if err != nil {
		return fmt.Errorf("user %d likes %s %d no more: %w", user, s.noun(), id, err)
	}
	return nil
}

// tellAgain is for who finds done what is asked for: who did it may be between his commit
// and Redis, and the caller is to see it all the same. A failure is nobody's here: whoever
// wrote has a job for it.
func (s *Service) tellAgain(ctx context.Context, user, id int64) {
	_ = s.changed(ctx, change{Target: id, User: user})
}

// row is the id of a like, 0 if there is none.
func (s *Service) row(ctx context.Context, user, id int64) (int64, error) {
	row, err := s.db.Like.Query().
		Where(entlike.KindEQ(entlike.Kind(s.kind)), entlike.TargetID(id), entlike.UserID(user)).OnlyID(ctx)
	if err != nil && !ent.IsNotFound(err) {
		return 0, fmt.Errorf("look whether user %d likes %s %d: %w", user, s.noun(), id, err)
	}
	return row, nil
}

// teller tells of what a transaction did to a target, after its commit.
type teller = func(context.Context) error

// add adds to the likes of a target, 0 too, and locks its row until tx ends. That comes
// first in every transaction, so that those of one target follow each other: the ids of
// its likes grow in the order of commits, which is the order in which readers see who
// liked first, and of two that race none waits for the other's like with a lock that the
// other one needs.
func (s *Service) add(ctx context.Context, tx *ent.Tx, id int64, n int) (total int, tell teller, err error) {
	if total, tell, err = s.target.AddLikes(ctx, tx, id, n); err != nil {
		return 0, nil, fmt.Errorf("add %d to its likes: %w", n, err)
	}
	if tell == nil {
		return 0, nil, fault.Refuse(fault.NotFound, "There is no such "+s.noun()+".", "id")
	}
	return total, tell, nil
}

// change does work on a target in a transaction, and invalidates caches. The change counts
// against the user's hourly limit, unless it fails; that is counted while the transaction
// begins.
func (s *Service) change(ctx context.Context, user int64, work func(tx *ent.Tx) (change, teller, error)) error {
	use := s.quota.Take(ctx, user)
	var made change
	var tell teller
	var job []outbox.Ticket
	err := s.tx(ctx, func(tx *ent.Tx) (err error) {
		// Before the first row lock. SQLite holds its write lock meanwhile, at most the
		// deadline of the count.
		if err := use.Wait(); err != nil {
			return err
		}
		if made, tell, err = work(tx); err != nil {
			return err
		}
		job, err = outbox.AddBatch(ctx, s.outbox, tx, s.topic(), made)
		return err
	})
	if err != nil {
		use.Release(ctx)
		return err
	}
	// The write stands, so this is no error of the caller's: what Redis could not be told
	// is left to the outbox.
	s.outbox.Settle(ctx, errors.Join(s.forget(ctx, made), tell(ctx)), job...)
	return nil
}

// tx runs work in a transaction, and once more if the database undid it for the sake
// of another one: who deletes a target locks more than its count. So work begins from
// nothing that it left behind.
func (s *Service) tx(ctx context.Context, work func(*ent.Tx) error) error {
	return ent.WithTxAgain(ctx, s.db, store.Undone, work)
}
