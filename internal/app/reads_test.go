package app_test

import (
	"fmt"
	"testing"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// The cached list of types answers them.
func TestUnknownTypesCostNoStatements(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		s := startStaff(t, stack).anonymous
		awaitIdle(t, s)
		const unknown = 40
		statements, _ := storeCalls(t, s, func() {
			for n := range unknown {
				s.Must(t, fmt.Sprintf(`{ shops(first: 1, filter: {typeId: %q}) { edges { node { id } } } }`, scalar.ID{Type: "ShopType", N: int64(500_000 + n)}.String()), nil, nil)
			}
		})
		if statements > 3 { // the list of types, and background reads of the existence filters
			t.Errorf("got %v statements for %d unknown types, want at most 3", statements, unknown)
		}
	})
}

// Mutations skip the local cache.
func TestMutationsReadFresh(t *testing.T) {
	s := startStaff(t, apptest.Embedded(t))
	const q = `mutation C($input: CreateShopInput!) { createShop(input: $input) { shop { id type { name } } userErrors { message } } }`
	for range 3 {
		s.merchant.Must(t, q, map[string]any{"input": shopInput(nil)}, nil)
	}
	before := figures(t, s.admin)["shop-type"].LocalHits
	for range 5 {
		s.merchant.Must(t, q, map[string]any{"input": shopInput(nil)}, nil)
	}
	if after := figures(t, s.admin)["shop-type"].LocalHits; after != before {
		t.Errorf("got %d local hits of mutations, want 0", after-before)
	}
}
