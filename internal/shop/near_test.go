package shop

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tandian-dev/tandian/internal/kit/geo"
	"github.com/tandian-dev/tandian/internal/testkit"
)

// Many shops in a small area, some at one position: all pages together contain all shops in
// order, with and without GEO cells.
func TestPagesByDistanceAreComplete(t *testing.T) {
	seed := testkit.Seed(t)
	eachStack(t, func(t *testing.T, process func() *Service) {
		s := process()
		rnd := rand.New(rand.NewPCG(seed, 7))
		s.maxByGEO = 100
		drafts := scattered(rnd, "crowd", 400)
		for i := range drafts {
			switch {
			case i < 120: // one position
				drafts[i].Lat, drafts[i].Lng = 21.041, 105.801
			default:
				drafts[i].Lat, drafts[i].Lng = 21.04+rnd.Float64()*0.01, 105.8+rnd.Float64()*0.01
			}
		}
		drafts[0].Lat = 21.4 // far from the others
		put(t, s, drafts...)
		circle := geo.Circle{Center: geo.Point{Lat: 21.04, Lng: 105.8}, Radius: MaxRadius}
		searchBuilt(t, s, 0, circle)
		rows, err := s.db.Shop.Query().All(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var want []distanceKey
		for _, r := range rows {
			want = append(want, distanceKey{circle.Center.Distance(geo.Point{Lat: r.Lat, Lng: r.Lng}), r.ID})
		}
		slices.SortFunc(want, distanceKey.compare)
		for _, search := range []string{"", "crowd"} {
			q := Query{Near: &circle, First: 20, Search: search}
			var got []distanceKey
			for {
				p, err := s.List(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range p.Edges {
					got = append(got, distanceKey{*e.Distance, e.Node.ID})
				}
				if !p.Info.HasNextPage {
					break
				}
				q.After = *p.Info.EndCursor
			}
			if !slices.Equal(got, want) {
				t.Errorf("search %q: got %d shops, want %d in order", search, len(got), len(want))
			}
		}
	})
}

// A search in a crowded area returns a bounded number of candidates.
func TestCandidateSearchIsBounded(t *testing.T) {
	eachStack(t, func(t *testing.T, process func() *Service) {
		s := process()
		drafts := scattered(rand.New(rand.NewPCG(1, 7)), "crowd", 400)
		for i := range drafts {
			drafts[i].Lat, drafts[i].Lng = 21.04, 105.6+float64(i)*1e-4 // 10 m apart
		}
		put(t, s, drafts...)
		far := geo.Circle{Center: geo.Point{Lat: 21.04, Lng: 105.5}, Radius: MaxRadius}
		searchBuilt(t, s, 0, far)
		for _, geo := range []bool{true, false} {
			byGEO := geo
			c, err := s.findCandidates(t.Context(), Query{Near: &far}, far, distanceKey{}, 40, &byGEO)
			if err != nil || byGEO != geo {
				t.Fatal(byGEO, err)
			}
			// 40 of each cell: the crowd is in one cell.
			if len(c.list) < 40 || len(c.list) > 80 || c.reach >= far.Radius {
				t.Errorf("by GEO %v: got %d candidates up to %v m", geo, len(c.list), c.reach)
			}
			near, err := s.resolve(t.Context(), Query{Near: &far}, far, c, distanceKey{}, 10)
			if err != nil || len(near) != 10 {
				t.Errorf("by GEO %v: got %d certain shops, %v, want 10", geo, len(near), err)
			}
		}
	})
}

// The first page determines the nearest 1000: nearer shops that are added later displace none.
func TestNearestSetIsStableAcrossPages(t *testing.T) {
	eachStack(t, func(t *testing.T, process func() *Service) {
		s := process()
		line := func(name string, n int, lat float64) []Draft {
			drafts := make([]Draft, n)
			for i := range drafts {
				drafts[i] = Draft{
					ExternalID: fmt.Sprintf("%s:%d", name, i), Type: "bar", Name: fmt.Sprintf("%s %d", name, i),
					Lat: lat, Lng: 105.6 + float64(i)*1e-5, Score: float64(i % 5),
				}
			}
			return drafts
		}
		s.nearestSorted = 200
		put(t, s, line("old", 200, 21.05)...)
		put(t, s, line("far", 50, 21.2)...)
		q := Query{Near: &geo.Circle{Center: geo.Point{Lat: 21.04, Lng: 105.6}, Radius: MaxRadius}, Order: ByScore, First: 20}
		seen := map[string]int{}
		for n := 0; ; n++ {
			p, err := s.List(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range p.Edges {
				seen[e.Node.Name]++
			}
			if n == 0 {
				put(t, s, line("new", 20, 21.041)...)
			}
			if !p.Info.HasNextPage {
				break
			}
			q.After = *p.Info.EndCursor
		}
		for i := range 200 {
			if name := fmt.Sprint("old ", i); seen[name] != 1 {
				t.Fatalf("%s: got %d times, want 1", name, seen[name])
			}
		}
		if seen["far 0"] != 0 {
			t.Error("got a shop beyond the nearest")
		}
	})
}
