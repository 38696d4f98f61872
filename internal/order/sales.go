package order

import (
	"context"
	"database/sql"
	_ "embed" // the statements
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"entgo.io/ent/dialect"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/civil"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// MaxSalesDays is how many days SalesByDay looks at.
const MaxSalesDays = 366

// DaySales is what was sold on a day.
type DaySales struct {
	Date   civil.Date
	Orders int // made on that day, those that failed not counted
	Paid   int // orders that were paid on that day
	Amount int // minor units that were paid on that day; what was refunded since is not taken off
}

var (
	//go:embed sql/sales_orders.postgres.sql
	salesOrdersPostgres string
	//go:embed sql/sales_orders.sqlite.sql
	salesOrdersSQLite string
	//go:embed sql/sales_paid.postgres.sql
	salesPaidPostgres string
	//go:embed sql/sales_paid.sqlite.sql
	salesPaidSQLite string
)

// ofShop is the line of those statements that is left out for all shops.
const ofShop = "    AND shop_id = $2\n"

// SalesByDay returns what a shop sold on each day from one to another, both included,
// or for nil what all shops did. Days are those of [Config].Zone; each of them is
// there, in order. From the rows, by two statements. Another span than one of 1 to
// [MaxSalesDays] days is a fault. Whether the caller may see it says MaySeeShop.
func (s *Service) SalesByDay(ctx context.Context, shopID *int64, from, to civil.Date) ([]DaySales, error) {
	ctx, span := observe.Span(ctx, "order.SalesByDay")
	defer span.End()
	if n := civil.Days(from, to); n < 1 || n > MaxSalesDays {
		return nil, apierror.BadInput("1 to %d days, not %d", MaxSalesDays, n)
	}
	days, bounds := daysOf(from, to, s.cfg.Zone)
	at := make(map[int64]*DaySales, len(days))
	for i, b := range bounds {
		at[b[0]] = &days[i]
	}
	orders, paid := salesOrdersSQLite, salesPaidSQLite
	if s.db.Dialect() == dialect.Postgres {
		orders, paid = salesOrdersPostgres, salesPaidPostgres
	}
	var begin int64
	var n, amount int
	err := s.sum(ctx, orders, shopID, bounds, func() { at[begin].Orders = n }, &begin, &n)
	if err == nil {
		err = s.sum(ctx, paid, shopID, bounds, func() { at[begin].Paid, at[begin].Amount = n, amount }, &begin, &n, &amount)
	}
	if err != nil {
		return nil, fmt.Errorf("what was sold from %v to %v: %w", from, to, err)
	}
	return days, nil
}

// sum runs one of the statements, and calls each after each row was scanned into row.
func (s *Service) sum(ctx context.Context, file string, shopID *int64, bounds [][2]int64, each func(), row ...any) error {
	list, err := json.Marshal(bounds)
	if err != nil {
		return err
	}
	args := []any{string(list)}
	if shopID == nil {
		file = strings.Replace(file, ofShop, "", 1)
	} else {
		args = append(args, *shopID)
	}
	return sqldb.Each(ctx, s.db, sqldb.Statement(file), args, func(rows *sql.Rows) error {
		if err := rows.Scan(row...); err != nil {
			return err
		}
		each()
		return nil
	})
}

// daysOf returns the days of a span with nothing sold, and when each begins and ends
// in a zone, in milliseconds.
func daysOf(from, to civil.Date, zone *time.Location) ([]DaySales, [][2]int64) {
	n := civil.Days(from, to)
	days, bounds := make([]DaySales, n), make([][2]int64, n)
	day := func(i int) time.Time { return time.Date(from.Year, from.Month, from.Day+i, 0, 0, 0, 0, time.UTC) }
	for i := range n {
		days[i].Date = civil.DateOf(day(i))
		bounds[i] = [2]int64{beginOf(day(i), zone).UnixMilli(), beginOf(day(i+1), zone).UnixMilli()}
	}
	return days, bounds
}

// beginOf is the first moment of a day in a zone; the day is given by its midnight in
// UTC. Clocks may have no midnight on it, or two: [time.Date] promises neither the
// first nor that it is of that day.
func beginOf(day time.Time, zone *time.Location) time.Time {
	for at := day.Add(-26 * time.Hour).In(zone); ; { // no zone is further ahead
		_, offset := at.Zone()
		begin := day.Add(-time.Duration(offset) * time.Second)
		if begin.Before(at) {
			begin = at // the clocks went over it
		}
		_, end := at.ZoneBounds()
		if end.IsZero() || begin.Before(end) {
			return begin
		}
		at = end
	}
}
