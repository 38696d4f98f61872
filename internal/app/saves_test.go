package app_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

const (
	saveShop   = `mutation S($id: ID!) { saveShop(id: $id) { shop { saveCount isSaved } userErrors { code field } } }`
	unsaveShop = `mutation U($id: ID!) { unsaveShop(id: $id) { shop { saveCount isSaved } userErrors { code field } } }`
	saveNote   = `mutation S($id: ID!) { saveNote(id: $id) { note { saveCount isSaved } userErrors { code field } } }`
	unsaveNote = `mutation U($id: ID!) { unsaveNote(id: $id) { note { saveCount isSaved } userErrors { code field } } }`
	savedLists = `query L($first: Int!, $shops: Cursor, $notes: Cursor) { me {
		savedShops(first: $first, after: $shops) { edges { cursor node { id isSaved } } pageInfo { hasNextPage endCursor } }
		savedNotes(first: $first, after: $notes) { edges { cursor node { id isSaved } } pageInfo { hasNextPage endCursor } }
	} }`
)

type savedPage struct {
	Edges []struct {
		Node struct {
			ID      string
			IsSaved bool
		}
	}
	PageInfo struct {
		HasNextPage bool
		EndCursor   *string
	}
}

// savedBy returns the saved shops and notes of a viewer, in pages of a size.
func savedBy(t *testing.T, as *apptest.Server, first int) (shops, notes []string) {
	t.Helper()
	more, variables := true, map[string]any{"first": first}
	for more {
		var shown struct {
			Me struct{ SavedShops, SavedNotes savedPage }
		}
		as.Must(t, savedLists, variables, &shown)
		more = false
		for name, into := range map[string]*[]string{"shops": &shops, "notes": &notes} {
			p := map[string]savedPage{"shops": shown.Me.SavedShops, "notes": shown.Me.SavedNotes}[name]
			for _, e := range p.Edges {
				*into = append(*into, e.Node.ID)
				if !e.Node.IsSaved {
					t.Errorf("%s of the list of %s has isSaved false", e.Node.ID, name)
				}
			}
			if p.PageInfo.HasNextPage && len(p.Edges) != first {
				t.Fatalf("got a page of %d %s with a next page, want %d", len(p.Edges), name, first)
			}
			if p.PageInfo.EndCursor != nil { // the last page of the shorter list repeats empty
				variables[name] = *p.PageInfo.EndCursor
			}
			more = more || p.PageInfo.HasNextPage
		}
	}
	return shops, notes
}

func TestSavesOfShopsAndNotes(t *testing.T) {
	t.Parallel()
	const shops, notes = 7, 5
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		path := filepath.Join(t.TempDir(), "tokens")
		stack.Seed(t, "--users", "5", "--shops", fmt.Sprint(shops), "--tokens", path)
		people := tokens(t, path)
		m := market{people[0], people[1], people[2:], scalar.ID{Type: "Shop", N: 1}.String()}
		s := stack.Start(t)
		other := s
		if stack.Name == "real" {
			other = stack.Start(t)
		}
		ann, bob := s.As(m.customers[0].token), other.As(m.customers[1].token)
		is := func(as *apptest.Server, query string, variables map[string]any, want string) {
			t.Helper()
			if got := dataOf(t, as, query, variables); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		}
		note := m.note(t, ann, "Tea")
		shop := map[string]any{"id": m.shop}
		by := map[string]any{"id": note}
		for range 2 { // idempotent both ways
			is(ann, saveShop, shop, `{"saveShop":{"shop":{"saveCount":1,"isSaved":true},"userErrors":[]}}`)
			is(ann, saveNote, by, `{"saveNote":{"note":{"saveCount":1,"isSaved":true},"userErrors":[]}}`)
		}
		is(bob, saveShop, shop, `{"saveShop":{"shop":{"saveCount":2,"isSaved":true},"userErrors":[]}}`)
		is(bob, saveNote, by, `{"saveNote":{"note":{"saveCount":2,"isSaved":true},"userErrors":[]}}`)
		is(bob, `mutation L($id: ID!) { likeNote(id: $id) { note { likeCount saveCount isSaved } } }`, by, `{"likeNote":{"note":{"likeCount":1,"saveCount":2,"isSaved":true}}}`)
		for range 2 {
			is(bob, unsaveShop, shop, `{"unsaveShop":{"shop":{"saveCount":1,"isSaved":false},"userErrors":[]}}`)
			is(bob, unsaveNote, by, `{"unsaveNote":{"note":{"saveCount":1,"isSaved":false},"userErrors":[]}}`)
		}
		is(bob, `query N($id: ID!) { note(id: $id) { likeCount saveCount isSaved } }`, by, `{"note":{"likeCount":1,"saveCount":1,"isSaved":false}}`)
		is(s, `query N($id: ID!) { note(id: $id) { saveCount isSaved } }`, by, `{"note":{"saveCount":1,"isSaved":false}}`)
		testkit.Eventually(t, 10*time.Second, func() bool { // processes cache shops for a moment
			return dataOf(t, s, `query S($id: ID!) { shop(id: $id) { saveCount isSaved } }`, shop) == `{"shop":{"saveCount":1,"isSaved":false}}`
		})

		wantShops, wantNotes := []string{m.shop}, []string{note}
		for n := int64(shops); n > 1; n-- {
			id := scalar.ID{Type: "Shop", N: n}.String()
			ann.Must(t, saveShop, map[string]any{"id": id}, nil)
			wantShops = append([]string{id}, wantShops...)
		}
		for range notes {
			id := m.note(t, ann, "More")
			ann.Must(t, saveNote, map[string]any{"id": id}, nil)
			wantNotes = append([]string{id}, wantNotes...)
		}
		lists := func(name string) {
			t.Helper()
			for _, first := range []int{1, 2, 3, 100} {
				gotShops, gotNotes := savedBy(t, ann, first)
				if d := cmp.Diff(wantShops, gotShops) + cmp.Diff(wantNotes, gotNotes); d != "" {
					t.Errorf("%s, in pages of %d (-want +got)\n%s", name, first, d)
				}
			}
		}
		lists("all")
		for _, gone := range []int{0, 2, 3} { // shorter lists keep the order
			ann.Must(t, deleteNote, map[string]any{"id": wantNotes[gone]}, nil)
			wantNotes[gone] = ""
		}
		wantNotes = slices.DeleteFunc(wantNotes, func(id string) bool { return id == "" })
		lists("without deleted notes")

		missing := scalar.ID{Type: "Shop", N: 404}.String()
		deleted := m.note(t, ann, "Gone")
		ann.Must(t, deleteNote, map[string]any{"id": deleted}, nil)
		for query, want := range map[string]string{saveShop: "saveShop", unsaveShop: "unsaveShop"} {
			is(ann, query, map[string]any{"id": missing}, `{"`+want+`":{"shop":null,"userErrors":[{"code":"NOT_FOUND","field":["id"]}]}}`)
		}
		for query, want := range map[string]string{saveNote: "saveNote", unsaveNote: "unsaveNote"} {
			is(ann, query, map[string]any{"id": deleted}, `{"`+want+`":{"note":null,"userErrors":[{"code":"NOT_FOUND","field":["id"]}]}}`)
		}
	})
}

func TestSavesArePrivate(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		m := openMarket(t, stack, 2)
		s := stack.Start(t)
		ann := m.customers[0]
		s.As(ann.token).Must(t, saveShop, map[string]any{"id": m.shop}, nil)
		const query = `query P($id: ID!) { user(id: $id) { savedShops { edges { node { id } } } savedNotes { edges { node { id } } } } }`
		own := fmt.Sprintf(`{"user":{"savedShops":{"edges":[{"node":{"id":%q}}]},"savedNotes":{"edges":[]}}}`, m.shop)
		for _, tt := range []struct {
			name string
			as   *apptest.Server
			want string
		}{
			{"the user", s.As(ann.token), own},
			{"another user", s.As(m.customers[1].token), `{"user":{"savedShops":null,"savedNotes":null}}`},
			{"an administrator", s.As(m.admin.token), `{"user":{"savedShops":null,"savedNotes":null}}`},
			{"an anonymous client", s, `{"user":{"savedShops":null,"savedNotes":null}}`},
		} {
			if got := dataOf(t, tt.as, query, map[string]any{"id": ann.id}); got != tt.want {
				t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
			}
		}
		if got := code(t, s.Do(t, saveShop, map[string]any{"id": m.shop}, nil)); got != "UNAUTHENTICATED" {
			t.Errorf("anonymous save: got %q", got)
		}
	})
}
