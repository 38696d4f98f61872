package checkin

import (
	"context"
	"fmt"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/calendar"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/store"
)

// CheckIn checks a user in for today, and returns this month and what it earned: [Points],
// or 0 if the user had checked in today. To repeat it does no harm: what is there already
// is found without a lock, and nothing is written. Of two taps at once the statement lets
// one earn. What is answered has today's check-in even if Redis could not be told of it.
//
// An error means that the database failed, perhaps only for the answer: then a second try
// finds what the first one did, and earns nothing.
func (s *Service) CheckIn(ctx context.Context, user int64) (m *Month, earned int, err error) {
	ctx, span := observe.Span(ctx, "checkin.CheckIn")
	defer span.End()
	request, kept, cancel := clock.Split(ctx, readTimeout, writeTimeout)
	defer cancel()
	today := s.today() // once: midnight may come between two of the steps
	rows, err := rowsOf(request, s.db.CheckInMonth, []place{{user, monthOf(today)}})
	if err != nil {
		return nil, 0, err
	}
	if rows[place{user, monthOf(today)}].has(today.Day) {
		s.tellAgain(kept, user, today)
	} else if earned, err = s.change(kept, user, today); err != nil {
		return nil, 0, fmt.Errorf("check user %d in on %v: %w", user, today, err)
	}
	m, err = s.read(ctx, user, today, monthOf(today), only(today.Day))
	if err != nil {
		return nil, 0, err
	}
	return m, earned, nil
}

// change stores a check-in with what it earns, in a transaction, and tells of it. It
// returns 0 if somebody was faster. It locks the row of the month first and the user
// after it, as all do who write months.
func (s *Service) change(ctx context.Context, user int64, day calendar.Date) (earned int, err error) {
	var users, jobs []outbox.Ticket
	err = ent.WithTxAgain(ctx, s.db, store.Undone, func(tx *ent.Tx) error {
		earned, users, jobs = 0, nil, nil
		did, err := tx.ExecContext(ctx, s.sql.checkIn, user, int(monthOf(day)), int64(only(day.Day)), Points)
		if err != nil {
			return err
		}
		n, err := did.RowsAffected()
		if err != nil || n == 0 {
			return err
		}
		earned = Points
		if users, err = s.users.AddPoints(ctx, tx, map[int64]int{user: Points}); err != nil {
			return fmt.Errorf("add its points: %w", err)
		}
		jobs, err = outbox.AddBatch(ctx, s.outbox, tx, topic, place{user, monthOf(day)})
		return err
	})
	if err != nil {
		return 0, err
	}
	if earned == 0 {
		s.tellAgain(ctx, user, day)
		return 0, nil
	}
	// The write stands, so this is no error of the caller's: what Redis could not be told
	// is left to the outbox.
	s.outbox.Settle(ctx, s.bitmaps.add(ctx, user, day), jobs...)
	s.users.Announce(ctx, []int64{user}, users)
	return earned, nil
}

// tellAgain is for who finds done what is asked for: who did it may be between his commit
// and Redis, and the caller's next look is to see it all the same. A failure is nobody's
// here: whoever wrote has a job for it.
func (s *Service) tellAgain(ctx context.Context, user int64, day calendar.Date) {
	_ = s.bitmaps.add(ctx, user, day)
}
