package app_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

const (
	ratedShop    = `score rating { average count distribution taste environment service } viewerRating { stars taste environment service }`
	rateShop     = `mutation R($input: RateShopInput!) { rateShop(input: $input) { rating { stars taste environment service updatedAt } shop { ` + ratedShop + ` } userErrors { code field } } }`
	deleteRating = `mutation D($id: ID!) { deleteRating(shopId: $id) { shop { ` + ratedShop + ` } userErrors { code field } } }`
	ratingQuery  = `query S($id: ID!) { shop(id: $id) { ` + ratedShop + ` } }`
)

type rated struct {
	Stars, Taste, Environment, Service *int
}

// shownRating holds the ratings in the fields of a shop.
type shownRating struct {
	Score  *float64
	Rating struct {
		Average                     *float64
		Count                       int
		Distribution                []int
		Taste, Environment, Service *float64
	}
	ViewerRating *rated
}

type ratingAnswer struct {
	RateShop struct {
		Rating     *rated
		Shop       *shownRating
		UserErrors []apptest.UserError
	}
	DeleteRating struct {
		Shop       *shownRating
		UserErrors []apptest.UserError
	}
}

// newShop creates a shop, which has no imported score, as the owner of the market.
func (m market) newShop(t *testing.T, s *apptest.Server) string {
	t.Helper()
	var made shopAnswer
	s.As(m.owner.token).Must(t, createShop, map[string]any{"input": shopInput(nil)}, &made)
	id, ok := made.CreateShop.Shop["id"].(string)
	if !ok {
		t.Fatalf("no shop: %+v", made.CreateShop.UserErrors)
	}
	return id
}

func rate(t *testing.T, as *apptest.Server, shop string, stars int, aspects map[string]any) ratingAnswer {
	t.Helper()
	input := map[string]any{"shopId": shop, "stars": stars}
	maps.Copy(input, aspects)
	var a ratingAnswer
	as.Must(t, rateShop, map[string]any{"input": input}, &a)
	return a
}

// shown returns the score, the rating and the viewer's rating of a shop as one line.
func shown(t *testing.T, as *apptest.Server, shop string) string {
	t.Helper()
	var a struct{ Shop *shownRating }
	as.Must(t, ratingQuery, map[string]any{"id": shop}, &a)
	return a.Shop.String()
}

func (s *shownRating) String() string {
	text := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return string(b)
	}
	line := fmt.Sprintf("score %s average %s of %v", text(s.Score), text(s.Rating.Average), s.Rating.Distribution)
	for i, v := range []*float64{s.Rating.Taste, s.Rating.Environment, s.Rating.Service} {
		if v != nil {
			line += fmt.Sprintf(" %s %v", []string{"taste", "environment", "service"}[i], *v)
		}
	}
	if s.ViewerRating != nil {
		line += fmt.Sprintf(" mine %d", *s.ViewerRating.Stars)
	}
	return line
}

func codesOf(errs []apptest.UserError) string {
	var all []string
	for _, e := range errs {
		all = append(all, strings.TrimSpace(e.Code+" "+strings.Join(e.Field, ".")))
	}
	return strings.Join(all, ", ")
}

func TestRatingsOfAShop(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		stack.Config.RatingsPerUser = 100_000
		m := openMarket(t, stack, 3)
		s := stack.Start(t)
		shop := m.newShop(t, s)
		ann, bob := s.As(m.customers[0].token), s.As(m.customers[1].token)
		want := func(what string, as *apptest.Server, line string) {
			t.Helper()
			if got := shown(t, as, shop); got != line {
				t.Errorf("%s: got %q, want %q", what, got, line)
			}
		}
		want("unrated", ann, "score null average null of [0 0 0 0 0]")
		want("unrated, signed out", s, "score null average null of [0 0 0 0 0]")
		five, four := 5, 4
		a := rate(t, ann, shop, 5, map[string]any{"taste": 4})
		if d := cmp.Diff(&rated{Stars: &five, Taste: &four}, a.RateShop.Rating); d != "" || codesOf(a.RateShop.UserErrors) != "" {
			t.Errorf("%+v (-want +got):\n%s", a.RateShop.UserErrors, d)
		}
		const first = "score 3.9091 average 5 of [0 0 0 0 1] taste 4" // (10·3.8 + 5) / 11
		if got := a.RateShop.Shop.String(); got != first+" mine 5" {
			t.Errorf("result: got %q", got)
		}
		want("another viewer", bob, first)
		want("signed out", s, first)
		rate(t, bob, shop, 2, map[string]any{"taste": 1, "service": 3})
		want("two ratings", ann, "score 3.75 average 3.5 of [0 1 0 0 1] taste 2.5 service 3 mine 5")
		rate(t, ann, shop, 4, nil)
		want("replaced", ann, "score 3.6667 average 3 of [0 1 0 1 0] taste 1 service 3 mine 4")
		var deleted ratingAnswer
		bob.Must(t, deleteRating, map[string]any{"id": shop}, &deleted)
		const last = "score 3.8182 average 4 of [0 0 0 1 0]"
		if got := deleted.DeleteRating.Shop.String(); got != last {
			t.Errorf("deleted: got %q", got)
		}
		want("deleted", bob, last)

		for _, tt := range []struct {
			name string
			got  []apptest.UserError
			want string
		}{
			{"the owner", rate(t, s.As(m.owner.token), shop, 5, nil).RateShop.UserErrors, "OWN_SHOP input.shopId"},
			{"no stars", rate(t, ann, shop, 0, map[string]any{"service": 9}).RateShop.UserErrors, "INVALID_INPUT input.stars, INVALID_INPUT input.service"},
			{"no such shop", rate(t, ann, "U2hvcDo5OTk5", 5, nil).RateShop.UserErrors, "NOT_FOUND input.shopId"},
		} {
			if got := codesOf(tt.got); got != tt.want {
				t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
			}
		}
		var missing ratingAnswer
		ann.Must(t, deleteRating, map[string]any{"id": "U2hvcDo5OTk5"}, &missing)
		if got := codesOf(missing.DeleteRating.UserErrors); got != "NOT_FOUND shopId" {
			t.Errorf("delete for no such shop: got %q", got)
		}
		want("after refusals", ann, last+" mine 4")
	})
}

func TestNoteWithStarsRatesTheShop(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		stack.Config.RatingsPerUser = 20 // 2 for a new account
		m := openMarket(t, stack, 2)
		s := stack.Start(t)
		shop := m.newShop(t, s)
		ann, bob := s.As(m.customers[0].token), s.As(m.customers[1].token)
		publish := func(as *apptest.Server, stars any) string {
			t.Helper()
			var made struct {
				PublishNote struct {
					Note       *struct{ ID string }
					UserErrors []apptest.UserError
				}
			}
			as.Must(t, publishNote, map[string]any{"input": map[string]any{"shopId": shop, "title": "Tea", "content": "Good.", "stars": stars}}, &made)
			if (made.PublishNote.Note == nil) != (len(made.PublishNote.UserErrors) > 0) {
				t.Errorf("got %+v", made.PublishNote)
			}
			return codesOf(made.PublishNote.UserErrors)
		}
		for _, tt := range []struct {
			name  string
			as    *apptest.Server
			stars any
			want  string
		}{
			{"with stars", ann, 5, ""},
			{"without stars", bob, nil, ""},
			{"other stars", ann, 3, ""},
			{"equal stars, above the limit", ann, 3, ""},
			{"other stars, above the limit", ann, 4, "LIMIT_REACHED"},
			{"six stars", bob, 6, "INVALID_INPUT input.stars"},
			{"the owner with stars", s.As(m.owner.token), 5, "OWN_SHOP input.shopId"},
			{"the owner without stars", s.As(m.owner.token), nil, ""},
		} {
			if got := publish(tt.as, tt.stars); got != tt.want {
				t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
			}
		}
		if got := shown(t, ann, shop); got != "score 3.7273 average 3 of [0 0 1 0 0] mine 3" {
			t.Errorf("got %q", got)
		}
		var page struct {
			Shop struct {
				Notes struct {
					Edges []struct {
						Node struct {
							Author       struct{ ID string }
							AuthorRating *rated
						}
					}
				}
			}
		}
		s.Must(t, `query N($id: ID!) { shop(id: $id) { notes(first: 20) { edges { node { author { id } authorRating { stars } } } } } }`, map[string]any{"id": shop}, &page)
		var got []string
		for _, e := range page.Shop.Notes.Edges {
			stars := 0
			if r := e.Node.AuthorRating; r != nil {
				stars = *r.Stars
			}
			got = append(got, fmt.Sprintf("%s: %d", map[string]string{m.customers[0].id: "ann", m.customers[1].id: "bob", m.owner.id: "owner"}[e.Node.Author.ID], stars))
		}
		want := []string{"owner: 0", "ann: 3", "ann: 3", "bob: 0", "ann: 3"}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("notes (-want +got):\n%s", d)
		}
	})
}

func TestRatingIsVisibleOnEveryInstance(t *testing.T) {
	t.Parallel()
	stack := apptest.Real(t)
	stack.Config.RatingsPerUser = 100_000
	m := openMarket(t, stack, 1)
	a, b := stack.Start(t), stack.Start(t)
	shop, token := m.newShop(t, a), m.customers[0].token
	both := func(want string, mine int) {
		t.Helper()
		for name, s := range map[string]*apptest.Server{"a": a, "b": b} {
			sees(t, name, want, func() string { line, _, _ := strings.Cut(shown(t, s.As(token), shop), " mine"); return line })
			var own struct{ Shop struct{ ViewerRating *rated } }
			s.As(token).Must(t, ratingQuery, map[string]any{"id": shop}, &own)
			if got := own.Shop.ViewerRating; (got == nil) != (mine == 0) || got != nil && *got.Stars != mine {
				t.Errorf("%s: got viewer rating %+v, want %d", name, got, mine)
			}
		}
	}
	both("score null average null of [0 0 0 0 0]", 0)
	rate(t, a.As(token), shop, 5, nil)
	both("score 3.9091 average 5 of [0 0 0 0 1]", 5)
	rate(t, b.As(token), shop, 1, nil)
	both("score 3.5455 average 1 of [1 0 0 0 0]", 1)
	a.As(token).Must(t, deleteRating, map[string]any{"id": shop}, nil)
	both("score null average null of [0 0 0 0 0]", 0)
}

// starsOf counts the rows of a shop's ratings by stars, one star first.
func starsOf(t *testing.T, s *apptest.Server, shop int64) (counts [5]int) {
	t.Helper()
	rows, err := s.Components().DB.QueryContext(t.Context(), "SELECT stars FROM ratings WHERE shop_id = $1", shop)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var stars int
		if err := rows.Scan(&stars); err != nil {
			t.Fatal(err)
		}
		counts[stars-1]++
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return counts
}

// Users rate, publish with stars and delete at random. Then the scan finds no difference.
func TestRatingsNeverDrift(t *testing.T) {
	t.Parallel()
	const users, calls = 12, 20
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		stack.Config.RatingsPerUser = 100_000
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		m := openMarket(t, stack, users)
		servers := []*apptest.Server{stack.Start(t)}
		if stack.Name == "real" {
			servers = append(servers, stack.Start(t))
		}
		shops := []string{m.newShop(t, servers[0]), m.newShop(t, servers[0])}
		var all sync.WaitGroup
		for i, c := range m.customers {
			rnd := rand.New(rand.NewPCG(seed, uint64(i)))
			all.Go(func() {
				for range calls {
					as, shop, stars := servers[rnd.IntN(len(servers))].As(c.token), shops[rnd.IntN(len(shops))], 1+rnd.IntN(5)
					switch rnd.IntN(4) {
					case 0:
						as.Must(t, deleteRating, map[string]any{"id": shop}, nil)
					case 1:
						as.Must(t, publishNote, map[string]any{"input": map[string]any{"shopId": shop, "title": "Tea", "content": "Good.", "stars": stars}}, nil)
					default:
						rate(t, as, shop, stars, map[string]any{"taste": 1 + rnd.IntN(5)})
					}
				}
			})
		}
		all.Wait()
		for _, shop := range shops {
			counts := starsOf(t, servers[0], number(t, shop))
			for _, s := range servers {
				sees(t, shop, fmt.Sprint(counts), func() string {
					var a struct{ Shop shownRating }
					s.Must(t, ratingQuery, map[string]any{"id": shop}, &a)
					return fmt.Sprint(a.Shop.Rating.Distribution)
				})
			}
		}
		for _, s := range servers {
			if err := s.Stop(); err != nil {
				t.Fatal(err)
			}
		}
		found, _, _ := damagedStack{stack: stack}.reconciled(t, "--dry-run", "--only", "shop-ratings")
		if len(found) > 0 {
			t.Errorf("the scan found %v", found)
		}
	})
}
