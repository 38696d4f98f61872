package shop

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/sql"
	"github.com/lib/pq"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/predicate"
	entshop "github.com/tandian-dev/tandian/ent/shop"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/text"
)

// maxSearch is the longest search, in characters.
const maxSearch = 100

// searchText returns what a search looks through: the search forms of a shop's
// texts, and behind them, where they differ, the forms that the release before
// stored, so that its servers find the shop too. The second part goes with the
// next release. After any change of this text [Service.SearchTexts] rewrites the rows.
//
// The line breaks keep a match from reaching over two fields: no form holds one.
func searchText(name, area, address string) string {
	forms, before := joined(text.SearchForm, name, area, address), searchTextBefore(name, area, address)
	if forms == before {
		return forms
	}
	return forms + "\n" + before
}

// searchTextBefore returns what the release before stores.
func searchTextBefore(name, area, address string) string {
	return joined(normalize, name, area, address)
}

func joined(form func(string) string, name, area, address string) string {
	return form(name) + "\n" + form(area) + "\n" + form(address)
}

// normalize returns the form in which the release before compares texts:
// compatibility composition, case folding, single spaces.
func normalize(s string) string {
	// Lower case last: Cherokee letters fold upwards or downwards, as they come.
	s = strings.ToLower(cases.Fold().String(norm.NFKC.String(s)))
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, norm.NFKC.String(s)) // folding can decompose
	return strings.Join(strings.Fields(s), " ")
}

// checkSearch returns the search form of a search, and the form in which rows
// that are not rewritten yet have it. Both are empty for a search that shows
// nothing. One that is too long is an error.
func checkSearch(search string) (form, before string, err error) {
	if !utf8.ValidString(search) {
		return "", "", apierror.BadInput("search is not UTF-8")
	}
	if n := utf8.RuneCountInString(search); n > maxSearch {
		return "", "", apierror.BadInput("search has at most %d characters, not %d", maxSearch, n)
	}
	if form = text.SearchForm(search); form == "" {
		return "", "", nil
	}
	return form, normalize(search), nil
}

// searches returns the texts of which a row contains one.
func (q Query) searches() []string {
	if q.before == "" || q.before == q.Search {
		return []string{q.Search}
	}
	return []string{q.Search, q.before}
}

// minWalk is how many rows of a list a search looks through before it asks
// the index, at least; walkEach is the same for each shop of the page.
const (
	minWalk     = 4000
	walkPerShop = 200
)

// search returns the first rows in order that contain q.Search, one more than
// the page holds.
//
// On Postgres there are two ways: walk the list in order until the page is
// full, good for a word that many shops have, or collect all matches through
// the index of grams and sort them, good for a rare one. The planner chooses by
// estimates, and a wrong one costs a second over a million shops: it knows
// little of how often two characters stand together, and nothing of how often a
// whole word does. So the choice is made by trying: a bounded walk, and if that
// does not fill the page, the word is rare. SQLite looks at every row.
func (s *Service) search(ctx context.Context, q Query, where []predicate.Shop) ([]*ent.Shop, error) {
	if s.db.Dialect() != dialect.Postgres {
		return s.read(ctx, q, append(where, contains(q)))
	}
	rows, err := s.db.Shop.Query().Where(contains(q)).Order(q.sorted).Limit(q.First + 1).
		Modify(func(sel *sql.Selector) {
			head := sql.Dialect(sel.Dialect()).Select().From(sql.Table(entshop.Table))
			for _, w := range where {
				w(head)
			}
			q.sorted(head)
			sel.From(head.Limit(max(minWalk, walkPerShop*q.First)).As(entshop.Table))
		}).All(ctx)
	if err != nil || len(rows) > q.First {
		return rows, err
	}
	return s.db.Shop.Query().Where(where...).Where(contains(q), indexed(q)).
		Order(q.sortedUnindexed).Limit(q.First + 1).All(ctx)
}

// contains keeps the shops whose name, area or address contains the search.
func contains(q Query) predicate.Shop {
	return anyOf(q, func(sel *sql.Selector, search string) *sql.Predicate {
		column := sel.C(entshop.FieldSearch)
		if sel.Dialect() != dialect.Postgres {
			return sql.Contains(column, search)
		}
		// Not LIKE: the planner would multiply its estimate with that of the
		// grams, as if the two were independent.
		return sql.P(func(b *sql.Builder) {
			b.WriteString("strpos(").WriteString(column).WriteString(", ").Arg(search).WriteString(") > 0")
		})
	})
}

// indexed keeps, on Postgres, the shops that have all grams of the search: a
// condition that the index of grams answers, and that contains rechecks. It
// keeps all on SQLite.
func indexed(q Query) predicate.Shop {
	whole := anyOf(q, func(sel *sql.Selector, search string) *sql.Predicate {
		return sql.P(func(b *sql.Builder) {
			b.WriteString("tandian_grams(").WriteString(sel.C(entshop.FieldSearch)).WriteString(") @> ").Arg(pq.Array(grams(search)))
		})
	})
	return func(sel *sql.Selector) {
		if sel.Dialect() == dialect.Postgres {
			whole(sel)
		}
	}
}

// anyOf keeps the shops for which a condition holds with one of the searches.
func anyOf(q Query, condition func(sel *sql.Selector, search string) *sql.Predicate) predicate.Shop {
	return func(sel *sql.Selector) {
		var either []*sql.Predicate
		for _, search := range q.searches() {
			either = append(either, condition(sel, search))
		}
		sel.Where(sql.Or(either...))
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
