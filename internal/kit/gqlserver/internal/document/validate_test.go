package document

import (
	"regexp"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
)

func TestNamesAreSuggestedOnlyWithIntrospection(t *testing.T) {
	schema := gqlparser.MustLoadSchema(&ast.Source{Input: `
		type Query { nearbyShops(sort: Order, like: Taste): [Coffeehouse!]! find(text: String!): [Result!]! }
		type Coffeehouse { signature: String! }
		type Bakery { signature: String! }
		union Result = Coffeehouse | Bakery
		enum Order { CHEAPEST NEAREST }
		input Taste { sweetness: Int }
	`})
	tests := []struct {
		name, query, suggestion string
	}{
		{"field", `{ nearbyShop { signature } }`, "nearbyShops"},
		{"field of a union", `{ find(text: "x") { signature } }`, "Coffeehouse"},
		{"argument", `{ nearbyShops(sor: NEAREST) { signature } }`, `"sort"`},
		{"type of a fragment", `{ find(text: "x") { ...F } } fragment F on Cofeehouse { signature }`, "Coffeehouse"},
		{"enum value", `{ nearbyShops(sort: NEARESTS) { signature } }`, "NEAREST"},
		{"string value", `{ nearbyShops(sort: "NEAREST") { signature } }`, "Did you mean"},
		{"field of an input", `{ nearbyShops(like: {sweetnes: 1}) { signature } }`, "sweetness"},
		{"no subfields", `{ nearbyShops }`, "Did you mean"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, suggest := range []bool{true, false} {
				doc, err := parser.ParseQuery(&ast.Source{Input: tt.query})
				if err != nil {
					t.Fatal(err)
				}
				errs := validate(schema, doc, ruleSet(suggest), 5)
				if len(errs) == 0 {
					t.Fatal("got no error")
				}
				known := regexp.MustCompile(regexp.QuoteMeta(tt.suggestion) + `\b`)
				if suggested := known.MatchString(errs.Error()) || strings.Contains(errs.Error(), "Did you mean"); suggested != suggest {
					t.Errorf("suggest %v: got %v", suggest, errs)
				}
			}
		})
	}
}
