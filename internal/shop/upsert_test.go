package shop

import (
	"context"
	"fmt"
	"maps"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/tandian-dev/tandian/internal/kit/geo"
	"github.com/tandian-dev/tandian/internal/kit/optional"
)

// A change of any field is stored, once. A new field that is not handled everywhere fails here.
func TestEachFieldOfADraftIsStored(t *testing.T) {
	eachStack(t, func(t *testing.T, process func() *Service) {
		s := process()
		d := Draft{ExternalID: "one", Type: "cafe", Name: "One", Area: "Old Town", Address: "1 Street", Lat: 21, Lng: 105, AvgPrice: new(100), Score: 3, OpenHours: "9-17", Website: "https://example.com/"}
		upsert := func(want SaveCounts) {
			t.Helper()
			got, err := s.Upsert(t.Context(), []Draft{d}, func(int) {})
			if err != nil || got != want {
				t.Errorf("got %+v, %v; want %+v", got, err, want)
			}
		}
		upsert(SaveCounts{Added: 1})
		upsert(SaveCounts{Unchanged: 1})
		v := reflect.ValueOf(&d).Elem()
		for i := range v.NumField() {
			name, field := v.Type().Field(i).Name, v.Field(i)
			switch {
			case name == "ExternalID", name == "FormerID", name == "OwnerID", name == "Images": // only for inserts
				continue
			case name == "Type":
				field.SetString("bar")
			case name == "TimeZone":
				field.SetString("Asia/Shanghai")
			case field.Kind() == reflect.String:
				field.SetString(field.String() + " and more")
			case field.Kind() == reflect.Float64:
				field.SetFloat(field.Float() + 0.25)
			case field.Kind() == reflect.Pointer:
				field.Set(reflect.ValueOf(new(7)))
			default:
				t.Fatalf("the test cannot change %s", name)
			}
			t.Log("changed", name)
			upsert(SaveCounts{Changed: 1})
			upsert(SaveCounts{Unchanged: 1})
		}
		// Known values can become unknown.
		d.Area, d.OpenHours, d.AvgPrice, d.Phone, d.Website, d.TimeZone = "", "", nil, "", "", ""
		upsert(SaveCounts{Changed: 1})
		upsert(SaveCounts{Unchanged: 1})
		p, err := s.List(t.Context(), Query{First: 1})
		if err != nil {
			t.Fatal(err)
		}
		got := p.Edges[0].Node
		if got.Name != "One and more" || got.Area != nil || got.OpenHours != nil || got.AvgPrice != nil || got.At != (geo.Point{Lat: 21.25, Lng: 105.25}) || got.Score != nil || s.db.Shop.GetX(t.Context(), got.ID).Score != 3.25 {
			t.Errorf("got shop %+v", got)
		}
	})
}

// The imported score is the prior mean of a shop that has ratings.
func TestImportedScoreChangesTheScoreOfRatings(t *testing.T) {
	eachStack(t, func(t *testing.T, process func() *Service) {
		s := process()
		draft := func(score float64) Draft {
			return Draft{ExternalID: "rated", Type: "cafe", Name: "Rated", Lat: 1, Lng: 1, Score: score}
		}
		put(t, s, draft(0))
		id := s.db.Shop.Query().OnlyIDX(t.Context())
		s.db.Shop.UpdateOneID(id).SetStars5(10).SetRatingScore(4.4).ExecX(t.Context())
		put(t, s, draft(3))
		shop, err := s.ByID(t.Context(), id)
		if err != nil || optional.Value(shop.Score) != 4 { // (10·3 + 10·5) / 20
			t.Errorf("got %+v, %v, want score 4", shop, err)
		}
	})
}

func TestInvalidDraftStoresNothing(t *testing.T) {
	good := func() Draft { return Draft{ExternalID: "x", Type: "cafe", Name: "X", Lat: 1, Lng: 1} }
	tests := []struct {
		name string
		edit func(*Draft)
	}{
		{"no external id", func(d *Draft) { d.ExternalID = "" }},
		{"a long external id", func(d *Draft) { d.ExternalID = strings.Repeat("x", 201) }},
		{"no type", func(d *Draft) { d.Type = "" }},
		{"an unknown type", func(d *Draft) { d.Type = "bank" }},
		{"no name", func(d *Draft) { d.Name = "" }},
		{"a long name", func(d *Draft) { d.Name = strings.Repeat("火", MaxName+1) }},
		{"a long area", func(d *Draft) { d.Area = strings.Repeat("火", MaxArea+1) }},
		{"a long address", func(d *Draft) { d.Address = strings.Repeat("火", MaxAddress+1) }},
		{"long hours", func(d *Draft) { d.OpenHours = strings.Repeat("火", MaxOpenHours+1) }},
		{"latitude 86", func(d *Draft) { d.Lat = 86 }},
		{"no number", func(d *Draft) { d.Lng = math.NaN() }},
		{"score 5.1", func(d *Draft) { d.Score = 5.1 }},
		{"score NaN", func(d *Draft) { d.Score = math.NaN() }},
		{"a negative price", func(d *Draft) { d.AvgPrice = new(-1) }},
	}
	eachStack(t, func(t *testing.T, process func() *Service) {
		s := process()
		for _, tt := range tests {
			bad := good()
			tt.edit(&bad)
			if _, err := s.Upsert(t.Context(), []Draft{good(), bad}, func(int) {}); err == nil {
				t.Errorf("%s: got no error", tt.name)
			}
		}
		if n, err := s.Count(t.Context()); err != nil || n != 0 {
			t.Errorf("got %d shops, %v, want none", n, err)
		}
		longest := good()
		longest.Name, longest.Area = strings.Repeat("火", MaxName), strings.Repeat("火", MaxArea)
		longest.Address, longest.OpenHours = strings.Repeat("火", MaxAddress), strings.Repeat("火", MaxOpenHours)
		if _, err := s.Upsert(t.Context(), []Draft{longest}, func(int) {}); err != nil {
			t.Errorf("maximum lengths: %v", err)
		}
	})
}

func TestLastDraftWithSameIDWins(t *testing.T) {
	eachStack(t, func(t *testing.T, process func() *Service) {
		s := process()
		var drafts []Draft
		for i := range 1100 { // two batches
			drafts = append(drafts, Draft{ExternalID: fmt.Sprint(i % 550), Type: "cafe", Name: fmt.Sprint("Shop ", i), Lat: 1, Lng: 1})
		}
		last := 0
		counts, err := s.Upsert(t.Context(), drafts, func(done int) {
			if done <= last {
				t.Errorf("got progress %d after %d", done, last)
			}
			last = done
		})
		if err != nil || counts != (SaveCounts{Added: 550}) || last != 550 {
			t.Fatalf("got %+v, %v, progress %d", counts, err, last)
		}
		p, err := s.List(t.Context(), Query{First: 100, Order: ByNewest})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range p.Edges {
			var n int
			if _, err := fmt.Sscanf(e.Node.Name, "Shop %d", &n); err != nil || n < 550 {
				t.Fatalf("got %s, want the last draft of its id", e.Node.Name)
			}
		}
	})
}

func TestCancelledUpsertStoresNothing(t *testing.T) {
	eachStack(t, func(t *testing.T, process func() *Service) {
		s := process()
		var drafts []Draft
		for i := range 3 * upsertBatch {
			drafts = append(drafts, Draft{ExternalID: fmt.Sprint(i), Type: "cafe", Name: "Shop", Lat: 1, Lng: 1})
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if _, err := s.Upsert(ctx, drafts, func(int) { cancel() }); err == nil {
			t.Error("got no error")
		}
		if n, err := s.Count(t.Context()); err != nil || n != 0 {
			t.Errorf("got %d shops, %v, want none", n, err)
		}
	})
}

func FuzzNormalize(f *testing.F) {
	for _, s := range []string{"", "Straße", "ＦＵＬＬ", "cafe\u0301", "İstanbul", "a\u0000b", "ﬃ", "Ǆ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := normalize(s)
		if again := normalize(once); again != once {
			t.Errorf("normalize(%q): got %q, then %q", s, once, again)
		}
		if strings.ContainsAny(once, "\n\x00") {
			t.Errorf("normalize(%q): got %q with a control character", s, once)
		}
	})
}

func TestIDsAreFoundByExternalIDs(t *testing.T) {
	eachStack(t, func(t *testing.T, process func() *Service) {
		s := process()
		const n = namesPerStatement + 1 // needs two statements
		drafts, names := make([]Draft, n), make([]string, n)
		for i := range drafts {
			names[i] = fmt.Sprintf("many:%d", i)
			drafts[i] = Draft{ExternalID: names[i], Type: "cafe", Name: names[i], Lat: 21, Lng: 105}
		}
		put(t, s, drafts...)
		ids, err := s.IDsByExternalID(t.Context(), append(names, "many:none"))
		if err != nil || len(ids) != n {
			t.Fatalf("got %d ids, %v, want %d", len(ids), err, n)
		}
		for _, name := range []string{names[0], names[n-2], names[n-1]} {
			if got, err := s.ByID(t.Context(), ids[name]); err != nil || got.Name != name {
				t.Errorf("%s: got %+v, %v", name, got, err)
			}
		}
		if none, err := s.IDsByExternalID(t.Context(), nil); err != nil || len(none) > 0 {
			t.Errorf("without names: got %v, %v", none, err)
		}
	})
}

func TestFormerIDRenamesShop(t *testing.T) {
	eachStack(t, func(t *testing.T, process func() *Service) {
		s := process()
		owner := user(t, s)
		upsert := func(want SaveCounts, drafts ...Draft) {
			t.Helper()
			got, err := s.Upsert(t.Context(), drafts, func(int) {})
			if err != nil || got != want {
				t.Errorf("got %+v, %v; want %+v", got, err, want)
			}
		}
		one := Draft{ExternalID: "1", Type: "cafe", Name: "One", Lat: 1, Lng: 1}
		two := Draft{ExternalID: "2", Type: "cafe", Name: "Two", Lat: 1, Lng: 1, OwnerID: owner}
		upsert(SaveCounts{Added: 2}, one, two)
		ids, err := s.IDsByExternalID(t.Context(), []string{"1", "2"})
		if err != nil {
			t.Fatal(err)
		}
		one.ExternalID, one.FormerID, one.Name = "town:1", "1", "One and more"
		two.ExternalID, two.FormerID, two.Name = "town:2", "2", "Two and more"
		upsert(SaveCounts{Changed: 1, Unchanged: 1}, one, two) // owned shops keep their name
		upsert(SaveCounts{Unchanged: 2}, one, two)
		now, err := s.IDsByExternalID(t.Context(), []string{"1", "2", "town:1", "town:2"})
		if err != nil || len(now) != 2 || now["town:1"] != ids["1"] || now["town:2"] != ids["2"] {
			t.Errorf("got ids %v, %v; want those of %v", now, err, ids)
		}
		// If another shop already has the id, both stay unchanged.
		other := Draft{ExternalID: "1", Type: "cafe", Name: "Other", Lat: 2, Lng: 2}
		upsert(SaveCounts{Added: 1}, other)
		upsert(SaveCounts{Unchanged: 1}, one)
		known, err := s.Identities(t.Context(), []string{"1", "town:1", "3"})
		want := map[string]Identity{"1": {"Other", geo.Point{Lat: 2, Lng: 2}}, "town:1": {"One and more", geo.Point{Lat: 1, Lng: 1}}}
		if err != nil || !maps.Equal(known, want) {
			t.Errorf("got %v, %v; want %v", known, err, want)
		}
	})
}
