package document

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
)

// maxRefusalTime is the time limit for rejecting a document. All of these take a few
// milliseconds; without limits, they would take seconds to years.
const maxRefusalTime = time.Second

func TestHostileDocumentsAreRejectedQuickly(t *testing.T) {
	chain := func(n int, fragment, last string) string {
		var b strings.Builder
		b.WriteString("{ ...F0 }")
		for i := range n {
			next := fmt.Sprintf("...F%d", i+1)
			fmt.Fprintf(&b, " fragment F%d on Query { %s }", i, strings.ReplaceAll(fragment, "NEXT", next))
		}
		return b.String() + last
	}
	const end = " fragment F22 on Query { sum }"
	tests := []struct {
		name, text, code string
	}{
		{"fragment cycle", "{ ...F } fragment F on Query { sum ...F }", errcode.ValidationFailed},
		{"fragment cycle in a field", "{ item(id: 1) { ...F } } fragment F on Item { parent { ...F } }", errcode.ValidationFailed},
		{"fragment cycle in an inline fragment", "{ ...F } fragment F on Query { ... { ...F } }", errcode.ValidationFailed},
		{"cycle of two fragments", "{ ...F } fragment F on Query { ...G } fragment G on Query { ...F }", errcode.ValidationFailed},
		{"unused fragment cycle", "{ sum } fragment F on Query { sum ...F }", errcode.ValidationFailed},
		{"unused cycle of two fragments", "{ sum } fragment F on Query { ...G } fragment G on Query { ...F }", errcode.ValidationFailed},
		{"fragment cycle with a long name", "{ ...F" + strings.Repeat("x", 1000) + " } fragment F" + strings.Repeat("x", 1000) + " on Query { ...F" + strings.Repeat("x", 1000) + " }", errcode.ValidationFailed},

		{"doubling fragments", chain(22, "NEXT NEXT", end), errcode.DocumentTooLarge},
		{"doubling inline fragments", chain(22, "... { NEXT } ... on Query { NEXT }", end), errcode.DocumentTooLarge},
		{"doubling aliased fields", strings.NewReplacer("{ ...F0 }", "{ item(id: 1) { ...F0 } }", "on Query", "on Item").Replace(chain(12, "a: parent { NEXT } b: parent { NEXT }", " fragment F12 on Item { id }")), errcode.DocumentTooLarge},
		{"doubling fragments without end", chain(22, "NEXT NEXT", ""), errcode.ValidationFailed},
		{"unused doubling fragments", strings.Replace(chain(22, "NEXT NEXT", end), "...F0", "sum", 1), errcode.DocumentTooLarge},
		{"fragments that spread all later ones", "{ ...F0 }" + spreadAll(49) + " fragment F49 on Query { sum }", errcode.DocumentTooLarge},
		{"fragments that spread all later ones, without end", "{ ...F0 }" + spreadAll(50), errcode.ValidationFailed},
		{"duplicate fragment, long first", "{ ...F } fragment F on Query { " + strings.Repeat("sum ", 4900) + "} fragment F on Query { sum }", errcode.ValidationFailed},
		{"duplicate fragment, short first", "{ ...F } fragment F on Query { sum } fragment F on Query { " + strings.Repeat("sum ", 4900) + "}", errcode.ValidationFailed},

		{"field 5000 times", "{" + strings.Repeat(" __typename", 4990) + " }", errcode.DocumentTooLarge},
		{"nested inline fragments", "{ nothing " + nested(900, "... { ", "sum", " }") + " }", errcode.ValidationFailed},
		{"nested fields in an unused fragment", "{ sum } fragment F on Item " + nested(400, "{ parent ", "{ id }", " }"), errcode.DocumentTooLarge},
		{"lists in lists", "{ " + nested(5, "items(first: 100) { ", "id", " }") + " }", errcode.ComplexityExceeded},
		{"many unknown fields", "{" + numbered(19, " a%d") + " }", errcode.ValidationFailed},
		{"sibling fragments with fields of one name", "{ nothing item(id: 1) { " + numbered(49, "...F%d ") + "} }" + numbered(49, " fragment F%d on Item {"+strings.Repeat(" id", 9)+" }"), errcode.DocumentTooLarge},
		{"many arguments of one name", "{ sum(" + strings.Repeat("a: 1 ", 1600) + ") }", errcode.ValidationFailed},
		{"variable many times", "query($v: Any) { " + numbered(18, "a%d: echo(value: ["+strings.Repeat("$v ", 120)+"]) ") + "nothing }", errcode.ValidationFailed},
		{"many operations", numbered(2000, "{ sum }"), errcode.DocumentTooLarge},
		{"deep value", "{ echo(value: " + nested(2000, "[", "", "]") + ") }", errcode.DocumentTooLarge},
		{"many brackets", strings.Repeat("{", 60<<10), errcode.ParseFailed},
		{"many nested fields", strings.Repeat("{a", 30<<10), errcode.DocumentTooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newFixture(t, Config{Introspection: true})
			begun := time.Now()
			errs := l.read(t.Context(), graphql.RawParams{Query: tt.text})
			if took := time.Since(begun); took > maxRefusalTime {
				t.Errorf("got %v, want at most %v", took, maxRefusalTime)
			}
			if len(errs) == 0 || errcode.CodeOf(errs[0]) != tt.code || len(errs[0].Message) > 2*errcode.MaxText {
				t.Errorf("got %.1000s, want %s", errs.Error(), tt.code)
			}
		})
	}
}

// spreadAll returns n fragments, each of which spreads all later ones.
func spreadAll(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " fragment F%d on Query {", i)
		for next := i + 1; next <= n; next++ {
			fmt.Fprintf(&b, " ...F%d", next)
		}
		b.WriteString(" }")
	}
	return b.String()
}
