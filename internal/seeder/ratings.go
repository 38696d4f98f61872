package seeder

import (
	"context"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"

	"github.com/tandian-dev/tandian/internal/kit/progress"
	"github.com/tandian-dev/tandian/internal/rating"
)

// MaxRatings is the maximum number of ratings of a seed. Generating them needs about six
// bytes of memory each.
const MaxRatings = 10_000_000

const (
	flatRating  = 0.6 // some users rate a few times as many shops as others
	usualScore  = 4.1 // of shops without a score
	ratingBatch = 5000
)

// A Rating is a rating of a seed. User and shop are indexes in [GenerateUsers] and
// [GenerateShops].
type Rating struct {
	User, Shop int
	Draft      rating.Draft // without the shop
	Moment     float64      // in [0, 1), see moments
}

// raters returns the number of users that rate: all except the merchant, the owner of the
// shops, who has the last rank.
func raters(users int) int {
	if users > seedMerchant {
		return users - 1
	}
	return users
}

// possibleRatings returns the maximum number of ratings of shops by users.
func possibleRatings(users, shops int) int { return raters(users) * shops }

// GenerateRatings yields n ratings of shops by distinct pairs of users and shops. scores
// holds the scores of the shops; ratings of a shop have about its score as mean. Some shops
// have many ratings, most have few. The same seed, number of users and scores yield the same
// ratings; a smaller n yields a prefix. It yields at most [MaxRatings] and at most as many
// as are possible.
func GenerateRatings(n, users int, scores []float32, seed uint64) iter.Seq[Rating] {
	return func(yield func(Rating) bool) {
		shops := len(scores)
		rnd := rand.New(rand.NewPCG(seed, ^uint64(2)))
		p := pairs{rnd: rnd, flatFirst: flatRating, flatSecond: flatVisited, seconds: shops, limit: shops, taken: make([][]int32, raters(users))}
		for range min(n, MaxRatings, possibleRatings(users, shops)) {
			rank, shop := p.next()
			r := Rating{User: userOfRank(rank, users), Shop: shop, Moment: rnd.Float64()}
			r.Draft.Stars = drawStars(rnd, float64(scores[shop]))
			DrawAspects(rnd, &r.Draft)
			if !yield(r) {
				return
			}
		}
	}
}

// drawStars draws the stars of one rating of a shop with a score; 0 is unknown. The
// distribution has the form of a J: most ratings have 5 stars, and 1 is likelier than 2.
func drawStars(rnd *rand.Rand, score float64) int {
	if score == 0 {
		score = usualScore
	}
	best, worst := [5]float64{0.01, 0.01, 0.03, 0.18, 0.77}, [5]float64{0.37, 0.19, 0.18, 0.14, 0.12}
	const bestMean, worstMean = 4.69, 2.45
	share := min(max((score-worstMean)/(bestMean-worstMean), 0), 1)
	at := rnd.Float64()
	for i := range best {
		if at -= share*best[i] + (1-share)*worst[i]; at < 0 {
			return i + 1
		}
	}
	return len(best) // the sum of the shares is below 1 by rounding
}

// DrawAspects rates the aspects in every second rating, each by its stars or one more or less.
func DrawAspects(rnd *rand.Rand, d *rating.Draft) {
	if rnd.IntN(2) == 0 {
		return
	}
	for _, aspect := range []**int{&d.Taste, &d.Environment, &d.Service} {
		stars := min(max(d.Stars+[]int{-1, 0, 0, 0, 1}[rnd.IntN(5)], 1), 5)
		*aspect = &stars
	}
}

// seedRatings stores the ratings of a plan.
func seedRatings(ctx context.Context, into Ratings, plan Plan, users []int64, shops seededShops, out io.Writer) error {
	bar := progress.New(out, "ratings", plan.Ratings)
	defer bar.Close()
	at := moments(plan.Ratings)
	done, added := 0, 0
	for chunk := range chunks(GenerateRatings(plan.Ratings, plan.Users, shops.scores, plan.Seed), ratingBatch) {
		seeds := make([]rating.Seed, len(chunk))
		for i, r := range chunk {
			r.Draft.ShopID = shops.ids[r.Shop]
			seeds[i] = rating.Seed{Draft: r.Draft, UserID: users[r.User], CreatedAt: at(done+i, r.Moment)}
		}
		more, err := into.BulkInsert(ctx, seeds)
		if err != nil {
			return fmt.Errorf("seed ratings %d to %d of %d: %w", done, done+len(chunk), plan.Ratings, err)
		}
		done, added = done+len(chunk), added+more
		bar.Set(done)
	}
	bar.Close()
	if _, err := fmt.Fprintf(out, "%d ratings added, %d unchanged\n", added, done-added); err != nil {
		return fmt.Errorf("print the totals of ratings: %w", err)
	}
	return nil
}
