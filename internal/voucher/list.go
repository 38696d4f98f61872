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

// A Query selects flash sales.
type Query struct {
	Phases []Phase     // none: open and upcoming
	First  int         // 1 to page.Max
	After  page.Cursor // "" for the first page
}

// A Page is a part of a list of flash vouchers.
type Page struct {
	Edges []*Edge
	Info  page.Info
}

// An Edge is a flash voucher and its position in a list.
type Edge struct {
	Cursor page.Cursor
	Node   *Voucher
}

const (
	// headSize is the size of the cached list of sales that have not ended.
	headSize = 200
	// The phase of an open sale needs its stock. The first step usually fills a page. Otherwise
	// the page reads this many sales per step, in at most this many more steps.
	stepSize, maxSteps = 100, 5
)

// FlashSales returns a page of the flash sales in the given phases, earliest end first,
// without vouchers that are off sale. Sales that begin, sell out or end between two pages
// never repeat. A sale that stays in the phases is never missed.
//
// A page may be short or empty and still have a next page: to tell open from sold-out sales,
// FlashSales reads at most about 600. Each step reads the cached list of sales that have not
// ended, or one statement beyond it and for ended sales. It also reads the row cache and, if
// needed, the stocks.
func (s *Service) FlashSales(ctx context.Context, q Query) (*Page, error) {
	ctx, span := observe.Span(ctx, "voucher.FlashSales")
	defer span.End()
	w, err := q.reader(s.now())
	if err != nil {
		return nil, err
	}
	limit := q.First + 1
	for range maxSteps + 1 {
		batch, err := s.candidates(ctx, w, limit)
		if err != nil {
			return nil, err
		}
		if err := s.collect(ctx, w, batch); err != nil {
			return nil, err
		}
		if w.full || len(batch) < limit {
			return w.page(q, w.full), nil
		}
		limit = stepSize
	}
	return w.page(q, true), nil
}

// A listKey is the sort key of a sale in the list, with its window.
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

type pageReader struct {
	now   time.Time
	want  map[Phase]bool
	first int
	after listKey // last checked sale
	edges []*Edge
	full  bool // a sale after the page exists
}

// reader checks the query and returns a pageReader that starts after its cursor.
func (q Query) reader(now time.Time) (*pageReader, error) {
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
			return nil, apierror.BadInput("unknown phase %.20q", p)
		}
	}
	if q.After == "" {
		return w, nil
	}
	return w, page.Decode(q.After, cursorName, &w.after.Ends, &w.after.ID)
}

// wants reports whether a sale with this window can be in one of the phases.
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

func (w *pageReader) needsStock() bool { return w.want[Open] != w.want[SoldOut] }

// candidates returns the next sales that can be in the phases. It returns fewer than limit
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
	found, err := s.listKeys(ctx, limit, w.afterCursor, w.inPhases)
	if err != nil {
		return nil, fmt.Errorf("list flash sales: %w", err)
	}
	return found, nil
}

func (s *Service) loadRunning(ctx context.Context, _ struct{}) ([]listKey, error) {
	return s.listKeys(ctx, headSize, flashsale.EndsAtGT(s.now().UnixMilli()))
}

// listKeys reads the keys of sales that are on sale, in list order.
func (s *Service) listKeys(ctx context.Context, limit int, where ...predicate.FlashSale) ([]listKey, error) {
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

// afterCursor selects sales after the last checked one. The first condition is weaker than the
// second, but an index can use it.
func (w *pageReader) afterCursor(sel *sql.Selector) {
	ends, id := sel.C(flashsale.FieldEndsAt), sel.C(flashsale.FieldID)
	sel.Where(sql.And(
		sql.GTE(ends, w.after.Ends),
		sql.Or(sql.GT(ends, w.after.Ends), sql.GT(id, w.after.ID)),
	))
}

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

// collect adds matching candidates to the page, by their rows and stocks.
func (s *Service) collect(ctx context.Context, w *pageReader, batch []listKey) error {
	ids := make([]int64, len(batch))
	for i, p := range batch {
		ids[i] = p.ID
	}
	rows, err := s.stored(ctx, ids)
	if err != nil {
		return err
	}
	var requested []int64
	for _, v := range rows {
		if w.needsStock() && v.Sale != nil && !w.now.Before(v.Sale.BeginsAt) && w.now.Before(v.Sale.EndsAt) {
			requested = append(requested, v.ID)
		}
	}
	var stocks map[int64]int
	if len(requested) > 0 {
		if stocks, err = s.sales.Stocks(ctx, requested); err != nil {
			return fmt.Errorf("read stocks of %d sales: %w", len(requested), err)
		}
	}
	for _, p := range batch {
		v := rows[p.ID]
		// The row may be newer than the list.
		if v == nil || v.Off || v.Sale == nil || !w.includes(v.Sale, stocks) {
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

func (w *pageReader) includes(v *Sale, stocks map[int64]int) bool {
	if !w.needsStock() {
		return w.wants(v.BeginsAt.UnixMilli(), v.EndsAt.UnixMilli())
	}
	return w.want[v.Phase(w.now, stocks[v.VoucherID])]
}

// page returns the result. The next page starts after the last checked sale, which may not be
// on this page.
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
