package ratingtest

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/tandian-dev/tandian/internal/kit/geo"
	"github.com/tandian-dev/tandian/lab/faulttest"
)

const (
	sampledUsers  = 12
	randomFilters = 10
	pageSize      = 20
	maxPages      = 20
	radius        = 5000 // metres
)

// comparison compares the answers of servers with the rows.
type comparison struct {
	api     *api
	town    *town
	people  []faulttest.Person
	choices *rand.Rand

	found           differences
	lists, rankings int
}

// shopAnswer is a shop in an answer.
type shopAnswer struct {
	ID              string
	Score           *float64
	Sold, SaveCount int
	IsSaved         bool
	IsOpen          *bool
	Rating          struct {
		Average      *float64
		Count        int
		Distribution [5]int
		Taste        *float64
		Environment  *float64
		Service      *float64
	}
	ViewerRating *value
}

// connection is a page of shops.
type connection struct {
	Edges    []struct{ Node shopAnswer }
	PageInfo struct {
		HasNextPage bool
		EndCursor   string
	}
}

func (c *comparison) compare(ctx context.Context, read func(context.Context) (*rows, error)) error {
	for server := range servers {
		if err := c.compareShops(ctx, server, read); err != nil {
			return err
		}
		if err := c.compareRankings(ctx, server, read); err != nil {
			return err
		}
		for _, f := range c.filters() {
			for _, o := range orders() {
				if err := c.compareList(ctx, server, f, o, read); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// pages reads all pages of a list.
func (c *comparison) pages(ctx context.Context, server int, as faulttest.Person, name string, variables vars, take func(data map[string]connection) connection) ([]shopAnswer, error) {
	var all []shopAnswer
	delete(variables, "after")
	for range maxPages {
		var page connection
		if take == nil {
			var data map[string]connection
			if err := c.api.call(ctx, server, as, name, variables, &data); err != nil {
				return nil, err
			}
			page = data["shops"]
		} else {
			var data struct{ Me map[string]connection }
			if err := c.api.call(ctx, server, as, name, variables, &data); err != nil {
				return nil, err
			}
			page = take(data.Me)
		}
		for _, e := range page.Edges {
			all = append(all, e.Node)
		}
		if !page.PageInfo.HasNextPage {
			return all, nil
		}
		variables["after"] = page.PageInfo.EndCursor
	}
	return nil, fmt.Errorf("%s: more than %d pages", name, maxPages)
}

// compareShops compares each shop, as some users see it, and the saved shops of these users.
func (c *comparison) compareShops(ctx context.Context, server int, read func(context.Context) (*rows, error)) error {
	for range sampledUsers {
		who := c.people[c.choices.IntN(len(c.people))]
		got, err := c.pages(ctx, server, who, "shops", vars{"order": "NEWEST", "first": 100}, nil)
		if err != nil {
			return err
		}
		list, err := c.pages(ctx, server, who, "saved", vars{}, func(me map[string]connection) connection { return me["shops"] })
		if err != nil {
			return err
		}
		r, err := read(ctx)
		if err != nil {
			return err
		}
		r.checkShops(server, who.ID, got, &c.found)
		var saved []string
		for _, s := range slices.Backward(r.saves) {
			if s.user == who.ID {
				saved = append(saved, s.shop)
			}
		}
		c.sameIDs(fmt.Sprintf("server %d, savedShops of user %s", server, who.ID), idsOf(list), saved)
	}
	return nil
}

// checkShops compares shops in an answer to a user with the rows.
func (r *rows) checkShops(server int, user string, got []shopAnswer, found *differences) {
	answers := map[string]shopAnswer{}
	for _, s := range got {
		answers[s.ID] = s
	}
	ratings, saved := r.ratingOf(), map[key]bool{}
	for _, s := range r.saves {
		saved[s.key] = true
	}
	for _, s := range r.shops {
		is, ok := answers[s.id]
		if !ok {
			found.add("shops", "server %d omits shop %s", server, s.id)
			continue
		}
		want := shopAnswer{ID: s.id, Sold: s.sold, SaveCount: s.saves, IsSaved: saved[key{user, s.id}]}
		if score := s.score; score != 0 {
			want.Score = &score
		}
		if s.isOpen || s.closed {
			want.IsOpen = &s.isOpen
		}
		var stars sum
		for i, n := range s.stars {
			stars.count, stars.sum = stars.count+n, stars.sum+(i+1)*n
		}
		want.Rating.Count, want.Rating.Distribution, want.Rating.Average = stars.count, s.stars, stars.average()
		want.Rating.Taste, want.Rating.Environment, want.Rating.Service = s.aspects[0].average(), s.aspects[1].average(), s.aspects[2].average()
		if v, ok := ratings[key{user, s.id}]; ok {
			want.ViewerRating = &v
		}
		if a, b := text(is), text(want); a != b {
			found.add("shop", "server %d answers user %s: %s, the rows are %s", server, user, a, b)
		}
	}
	if len(got) != len(r.shops) {
		found.add("shops", "server %d answers %d shops, there are %d", server, len(got), len(r.shops))
	}
}

func (s sum) average() *float64 {
	if s.count == 0 {
		return nil
	}
	average := float64(s.sum) / float64(s.count)
	return &average
}

// text returns all fields, with the values of pointers.
func text(s shopAnswer) string {
	var b strings.Builder
	fmt.Fprint(&b, s.ID, " score ", number(s.Score), " sold ", s.Sold, " saves ", s.SaveCount, " saved ", s.IsSaved, " open ")
	if s.IsOpen != nil {
		fmt.Fprint(&b, *s.IsOpen)
	}
	fmt.Fprint(&b, " ratings ", s.Rating.Count, s.Rating.Distribution, number(s.Rating.Average), number(s.Rating.Taste), number(s.Rating.Environment), number(s.Rating.Service), " own ")
	if s.ViewerRating != nil {
		fmt.Fprint(&b, *s.ViewerRating)
	}
	return b.String()
}

func number(n *float64) string {
	if n == nil {
		return " none"
	}
	return fmt.Sprintf(" %.6f", *n)
}

func idsOf(all []shopAnswer) (ids []string) {
	for _, s := range all {
		ids = append(ids, s.ID)
	}
	return ids
}

// sameIDs adds a difference unless two lists are equal.
func (c *comparison) sameIDs(what string, got, want []string) {
	if slices.Equal(got, want) {
		return
	}
	n := 0
	for n < min(len(got), len(want)) && got[n] == want[n] {
		n++
	}
	c.found.add("list", "%s: %d shops, want %d; from number %d they are %q, want %q", what, len(got), len(want), n, got[n:min(len(got), n+3)], want[n:min(len(want), n+3)])
}

// compareRankings compares all rankings, over all types and of each type.
func (c *comparison) compareRankings(ctx context.Context, server int, read func(context.Context) (*rows, error)) error {
	for kind, value := range map[string]func(*shopRow) float64{
		"TRENDING":     func(s *shopRow) float64 { return s.trend },
		"TOP_RATED":    func(s *shopRow) float64 { return s.score },
		"BEST_SELLING": func(s *shopRow) float64 { return float64(s.sold) },
	} {
		for _, typeID := range append([]string{""}, c.town.types...) {
			variables := vars{"kind": kind}
			if typeID != "" {
				variables["type"] = typeID
			}
			got, err := c.pages(ctx, server, c.people[0], "ranking", variables, nil)
			if err != nil {
				return err
			}
			r, err := read(ctx)
			if err != nil {
				return err
			}
			want := r.sorted(func(s *shopRow) bool { return value(s) > 0 && (typeID == "" || s.typeID == typeID) }, value)
			c.sameIDs(fmt.Sprintf("server %d, ranking %s of type %q", server, kind, typeID), idsOf(got), want)
			c.rankings++
		}
	}
	return nil
}

// sorted returns the ids of some shops, the largest value first. Of equal ones, the newest is
// first.
func (r *rows) sorted(is func(*shopRow) bool, value func(*shopRow) float64) (ids []string) {
	list := slices.Clone(r.shops)
	slices.SortFunc(list, func(a, b *shopRow) int {
		return cmp.Or(cmp.Compare(value(b), value(a)), cmp.Compare(b.number, a.number))
	})
	for _, s := range list {
		if is(s) {
			ids = append(ids, s.id)
		}
	}
	return ids
}

// A condition is one field of a filter, and the same condition on rows.
type condition struct {
	field string
	value any
	is    func(*shopRow) bool
}

func conditions(types []string) []condition {
	score := func(least float64) condition {
		return condition{"minScore", least, func(s *shopRow) bool { return s.score >= least }}
	}
	all := []condition{
		{"openNow", true, func(s *shopRow) bool { return s.isOpen }},
		{"openNow", false, func(s *shopRow) bool { return s.closed }},
		{"minPrice", 5000, func(s *shopRow) bool { return s.price >= 5000 }},
		{"maxPrice", 9000, func(s *shopRow) bool { return s.price >= 0 && s.price <= 9000 }},
		{"hasVoucher", true, func(s *shopRow) bool { return s.onSale }},
		{"hasVoucher", false, func(s *shopRow) bool { return !s.onSale }},
		{"hasFlashSale", true, func(s *shopRow) bool { return s.flash }},
		{"hasFlashSale", false, func(s *shopRow) bool { return !s.flash }},
		score(1), score(3.7), score(3.8), score(4),
	}
	for _, id := range types {
		all = append(all, condition{"typeId", id, func(s *shopRow) bool { return s.typeID == id }})
	}
	return all
}

// filters returns no filter, each condition alone, and random combinations.
func (c *comparison) filters() [][]condition {
	all := conditions(c.town.types)
	lists := [][]condition{nil}
	for _, one := range all {
		lists = append(lists, []condition{one})
	}
	for range randomFilters {
		var some []condition
		for _, i := range c.choices.Perm(len(all))[:2+c.choices.IntN(3)] {
			if !slices.ContainsFunc(some, func(o condition) bool { return o.field == all[i].field }) {
				some = append(some, all[i])
			}
		}
		lists = append(lists, some)
	}
	return lists
}

// An order is a sort order, everywhere or in the town.
type order struct {
	name  string
	near  bool
	value func(*shopRow) float64
}

func orders() []order {
	byRank := func(s *shopRow) float64 { return s.rank }
	bySold := func(s *shopRow) float64 { return float64(s.sold) }
	byAge := func(*shopRow) float64 { return 0 }
	return []order{
		{"SCORE", false, byRank},
		{"SOLD", false, bySold},
		{"NEWEST", false, byAge},
		{"SCORE", true, byRank},
		{"SOLD", true, bySold},
		{"NEWEST", true, byAge},
		{"DISTANCE", true, func(s *shopRow) float64 { return -s.distance }},
	}
}

// compareList compares a filtered list. It reads the rows before and after the list, and skips
// a list that time has changed in between.
func (c *comparison) compareList(ctx context.Context, server int, f []condition, o order, read func(context.Context) (*rows, error)) error {
	filter, names := vars{}, []string{}
	for _, one := range f {
		filter[one.field] = one.value
		names = append(names, fmt.Sprintf("%s %v", one.field, one.value))
	}
	variables := vars{"filter": filter, "order": o.name, "first": pageSize}
	center := geo.Point{Lat: townLat, Lng: townLng}
	if o.near {
		variables["near"] = vars{"lat": center.Lat, "lng": center.Lng, "radius": radius}
	}
	expect := func() ([]string, error) {
		r, err := read(ctx)
		if err != nil {
			return nil, err
		}
		for _, s := range r.shops {
			s.distance = center.Distance(s.at)
		}
		return r.sorted(func(s *shopRow) bool {
			return (!o.near || s.distance <= radius) && !slices.ContainsFunc(f, func(one condition) bool { return !one.is(s) })
		}, o.value), nil
	}
	before, err := expect()
	if err != nil {
		return err
	}
	got, err := c.pages(ctx, server, c.people[0], "shops", variables, nil)
	if err != nil {
		return err
	}
	after, err := expect()
	if err != nil {
		return err
	}
	if slices.Equal(before, after) {
		c.sameIDs(fmt.Sprintf("server %d, shops by %s, near %v, with %s", server, o.name, o.near, strings.Join(names, ", ")), idsOf(got), after)
		c.lists++
	}
	return nil
}
