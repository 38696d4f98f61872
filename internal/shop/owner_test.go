package shop

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tandian-dev/tandian/internal/kit/geo"
	"github.com/tandian-dev/tandian/internal/kit/optional"
)

func TestShopsOfOwnerAreListedInEveryOrder(t *testing.T) {
	eachStack(t, func(t *testing.T, process func() *Service) {
		s := process()
		ann, bob, unowned := user(t, s), user(t, s), int64(0)
		var drafts []Draft
		for i := range 120 {
			drafts = append(drafts, Draft{
				ExternalID: fmt.Sprintf("%03d", i), OwnerID: []int64{ann, bob, unowned}[i%3], Type: []string{"cafe", "bar"}[i/3%2],
				Name: fmt.Sprint("Shop ", i), Score: float64(i%7) / 2, Lat: 21.04 + float64(i)*1e-4, Lng: 105.8,
			})
		}
		put(t, s, drafts...)
		circle := &geo.Circle{Center: geo.Point{Lat: 21.04, Lng: 105.8}, Radius: 5000}
		searchBuilt(t, s, 0, *circle)
		bar := typeIDs(t, s)["bar"]
		tests := []struct {
			name string
			q    Query
			want int
		}{
			{"newest", Query{Order: ByNewest}, 40},
			{"newest of a type", Query{Order: ByNewest, TypeID: bar}, 20},
			{"best", Query{Order: ByScore}, 40},
			{"most sold", Query{Order: BySold}, 40},
			{"by a word", Query{Search: "shop"}, 40},
			{"nearest", Query{Near: circle}, 40},
			{"nearest of a type by a word", Query{Near: circle, TypeID: bar, Search: "shop"}, 20},
			{"best of the nearest", Query{Near: circle, Order: ByScore}, 40},
		}
		for _, tt := range tests {
			for owner, other := range map[int64]int64{ann: bob, bob: ann} {
				tt.q.OwnerID, tt.q.First, tt.q.After = owner, 9, ""
				got := wholeList(t, s, tt.q)
				seen := map[int64]bool{}
				for i, shop := range got {
					if optional.Value(shop.OwnerID) != owner || seen[shop.ID] {
						t.Errorf("%s: got shop %d of owner %d (other owner %d), repeated: %v", tt.name, shop.ID, optional.Value(shop.OwnerID), other, seen[shop.ID])
					}
					seen[shop.ID] = true
					if tt.q.Order == ByNewest && i > 0 && shop.ID > got[i-1].ID {
						t.Errorf("%s: got shop %d after %d", tt.name, shop.ID, got[i-1].ID)
					}
				}
				if len(got) != tt.want {
					t.Errorf("%s: got %d shops, want %d", tt.name, len(got), tt.want)
				}
			}
		}
		if got := wholeList(t, s, Query{Order: ByNewest, First: 9, OwnerID: bob + 1}); len(got) != 0 {
			t.Errorf("owner without shops: got %d", len(got))
		}
	})
}

// Cells have no owners: the row of each candidate is checked.
func TestCandidateOfAnotherOwnerIsSkipped(t *testing.T) {
	eachStack(t, func(t *testing.T, process func() *Service) {
		s := process()
		ann := user(t, s)
		d := Draft{Type: "bar", Name: "Bar", Lat: 21.04, Lng: 105.8}
		circle := geo.Circle{Center: geo.Point{Lat: d.Lat, Lng: d.Lng}, Radius: 500}
		for _, d.OwnerID = range []int64{ann, user(t, s), 0} {
			d.ExternalID = fmt.Sprint(d.OwnerID)
			put(t, s, d)
		}
		all := searchBuilt(t, s, 0, circle)
		c, ok := s.cells.within(t.Context(), 0, circle, 100)
		if !ok || len(c.list) != 3 {
			t.Fatalf("cells: got %v", c.list)
		}
		got, err := s.resolve(t.Context(), Query{Near: &circle, OwnerID: ann}, circle, c, distanceKey{}, 10)
		if err != nil || len(got) != 1 || optional.Value(got[0].shop.OwnerID) != ann {
			t.Errorf("got %v, %v of %v", got, err, all)
		}
	})
}

// wholeList reads all pages.
func wholeList(t *testing.T, s *Service, q Query) []*Shop {
	t.Helper()
	var all []*Shop
	for {
		p, err := s.List(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range p.Edges {
			all = append(all, e.Node)
		}
		if !p.Info.HasNextPage {
			return all
		}
		q.After = *p.Info.EndCursor
	}
}

func TestDraftSetsOwnerOnlyOnInsert(t *testing.T) {
	eachStack(t, func(t *testing.T, process func() *Service) {
		s := process()
		ann, bob := user(t, s), user(t, s)
		owners := func() (ids []int64) {
			for _, shop := range list(t, s, Query{Order: ByNewest, First: 10}) {
				ids = append(ids, optional.Value(shop.OwnerID))
			}
			slices.Reverse(ids)
			return ids
		}
		upsert := func(want SaveCounts, drafts ...Draft) {
			t.Helper()
			got, err := s.Upsert(t.Context(), drafts, func(int) {})
			if err != nil || got != want {
				t.Errorf("got %+v, %v; want %+v", got, err, want)
			}
		}
		a := Draft{ExternalID: "a", Type: "cafe", Name: "A", Lat: 1, Lng: 1, OwnerID: ann}
		b := Draft{ExternalID: "b", Type: "cafe", Name: "B", Lat: 1, Lng: 1}
		upsert(SaveCounts{Added: 2}, a, b)
		want := []int64{ann, 0}
		if got := owners(); !slices.Equal(got, want) {
			t.Fatalf("got owners %v, want %v", got, want)
		}
		a.OwnerID, b.OwnerID = bob, bob
		upsert(SaveCounts{Unchanged: 2}, a, b)
		a.Name, b.Name = "A2", "B2"
		upsert(SaveCounts{Changed: 1, Unchanged: 1}, a, b) // imports do not change owned shops
		a.OwnerID, a.Name = 0, "A3"
		upsert(SaveCounts{Unchanged: 2}, a, b)
		if got := owners(); !slices.Equal(got, want) {
			t.Errorf("got owners %v, want %v", got, want)
		}
		all := list(t, s, Query{Order: ByNewest, First: 10})
		if all[0].Name != "B2" || all[1].Name != "A" {
			t.Errorf("got names %s and %s, want B2 and A", all[0].Name, all[1].Name)
		}
	})
}
