package ratingtest

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
	"github.com/tandian-dev/tandian/lab/faulttest"
)

func TestMain(m *testing.M) {
	redisdb.SilenceRedisLog()
	os.Exit(m.Run())
}

// make ratingtest runs longer.
func TestServersAgreeWithRowsAfterKills(t *testing.T) {
	testkit.SkipIfShort(t)
	_, _, noPG := subprocess.FindPostgres()
	_, noRedis := faulttest.FindRedis()
	if err := errors.Join(noPG, noRedis); err != nil {
		if os.Getenv("TANDIAN_REQUIRE_SERVERS") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	var out strings.Builder
	n, err := Run(t.Context(), Config{Seed: testkit.Seed(t), Duration: 3 * time.Second, Out: &out})
	t.Log(out.String())
	if err != nil || n > 0 {
		t.Errorf("%d differences, %v", n, err)
	}
}

// agreeing returns rows of two shops, of which the second has two ratings and a save.
func agreeing() *rows {
	return &rows{
		shops: []*shopRow{
			{number: 1, id: "S1", typeID: "T1", price: -1, closed: true, sold: 3},
			{
				number: 2, id: "S2", typeID: "T2", price: 7000, isOpen: true, saves: 1, score: 3.9167, rank: 3.9167,
				stars: [5]int{0, 0, 0, 1, 1}, aspects: [3]sum{{1, 2}},
			},
		},
		ratings: []ratingRow{{key{"U1", "S2"}, value{Stars: 5, Taste: 2}, 1}, {key{"U2", "S2"}, value{Stars: 4}, 2}},
		saves:   []saveRow{{key{"U1", "S2"}, 3}},
	}
}

func TestCountersDifferFromRows(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*rows)
		want   string // in the only difference; "" is none
	}{
		{"they agree", func(*rows) {}, ""},
		{"a rating is not counted", func(r *rows) {
			r.ratings = append(r.ratings, ratingRow{key{"U3", "S1"}, value{Stars: 1}, 3})
			r.shops[0].score = 3.5455
		}, "counters: shop S1"},
		{"a rating is counted twice", func(r *rows) { r.shops[1].stars[0]++ }, "counters: shop S2"},
		{"an aspect is wrong", func(r *rows) { r.shops[1].aspects[0].sum++ }, "counters: shop S2"},
		{"a save is not counted", func(r *rows) { r.shops[1].saves = 0 }, "counters: shop S2"},
		{"the score is old", func(r *rows) { r.shops[1].score = 3.8 }, "score: shop S2 has 3.8, its ratings give 3.9167"},
		{"the score has another prior", func(r *rows) { r.shops[1].imported = 2 }, "score: shop S2"},
		{"a score without ratings", func(r *rows) { r.shops[0].score = 3.8 }, "score: shop S1"},
		{"the shop is missing", func(r *rows) {
			r.ratings[0].shop = "S3"
			r.shops[1].stars[4]--
			r.shops[1].aspects[0] = sum{}
			r.shops[1].score = 3.8182
		}, "missing shop S3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := agreeing()
			tt.change(r)
			var found differences
			r.checkCounters(&found)
			expect(t, found, tt.want)
		})
	}
}

// expect checks that there is one difference, which contains want, or none.
func expect(t *testing.T, found differences, want string) {
	t.Helper()
	if want == "" && len(found) > 0 || want != "" && (len(found) != 1 || !strings.Contains(found[0], want)) {
		t.Errorf("found %q, want %q", found, want)
	}
}

func TestRowsDifferFromAnsweredWrites(t *testing.T) {
	five, four := value{Stars: 5, Taste: 2}, value{Stars: 4}
	for _, tt := range []struct {
		name   string
		change func(w *workload)
		want   string
	}{
		{"they agree", func(*workload) {}, ""},
		{"a write without an answer happened", func(w *workload) { w.ratings[key{"U1", "S2"}] = state[value]{four: true, five: true} }, ""},
		{"a write is lost", func(w *workload) { w.ratings[key{"U1", "S1"}] = state[value]{four: true} }, "rating: user U1, shop S1"},
		{"an older write won", func(w *workload) { w.ratings[key{"U1", "S2"}] = state[value]{four: true} }, "rating: user U1, shop S2"},
		{"a deletion is lost", func(w *workload) { w.ratings[key{"U2", "S2"}] = state[value]{{}: true} }, "rating: user U2, shop S2"},
		{"nothing wrote a row", func(w *workload) { delete(w.ratings, key{"U2", "S2"}) }, "nothing wrote the row"},
		{"a save is lost", func(w *workload) { w.saves[key{"U2", "S2"}] = state[bool]{true: true} }, "save: user U2"},
		{"an answer was wrong", func(w *workload) { w.wrong.add("answer", "x") }, "answer: x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorkload(nil, nil, nil)
			w.ratings[key{"U1", "S2"}], w.ratings[key{"U2", "S2"}] = state[value]{five: true}, state[value]{four: true}
			w.saves[key{"U1", "S2"}], w.saves[key{"U9", "S2"}] = state[bool]{true: true}, state[bool]{false: true}
			tt.change(w)
			var found differences
			w.checkAcknowledged(agreeing(), &found)
			expect(t, found, tt.want)
		})
	}
}

func TestShopsDifferFromRows(t *testing.T) {
	score, average, taste, open, closed := 3.9167, 4.5, 2.0, true, false
	for _, tt := range []struct {
		name   string
		change func(all []shopAnswer)
		want   string
	}{
		{"they agree", func([]shopAnswer) {}, ""},
		{"an old count", func(all []shopAnswer) { all[0].Rating.Count = 1 }, "shop: server 1 answers user U1: S2"},
		{"an old distribution", func(all []shopAnswer) { all[0].Rating.Distribution[4] = 0 }, "S2"},
		{"an old score", func(all []shopAnswer) { all[0].Score = nil }, "S2"},
		{"an old rating of the viewer", func(all []shopAnswer) { all[0].ViewerRating = nil }, "S2"},
		{"not saved", func(all []shopAnswer) { all[0].IsSaved = false }, "S2"},
		{"open instead of closed", func(all []shopAnswer) { all[1].IsOpen = &open }, "S1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := []shopAnswer{{ID: "S2", Score: &score, SaveCount: 1, IsSaved: true, IsOpen: &open, ViewerRating: &value{Stars: 5, Taste: 2}}, {ID: "S1", Sold: 3, IsOpen: &closed}}
			all[0].Rating.Count, all[0].Rating.Distribution, all[0].Rating.Average, all[0].Rating.Taste = 2, [5]int{0, 0, 0, 1, 1}, &average, &taste
			tt.change(all)
			var found differences
			agreeing().checkShops(1, "U1", all, &found)
			expect(t, found, tt.want)
		})
	}
}

func TestListsAreSortedAndFilteredPlainly(t *testing.T) {
	r := agreeing()
	for _, tt := range []struct {
		field string
		value any
		want  []string
	}{
		{"openNow", true, []string{"S2"}},
		{"openNow", false, []string{"S1"}},
		{"minPrice", 5000, []string{"S2"}},
		{"maxPrice", 9000, []string{"S2"}},
		{"hasVoucher", false, []string{"S2", "S1"}},
		{"minScore", 3.8, []string{"S2"}},
		{"minScore", 4.0, nil},
		{"typeId", "T1", []string{"S1"}},
	} {
		for _, c := range conditions([]string{"T1"}) {
			if c.field == tt.field && c.value == tt.value {
				got := r.sorted(c.is, func(s *shopRow) float64 { return s.rank })
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("%s %v: (-want +got)\n%s", tt.field, tt.value, diff)
				}
			}
		}
	}
	bySold := r.sorted(func(*shopRow) bool { return true }, func(s *shopRow) float64 { return float64(s.sold) })
	if diff := cmp.Diff([]string{"S1", "S2"}, bySold); diff != "" {
		t.Errorf("by sold: (-want +got)\n%s", diff)
	}
}

func TestTrendHalvesInTwoDays(t *testing.T) {
	const today = 20_000
	for _, tt := range []struct {
		name     string
		activity map[int64]int64
		want     float64
	}{
		{"none", nil, 0},
		{"one today", map[int64]int64{today: 1}, today / 2},
		{"twice as much, two days ago", map[int64]int64{today - 2: 2}, today / 2},
		{"half of it on each of two days", map[int64]int64{today: 1, today - 2: 2}, today/2 + 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := trendOf(tt.activity); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestOneDifferentListIsOneDifference(t *testing.T) {
	var c comparison
	c.sameIDs("list", []string{"S1", "S2"}, []string{"S1", "S2"})
	c.sameIDs("list", nil, nil)
	expect(t, c.found, "")
	c.sameIDs("shops by SCORE", []string{"S1", "S2", "S3"}, []string{"S1", "S3", "S2"})
	expect(t, c.found, `shops by SCORE: 3 shops, want 3; from number 1 they are ["S2" "S3"], want ["S3" "S2"]`)
}
