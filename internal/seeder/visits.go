package seeder

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/civil"
	"github.com/tandian-dev/tandian/internal/kit/progress"
	"github.com/tandian-dev/tandian/internal/visit"
)

// MaxVisits is the maximum number of visits of a seed.
const MaxVisits = 10_000_000

const (
	flatVisitors = 0.6 // few visitors come often
	shopVisits   = 0.7 // share of visits that open a shop
	signedIn     = 0.4 // share of visits by users, if any
	weekend      = 1.6 // times the visits of a working day
)

// GenerateVisits spreads visits to the site and its shops over the 30 days before today.
// Days differ. It draws visitors from the users and from visits/2 anonymous ones.
func GenerateVisits(visits int, today civil.Date, users, shops []int64, seed uint64) []visit.Day {
	rnd := rand.New(rand.NewPCG(seed, 1<<61))
	weight := make([]float64, lastDays)
	sum := 0.0
	for ago := range weight {
		weight[ago] = 0.7 + 0.6*rnd.Float64()
		if day := today.Add(-ago - 1).Weekday(); day == time.Saturday || day == time.Sunday {
			weight[ago] *= weekend
		}
		sum += weight[ago]
	}
	var days []visit.Day
	for ago, w := range weight {
		days = append(days, visitDay(int(float64(visits)*w/sum+0.5), today.Add(-ago-1), visits/2+1, users, shops, rnd)...)
	}
	return days
}

// visitDay returns the visits of one day to the site and to shops.
func visitDay(visits int, date civil.Date, anonymous int, users, shops []int64, rnd *rand.Rand) []visit.Day {
	days := []visit.Day{{Date: date}}
	at := map[int64]int{0: 0}
	see := func(shop int64, visitor string) {
		i, ok := at[shop]
		if !ok {
			i = len(days)
			at[shop] = i
			days = append(days, visit.Day{Shop: shop, Date: date})
		}
		days[i].Views++
		days[i].Visitors = append(days[i].Visitors, visitor)
	}
	for range visits {
		visitor := visit.Cookie(fmt.Sprintf("seed-%d", rank(rnd, anonymous, flatVisitors)))
		if len(users) > 0 && rnd.Float64() < signedIn {
			visitor = visit.User(strconv.FormatInt(users[rank(rnd, len(users), flatVisitors)], 10))
		}
		see(0, visitor)
		if len(shops) > 0 && rnd.Float64() < shopVisits {
			see(shops[rank(rnd, len(shops), flatVisited)], visitor)
		}
	}
	return days
}

const visitBatch = 500 // days of shops

// seedVisits stores the visits of a plan. Stored days do not change.
func seedVisits(ctx context.Context, into Visits, plan Plan, users, shops []int64, out io.Writer) error {
	days := GenerateVisits(plan.Visits, plan.Today, users, shops, plan.Seed)
	bar := progress.New(out, "days of visits", len(days))
	defer bar.Close()
	for done := 0; done < len(days); {
		some := days[done:min(done+visitBatch, len(days))]
		if err := into.BulkInsert(ctx, some); err != nil {
			return fmt.Errorf("seed visits: %w", err)
		}
		done += len(some)
		bar.Set(done)
	}
	bar.Close()
	if _, err := fmt.Fprintf(out, "%d visits on %d days\n", plan.Visits, lastDays); err != nil {
		return fmt.Errorf("print the totals of visits: %w", err)
	}
	return nil
}
