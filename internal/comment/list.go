package comment

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/page"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// Names of the lists in cursors.
const (
	onNotesOrder = "note-comments"
	repliesOrder = "comment-replies"
)

// Page is one page of a list of comments.
type Page struct {
	Edges []*Edge
	Info  page.Info
}

// Edge is one comment of a Page.
type Edge struct {
	Cursor page.Cursor
	Node   *Comment
}

// ByNotes returns a page of the comments on each note, newest first, without replies. It is
// as fresh as [Service.ByID]. Missing and deleted notes have an empty page. A cursor applies
// to all notes: each page has the comments older than the cursor. An invalid size or cursor
// is an [apierror.BadUserInput] error.
//
// For any number of notes it needs one read of the notes, and one round trip to the cache
// each for lists and rows. Missing lists and rows need at most one statement each. A page
// beyond the newest 50 comments needs one statement for all notes.
func (s *Service) ByNotes(ctx context.Context, notes []int64, first int, after page.Cursor) (map[int64]*Page, error) {
	ctx, span := observe.Span(ctx, "comment.OfNotes")
	defer span.End()
	if err := page.CheckFirst(first); err != nil {
		return nil, err
	}
	below := int64(math.MaxInt64)
	if after != "" {
		id, err := decode(after, onNotesOrder)
		if err != nil {
			return nil, err
		}
		below = id
	}
	live, err := s.live(ctx, notes)
	if err != nil {
		return nil, err
	}
	shown := filter(notes, func(note int64) bool { return live[note] })
	lists, err := s.onNotes.Pages(ctx, shown, below, first)
	if err != nil {
		return nil, fmt.Errorf("list comments on %d notes: %w", len(shown), err)
	}
	return s.pages(ctx, notes, lists, onNotesOrder, after)
}

// Replies returns a page of all replies below each comment, oldest first. It is as fresh as
// [Service.ByID]. Replies and missing comments have an empty page. Cursors, errors and cost
// are those of [Service.ByNotes], plus one round trip for the comments.
func (s *Service) Replies(ctx context.Context, roots []int64, first int, after page.Cursor) (map[int64]*Page, error) {
	ctx, span := observe.Span(ctx, "comment.Replies")
	defer span.End()
	if err := page.CheckFirst(first); err != nil {
		return nil, err
	}
	below := int64(math.MaxInt64)
	if after != "" {
		id, err := decode(after, repliesOrder)
		if err != nil {
			return nil, err
		}
		below = -id // see loadReplies
	}
	found, err := s.ByIDs(ctx, roots)
	if err != nil {
		return nil, err
	}
	withReplies := filter(roots, func(id int64) bool { return found[id] != nil && found[id].ReplyCount > 0 })
	lists, err := s.replies.Pages(ctx, withReplies, below, first)
	if err != nil {
		return nil, fmt.Errorf("list replies to %d comments: %w", len(withReplies), err)
	}
	return s.pages(ctx, roots, lists, repliesOrder, after)
}

func decode(c page.Cursor, order string) (id int64, err error) {
	if err := page.Decode(c, order, &id); err != nil {
		return 0, err
	}
	if id < 1 { // invented
		return 0, apierror.BadInput("invalid after: not a cursor of this list")
	}
	return id, nil
}

func filter(ids []int64, good func(int64) bool) (passed []int64) {
	for _, id := range ids {
		if good(id) {
			passed = append(passed, id)
		}
	}
	return passed
}

func (s *Service) pages(ctx context.Context, owners []int64, lists map[int64]cache.ListPage, order string, after page.Cursor) (map[int64]*Page, error) {
	var ids []int64
	for _, list := range lists {
		for _, item := range list.Items {
			ids = append(ids, item.ID)
		}
	}
	rows, err := s.rows(ctx, ids)
	if err != nil {
		return nil, err
	}
	pages := make(map[int64]*Page, len(owners))
	for _, owner := range owners {
		pages[owner] = pageOf(lists[owner], rows, order, after)
	}
	return pages, nil
}

// pageOf returns the page of one list. It omits ids without a row, which another program deleted.
// The next page begins after them: a page of such ids must not end the list.
func pageOf(list cache.ListPage, rows map[int64]*Comment, order string, after page.Cursor) *Page {
	p := &Page{Edges: make([]*Edge, 0, len(list.Items))}
	var cursors []page.Cursor
	for _, item := range list.Items {
		if row, ok := rows[item.ID]; ok {
			cursors = append(cursors, page.Encode(order, item.ID))
			p.Edges = append(p.Edges, &Edge{Cursor: cursors[len(cursors)-1], Node: row})
		}
	}
	p.Info = page.InfoOf(cursors, after, list.More)
	if n := len(list.Items); n > 0 && list.More {
		p.Info.EndCursor = new(page.Encode(order, list.Items[n-1].ID))
	}
	return p
}

func (s *Service) loadOnNotes(ctx context.Context, ranges []cache.ListRange[int64]) (map[int64][]cache.ListItem, error) {
	type argument struct {
		Note  int64 `json:"note"`
		Below int64 `json:"below"`
		Limit int   `json:"most"`
	}
	arguments := make([]argument, len(ranges))
	for i, a := range ranges {
		arguments[i] = argument{a.Owner, a.Before, a.Limit}
	}
	found, err := s.loadItems(ctx, s.sql.onNotes, arguments, func(id int64) int64 { return id })
	if err != nil {
		return nil, fmt.Errorf("select comments on %d notes: %w", len(ranges), err)
	}
	return found, nil
}

// loadReplies reads ranges of replies. Lists sort by descending position, so the position of a
// reply is its negated id.
func (s *Service) loadReplies(ctx context.Context, ranges []cache.ListRange[int64]) (map[int64][]cache.ListItem, error) {
	type argument struct {
		Root  int64 `json:"root"`
		After int64 `json:"after"`
		Limit int   `json:"most"`
	}
	arguments := make([]argument, len(ranges))
	for i, a := range ranges {
		arguments[i] = argument{a.Owner, -a.Before, a.Limit}
	}
	found, err := s.loadItems(ctx, s.sql.replies, arguments, func(id int64) int64 { return -id })
	if err != nil {
		return nil, fmt.Errorf("select replies to %d comments: %w", len(ranges), err)
	}
	return found, nil
}

func (s *Service) loadItems(ctx context.Context, statement string, arguments any, at func(id int64) int64) (map[int64][]cache.ListItem, error) {
	text, err := json.Marshal(arguments)
	if err != nil {
		return nil, fmt.Errorf("encode list ranges: %w", err)
	}
	found := map[int64][]cache.ListItem{}
	err = sqldb.Each(ctx, s.db, statement, []any{string(text)}, func(rows *sql.Rows) error {
		var owner, id int64
		if err := rows.Scan(&owner, &id); err != nil {
			return err
		}
		found[owner] = append(found[owner], cache.ListItem{Pos: at(id), ID: id})
		return nil
	})
	return found, err
}
