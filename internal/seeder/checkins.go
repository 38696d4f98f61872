package seeder

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"github.com/tandian-dev/tandian/internal/checkin"
	"github.com/tandian-dev/tandian/internal/kit/civil"
	"github.com/tandian-dev/tandian/internal/kit/progress"
)

// lastDays is the number of days before today that get check-ins and visits.
const lastDays = 30

// GenerateCheckIns returns the check-ins of a user in the 30 days before today. Some
// users check in nearly daily, most users rarely. A check-in makes one on the next day
// likelier.
func GenerateCheckIns(user int64, today civil.Date, rnd *rand.Rand) (drafts []checkin.Draft) {
	keen := rnd.Float64()
	came := false
	for ago := lastDays; ago >= 1; ago-- {
		likely := 0.9 * keen * keen
		if came {
			likely += 0.5 * keen
		}
		if came = rnd.Float64() < likely; came {
			drafts = append(drafts, checkin.Draft{User: user, Day: today.Add(-ago)})
		}
	}
	return drafts
}

const checkInBatch = 5000

// seedCheckIns stores the check-ins of the first plan.CheckIns customers.
func seedCheckIns(ctx context.Context, into CheckIns, plan Plan, users []int64, out io.Writer) error {
	bar := progress.New(out, "check-ins", plan.CheckIns)
	defer bar.Close()
	source := rand.NewPCG(plan.Seed, 0)
	rnd := rand.New(source)
	var drafts []checkin.Draft
	for i := range plan.CheckIns {
		source.Seed(plan.Seed, 3<<62|uint64(i)) //nolint:gosec // never below 0
		drafts = append(drafts, GenerateCheckIns(users[userOfRank(i, len(users))], plan.Today, rnd)...)
	}
	added, done := 0, 0
	for some := range slices.Chunk(drafts, checkInBatch) {
		n, err := into.BulkInsert(ctx, some)
		if err != nil {
			return fmt.Errorf("seed check-ins %d to %d of %d: %w", done, done+len(some), len(drafts), err)
		}
		added, done = added+n, done+len(some)
		bar.Set(plan.CheckIns * done / len(drafts))
	}
	bar.Close()
	if _, err := fmt.Fprintf(out, "%d check-ins of %d users added, %d unchanged\n", added, plan.CheckIns, len(drafts)-added); err != nil {
		return fmt.Errorf("print the totals of check-ins: %w", err)
	}
	return nil
}
