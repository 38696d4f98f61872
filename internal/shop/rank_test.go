package shop

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	entshop "github.com/tandian-dev/tandian/ent/shop"
	"github.com/tandian-dev/tandian/internal/kit/geo"
)

// Unrated shops are behind all others, by popularity, in all lists and page sizes. An imported
// score is no rating.
func TestUnratedShopsAreLastByPopularity(t *testing.T) {
	eachStack(t, func(t *testing.T, process func() *Service) {
		s := process()
		ann := user(t, s)
		var drafts []Draft
		scores := []float64{4.5, 0, 3.8, 2, 5, 0, 0, 3.9, 3.7}
		for i, score := range scores {
			drafts = append(drafts, Draft{
				ExternalID: fmt.Sprintf("%03d", i), OwnerID: ann, Type: "bar", Name: fmt.Sprintf("Shop %v", score), Score: 5 - float64(i)/10,
				Lat: 21.04 + float64(i)*1e-4, Lng: 105.8,
			})
		}
		put(t, s, drafts...)
		for i, score := range scores {
			if score > 0 {
				s.db.Shop.Update().Where(entshop.ExternalID(fmt.Sprintf("%03d", i))).SetRatingScore(score).ExecX(t.Context())
			}
		}
		for id, n := range map[string][2]int{"001": {2, 1}, "005": {0, 2}, "006": {9, 9}} { // sold, saved
			s.db.Shop.Update().Where(entshop.ExternalID(id)).SetName("Shop 0, " + id).SetSold(n[0]).SetSaveCount(n[1]).ExecX(t.Context())
		}
		want := []string{"Shop 5", "Shop 4.5", "Shop 3.9", "Shop 3.8", "Shop 3.7", "Shop 2", "Shop 0, 006", "Shop 0, 001", "Shop 0, 005"}
		circle := &geo.Circle{Center: geo.Point{Lat: 21.04, Lng: 105.8}, Radius: 5000}
		searchBuilt(t, s, 0, *circle)
		for name, q := range map[string]Query{
			"by default":           {},
			"of a type":            {TypeID: typeIDs(t, s)["bar"]},
			"of an owner":          {OwnerID: ann, Order: ByScore},
			"by a word":            {Search: "shop", Order: ByScore},
			"of the nearest":       {Near: circle, Order: ByScore},
			"of nearby, by a word": {Near: circle, Search: "shop", Order: ByScore},
		} {
			for _, first := range []int{1, 2, 3, 100} {
				q.First, q.After = first, ""
				var got []string
				for _, shop := range wholeList(t, s, q) {
					got = append(got, shop.Name)
					if unrated := strings.HasPrefix(shop.Name, "Shop 0"); unrated != (shop.Score == nil) {
						t.Errorf("%s: got score %v", shop.Name, shop.Score)
					}
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("%s, pages of %d (-want +got):\n%s", name, first, d)
				}
			}
		}
	})
}
