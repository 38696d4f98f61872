package demo

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/rating"
	"github.com/tandian-dev/tandian/internal/save"
)

// checkDemoRatings checks that the ratings look like those of a real town.
func checkDemoRatings(t *testing.T, ratings []rating.Seed, people map[int64]bool, now time.Time) {
	t.Helper()
	seen := map[rating.Pair]bool{}
	counts, sums := map[int64]int{}, map[int64]int{}
	var stars [6]int
	sum, aspects, weeks, last := 0, 0, map[int]int{}, time.Time{}
	for _, r := range ratings {
		pair := rating.Pair{Shop: r.ShopID, User: r.UserID}
		age := now.Sub(r.CreatedAt)
		if seen[pair] || !people[r.UserID] || r.Stars < 1 || r.Stars > 5 || age < 0 || age > ratingSpan+time.Hour || r.CreatedAt.Before(last) {
			t.Errorf("%+v, seen before: %v", r, seen[pair])
		}
		seen[pair], last = true, r.CreatedAt
		stars[r.Stars]++
		counts[r.ShopID]++
		sums[r.ShopID] += r.Stars
		sum += r.Stars
		weeks[int(age/(7*24*time.Hour))]++
		if r.Taste != nil {
			aspects++
		}
	}
	n := len(ratings)
	if mean := float64(sum) / float64(n); n < 300 || mean < 3.8 || mean > 4.6 {
		t.Errorf("%d ratings, %.2f stars on average", n, mean)
	}
	// A J: most ratings have 5 stars, then 4; the other values occur.
	if stars[5] < n/2 || stars[4] < n/6 || stars[3] > stars[4] || stars[3] < n/50 || stars[2] < n/50 || stars[1] < stars[2] {
		t.Errorf("got %v ratings by stars", stars)
	}
	if aspects < n*4/10 || aspects > n*6/10 || len(weeks) < 6 {
		t.Errorf("%d of %d ratings have aspects; by week: %v", aspects, n, weeks)
	}
	if all := len(Shops()); len(counts) < all*7/10 || len(counts) == all {
		t.Errorf("%d of %d shops are rated", len(counts), all)
	}
	best, worst, most := 0.0, 5.0, 0
	for shop, count := range counts {
		most = max(most, count)
		if mean := float64(sums[shop]) / float64(count); count >= 10 {
			best, worst = max(best, mean), min(worst, mean)
		}
	}
	if best < 4.7 || worst > 3.3 || most < 30 {
		t.Errorf("the best shop has %.2f stars, the worst %.2f; a shop has at most %d ratings", best, worst, most)
	}
}

// checkDemoSaves checks that users and the customer save different targets.
func checkDemoSaves(t *testing.T, saves []save.Seed, people map[int64]bool, customer int64, now time.Time) {
	t.Helper()
	type pair struct{ target, user int64 }
	seen, own, last := map[pair]bool{}, 0, time.Time{}
	for _, s := range saves {
		p := pair{s.Target, s.User}
		if s.Target == 0 || seen[p] || !people[s.User] && s.User != customer || s.CreatedAt.Before(last) || !s.CreatedAt.Before(now) {
			t.Errorf("%+v, seen before: %v", s, seen[p])
		}
		seen[p], last = true, s.CreatedAt
		if s.User == customer {
			own++
		}
	}
	if own < 4 || own > 8 || len(saves) < 20 {
		t.Errorf("%d saves, %d by the customer", len(saves), own)
	}
}

func TestAuthorsRateLikeTheirNotes(t *testing.T) {
	var f fakeServices
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	if _, err := LoadActivity(t.Context(), f.services(), 7, now); err != nil {
		t.Fatal(err)
	}
	rated := map[rating.Pair]rating.Seed{}
	for _, r := range f.ratings.ratings {
		rated[rating.Pair{Shop: r.ShopID, User: r.UserID}] = r
	}
	// Two notes criticize, the others praise.
	critical := map[string]int{"demo:no-sugar-no-thanks": 2, "demo:wrong-about-karaoke": 3}
	for _, n := range f.notes.notes {
		r := rated[rating.Pair{Shop: n.ShopID, User: n.AuthorID}]
		if want := critical[n.ExternalID]; want > 0 && r.Stars != want || want == 0 && r.Stars < 4 || !r.CreatedAt.Equal(n.At) {
			t.Errorf("the author of %s rates %d stars at %v", n.ExternalID, r.Stars, r.CreatedAt)
		}
	}
}

// A second load stores the same ratings and saves, so the stores ignore them.
func TestActivityIsDeterministic(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	load := func(now time.Time) (ratings []rating.Draft, raters []int64, saves []save.Seed) {
		var f fakeServices
		if _, err := LoadActivity(t.Context(), f.services(), 7, now); err != nil {
			t.Fatal(err)
		}
		for _, r := range f.ratings.ratings {
			ratings, raters = append(ratings, r.Draft), append(raters, r.UserID)
		}
		for _, s := range append(f.shopSaves.saves, f.noteSaves.saves...) {
			s.CreatedAt = time.Time{}
			saves = append(saves, s)
		}
		return ratings, raters, saves
	}
	ratings, raters, saves := load(now)
	otherRatings, otherRaters, otherSaves := load(now.Add(77 * time.Hour))
	if d := cmp.Diff(ratings, otherRatings) + cmp.Diff(raters, otherRaters) + cmp.Diff(saves, otherSaves); d != "" {
		t.Errorf("(-first +second)\n%s", d)
	}
}
