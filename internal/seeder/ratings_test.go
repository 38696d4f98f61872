package seeder

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/rating"
)

// scoresOf returns the scores of n shops: 0, which is none, and 2.5 to 4.7.
func scoresOf(n int) []float32 {
	scores := make([]float32, n)
	for i := range scores {
		scores[i] = []float32{4.2, 0, 2.5, 3.3, 4.7}[i%5]
	}
	return scores
}

func TestRatingsAreDeterministic(t *testing.T) {
	scores := scoresOf(200)
	long := slices.Collect(GenerateRatings(3000, 500, scores, 42))
	if d := cmp.Diff(long, slices.Collect(GenerateRatings(3000, 500, scores, 42))); d != "" {
		t.Errorf("the same seed differs:\n%s", d)
	}
	if d := cmp.Diff(long[:1000], slices.Collect(GenerateRatings(1000, 500, scores, 42))); d != "" {
		t.Errorf("a smaller number yields no prefix:\n%s", d)
	}
	if cmp.Equal(long[:20], slices.Collect(GenerateRatings(20, 500, scores, 43))) {
		t.Error("another seed yields the same ratings")
	}
}

func TestPairsOfRatingsAndSavesAreDistinct(t *testing.T) {
	for _, tt := range []struct {
		name                            string
		n, users, shops, ratings, saves int
	}{
		{"none", 0, 5, 5, 0, 0},
		{"one user", 5, 1, 3, 3, 3},
		{"administrator and merchant", 10, 2, 3, 3, 6},
		{"some", 20_000, 3000, 400, 20_000, 20_000},
		{"every pair", 60 * 60, 60, 60, 59 * 60, 60 * 60},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ratings, saves := map[[2]int]bool{}, map[[2]int]bool{}
			for r := range GenerateRatings(tt.n, tt.users, scoresOf(tt.shops), 7) {
				if r.User == seedMerchant || r.User >= tt.users || r.Shop >= tt.shops || r.Moment < 0 || r.Moment >= 1 {
					t.Fatalf("got %+v", r)
				}
				ratings[[2]int{r.User, r.Shop}] = true
			}
			for s := range GenerateSaves(tt.n, tt.users, tt.shops, 7) {
				if s.User >= tt.users || s.Shop >= tt.shops {
					t.Fatalf("got %+v", s)
				}
				saves[[2]int{s.User, s.Shop}] = true
			}
			if len(ratings) != tt.ratings || len(saves) != tt.saves {
				t.Errorf("got %d ratings, %d saves, want %d, %d", len(ratings), len(saves), tt.ratings, tt.saves)
			}
		})
	}
}

func TestRatingDistribution(t *testing.T) {
	const n, users, shops = 60_000, 5000, 1000
	scores := scoresOf(shops)
	var stars [6]int
	var aspects int
	sums, counts := map[float32]int{}, map[float32]int{}
	by, of := make([]int, users), make([]int, shops)
	for r := range GenerateRatings(n, users, scores, 7) {
		stars[r.Draft.Stars]++
		sums[scores[r.Shop]] += r.Draft.Stars
		counts[scores[r.Shop]]++
		by[r.User]++
		of[r.Shop]++
		if (r.Draft.Taste == nil) != (r.Draft.Service == nil) || (r.Draft.Taste == nil) != (r.Draft.Environment == nil) {
			t.Fatalf("got %+v", r.Draft)
		}
		if r.Draft.Taste == nil {
			continue
		}
		aspects++
		for _, a := range []int{*r.Draft.Taste, *r.Draft.Environment, *r.Draft.Service} {
			if a < 1 || a > 5 || a < r.Draft.Stars-1 || a > r.Draft.Stars+1 {
				t.Fatalf("%d stars, aspect %d", r.Draft.Stars, a)
			}
		}
	}
	// A J: most ratings have 5 stars, and the fewest 2.
	if stars[0] > 0 || stars[5] < n*4/10 || stars[4] < stars[3] || stars[3] < stars[2] || stars[1] < stars[2] || stars[2] < n/50 {
		t.Errorf("got %v ratings by stars", stars)
	}
	for score, sum := range sums {
		want := float64(score)
		if score == 0 {
			want = usualScore
		}
		if mean := float64(sum) / float64(counts[score]); math.Abs(mean-want) > 0.06 {
			t.Errorf("shops with score %v: got a mean of %.2f stars", score, mean)
		}
	}
	if aspects < n*48/100 || aspects > n*52/100 {
		t.Errorf("%d of %d ratings have aspects", aspects, n)
	}
	wantHead(t, "ratings of shops", of, n, 0.1, 0.25)
	if highest := slices.Max(by); highest < 4*n/users || highest > 100*n/users {
		t.Errorf("a user has at most %d ratings", highest)
	}
}

func TestSaveDistribution(t *testing.T) {
	const n, users, shops = 60_000, 5000, 1000
	of := make([]int, shops)
	long := slices.Collect(GenerateSaves(n, users, shops, 7))
	for _, s := range long {
		of[s.Shop]++
	}
	wantHead(t, "saves of shops", of, n, 0.1, 0.25)
	if d := cmp.Diff(long[:1000], slices.Collect(GenerateSaves(1000, users, shops, 7))); d != "" {
		t.Errorf("a smaller number yields no prefix:\n%s", d)
	}
}

// fakeRatings records the stored ratings.
type fakeRatings struct {
	calls  [][]rating.Seed
	failAt int // the call that fails, from 1
	stored int // of each call; not new
}

func (f *fakeRatings) BulkInsert(_ context.Context, seeds []rating.Seed) (int, error) {
	if f.calls = append(f.calls, slices.Clone(seeds)); len(f.calls) == f.failAt {
		return 0, errStore
	}
	return len(seeds) - f.stored, nil
}

func TestSeedStoresRatings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 2*ratingBatch + 5
		ratings := &fakeRatings{stored: 3}
		plan := Plan{Users: 700, Shops: 40, Ratings: n, Seed: 3}
		var out strings.Builder
		if err := Seed(t.Context(), Services{Shops: &fakeShops{}, Accounts: &fakeAccounts{}, Ratings: ratings}, plan, &out); err != nil {
			t.Fatal(err)
		}
		if len(ratings.calls) != 3 || len(ratings.calls[0]) != ratingBatch {
			t.Errorf("got %d transactions", len(ratings.calls))
		}
		scores := make([]float32, 0, 40)
		for d := range GenerateShops(40, 3) {
			scores = append(scores, float32(d.Score))
		}
		begin, each := time.Now().Add(-activitySpan), float64(activitySpan)/n
		var want []rating.Seed
		for r := range GenerateRatings(n, 700, scores, 3) {
			r.Draft.ShopID = int64(1001 + r.Shop)
			at := begin.Add(time.Duration((float64(len(want)) + r.Moment) * each))
			want = append(want, rating.Seed{Draft: r.Draft, UserID: int64(101 + r.User), CreatedAt: at})
		}
		if d := cmp.Diff(want, slices.Concat(ratings.calls...)); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
		if lines := out.String(); !strings.Contains(lines, "ratings: 10005 of 10005 in ") || !strings.HasSuffix(lines, "\n9996 ratings added, 9 unchanged\n") {
			t.Errorf("output %q", lines)
		}

		ratings = &fakeRatings{failAt: 2}
		err := Seed(t.Context(), Services{Shops: &fakeShops{}, Accounts: &fakeAccounts{}, Ratings: ratings}, plan, io.Discard)
		if !errors.Is(err, errStore) || !strings.Contains(err.Error(), "seed ratings 5000 to 10000 of 10005") {
			t.Errorf("error %v", err)
		}
	})
}
