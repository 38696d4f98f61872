package salebench

import (
	"context"
	_ "embed" // the statement
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/lab/harness"
)

//go:embed sql/count.sql
var countSQL string

//go:embed sql/gone.sql
var goneSQL string

const (
	goal       = 8000 // orders a second, stored end to end
	retryPause = 10 * time.Millisecond
	pollPause  = 2 * time.Millisecond
	retries    = 500 // per user
)

// course holds the results of one sale.
type course struct {
	admitted, refused, queued atomic.Int64
	failures                  atomic.Int64 // failed calls, which are retried
	took                      harness.Samples

	rate      float64 // orders a second, from the first call to the last row
	trips     float64 // to Redis of a caller, for each order
	allTrips  float64
	database  count
	left      int       // stock in Redis
	settled   time.Time // when the last row was seen
	unsettled bool
}

// sales measures sales to the given number of concurrent callers, and sold-out ones.
func (b *saleBench) sales(ctx context.Context, callers int) ([]harness.Row, error) {
	var stored, refusals rates
	var orders, losers harness.Samples
	var all, sold []*course
	for range b.Rounds {
		sale, c, err := b.sell(ctx, callers, b.Users)
		if err != nil {
			return nil, err
		}
		stored, orders, all, sold = append(stored, c.rate), append(orders, c.took...), append(all, c), append(sold, c)
		c, rate, err := b.refuse(ctx, sale, callers)
		if err != nil {
			return nil, err
		}
		refusals, losers, all = append(refusals, rate), append(losers, c.took...), append(all, c)
	}
	at := fmt.Sprintf(", %d at a time", callers)
	return []harness.Row{
		{What: "orders stored a second" + at, Measured: stored.String(), Goal: fmt.Sprintf("≥ %d", goal), Met: stored.median() >= goal},
		{What: "÷ bare admissions, ÷ bare rows" + at, Measured: fmt.Sprintf("%.2f, %.2f", stored.median()/b.bare.admissions[callers], stored.median()/b.bare.rows)},
		{What: "an answer to an order, p50 and p99" + at, Measured: millis(orders)},
		{What: "of the answers, QUEUED" + at, Measured: fmt.Sprintf("%.1f %%", 100*share(sold, func(c *course) int64 { return c.queued.Load() }))},
		{What: "refusals a second when nothing is left" + at, Measured: refusals.String()},
		{What: "÷ bare admissions" + at, Measured: fmt.Sprintf("%.2f", refusals.median()/b.bare.admissions[callers])},
		{What: "a refusal, p50 and p99" + at, Measured: millis(losers)},
		tripsRow(sold, at),
		failuresRow(all, at),
		checkRow(all, b.Users, at),
	}, nil
}

func millis(t harness.Samples) string {
	return fmt.Sprintf("%.1f and %.1f ms", harness.Millis(t.Percentile(50)), harness.Millis(t.Percentile(99)))
}

func share(all []*course, of func(*course) int64) float64 {
	var part, whole int64
	for _, c := range all {
		part, whole = part+of(c), whole+c.admitted.Load()
	}
	return float64(part) / float64(max(whole, 1))
}

// tripsRow reports the worst sale. Its value is below one if concurrent callers share a round trip.
func tripsRow(sold []*course, at string) harness.Row {
	worst := sold[0]
	for _, c := range sold {
		if c.trips > worst.trips {
			worst = c
		}
	}
	return harness.Row{
		What:     "round trips to Redis for an order" + at,
		Measured: fmt.Sprintf("%.3f, %.3f with the workers' own", worst.trips, worst.allTrips),
		Goal:     "≤ 1", Met: worst.trips > 0 && worst.trips <= 1,
	}
}

func failuresRow(all []*course, at string) harness.Row {
	var n int64
	for _, c := range all {
		n += c.failures.Load()
	}
	return harness.Row{What: "calls that failed and were retried" + at, Measured: fmt.Sprint(n)}
}

// checkRow reports whether each sale sold its whole stock once.
func checkRow(all []*course, units int, at string) harness.Row {
	r := harness.Row{
		What: "sales in which units sold = orders = users with one = units gone, all of them" + at,
		Goal: "all", Met: true,
	}
	good := 0
	for _, c := range all {
		if why := c.wrong(units); why == "" {
			good++
		} else if r.Met {
			r.Met, r.Measured = false, "; "+why
		}
	}
	r.Measured = fmt.Sprintf("%d of %d%s", good, len(all), r.Measured)
	return r
}

// wrong describes the errors of a sale of the given stock; "" if there are none.
func (c *course) wrong(units int) string {
	d := c.database
	if !c.unsettled && d == (count{units, units, units, units}) && c.left == 0 {
		return ""
	}
	return fmt.Sprintf("of %d units %d were sold to %d live orders of %d, of %d users, %d are gone from the database, and %d left in Redis",
		units, c.admitted.Load(), d.live, d.orders, d.users, d.gone, c.left)
}

// sell opens a sale, lets one user order for each item of stock, and waits until all orders are
// stored.
func (b *saleBench) sell(ctx context.Context, callers, units int) (Sale, *course, error) {
	sale, err := b.shop.Open(ctx, units)
	if err != nil {
		return nil, nil, fmt.Errorf("open a sale: %w", err)
	}
	b.trips.reset()
	begin := time.Now()
	c, err := b.storm(ctx, sale, callers, units)
	if err != nil {
		return nil, nil, err
	}
	c.trips = float64(b.trips.callers.Load()) / float64(units)
	if err := b.settle(ctx, sale, c); err != nil {
		return nil, nil, err
	}
	c.rate = float64(c.database.live) / c.settled.Sub(begin).Seconds()
	c.allTrips = float64(b.trips.all.Load()) / float64(units)
	c.unsettled = int(c.admitted.Load()) != c.database.live
	return sale, c, nil
}

// refuse sends orders of other users after the sale is sold out. The sale must not change.
func (b *saleBench) refuse(ctx context.Context, sale Sale, callers int) (*course, float64, error) {
	begin := time.Now()
	c, err := b.storm(ctx, sale, callers, b.Users)
	if err != nil {
		return nil, 0, err
	}
	rate := float64(b.Users) / time.Since(begin).Seconds()
	c.unsettled = int(c.refused.Load()) != b.Users
	return c, rate, b.readSale(ctx, sale, c)
}

// storm orders once as each of the given number of new users.
func (b *saleBench) storm(ctx context.Context, sale Sale, callers, users int) (*course, error) {
	c := &course{took: make(harness.Samples, users)}
	first := b.users
	b.users += int64(users)
	var n atomic.Int64
	_, err := harness.RunParallel(ctx, callers, users, func(ctx context.Context) error {
		i := n.Add(1)
		begin := time.Now()
		defer func() { c.took[i-1] = time.Since(begin) }()
		return c.order(ctx, sale, first+i)
	})
	return c, err
}

// order retries for one user until there is an answer.
func (c *course) order(ctx context.Context, sale Sale, user int64) error {
	ctx = context.WithValue(ctx, ordering{}, true)
	for try := 0; ; try++ {
		result, err := sale.Order(ctx, user)
		if err != nil {
			c.failures.Add(1)
			if try >= retries || clock.Sleep(ctx, retryPause) != nil {
				return fmt.Errorf("order for user %d: %w", user, err)
			}
			continue
		}
		switch result {
		case Stored:
			c.admitted.Add(1)
		case Queued:
			c.admitted.Add(1)
			c.queued.Add(1)
		case SoldOut:
			c.refused.Add(1)
		default:
			return fmt.Errorf("order for user %d: unknown result %d", user, result)
		}
		return nil
	}
}

// count holds the rows of a sale in the database.
type count struct{ orders, live, users, gone int }

// settle waits until the admitted orders are stored, at most for the patience of the options, and
// then counts. It polls only the row of the sale: counting orders would affect the measurement.
func (b *saleBench) settle(ctx context.Context, sale Sale, c *course) error {
	if err := gone(ctx, b.db, sale, int(c.admitted.Load()), b.patience); err != nil {
		return err
	}
	c.settled = time.Now()
	return b.readSale(ctx, sale, c)
}

// waitSold waits until the row of a sale has the given number of sold units; a commit changes it
// together with its orders. A time-out is not an error.
func gone(ctx context.Context, db *sqldb.SQL, sale Sale, units int, patience time.Duration) error {
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		n := 0
		if err := db.QueryRowContext(ctx, sqldb.Statement(goneSQL), sale.Voucher()).Scan(&n); err != nil {
			return fmt.Errorf("read the sold items of sale %d: %w", sale.Voucher(), err)
		}
		if n >= units || clock.Sleep(patient, pollPause) != nil {
			return ctx.Err()
		}
	}
}

// readSale counts the rows and reads the stock in Redis.
func (b *saleBench) readSale(ctx context.Context, sale Sale, c *course) error {
	row := b.db.QueryRowContext(ctx, sqldb.Statement(countSQL), sale.Voucher())
	d := &c.database
	err := row.Scan(&d.orders, &d.live, &d.users, &d.gone)
	var leftErr error
	c.left, leftErr = sale.Left(ctx)
	if err := errors.Join(err, leftErr); err != nil {
		return fmt.Errorf("count the orders of voucher %d: %w", sale.Voucher(), err)
	}
	return nil
}
