package shop

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/sql"
	"github.com/lib/pq"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/tandian-dev/tandian/ent/predicate"
	entshop "github.com/tandian-dev/tandian/ent/shop"
	"github.com/tandian-dev/tandian/internal/kit/fault"
)

// maxSearch is the longest search, in characters.
const maxSearch = 100

// searchText is what a search looks through. The line breaks keep a match from
// reaching over two fields: no folded search holds one.
func searchText(name, area, address string) string {
	return fold(name) + "\n" + fold(area) + "\n" + fold(address)
}

// fold brings texts that people take for the same to the same form, here and
// not in the database, so that both dialects agree: compatibility composition
// (full-width letters, decomposed accents), Unicode case folding, single
// spaces, no control characters.
func fold(s string) string {
	s = cases.Fold().String(norm.NFKC.String(s))
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, norm.NFKC.String(s)) // folding can decompose
	return strings.Join(strings.Fields(s), " ")
}

// checkSearch folds a search and refuses one that is too long.
func checkSearch(search string) (string, error) {
	if !utf8.ValidString(search) {
		return "", fault.BadInput("search is not UTF-8")
	}
	if n := utf8.RuneCountInString(search); n > maxSearch {
		return "", fault.BadInput("search has at most %d characters, not %d", maxSearch, n)
	}
	return fold(search), nil
}

// matches keeps the shops whose name, area or address contains the folded
// search. On Postgres the index of one- and two-character grams finds the
// candidates; the LIKE rechecks them. SQLite looks at every row.
func matches(search string) predicate.Shop {
	return func(sel *sql.Selector) {
		if sel.Dialect() == dialect.Postgres {
			sel.Where(sql.P(func(b *sql.Builder) {
				b.WriteString("tandian_grams(").WriteString(sel.C(entshop.FieldSearch)).WriteString(") @> ").Arg(pq.Array(grams(search)))
			}))
		}
		sel.Where(sql.Contains(sel.C(entshop.FieldSearch), search))
	}
}

// grams are the pairs of neighbouring characters of s, or s itself when it is
// one character. See the function tandian_grams in the Postgres migrations.
func grams(s string) []string {
	r := []rune(s)
	if len(r) < 2 {
		return []string{s}
	}
	pairs := make([]string, 0, len(r)-1)
	for i := range len(r) - 1 {
		pairs = append(pairs, string(r[i:i+2]))
	}
	return pairs
}
