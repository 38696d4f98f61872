package app_test

import (
	"fmt"
	"testing"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// A list of an unknown shop type is answered from the list of types, without statements.
func TestUnknownTypesCostNoStatements(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		s := hire(t, stack).nobody
		quiet(t, s)
		const made = 40
		statements, _ := asked(t, s, func() {
			for n := range made {
				s.Must(t, fmt.Sprintf(`{ shops(first: 1, filter: {typeId: %q}) { edges { node { id } } } }`, scalar.ID{Type: "ShopType", N: int64(500_000 + n)}.String()), nil, nil)
			}
		})
		if statements > 3 { // the list of types, and what the guards read in the background
			t.Errorf("%d types that there are not cost %v statements", made, statements)
		}
	})
}

// What a mutation reads passes over this process's own memory.
func TestMutationsReadFresh(t *testing.T) {
	s := hire(t, apptest.Embedded(t))
	const q = `mutation C($input: CreateShopInput!) { createShop(input: $input) { shop { id type { name } } userErrors { message } } }`
	for range 3 {
		s.merchant.Must(t, q, map[string]any{"input": shopInput(nil)}, nil)
	}
	before := figures(t, s.admin)["shop-type"].LocalHits
	for range 5 {
		s.merchant.Must(t, q, map[string]any{"input": shopInput(nil)}, nil)
	}
	if after := figures(t, s.admin)["shop-type"].LocalHits; after != before {
		t.Errorf("mutations had %d local hits", after-before)
	}
}
