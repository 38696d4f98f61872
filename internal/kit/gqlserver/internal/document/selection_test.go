package document

import (
	"encoding/json"
	"testing"

	"github.com/99designs/gqlgen/graphql"
)

// selectionsOf returns the selections of operations, "" for none.
func selectionsOf(t *testing.T, all ...graphql.RawParams) (list []string) {
	t.Helper()
	l := newLibrary(t, Config{})
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

func asked(query string, variables ...any) graphql.RawParams {
	p := graphql.RawParams{Query: query, Variables: map[string]any{}}
	for i := 0; i < len(variables); i += 2 {
		name, _ := variables[i].(string)
		p.Variables[name] = variables[i+1]
	}
	return p
}

func TestTheSameSelectionHoweverItIsWritten(t *testing.T) {
	const told = `told(topic: "a")`
	for _, tt := range []struct {
		name string
		same []graphql.RawParams
	}{
		{"writing, names and arguments of the root field", []graphql.RawParams{
			asked(`subscription { told(topic: "a") { number text } }`),
			asked("subscription Other # it is\n{ told(topic: \"b\", after: 3) {\n\tnumber,\n\ttext } }"),
			asked(`subscription($t: String!) { told: told(topic: $t) { number text } }`, "t", "c"),
			asked(`subscription { ...F } fragment F on Subscription { told(topic: "a") { number text: text } }`),
			asked(`subscription { ... on Subscription { told(topic: "a") { number text } } }`),
		}},
		{"what is left out", []graphql.RawParams{
			asked(`subscription { ` + told + ` { number } }`),
			asked(`subscription { ` + told + ` { number text @skip(if: true) ...F @include(if: false) } } fragment F on News { text }`),
			asked(`subscription($no: Boolean!) { `+told+` { number @skip(if: $no) text @include(if: $no) } }`, "no", false),
			asked(`subscription($no: Boolean = false) { ` + told + ` { number ... on News @include(if: $no) { text } } }`),
		}},
		{"fragments", []graphql.RawParams{
			asked(`subscription { ` + told + ` { ...F } } fragment F on News { item { id } }`),
			asked(`subscription { ` + told + ` { ... on News { item { id } } } }`),
			asked(`subscription { ` + told + ` { ...G } } fragment G on News { item { id } }`),
		}},
		{"arguments below", []graphql.RawParams{
			asked(`subscription { ` + told + ` { item { items(first: 20) { id } } } }`),
			asked(`subscription { ` + told + ` { item { items { id } } } }`),
			asked(`subscription($n: Int!) { `+told+` { item { items(first: $n) { id } } } }`, "n", json.Number("20")),
			asked(`subscription($other: Int! = 20) { ` + told + ` { item { items(first: $other) { id } } } }`),
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := selectionsOf(t, tt.same...)
			for i, key := range got {
				if key == "" || key != got[0] {
					t.Errorf("%s is another selection than %s", tt.same[i].Query, tt.same[0].Query)
				}
			}
		})
	}
}

func TestSelectionsThatDifferAreNotTheSame(t *testing.T) {
	const told = `told(topic: "a")`
	all := []graphql.RawParams{
		asked(`subscription { ` + told + ` { number } }`),
		asked(`subscription { ` + told + ` { text } }`),
		asked(`subscription { ` + told + ` { number text } }`),
		asked(`subscription { ` + told + ` { text number } }`), // the answer has another order
		asked(`subscription { news: ` + told + ` { number } }`),
		asked(`subscription { ` + told + ` { n: number } }`),
		asked(`subscription { ` + told + ` { ... on News { number } } }`),
		asked(`subscription { ` + told + ` { item { id } } }`),
		asked(`subscription { ` + told + ` { item { id items(first: 1) { id } } } }`),
		asked(`subscription { ` + told + ` { item { id items(first: 2) { id } } } }`),
		asked(`subscription { ` + told + ` { item { id items { id } } } }`),
		asked(`subscription($n: Int!) { `+told+` { item { id items(first: $n) { id } } } }`, "n", json.Number("3")),
		asked(`subscription { ` + told + ` { item { id } item { name } } }`),
		asked(`subscription { count(to: 3) }`),
		asked(`subscription { told: count(to: 3) }`),
		asked(`subscription { ticks { number } }`),
	}
	seen := map[string]string{}
	for i, key := range selectionsOf(t, all...) {
		if key == "" || seen[key] != "" {
			t.Errorf("%s is the same as %s", all[i].Query, seen[key])
		}
		seen[key] = all[i].Query
	}
}

func TestValuesAreWrittenSoThatNoTwoLookTheSame(t *testing.T) {
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
			t.Errorf("%#v and %#v are both %s", v, other, p.out)
		}
		seen[string(p.out)] = v
	}
	same := printer{}
	same.value(int64(7))
	other := printer{}
	other.value(json.Number("7"))
	if string(same.out) != string(other.out) {
		t.Errorf("7 is %s and %s", same.out, other.out)
	}
}
