package checkin

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/batch"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
)

// errBusy is returned when the queue of check-ins is full.
var errBusy = apierror.New(apierror.Unavailable, "Too many check-ins at the moment. Try again.")

// CheckIn checks a user in for today. It returns this month, with today's check-in even if
// Redis failed, and the points earned: [Points], or 0 for a repeated check-in. A repetition
// takes no lock and writes nothing. Of two concurrent check-ins of a user, one earns.
//
// It returns UNAVAILABLE if too many check-ins wait. Any other error means that the database
// failed, perhaps after the commit. Then a second call finds the check-in and earns nothing.
func (s *Service) CheckIn(ctx context.Context, user int64) (m *Month, earned int, err error) {
	ctx, span := observe.Span(ctx, "checkin.CheckIn")
	defer span.End()
	today := s.today() // once: midnight may pass between two steps
	done, err := s.change(ctx, Draft{user, today})
	if err != nil {
		return nil, 0, fmt.Errorf("check in user %d on %v: %w", user, today, err)
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	this := monthOf(today)
	b := monthReader{s: s, user: user, this: this, months: map[month]days{this: done.days}, from: this}
	streak, err := b.streak(ctx, today)
	if err != nil {
		return nil, 0, err
	}
	return &Month{Month: this.String(), Days: done.days.list(), Streak: streak, Today: today}, done.earned, nil
}

type checkedIn struct {
	earned int
	days   days // days of the month, from the row
}

func (s *Service) change(ctx context.Context, d Draft) (checkedIn, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return s.checkIns.Join(ctx, d)
}

// checkInAll stores a batch of check-ins. It locks rows of months before users, each in the
// order of user ids, like all transactions that write months.
func (s *Service) checkInAll(ctx context.Context, group []*batch.Call[Draft, checkedIn]) (after func(), err error) {
	drafts := make([]Draft, len(group))
	for i, c := range group {
		drafts[i] = c.In
	}
	all, err := draftedMonths(drafts)
	if err != nil {
		return nil, err
	}
	fresh, rows, err := s.unknown(ctx, s.db, all)
	if err != nil {
		return nil, err
	}
	earned := map[bitRef]days{}
	points := map[int64]int{}
	var users, jobs []outbox.JobRef
	if len(fresh) > 0 {
		err = ent.WithTx(ctx, s.db, func(tx *ent.Tx) error {
			stored, err := s.insert(ctx, tx, fresh)
			if err != nil || len(stored) == 0 {
				return err
			}
			refs := make([]bitRef, len(stored))
			for i, d := range stored {
				refs[i] = d.bitRef
				earned[d.bitRef] = d.Days
				points[d.User] += d.Points
			}
			if users, err = s.earn(ctx, tx, points); err != nil {
				return err
			}
			jobs, err = outbox.AddBatch(ctx, s.outbox, tx, topic, refs...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	var written, repeated []Draft
	for _, c := range group {
		d, p := c.In, bitRef{c.In.User, monthOf(c.In.Day)}
		rows[p] |= dayBit(d.Day.Day)
		c.Out.days = rows[p]
		if !earned[p].has(d.Day.Day) {
			repeated = append(repeated, d)
			continue
		}
		c.Out.earned = Points
		earned[p] &^= dayBit(d.Day.Day) // only one call earns
		written = append(written, d)
	}
	return func() {
		if len(written) > 0 {
			// The write has succeeded, so callers get no error. If Redis fails, the outbox
			// repeats the update.
			s.outbox.Finish(ctx, s.bitmaps.add(ctx, written...), jobs...)
			s.users.AfterCommit(ctx, slices.Sorted(maps.Keys(points)), users)
		}
		// The writer of a repeated check-in may not have updated Redis yet, and the caller
		// must see the day. The writer's outbox job covers a failure.
		_ = s.bitmaps.add(ctx, repeated...)
	}, nil
}
