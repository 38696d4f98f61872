package checkin

import (
	"context"
	"errors"

	"github.com/tandian-dev/tandian/internal/kit/outbox"
)

// topic is the outbox topic of this package. A job contains the changed months.
const topic = "check-ins"

// changed completes bitmaps from their rows. It is idempotent, and may run late and in any order.
func (s *Service) changed(ctx context.Context, refs ...bitRef) error {
	rows, err := s.rowsOf(ctx, s.db, refs)
	if err != nil {
		return outbox.Transient(err)
	}
	byUser := make(map[int64]map[month]days)
	for p, d := range rows {
		if byUser[p.User] == nil {
			byUser[p.User] = make(map[month]days)
		}
		byUser[p.User][p.Month] = d
	}
	var errs []error
	for user, months := range byUser {
		errs = append(errs, s.bitmaps.complete(ctx, user, months))
	}
	return outbox.Transient(errors.Join(errs...)) // Redis is unavailable
}
