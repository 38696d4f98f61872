package ratingtest

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/kit/geo"
	"github.com/tandian-dev/tandian/internal/kit/openinghours"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// differences lists what is wrong.
type differences []string

func (d *differences) add(kind, format string, args ...any) {
	*d = append(*d, kind+": "+fmt.Sprintf(format, args...))
}

// shown limits the printed differences.
const shown = 40

func (d differences) write(out io.Writer) {
	for i, text := range d {
		if i == shown {
			fmt.Fprintf(out, "DIFFERENT and %d more\n", len(d)-shown)
			return
		}
		fmt.Fprintf(out, "DIFFERENT %.400s\n", text)
	}
}

// rows holds the rows of one moment, with the time of the condition "now".
type rows struct {
	at       time.Time
	shops    []*shopRow // by id
	ratings  []ratingRow
	saves    []saveRow
	activity map[string]map[int64]int64 // weights by shop and day
}

type shopRow struct {
	number                int64
	id, typeID            string // global
	at                    geo.Point
	price, sold, saves    int // -1 is no price
	imported, score       float64
	stars                 [5]int
	aspects               [3]sum // taste, environment, service
	openHours, timeZone   string
	onSale, flash         bool
	isOpen, closed        bool // both false: unknown
	rank, trend, distance float64
}

// sum is the number and the sum of the values of an aspect.
type sum struct{ count, sum int }

type ratingRow struct {
	key
	value
	updated int64
}

type saveRow struct {
	key
	created int64
}

const (
	readTimeout = 20 * time.Second // for all rows
	dayMillis   = 24 * 60 * 60 * 1000
)

// readRows reads all rows in one transaction.
func readRows(ctx context.Context, db *sqldb.SQL) (*rows, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("read rows: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // it only reads
	r := &rows{at: time.Now(), activity: map[string]map[int64]int64{}}
	for _, read := range []struct {
		statement string
		args      []any
		scan      func(*sql.Rows) error
	}{
		{"shops", []any{r.at.UnixMilli()}, r.scanShop},
		{"ratings", nil, r.scanRating},
		{"saves", nil, r.scanSave},
		{"activity", nil, func(rows *sql.Rows) error {
			var shop, day, weight int64
			err := rows.Scan(&shop, &day, &weight)
			r.add(shopID(shop), day, weight)
			return err
		}},
	} {
		if err := sqldb.Each(ctx, tx, statement(read.statement), read.args, read.scan); err != nil {
			return nil, fmt.Errorf("read %s: %w", read.statement, err)
		}
	}
	for _, s := range r.shops {
		s.trend = trendOf(r.activity[s.id])
	}
	return r, nil
}

func shopID(n int64) string { return scalar.ID{Type: "Shop", N: n}.String() }

func userID(n int64) string { return scalar.ID{Type: "User", N: n}.String() }

func (r *rows) add(shop string, day, weight int64) {
	if r.activity[shop] == nil {
		r.activity[shop] = map[int64]int64{}
	}
	r.activity[shop][day] += weight
}

func (r *rows) scanShop(rows *sql.Rows) error {
	s, a := &shopRow{}, new([3]sum)
	var typeID int64
	err := rows.Scan(&s.number, &typeID, &s.at.Lat, &s.at.Lng, &s.price, &s.sold, &s.saves, &s.imported, &s.score,
		&s.stars[0], &s.stars[1], &s.stars[2], &s.stars[3], &s.stars[4],
		&a[0].count, &a[0].sum, &a[1].count, &a[1].sum, &a[2].count, &a[2].sum, &s.openHours, &s.timeZone, &s.onSale, &s.flash)
	if err != nil {
		return err
	}
	s.aspects, s.id, s.typeID = *a, shopID(s.number), scalar.ID{Type: "ShopType", N: typeID}.String()
	if s.rank = s.score; s.rank == 0 {
		s.rank = float64(s.sold+s.saves) / (1 << 30)
	}
	if hours, err := openinghours.Parse(s.openHours); err == nil && s.openHours != "" {
		zone, err := time.LoadLocation(s.timeZone)
		if err != nil {
			return err
		}
		s.isOpen = hours.IsOpen(r.at.In(zone))
		s.closed = !s.isOpen
	}
	r.shops = append(r.shops, s)
	return nil
}

func (r *rows) scanRating(rows *sql.Rows) error {
	var one ratingRow
	var shop, user int64
	if err := rows.Scan(&shop, &user, &one.Stars, &one.Taste, &one.Environment, &one.Service, &one.updated); err != nil {
		return err
	}
	one.key = key{userID(user), shopID(shop)}
	r.add(one.shop, one.updated/dayMillis, 3)
	r.ratings = append(r.ratings, one)
	return nil
}

func (r *rows) scanSave(rows *sql.Rows) error {
	var one saveRow
	var shop, user int64
	if err := rows.Scan(&shop, &user, &one.created); err != nil {
		return err
	}
	one.key = key{userID(user), shopID(shop)}
	r.add(one.shop, one.created/dayMillis, 3)
	r.saves = append(r.saves, one)
	return nil
}

// ratingOf returns the ratings by user and shop.
func (r *rows) ratingOf() map[key]value {
	all := make(map[key]value, len(r.ratings))
	for _, one := range r.ratings {
		all[one.key] = one.value
	}
	return all
}

// trendOf returns the trend of a shop, 0 without activity. A weight halves in two days.
func trendOf(activity map[int64]int64) float64 {
	if len(activity) == 0 {
		return 0
	}
	total, newest := 0.0, slices.Max(daysOf(activity))
	for day, weight := range activity {
		total += float64(weight) * math.Exp2(float64(day-newest)/2)
	}
	return math.Round(1e6*(math.Log2(total)+float64(newest)/2)) / 1e6
}

func daysOf(activity map[int64]int64) (days []int64) {
	for day := range activity {
		days = append(days, day)
	}
	return days
}

// The prior of scores: its mean, and the ratings that it weighs as much as.
const priorMean, priorWeight = 3.8, 10

// scoreOf returns the score of ratings, 0 for none.
func scoreOf(stars [5]int, imported float64) float64 {
	n, total := 0, 0
	for i, count := range stars {
		n, total = n+count, total+(i+1)*count
	}
	if n == 0 {
		return 0
	}
	return math.Round(1e4*(priorWeight*cmp.Or(imported, priorMean)+float64(total))/float64(priorWeight+n)) / 1e4
}

// checkCounters compares the counters and scores of shops with the ratings and saves.
func (r *rows) checkCounters(found *differences) {
	type counters struct {
		stars   [5]int
		aspects [3]sum
		saves   int
	}
	counted := map[string]*counters{}
	for _, s := range r.shops {
		counted[s.id] = &counters{}
	}
	for _, one := range r.ratings {
		c := counted[one.shop]
		if c == nil {
			found.add("row", "a rating of the missing shop %s", one.shop)
			continue
		}
		c.stars[one.Stars-1]++
		for i, aspect := range []int{one.Taste, one.Environment, one.Service} {
			if aspect > 0 {
				c.aspects[i].count++
				c.aspects[i].sum += aspect
			}
		}
	}
	for _, one := range r.saves {
		if c := counted[one.shop]; c != nil {
			c.saves++
		}
	}
	for _, s := range r.shops {
		want := counted[s.id]
		if is := (counters{s.stars, s.aspects, s.saves}); is != *want {
			found.add("counters", "shop %s has %v, its rows are %v", s.id, is, *want)
		}
		if score := scoreOf(want.stars, s.imported); s.score != score {
			found.add("score", "shop %s has %v, its ratings give %v", s.id, s.score, score)
		}
	}
}
