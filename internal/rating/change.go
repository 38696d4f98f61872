package rating

import (
	"context"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/batch"
	"github.com/tandian-dev/tandian/internal/kit/observe"
)

// errBusy is returned when too many ratings wait to be written.
var errBusy = apierror.New(apierror.Unavailable, "Too many ratings at the moment. Please try again.")

// Rate stores a user's rating of a shop and returns it as stored. It replaces an earlier one
// with all its aspects. It is idempotent: it finds an equal rating without a lock and writes
// nothing. All processes see the rating after Rate returns.
//
// It returns an [apierror.UserErrors] with all invalid fields, if there is no such shop, if the
// user owns it ([OwnShop]), or above the user's hourly limit ([quota.LimitReached]). It returns
// UNAVAILABLE if too many ratings wait. All other errors come from the database. A repeated
// rating succeeds even if the user has become the owner meanwhile.
func (s *Service) Rate(ctx context.Context, user int64, d Draft) (*Rating, error) {
	ctx, span := observe.Span(ctx, "rating.Rate")
	defer span.End()
	if err := d.check(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	stored, err := s.changing.Join(ctx, change{Pair{d.ShopID, user}, &d})
	if err != nil {
		return nil, fmt.Errorf("rate shop %d as user %d: %w", d.ShopID, user, err)
	}
	return stored, nil
}

// Delete deletes the rating of a shop by a user. It is idempotent and returns the errors of
// [Service.Rate], except those about values and the owner.
func (s *Service) Delete(ctx context.Context, user, shopID int64) error {
	ctx, span := observe.Span(ctx, "rating.Delete")
	defer span.End()
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	_, known, err := s.shops.OwnerOf(ctx, shopID)
	if err == nil && !known {
		return apierror.Refuse(apierror.NotFound, "Shop not found.", "shopId")
	}
	if err == nil {
		_, err = s.changing.Join(ctx, change{Pair{shopID, user}, nil})
	}
	if err != nil {
		return fmt.Errorf("delete rating of shop %d by user %d: %w", shopID, user, err)
	}
	return nil
}

// change is one call.
type change struct {
	Pair
	draft *Draft // nil to delete
}

// rating returns the wanted rating, or nil.
func (c change) rating(at time.Time) *Rating {
	if c.draft == nil {
		return nil
	}
	return c.draft.by(c.User, at)
}

// changeAll runs a group of changes in one transaction. It answers calls that change nothing
// from a read before the transaction, unless an earlier call of the group changes their rating.
//
// Each successful change counts against the user's hourly limit. The count runs while the
// transaction begins.
func (s *Service) changeAll(ctx context.Context, group []*batch.Call[change, *Rating]) (after func(), err error) {
	pairs := make([]Pair, len(group))
	for i, c := range group {
		pairs[i] = c.In.Pair
	}
	reading, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	stored, err := s.find(reading, s.db, pairs)
	if err != nil {
		return nil, err
	}
	w, now := &work{}, s.stamp()
	var open []*batch.Call[change, *Rating] // by attempt
	changes := make(map[Pair]bool, len(group))
	for _, c := range group {
		want := c.In.rating(now)
		if !changes[c.In.Pair] && want.equal(stored[c.In.Pair]) {
			c.Out = stored[c.In.Pair]
			w.repeats = append(w.repeats, c.In.Pair)
			continue
		}
		changes[c.In.Pair] = true
		open = append(open, c)
		w.attempts = append(w.attempts, &attempt{Pair: c.In.Pair, want: want, use: s.quota.Take(ctx, c.In.User)})
	}
	if len(w.attempts) > 0 {
		err = ent.WithTx(ctx, s.db, func(tx *ent.Tx) error { return s.write(ctx, tx, w) })
	}
	w.release(ctx, err == nil)
	if err != nil {
		return nil, err
	}
	for i, c := range open {
		c.Out, c.Err = w.attempts[i].stored, w.attempts[i].refused
	}
	return func() { s.afterCommit(ctx, w) }, nil
}

// stamp returns the time in the precision of the rows.
func (s *Service) stamp() time.Time { return s.now().UTC().Truncate(time.Millisecond) }

// RateInTx stores ratings of users in tx, with their values and in their order, and sets their
// times. It locks the shops until tx ends. It returns the reason for each refused rating, else
// nil, like [Service.Rate]. The values must be valid.
//
// After the end of tx, the caller passes the outcome to done. If tx committed, done invalidates
// caches like Rate.
func (s *Service) RateInTx(ctx context.Context, tx *ent.Tx, ratings []Rating) (refused []error, done func(ctx context.Context, committed bool), err error) {
	w, now := &work{}, s.stamp()
	for _, r := range ratings {
		r.UpdatedAt = now
		w.attempts = append(w.attempts, &attempt{Pair: r.pair(), want: &r, use: s.quota.Take(ctx, r.UserID)})
	}
	if err := s.write(ctx, tx, w); err != nil {
		w.release(ctx, false)
		return nil, nil, fmt.Errorf("rate shops: %w", err)
	}
	refused = make([]error, len(ratings))
	for i, a := range w.attempts {
		refused[i] = a.refused
	}
	return refused, func(ctx context.Context, committed bool) {
		w.release(ctx, committed)
		if committed {
			s.afterCommit(ctx, w)
		}
	}, nil
}

// afterCommit updates Redis. The write succeeded, so callers get no error. If Redis fails, the
// outbox retries.
func (s *Service) afterCommit(ctx context.Context, w *work) {
	if len(w.changed) > 0 {
		s.outbox.Finish(ctx, s.invalidate(ctx, w.changed...), w.jobs...)
	}
	repeats := w.repeats
	for _, a := range w.attempts {
		if !a.changed && !a.skip && a.refused == nil {
			repeats = append(repeats, a.Pair)
		}
	}
	if len(repeats) > 0 {
		// The writer of an equal rating may not have updated Redis yet, and the caller must see it.
		// Ignore errors: the outbox job of the writer covers them.
		_ = s.invalidate(ctx, repeats...)
	}
}
