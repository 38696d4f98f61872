package shop

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	entshop "github.com/tandian-dev/tandian/ent/shop"
)

func rewriteAll(t *testing.T, s *Service) {
	t.Helper()
	if err := s.SearchTexts().Do(t.Context()); err != nil {
		t.Error(err)
	}
}

// namesFound returns the names of the shops that a search finds.
func namesFound(t *testing.T, s *Service, search string) (names []string) {
	t.Helper()
	p, err := s.List(t.Context(), Query{Search: search, Order: ByNewest, First: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range p.Edges {
		names = append(names, e.Node.Name)
	}
	return names
}

// A text of the previous release is found by its rules until the rewrite, then by the current
// ones. Searches of the previous release find current texts.
func TestOldSearchTextsAreFoundAndRewritten(t *testing.T) {
	eachStack(t, func(t *testing.T, process func() *Service) {
		s := process()
		put(t, s,
			Draft{ExternalID: "old", Type: "cafe", Name: "Zoë’s Tea-House", Area: "Ropewalk", Address: "1 Élan Street", Lat: 1, Lng: 1},
			Draft{ExternalID: "plain", Type: "cafe", Name: "ropewalk", Lat: 1, Lng: 1},
			Draft{ExternalID: "wrong", Type: "cafe", Name: "Crème", Lat: 1, Lng: 1},
		)
		set := func(externalID, search string) {
			t.Helper()
			s.db.Shop.Update().Where(entshop.ExternalID(externalID)).SetSearch(search).ExecX(t.Context())
		}
		before := searchTextBefore("Zoë’s Tea-House", "Ropewalk", "1 Élan Street")
		set("old", before)
		set("wrong", "something else\n\n")
		for _, search := range []string{"Zoë’s", "TEA-house", "zoë’s tea-house", "1 élan"} {
			if got := namesFound(t, s, search); !cmp.Equal(got, []string{"Zoë’s Tea-House"}) {
				t.Errorf("before the rewrite, %q: got %q", search, got)
			}
		}
		version := s.db.Shop.Query().Where(entshop.ExternalID("old")).OnlyX(t.Context()).Version
		rewriteAll(t, s)
		for _, search := range []string{"zoes tea", "zoe's", "teahouse", "tea house", "ÉLAN STREET", "elan street", "Zoë’s"} {
			if got := namesFound(t, s, search); !cmp.Equal(got, []string{"Zoë’s Tea-House"}) {
				t.Errorf("after the rewrite, %q: got %q", search, got)
			}
		}
		if got := namesFound(t, s, "creme"); !cmp.Equal(got, []string{"Crème"}) {
			t.Errorf("repaired row: got %q", got)
		}
		row := s.db.Shop.Query().Where(entshop.ExternalID("old")).OnlyX(t.Context())
		if row.Version != version || !strings.Contains(row.Search, normalize("zoë’s tea-house")) {
			t.Errorf("got version %d and text %q, want version %d and the previous form", row.Version, row.Search, version)
		}
	})
}

// Several processes rewrite while shops change.
func TestSearchTextsAreRewrittenDuringWrites(t *testing.T) {
	eachStack(t, func(t *testing.T, process func() *Service) {
		a, b := process(), process()
		const shops = 3*rewritePage/2 + 7
		drafts := make([]Draft, shops)
		for i := range drafts {
			drafts[i] = Draft{ExternalID: fmt.Sprintf("x:%04d", i), Type: "cafe", Name: fmt.Sprintf("Café %d", i), Lat: 1, Lng: 1}
		}
		put(t, a, drafts...)
		for i, row := range a.db.Shop.Query().Order(entshop.ByID()).AllX(t.Context()) {
			if i%2 == 0 {
				a.db.Shop.UpdateOne(row).SetSearch(searchTextBefore(row.Name, "", "")).ExecX(t.Context())
			}
		}
		var all sync.WaitGroup
		for _, s := range []*Service{a, b} {
			all.Go(func() { rewriteAll(t, s) })
		}
		all.Go(func() {
			for i := range drafts {
				drafts[i].Name = fmt.Sprintf("Thé %d", i)
			}
			put(t, b, drafts...)
		})
		all.Wait()
		rewriteAll(t, a) // rows that were locked
		for _, row := range a.db.Shop.Query().AllX(t.Context()) {
			if want := searchText(row.Name, "", ""); row.Search != want {
				t.Fatalf("shop %d: got text %q, want %q", row.ID, row.Search, want)
			}
		}
	})
}
