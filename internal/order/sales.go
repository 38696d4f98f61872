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

// MaxSalesDays is the maximum number of days of SalesByDay.
const MaxSalesDays = 366

// DaySales is the sales of one day.
type DaySales struct {
	Date   civil.Date
	Orders int // made on that day, without failed ones
	Paid   int // paid on that day
	Amount int // minor units paid on that day, including later refunds
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

// shopCondition is the line of the statements that is removed for all shops.
const shopCondition = "    AND shop_id = $2\n"

// SalesByDay returns the sales of a shop for each day of a range, inclusive and in order. A
// nil shopID means all shops. Days are those of the Zone of [Config]. It reads the rows with
// two statements. The range must have 1 to [MaxSalesDays] days; otherwise the error is an
// [apierror.BadUserInput]. Check access with [Service.MaySeeShop].
func (s *Service) SalesByDay(ctx context.Context, shopID *int64, from, to civil.Date) ([]DaySales, error) {
	ctx, span := observe.Span(ctx, "order.SalesByDay")
	defer span.End()
	if n := civil.Days(from, to); n < 1 || n > MaxSalesDays {
		return nil, apierror.BadInput("days must be 1 to %d, not %d", MaxSalesDays, n)
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
		return nil, fmt.Errorf("count sales from %v to %v: %w", from, to, err)
	}
	return days, nil
}

// sum runs a statement. It scans each row into row and then calls each.
func (s *Service) sum(ctx context.Context, file string, shopID *int64, bounds [][2]int64, each func(), row ...any) error {
	list, err := json.Marshal(bounds)
	if err != nil {
		return err
	}
	args := []any{string(list)}
	if shopID == nil {
		file = strings.Replace(file, shopCondition, "", 1)
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

// daysOf returns the days of a range without sales, and the start and end of each in a zone,
// in milliseconds.
func daysOf(from, to civil.Date, zone *time.Location) ([]DaySales, [][2]int64) {
	n := civil.Days(from, to)
	days, bounds := make([]DaySales, n), make([][2]int64, n)
	day := func(i int) time.Time { return time.Date(from.Year, from.Month, from.Day+i, 0, 0, 0, 0, time.UTC) }
	for i := range n {
		days[i].Date = civil.DateOf(day(i))
		bounds[i] = [2]int64{startOfDay(day(i), zone).UnixMilli(), startOfDay(day(i+1), zone).UnixMilli()}
	}
	return days, bounds
}

// startOfDay returns the first moment of a day in a zone. day is its midnight in UTC. A local
// day may have no midnight, or two: [time.Date] guarantees neither the first one nor that it
// is on that day.
func startOfDay(day time.Time, zone *time.Location) time.Time {
	for at := day.Add(-26 * time.Hour).In(zone); ; { // no zone is further ahead of UTC
		_, offset := at.Zone()
		begin := day.Add(-time.Duration(offset) * time.Second)
		if begin.Before(at) {
			begin = at // clocks skipped midnight
		}
		_, end := at.ZoneBounds()
		if end.IsZero() || begin.Before(end) {
			return begin
		}
		at = end
	}
}
