package checkin

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/tandian-dev/tandian/ent/checkinmonth"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// rowsOf reads the days of months with one statement; 0 for a month without a row.
func (s *Service) rowsOf(ctx context.Context, db sqldb.Querier, refs []bitRef) (map[bitRef]days, error) {
	found := make(map[bitRef]days, len(refs))
	if len(refs) == 0 {
		return found, nil
	}
	for _, p := range refs {
		found[p] = 0
	}
	err := sqldb.Each(sqldb.Prepared(ctx), db, s.sql.months, []any{sqldb.JSON(refs)}, func(rows *sql.Rows) error {
		var p bitRef
		var bits int64
		err := rows.Scan(&p.User, &p.Month, &bits)
		found[p] = daysOf(bits)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("select %d months of check-ins: %w", len(refs), err)
	}
	return found, nil
}

// rowsBefore reads all months of a user before m: a row for each month with a check-in.
func (s *Service) rowsBefore(ctx context.Context, user int64, m month) (map[month]days, error) {
	rows, err := s.db.CheckInMonth.Query().Where(checkinmonth.UserID(user), checkinmonth.MonthLT(int(m))).
		Select(checkinmonth.FieldMonth, checkinmonth.FieldDays).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select check-ins of user %d before %v: %w", user, m, err)
	}
	found := make(map[month]days, len(rows))
	for _, row := range rows {
		found[month(row.Month)] = daysOf(row.Days)
	}
	return found, nil
}

// daysOf converts the column days, which has only bits 1 to 31.
func daysOf(column int64) days { return days(column) &^ whole } //nolint:gosec // see above
