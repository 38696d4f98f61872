package checkin

import (
	"context"
	"fmt"
	"slices"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/checkinmonth"
)

// rowsOf reads the days of some months of some users, by one statement: 0 of a month
// without a row.
func rowsOf(ctx context.Context, db *ent.CheckInMonthClient, places []place) (map[place]days, error) {
	found := make(map[place]days, len(places))
	if len(places) == 0 {
		return found, nil
	}
	var users []int64
	var months []int
	for _, p := range places {
		users, months = append(users, p.User), append(months, int(p.Month))
		found[p] = 0
	}
	slices.Sort(users)
	slices.Sort(months)
	rows, err := db.Query(). // each of these users with each of these months: a little more than what is asked for
					Where(checkinmonth.UserIDIn(slices.Compact(users)...), checkinmonth.MonthIn(slices.Compact(months)...)).
					Select(checkinmonth.FieldUserID, checkinmonth.FieldMonth, checkinmonth.FieldDays).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read %d months of check-ins: %w", len(places), err)
	}
	for _, row := range rows {
		p := place{row.UserID, month(row.Month)}
		if _, asked := found[p]; asked {
			found[p] = fromRow(row)
		}
	}
	return found, nil
}

// rowsBefore reads all months of a user before one, by one statement: a row for each
// month with a check-in.
func (s *Service) rowsBefore(ctx context.Context, user int64, m month) (map[month]days, error) {
	rows, err := s.db.CheckInMonth.Query().Where(checkinmonth.UserID(user), checkinmonth.MonthLT(int(m))).
		Select(checkinmonth.FieldMonth, checkinmonth.FieldDays).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the check-ins of user %d before %v: %w", user, m, err)
	}
	found := make(map[month]days, len(rows))
	for _, row := range rows {
		found[month(row.Month)] = fromRow(row)
	}
	return found, nil
}

// fromRow is the days of a row; it has bits 1 to 31 alone.
func fromRow(row *ent.CheckInMonth) days { return days(row.Days) &^ whole } //nolint:gosec // see above
