package voucher

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"entgo.io/ent/dialect/sql"

	"github.com/tandian-dev/tandian/ent/flashsale"
	"github.com/tandian-dev/tandian/ent/predicate"
	entvoucher "github.com/tandian-dev/tandian/ent/voucher"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/page"
)

// A Query says which flash sales to list.
type Query struct {
	Phases []Phase     // none: open and upcoming ones
	First  int         // 1 to page.Max
	After  page.Cursor // "" for the first page
}

// A Page is a part of a list of flash vouchers.
type Page struct {
	Edges []*Edge
	Info  page.Info
}

// An Edge is a flash voucher's place in a list.
type Edge struct {
	Cursor page.Cursor
	Node   *Voucher
}

const (
	// headSize is how many of the sales that have not ended are known by a cached list.
	headSize = 200
	// Whether a sale is sold out is known only when it is asked for. So many sales
	// are looked at for one page, in so many steps after the first, which hopes to
	// need no other.
	stepSize, maxSteps = 100, 5
)

// FlashSales returns a page of the flash sales that are in one of the phases, the
// one that ends first before the others; vouchers that are off sale are left out.
// Sales that begin, sell out or end meanwhile make none repeat, and none get lost
// that is in the phases throughout.
//
// A page may be shorter than asked for, even empty, and have a next one: to tell
// open sales from those that are sold out it looks at some 600 sales at most. It
// costs the cached list of sales that have not ended or, beyond that and for
// those that have, one statement; the cache of rows; and the stocks, if these
// matter; each of them once for a step.
func (s *Service) FlashSales(ctx context.Context, q Query) (*Page, error) {
	ctx, span := observe.Span(ctx, "voucher.FlashSales")
	defer span.End()
	w, err := q.walk(s.now())
	if err != nil {
		return nil, err
	}
	limit := q.First + 1
	for range maxSteps + 1 {
		batch, err := s.candidates(ctx, w, limit)
		if err != nil {
			return nil, err
		}
		if err := s.look(ctx, w, batch); err != nil {
			return nil, err
		}
		if w.full || len(batch) < limit {
			return w.page(q, w.full), nil
		}
		limit = stepSize
	}
	return w.page(q, true), nil
}

// listKey is a sale's place in the list, with what its phase needs.
type listKey struct {
	ID     int64 `json:"id"`
	Begins int64 `json:"from"` // milliseconds
	Ends   int64 `json:"to"`   // milliseconds
}

func (p listKey) compare(o listKey) int {
	return cmp.Or(cmp.Compare(p.Ends, o.Ends), cmp.Compare(p.ID, o.ID))
}

const cursorName = "SALE"

func (p listKey) cursor() page.Cursor { return page.Encode(cursorName, p.Ends, p.ID) }

// A pageReader goes through the list for one page.
type pageReader struct {
	now   time.Time
	want  map[Phase]bool
	first int
	after listKey // the last one looked at
	edges []*Edge
	full  bool // one more was found than the page holds
}

// walk checks the query and begins behind its cursor.
func (q Query) walk(now time.Time) (*pageReader, error) {
	if err := page.CheckFirst(q.First); err != nil {
		return nil, err
	}
	w := &pageReader{now: now, want: map[Phase]bool{}, first: q.First, after: listKey{Ends: math.MinInt64}}
	if len(q.Phases) == 0 {
		q.Phases = []Phase{Open, Upcoming}
	}
	for _, p := range q.Phases {
		switch p {
		case Upcoming, Open, SoldOut, Ended:
			w.want[p] = true
		default:
			return nil, apierror.BadInput("there is no phase %q", p)
		}
	}
	if q.After == "" {
		return w, nil
	}
	return w, page.Decode(q.After, cursorName, &w.after.Ends, &w.after.ID)
}

// wants says whether a sale can be in one of the phases, by its window.
func (w *pageReader) wants(begins, ends int64) bool {
	switch now := w.now.UnixMilli(); {
	case ends <= now:
		return w.want[Ended]
	case begins > now:
		return w.want[Upcoming]
	default:
		return w.want[Open] || w.want[SoldOut]
	}
}

// asksStock says whether the pieces that are left decide whether sales are listed.
func (w *pageReader) asksStock() bool { return w.want[Open] != w.want[SoldOut] }

// candidates returns the next sales that may be in the phases: fewer than the limit
// only at the end of the list.
func (s *Service) candidates(ctx context.Context, w *pageReader, limit int) ([]listKey, error) {
	if !w.want[Ended] {
		head, err := s.running.Get(ctx, struct{}{})
		if err != nil {
			return nil, fmt.Errorf("list flash sales: %w", err)
		}
		var found []listKey
		for _, p := range head {
			if p.compare(w.after) > 0 && w.wants(p.Begins, p.Ends) && len(found) < limit {
				found = append(found, p)
			}
		}
		if len(found) == limit || len(head) < headSize {
			return found, nil
		}
	}
	found, err := s.places(ctx, limit, w.behind, w.inPhases)
	if err != nil {
		return nil, fmt.Errorf("list flash sales: %w", err)
	}
	return found, nil
}

// loadRunning reads the first sales that have not ended.
func (s *Service) loadRunning(ctx context.Context, _ struct{}) ([]listKey, error) {
	return s.places(ctx, headSize, flashsale.EndsAtGT(s.now().UnixMilli()))
}

// places reads the places of sales that are not taken off, in their order.
func (s *Service) places(ctx context.Context, limit int, where ...predicate.FlashSale) ([]listKey, error) {
	onSale := func(sel *sql.Selector) {
		v := sql.Table(entvoucher.Table)
		sel.Join(v).On(sel.C(flashsale.FieldID), v.C(entvoucher.FieldID))
		sel.Where(sql.EQ(v.C(entvoucher.FieldStatus), string(entvoucher.StatusON_SALE)))
	}
	query := s.db.FlashSale.Query().Where(append(where, onSale)...).Order(flashsale.ByEndsAt(), flashsale.ByID()).Limit(limit)
	query.Select(flashsale.FieldID, flashsale.FieldBeginsAt, flashsale.FieldEndsAt)
	rows, err := query.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select flash sales: %w", err)
	}
	list := make([]listKey, len(rows))
	for i, r := range rows {
		list[i] = listKey{r.ID, r.BeginsAt, r.EndsAt}
	}
	return list, nil
}

// behind keeps the sales that come after the last one looked at. The first condition
// says less than the second, in a way that an index can begin at.
func (w *pageReader) behind(sel *sql.Selector) {
	ends, id := sel.C(flashsale.FieldEndsAt), sel.C(flashsale.FieldID)
	sel.Where(sql.And(
		sql.GTE(ends, w.after.Ends),
		sql.Or(sql.GT(ends, w.after.Ends), sql.GT(id, w.after.ID)),
	))
}

// inPhases keeps the sales whose window puts them into the phases.
func (w *pageReader) inPhases(sel *sql.Selector) {
	now, begins, ends := w.now.UnixMilli(), sel.C(flashsale.FieldBeginsAt), sel.C(flashsale.FieldEndsAt)
	var either []*sql.Predicate
	if w.want[Ended] {
		either = append(either, sql.LTE(ends, now))
	} else {
		sel.Where(sql.GT(ends, now))
	}
	if w.want[Upcoming] {
		either = append(either, sql.And(sql.GT(begins, now), sql.GT(ends, now)))
	}
	if w.want[Open] || w.want[SoldOut] {
		either = append(either, sql.And(sql.LTE(begins, now), sql.GT(ends, now)))
	}
	sel.Where(sql.Or(either...))
}

// look takes those of the candidates onto the page that belong there, by their rows
// and the pieces that are left.
func (s *Service) look(ctx context.Context, w *pageReader, batch []listKey) error {
	ids := make([]int64, len(batch))
	for i, p := range batch {
		ids[i] = p.ID
	}
	rows, err := s.stored(ctx, ids)
	if err != nil {
		return err
	}
	var asked []int64
	for _, v := range rows {
		if w.asksStock() && v.Sale != nil && !w.now.Before(v.Sale.BeginsAt) && w.now.Before(v.Sale.EndsAt) {
			asked = append(asked, v.ID)
		}
	}
	var stocks map[int64]int
	if len(asked) > 0 {
		if stocks, err = s.sales.Stocks(ctx, asked); err != nil {
			return fmt.Errorf("ask for the stocks of %d sales: %w", len(asked), err)
		}
	}
	for _, p := range batch {
		v := rows[p.ID]
		// The row may be newer than the list.
		if v == nil || v.Off || v.Sale == nil || !w.has(v.Sale, stocks) {
			w.after = p
			continue
		}
		if len(w.edges) == w.first {
			w.full = true
			return nil
		}
		w.after = p
		w.edges = append(w.edges, &Edge{Cursor: p.cursor(), Node: v})
	}
	return nil
}

// has says whether a sale is in one of the phases.
func (w *pageReader) has(v *Sale, stocks map[int64]int) bool {
	if !w.asksStock() {
		return w.wants(v.BeginsAt.UnixMilli(), v.EndsAt.UnixMilli())
	}
	return w.want[v.Phase(w.now, stocks[v.VoucherID])]
}

// page is what was found. The next page begins behind the last sale looked at, which
// need not be on this one.
func (w *pageReader) page(q Query, more bool) *Page {
	cursors := make([]page.Cursor, len(w.edges))
	for i, e := range w.edges {
		cursors[i] = e.Cursor
	}
	info := page.InfoOf(cursors, q.After, more)
	if more && w.after.Ends != math.MinInt64 {
		end := w.after.cursor()
		info.EndCursor = &end
	}
	return &Page{Edges: w.edges, Info: info}
}
