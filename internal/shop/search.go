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

// maxSearch is the maximum length of a search, in characters.
const maxSearch = 100

// searchText returns the text that searches match: the search forms of a shop's texts, and
// the forms of the previous release where they differ. The next release drops the latter.
// After a change of this function, [Service.SearchTexts] rewrites the rows.
//
// Line breaks separate the fields, so that no match spans two of them.
func searchText(name, area, address string) string {
	forms, before := joined(text.SearchForm, name, area, address), searchTextBefore(name, area, address)
	if forms == before {
		return forms
	}
	return forms + "\n" + before
}

func searchTextBefore(name, area, address string) string {
	return joined(normalize, name, area, address)
}

func joined(form func(string) string, name, area, address string) string {
	return form(name) + "\n" + form(area) + "\n" + form(address)
}

// normalize returns the search form of the previous release: compatibility composition,
// case folding, single spaces.
func normalize(s string) string {
	// Lower case last: Cherokee letters fold upwards or downwards.
	s = strings.ToLower(cases.Fold().String(norm.NFKC.String(s)))
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, norm.NFKC.String(s)) // folding can decompose
	return strings.Join(strings.Fields(s), " ")
}

// checkSearch returns the search form of a search and that of the previous release. Both
// are empty for a blank search.
func checkSearch(search string) (form, before string, err error) {
	if !utf8.ValidString(search) {
		return "", "", apierror.BadInput("invalid search: not UTF-8")
	}
	if n := utf8.RuneCountInString(search); n > maxSearch {
		return "", "", apierror.BadInput("search must have at most %d characters, not %d", maxSearch, n)
	}
	if form = text.SearchForm(search); form == "" {
		return "", "", nil
	}
	return form, normalize(search), nil
}

// searches returns the texts to find. A row must contain one of them.
func (q Query) searches() []string {
	if q.before == "" || q.before == q.Search {
		return []string{q.Search}
	}
	return []string{q.Search, q.before}
}

// A search reads walkPerShop rows of a list for each shop of the page, at least minWalk,
// before it uses the index.
const (
	minWalk     = 4000
	walkPerShop = 200
)

// search returns the first matching rows in order.
//
// Postgres has two plans. Walking the list until the page is full suits common words.
// Sorting all matches of the gram index suits rare words. The planner cannot choose: it has
// no statistics of whole words and few of character pairs. A wrong choice costs a second
// with a million shops. So search walks a limited number of rows first. If they do not fill
// the page, the word is rare. SQLite scans all rows.
func (s *Service) search(ctx context.Context, q Query, where []predicate.Shop, limit int) ([]*ent.Shop, error) {
	if s.db.Dialect() != dialect.Postgres {
		return s.read(ctx, q, append(where, contains(q)), limit)
	}
	rows, err := s.db.Shop.Query().Where(contains(q)).Order(q.sorted).Limit(limit).
		Modify(func(sel *sql.Selector) {
			head := sql.Dialect(sel.Dialect()).Select().From(sql.Table(entshop.Table))
			for _, w := range where {
				w(head)
			}
			q.sorted(head)
			sel.From(head.Limit(max(minWalk, walkPerShop*limit)).As(entshop.Table))
		}).All(ctx)
	if err != nil || len(rows) == limit {
		return rows, err
	}
	return s.db.Shop.Query().Where(where...).Where(contains(q), indexed(q)).
		Order(q.sortedUnindexed).Limit(limit).All(ctx)
}

// contains selects the shops whose name, area or address contains the search.
func contains(q Query) predicate.Shop {
	return anyOf(q, func(sel *sql.Selector, search string) *sql.Predicate {
		column := sel.C(entshop.FieldSearch)
		if sel.Dialect() != dialect.Postgres {
			return sql.Contains(column, search)
		}
		// Not LIKE: the planner would multiply its estimate with that of the grams,
		// as if both were independent.
		return sql.P(func(b *sql.Builder) {
			b.WriteString("strpos(").WriteString(column).WriteString(", ").Arg(search).WriteString(") > 0")
		})
	})
}

// indexed selects, on Postgres, the shops with all grams of the search. The gram index
// answers it, and contains rechecks it. On SQLite it selects all shops.
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

// anyOf selects the shops that meet the condition for one of the searches.
func anyOf(q Query, condition func(sel *sql.Selector, search string) *sql.Predicate) predicate.Shop {
	return func(sel *sql.Selector) {
		var either []*sql.Predicate
		for _, search := range q.searches() {
			either = append(either, condition(sel, search))
		}
		sel.Where(sql.Or(either...))
	}
}

// grams returns the pairs of adjacent characters of s, or s itself if it has one character.
// See the function tandian_grams in the Postgres migrations.
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
