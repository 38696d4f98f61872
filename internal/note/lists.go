package note

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"math"

	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/page"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// Page is one page of a list of notes.
type Page struct {
	Edges []*Edge
	Info  page.Info
}

// Edge is one note of a Page.
type Edge struct {
	Cursor page.Cursor
	Node   *Note
}

// listCursor is the name of the order by number in cursors, newest first. Numbers are
// assigned at the commit, so no note ever appears below entries that a reader has passed.
const listCursor = "NOTES"

// ByAuthors returns a page of the notes of each author, newest first. It is as fresh as
// [Service.ByID].
//
// Within the newest 50 notes it needs two round trips to the cache for any number of
// authors, and one statement for all missing lists. Later pages need one more statement.
func (s *Service) ByAuthors(ctx context.Context, authors []int64, first int, after page.Cursor) (map[int64]*Page, error) {
	ctx, span := observe.Span(ctx, "note.OfAuthors")
	defer span.End()
	return s.pages(ctx, s.byAuthor, authors, first, after)
}

// ByShops is [Service.ByAuthors] for the notes about shops.
func (s *Service) ByShops(ctx context.Context, shops []int64, first int, after page.Cursor) (map[int64]*Page, error) {
	ctx, span := observe.Span(ctx, "note.OfShops")
	defer span.End()
	return s.pages(ctx, s.byShop, shops, first, after)
}

func (s *Service) pages(ctx context.Context, lists *cache.FirstPages[int64], owners []int64, first int, after page.Cursor) (map[int64]*Page, error) {
	if err := page.CheckFirst(first); err != nil {
		return nil, err
	}
	below := int64(math.MaxInt64)
	if after != "" {
		if err := page.Decode(after, listCursor, &below); err != nil {
			return nil, err
		}
	}
	parts, err := lists.Pages(ctx, owners, below, first)
	if err != nil {
		return nil, fmt.Errorf("list notes of %d owners: %w", len(owners), err)
	}
	var ids []int64
	for _, p := range parts {
		for _, at := range p.Items {
			ids = append(ids, at.ID)
		}
	}
	rows, err := s.ByIDsVerified(ctx, ids)
	if err != nil {
		return nil, err
	}
	found := make(map[int64]*Page, len(owners))
	for _, owner := range owners {
		p := parts[owner]
		edges := make([]*Edge, 0, len(p.Items))
		for _, at := range p.Items {
			if n := rows[at.ID]; n != nil { // the row may be newer than the list
				edges = append(edges, &Edge{Cursor: page.Encode(listCursor, at.Pos), Node: n})
			}
		}
		found[owner] = pageOf(edges, first, after, p.More)
		if p.More { // after the last entry, even if its row is missing
			end := page.Encode(listCursor, p.Items[len(p.Items)-1].Pos)
			found[owner].Info.EndCursor = &end
		}
	}
	return found, nil
}

// pageOf returns the first edges as a page. One more edge means that there is a next page.
func pageOf(edges []*Edge, first int, after page.Cursor, more bool) *Page {
	more = more || len(edges) > first
	edges = edges[:min(len(edges), first)]
	cursors := make([]page.Cursor, len(edges))
	for i, e := range edges {
		cursors[i] = e.Cursor
	}
	return &Page{Edges: edges, Info: page.InfoOf(cursors, after, more)}
}

// ByIDsVerified is [Service.ByIDs] for ids from a list. It reads the row of an id that the
// cache reports as absent, because the cache may not have received the insert yet.
func (s *Service) ByIDsVerified(ctx context.Context, ids []int64) (map[int64]*Note, error) {
	s.notes.MarkExisting(ids...) // a list contains them
	found, err := s.ByIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	var absent []int64
	for _, id := range ids {
		if found[id] == nil {
			absent = append(absent, id)
		}
	}
	if len(absent) == 0 {
		return found, nil
	}
	rows, err := s.load(ctx, absent)
	maps.Copy(found, cache.Pointers(rows))
	return found, err
}

// Newest reads the newest notes of each author from the database, at most limit of each.
func (s *Service) Newest(ctx context.Context, authors []int64, limit int) (map[int64][]cache.ListItem, error) {
	ranges := make([]cache.ListRange[int64], len(authors))
	for i, author := range authors {
		ranges[i] = cache.ListRange[int64]{Owner: author, Before: math.MaxInt64, Limit: limit}
	}
	return s.lister(s.sql.byAuthors)(ctx, ranges)
}

func (s *Service) lister(statement string) func(context.Context, []cache.ListRange[int64]) (map[int64][]cache.ListItem, error) {
	type argument struct {
		Owner  int64 `json:"of"`
		Before int64 `json:"below"`
		Limit  int   `json:"most"`
	}
	return func(ctx context.Context, ranges []cache.ListRange[int64]) (map[int64][]cache.ListItem, error) {
		arguments := make([]argument, len(ranges))
		for i, a := range ranges {
			arguments[i] = argument(a)
		}
		text, err := json.Marshal(arguments)
		if err != nil {
			return nil, fmt.Errorf("encode %d list ranges: %w", len(ranges), err)
		}
		found := make(map[int64][]cache.ListItem, len(ranges))
		err = sqldb.Each(ctx, s.db, statement, []any{string(text)}, func(rows *sql.Rows) error {
			var of int64
			var at cache.ListItem
			if err := rows.Scan(&of, &at.Pos, &at.ID); err != nil {
				return err
			}
			found[of] = append(found[of], at)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("select %d lists of notes: %w", len(ranges), err)
		}
		return found, nil
	}
}
