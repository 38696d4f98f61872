package document

import (
	"encoding/json"
	"testing"

	"github.com/99designs/gqlgen/graphql"
)

// selectionsOf returns the selections of operations, "" for none.
func selectionsOf(t *testing.T, all ...graphql.RawParams) (list []string) {
	t.Helper()
	l := newFixture(t, Config{})
	for _, params := range all {
		oc, _, refused := l.Prepare(t.Context(), "a", nil, &params)
		if refused != nil {
			t.Fatal(params.Query, refused)
		}
		key, ok := SelectionOf(oc)
		if !ok {
			list = append(list, "")
			continue
		}
		list = append(list, string(key[:]))
	}
	return list
}

func subscriptionParams(query string, variables ...any) graphql.RawParams {
	p := graphql.RawParams{Query: query, Variables: map[string]any{}}
	for i := 0; i < len(variables); i += 2 {
		name, _ := variables[i].(string)
		p.Variables[name] = variables[i+1]
	}
	return p
}

func TestEquivalentSubscriptionsHaveEqualSelections(t *testing.T) {
	const field = `told(topic: "a")`
	for _, tt := range []struct {
		name string
		same []graphql.RawParams
	}{
		{"format, names and root arguments", []graphql.RawParams{
			subscriptionParams(`subscription { told(topic: "a") { number text } }`),
			subscriptionParams("subscription Other # it is\n{ told(topic: \"b\", after: 3) {\n\tnumber,\n\ttext } }"),
			subscriptionParams(`subscription($t: String!) { told: told(topic: $t) { number text } }`, "t", "c"),
			subscriptionParams(`subscription { ...F } fragment F on Subscription { told(topic: "a") { number text: text } }`),
			subscriptionParams(`subscription { ... on Subscription { told(topic: "a") { number text } } }`),
		}},
		{"skipped fields", []graphql.RawParams{
			subscriptionParams(`subscription { ` + field + ` { number } }`),
			subscriptionParams(`subscription { ` + field + ` { number text @skip(if: true) ...F @include(if: false) } } fragment F on News { text }`),
			subscriptionParams(`subscription($no: Boolean!) { `+field+` { number @skip(if: $no) text @include(if: $no) } }`, "no", false),
			subscriptionParams(`subscription($no: Boolean = false) { ` + field + ` { number ... on News @include(if: $no) { text } } }`),
		}},
		{"fragments", []graphql.RawParams{
			subscriptionParams(`subscription { ` + field + ` { ...F } } fragment F on News { item { id } }`),
			subscriptionParams(`subscription { ` + field + ` { ... on News { item { id } } } }`),
			subscriptionParams(`subscription { ` + field + ` { ...G } } fragment G on News { item { id } }`),
		}},
		{"nested arguments", []graphql.RawParams{
			subscriptionParams(`subscription { ` + field + ` { item { items(first: 20) { id } } } }`),
			subscriptionParams(`subscription { ` + field + ` { item { items { id } } } }`),
			subscriptionParams(`subscription($n: Int!) { `+field+` { item { items(first: $n) { id } } } }`, "n", json.Number("20")),
			subscriptionParams(`subscription($other: Int! = 20) { ` + field + ` { item { items(first: $other) { id } } } }`),
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := selectionsOf(t, tt.same...)
			for i, key := range got {
				if key == "" || key != got[0] {
					t.Errorf("got different selections for %s and %s", tt.same[i].Query, tt.same[0].Query)
				}
			}
		})
	}
}

func TestDifferentSubscriptionsHaveDifferentSelections(t *testing.T) {
	const field = `told(topic: "a")`
	all := []graphql.RawParams{
		subscriptionParams(`subscription { ` + field + ` { number } }`),
		subscriptionParams(`subscription { ` + field + ` { text } }`),
		subscriptionParams(`subscription { ` + field + ` { number text } }`),
		subscriptionParams(`subscription { ` + field + ` { text number } }`), // another order in the response
		subscriptionParams(`subscription { news: ` + field + ` { number } }`),
		subscriptionParams(`subscription { ` + field + ` { n: number } }`),
		subscriptionParams(`subscription { ` + field + ` { ... on News { number } } }`),
		subscriptionParams(`subscription { ` + field + ` { item { id } } }`),
		subscriptionParams(`subscription { ` + field + ` { item { id items(first: 1) { id } } } }`),
		subscriptionParams(`subscription { ` + field + ` { item { id items(first: 2) { id } } } }`),
		subscriptionParams(`subscription { ` + field + ` { item { id items { id } } } }`),
		subscriptionParams(`subscription($n: Int!) { `+field+` { item { id items(first: $n) { id } } } }`, "n", json.Number("3")),
		subscriptionParams(`subscription { ` + field + ` { item { id } item { name } } }`),
		subscriptionParams(`subscription { count(to: 3) }`),
		subscriptionParams(`subscription { told: count(to: 3) }`),
		subscriptionParams(`subscription { ticks { number } }`),
	}
	seen := map[string]string{}
	for i, key := range selectionsOf(t, all...) {
		if key == "" || seen[key] != "" {
			t.Errorf("got equal selections for %s and %s", all[i].Query, seen[key])
		}
		seen[key] = all[i].Query
	}
}

func TestPrintedValuesAreUnique(t *testing.T) {
	seen := map[string]any{}
	for _, v := range []any{
		nil, true, false, "", "null", "true", "1", `"`, `" "`, `a" "b`, "[ ]", "( )",
		int64(1), int64(-1), 1.0, 1.5, json.Number("1.0"),
		[]any{},
		[]any{"a", "b"},
		[]any{`a" "b`},
		[]any{[]any{"a"}, "b"},
		[]any{[]any{"a", "b"}},
		[]any{nil},
		[]any{nil, nil},
		map[string]any{},
		map[string]any{"a": "b"},
		map[string]any{"a": nil},
		map[string]any{"a": "b", "c": "d"},
	} {
		p := printer{}
		p.value(v)
		if other, known := seen[string(p.out)]; known {
			t.Errorf("%#v and %#v: got the same text %s", v, other, p.out)
		}
		seen[string(p.out)] = v
	}
	same := printer{}
	same.value(int64(7))
	other := printer{}
	other.value(json.Number("7"))
	if string(same.out) != string(other.out) {
		t.Errorf("got %s and %s for 7, want equal texts", same.out, other.out)
	}
}
