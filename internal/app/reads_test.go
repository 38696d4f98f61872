package app_test

import (
	"fmt"
	"testing"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// shops(filter: {type}) of types that there are not.
func TestAbsentTypesCount(t *testing.T) {
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		stack.Config.AbsentReads, stack.Config.TrustedProxies = 4, []string{"127.0.0.1"}
		s := hire(t, stack).nobody
		s = from(s, 77)
		limited := 0
		statements, trips := asked(t, s, func() {
			for n := range 40 {
				a := s.Do(t, fmt.Sprintf(`{ shops(first: 1, filter: {typeId: %q}) { edges { node { id } } } }`, scalar.ID{Type: "ShopType", N: int64(500_000 + n)}.String()), nil, nil)
				for _, e := range a.Errors {
					if e.Extensions.Code == "RATE_LIMITED" {
						limited++
					} else {
						t.Fatal(e)
					}
				}
			}
		})
		if limited == 0 {
			t.Errorf("40 reads of absent types: none refused, %v statements, %v round trips", statements, trips)
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
