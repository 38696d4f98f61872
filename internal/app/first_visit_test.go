package app_test

import (
	"math"
	"testing"

	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// The first visit of a user to a process costs one round trip more, or two if it needs the
// row of the user.
func TestFirstVisitCostsOneExtraRoundTrip(t *testing.T) {
	t.Parallel()
	const (
		aShop  = `query S($id: ID!) { shop(id: $id) { id name score } }`
		visits = 6 // the minimum counts, because background work adds to the cost
	)
	stack := apptest.Real(t) // an embedded Redis would be empty, too
	m := openMarket(t, stack, 2+2*visits)
	author, regular, visitors := m.customers[0], m.customers[1], m.customers[2:]
	s := stack.Start(t)
	shop, page := map[string]any{"id": m.shop}, map[string]any{"first": 10}
	for _, reader := range m.customers[1:] {
		mustFollow(t, s, reader, author)
	}
	m.publishes(t, s, author, numbered("note", 3)...)
	fannedOut(t, s)
	for _, reader := range m.customers[1:] {
		s.As(reader.token).Must(t, feedQuery, page, nil) // Redis has the session, the user and the inbox
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	stack.Config.Run = []string{"api"} // workers read on their own
	s = stack.Start(t)
	type cost struct{ statements, trips float64 }
	least := func(who []person, query string, variables map[string]any) cost {
		least := cost{math.Inf(1), math.Inf(1)}
		for _, p := range who {
			statements, trips := storeCalls(t, s, func() { s.As(p.token).Must(t, query, variables, nil) })
			least = cost{min(least.statements, statements), min(least.trips, trips)}
		}
		return least
	}
	same := make([]person, visits)
	for i := range same {
		same[i] = regular
	}
	warmShop, warmFeed := least(same, aShop, shop), least(same, feedQuery, page)
	if want := (cost{}); warmShop != want {
		t.Errorf("a later visit of a shop costs %v, want %v", warmShop, want)
	}
	for _, tt := range []struct {
		name, query string
		variables   map[string]any
		who         []person
		want        cost
	}{
		{"a shop", aShop, shop, visitors[:visits], cost{0, 1}},
		{"a feed", feedQuery, page, visitors[visits:], cost{warmFeed.statements, warmFeed.trips + 2}},
	} {
		got := least(tt.who, tt.query, tt.variables)
		if got != tt.want {
			t.Errorf("first visit of %s: got %v statements and round trips, want %v", tt.name, got, tt.want)
		}
	}
}
