package shop

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"entgo.io/ent/dialect/sql"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/predicate"
	entshop "github.com/tandian-dev/tandian/ent/shop"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/geo"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/optional"
	"github.com/tandian-dev/tandian/internal/kit/page"
)

// An Order says by what a list of shops is sorted.
type Order string

// The orders. Ties are broken by the newer shop first, for [ByDistance] by the older.
const (
	ByDistance Order = "DISTANCE" // nearest first; needs a place
	ByScore    Order = "SCORE"    // best first, those without a score as if they had unratedRank
	BySold     Order = "SOLD"     // most pieces sold first
	ByNewest   Order = "NEWEST"   // last added first
)

// unratedRank is where a shop without a score stands in the order by score: among
// the average ones, so that new shops are seen. It is fixed, so that an index has
// the order and cursors stay valid. The migrations shop_rank have it too.
const unratedRank = 3.8

// rank is a shop's place in the order by score.
func (s *Shop) rank() float64 {
	if s.Score == nil {
		return unratedRank
	}
	return *s.Score
}

// rankColumn is the same of a row, as the indexes have it.
func rankColumn(sel *sql.Selector) string {
	return "COALESCE(NULLIF(" + sel.C(entshop.FieldScore) + ", 0), 3.8)"
}

// MaxRadius is the widest circle to look in, in metres.
const MaxRadius = 50_000

// nearestSorted is how many of the nearest shops are considered when a list
// near a place is sorted by something else than distance.
const nearestSorted = 1000

// A Query says which shops to list.
type Query struct {
	TypeID  int64       // 0 for all types
	OwnerID int64       // 0 for all, those of nobody too
	Search  string      // "" for all; part of a name, area or address, compared as [text.SearchForm] says
	Near    *geo.Circle // nil for everywhere; the radius in metres, 1 to MaxRadius
	Order   Order       // "" is ByDistance with Near, else ByScore
	First   int         // 1 to page.Max
	After   page.Cursor // "" for the first page

	before string // Search in the form of the release before
}

// A Page is a part of a list of shops.
type Page struct {
	Edges []Edge
	Info  page.Info
}

// An Edge is a shop's place in a list.
type Edge struct {
	Cursor   page.Cursor
	Node     *Shop
	Distance *float64 // metres from Query.Near; nil without it
}

// List returns a page of the shops that a query asks for. Shops that are added
// meanwhile make no shop repeat or get lost.
//
// Without a place it is a cached list and its rows, or one statement. With one it is the round trips that
// [Service.nearest] explains, and one for the rows. A query that makes no
// sense is a fault.
func (s *Service) List(ctx context.Context, q Query) (*Page, error) {
	ctx, span := observe.Span(ctx, "shop.List")
	defer span.End()
	q, err := q.checked()
	if err != nil {
		return nil, err
	}
	if q.TypeID != 0 {
		// Not the cells of a type that there is not: any number can be asked for.
		if known, err := s.typeExists(ctx, q.TypeID); err != nil || !known {
			return q.page(nil), err
		}
	}
	switch {
	case q.Near == nil:
		return s.listRows(ctx, q)
	case q.Order == ByDistance:
		return s.listNearest(ctx, q)
	default:
		return s.listNearestSorted(ctx, q)
	}
}

// checked fills in what was not said and refuses what makes no sense.
func (q Query) checked() (Query, error) {
	if err := page.CheckFirst(q.First); err != nil {
		return q, err
	}
	if n := q.Near; n != nil {
		if !n.Center.Valid() {
			return q, apierror.BadInput("near needs a latitude of -85.05 to 85.05 and a longitude of -180 to 180 degrees")
		}
		if !(n.Radius >= 1 && n.Radius <= MaxRadius) {
			return q, apierror.BadInput("radius is 1 to %d metres, not %v", MaxRadius, n.Radius)
		}
	}
	switch q.Order {
	case "":
		q.Order = ByScore
		if q.Near != nil {
			q.Order = ByDistance
		}
	case ByDistance:
		if q.Near == nil {
			return q, apierror.BadInput("the order DISTANCE needs near")
		}
	case ByScore, BySold, ByNewest:
	default:
		return q, apierror.BadInput("there is no order %q", q.Order)
	}
	var err error
	q.Search, q.before, err = checkSearch(q.Search)
	return q, err
}

// filters are the conditions of q on rows, without its place and its search.
func (q Query) filters() []predicate.Shop {
	var where []predicate.Shop
	if q.TypeID != 0 {
		where = append(where, entshop.TypeID(q.TypeID))
	}
	if q.OwnerID != 0 {
		where = append(where, entshop.OwnerID(q.OwnerID))
	}
	return where
}

// lists says whether a shop passes the same conditions.
func (q Query) lists(s *Shop) bool {
	return (q.TypeID == 0 || s.TypeID == q.TypeID) && (q.OwnerID == 0 || optional.Value(s.OwnerID) == q.OwnerID)
}

// headSize is how many shops of a list are known by its head: ten pages of 20.
const headSize = 200

// firstPage names a list whose first shops are cached.
type firstPage struct {
	typeID int64 // 0 for all types
	order  Order
}

// statement names what is cached of the list. Servers of the release before, which
// order unrated shops last, must not share the list by score.
func (h firstPage) statement() string {
	if h.order == ByScore {
		return fmt.Sprintf("first %d shops of type %d by rank", headSize, h.typeID)
	}
	return fmt.Sprintf("first %d shops of type %d by %s", headSize, h.typeID, h.order)
}

// loadHead reads the places of the first shops of a list.
func (s *Service) loadHead(ctx context.Context, h firstPage) ([]sortKey, error) {
	q := Query{TypeID: h.typeID, Order: h.order}
	first := s.db.Shop.Query().Where(q.filters()...).Order(q.sorted).Limit(headSize)
	first.Select(entshop.FieldID, entshop.FieldScore, entshop.FieldSold) // the rest stays zero
	rows, err := first.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select the first shops by %s: %w", h.order, err)
	}
	keys := make([]sortKey, len(rows))
	for i, r := range rows {
		keys[i] = q.key(&Shop{ID: r.ID, Score: optional.OrNil(r.Score), Sold: r.Sold})
	}
	return keys, nil
}

// listHead answers a page from the head of its list and the cache of rows, in
// two round trips to Redis when both are warm: the second needs the ids of the
// first. It reports false if the page goes beyond the head. A list is cached by
// type and order only, so that no client can make up cursors to fill the cache.
func (s *Service) listHead(ctx context.Context, q Query) (*Page, bool, error) {
	var behind sortKey
	if q.After != "" {
		var err error
		if behind, err = q.decode(nil); err != nil {
			return nil, true, err
		}
	}
	keys, err := s.heads.Get(ctx, firstPage{q.TypeID, q.Order})
	if err != nil {
		return nil, true, fmt.Errorf("list shops by %s: %w", q.Order, err)
	}
	whole := len(keys) < headSize
	if q.After != "" {
		from := slices.IndexFunc(keys, func(k sortKey) bool { return behind.compare(k) < 0 })
		if from < 0 {
			from = len(keys)
		}
		keys = keys[from:]
	}
	if len(keys) <= q.First && !whole {
		return nil, false, nil
	}
	keys = keys[:min(len(keys), q.First+1)]
	ids := make([]int64, len(keys))
	for i, k := range keys {
		ids[i] = k.ID
	}
	shops, err := s.ByIDs(ctx, ids)
	if err != nil {
		return nil, true, err
	}
	if len(shops) < len(keys) { // the cache has not heard of all yet: the rows answer
		return nil, false, nil
	}
	edges := make([]Edge, len(keys))
	for i, k := range keys {
		edges[i] = Edge{Cursor: page.Encode(string(q.Order), k.Value, k.ID), Node: shops[k.ID]}
	}
	return q.page(edges), true, nil
}

// listRows reads one page: from the head of the list while it reaches, else
// whole rows with one statement; a search on Postgres may take two, as
// [Service.search] explains.
func (s *Service) listRows(ctx context.Context, q Query) (*Page, error) {
	if q.Search == "" && q.OwnerID == 0 {
		if found, ok, err := s.listHead(ctx, q); ok || err != nil {
			return found, err
		}
	}
	where := q.filters()
	if q.After != "" {
		behind, err := q.afterCursor()
		if err != nil {
			return nil, err
		}
		where = append(where, behind)
	}
	read := s.read
	if q.Search != "" {
		read = s.search
	}
	rows, err := read(ctx, q, where)
	if err != nil {
		return nil, fmt.Errorf("list shops by %s: %w", q.Order, err)
	}
	edges := make([]Edge, len(rows))
	for i, r := range rows {
		s.shops.MarkExisting(r.ID) // what is shown can be asked for
		shop, err := fromRow(r)
		if err != nil {
			return nil, fmt.Errorf("list shops by %s: %w", q.Order, err)
		}
		edges[i] = Edge{Cursor: q.cursor(shop), Node: shop}
	}
	return q.page(edges), nil
}

// read returns the first rows in order, one more than the page holds.
func (s *Service) read(ctx context.Context, q Query, where []predicate.Shop) ([]*ent.Shop, error) {
	return s.db.Shop.Query().Where(where...).Order(q.sorted).Limit(q.First + 1).All(ctx)
}

// sorted orders rows, always down to the id: every row has one place.
func (q Query) sorted(sel *sql.Selector) {
	switch q.Order {
	case BySold:
		sel.OrderBy(sql.Desc(sel.C(entshop.FieldSold)))
	case ByScore:
		sel.OrderExpr(sql.Raw(rankColumn(sel) + " DESC"))
	case ByNewest, ByDistance: // by id alone; by distance is not for rows
	}
	sel.OrderBy(sql.Desc(sel.C(entshop.FieldID)))
}

// sortedUnindexed is the same order, said so that no index has it: what is
// sorted is found through another index.
func (q Query) sortedUnindexed(sel *sql.Selector) {
	switch q.Order {
	case BySold:
		sel.OrderExpr(sql.Raw(sel.C(entshop.FieldSold) + " + 0 DESC"))
	case ByScore:
		sel.OrderExpr(sql.Raw(rankColumn(sel) + " + 0 DESC"))
	case ByNewest, ByDistance: // as in sorted
	}
	sel.OrderExpr(sql.Raw(sel.C(entshop.FieldID) + " + 0 DESC"))
}

// afterCursor keeps the rows that come after the cursor.
func (q Query) afterCursor() (predicate.Shop, error) {
	k, err := q.decode(nil)
	if err != nil {
		return nil, err
	}
	if q.Order == ByNewest {
		return entshop.IDLT(k.ID), nil
	}
	return func(sel *sql.Selector) {
		column := rankColumn(sel)
		value := any(k.Value)
		if q.Order == BySold {
			column, value = sel.C(entshop.FieldSold), int64(k.Value)
		}
		// On Postgres an index begins at the row that is compared, however many
		// shops have the cursor's value; on SQLite at the value.
		sel.Where(sql.P(func(b *sql.Builder) {
			b.WriteString(column + " <= ").Arg(value).
				WriteString(" AND (" + column + ", " + sel.C(entshop.FieldID) + ") < (").Arg(value).WriteString(", ").Arg(k.ID).WriteString(")")
		}))
	}, nil
}

// sortKey is a shop's place in a list that is not by distance.
type sortKey struct {
	Value float64 `json:"v,omitempty"` // rank or pieces; 0 for the newest
	ID    int64   `json:"id"`
}

func (q Query) key(s *Shop) sortKey {
	switch q.Order {
	case ByScore:
		return sortKey{s.rank(), s.ID}
	case BySold:
		return sortKey{float64(s.Sold), s.ID}
	case ByNewest, ByDistance: // by id alone; by distance has places of its own
	}
	return sortKey{0, s.ID}
}

func (k sortKey) compare(o sortKey) int {
	return cmp.Or(cmp.Compare(o.Value, k.Value), cmp.Compare(o.ID, k.ID))
}

// nearName is the order's name in cursors of lists near a place, which carry a
// border too.
func (q Query) nearName() string { return "NEAR_" + string(q.Order) }

// cursor is a shop's place; with a border, in a list near a place.
func (q Query) cursor(s *Shop, border ...distanceKey) page.Cursor {
	k := q.key(s)
	if len(border) == 0 {
		return page.Encode(string(q.Order), k.Value, k.ID)
	}
	return page.Encode(q.nearName(), k.Value, k.ID, border[0].distance, border[0].id)
}

// decode reads a cursor, and its border in a list near a place.
func (q Query) decode(border *distanceKey) (sortKey, error) {
	var k sortKey
	var err error
	if border == nil {
		err = page.Decode(q.After, string(q.Order), &k.Value, &k.ID)
	} else {
		err = page.Decode(q.After, q.nearName(), &k.Value, &k.ID, &border.distance, &border.id)
	}
	if err == nil && math.Abs(k.Value) > math.MaxInt32 {
		err = apierror.BadInput("after is no cursor of this list")
	}
	return k, err
}

// page cuts edges, which hold one more than asked for when there are more.
func (q Query) page(edges []Edge) *Page {
	more := len(edges) > q.First
	edges = edges[:min(len(edges), q.First)]
	cursors := make([]page.Cursor, len(edges))
	for i, e := range edges {
		cursors[i] = e.Cursor
	}
	return &Page{Edges: edges, Info: page.InfoOf(cursors, q.After, more)}
}

// listNearestSorted sorts the nearest shops by what the query says. Which shops
// these are is settled by the first page: the cursor carries how far they
// reach, so that nearer shops that are added meanwhile push none out.
func (s *Service) listNearestSorted(ctx context.Context, q Query) (*Page, error) {
	var after *sortKey
	border, limit := distanceKey{q.Near.Radius, math.MaxInt64}, s.nearestSorted
	if q.After != "" {
		k, err := q.decode(&border)
		if err != nil {
			return nil, err
		}
		// Room for those that were added.
		after, limit = &k, 2*s.nearestSorted
	}
	near, err := s.nearest(ctx, q, distanceKey{}, limit)
	if err != nil {
		return nil, err
	}
	if after == nil && len(near) == s.nearestSorted {
		border = near[len(near)-1].at
	}
	edges := make([]Edge, 0, len(near))
	for _, f := range near {
		if border.compare(f.at) >= 0 && (after == nil || after.compare(q.key(f.shop)) < 0) {
			edges = append(edges, Edge{Cursor: q.cursor(f.shop, border), Node: f.shop, Distance: &f.at.distance})
		}
	}
	slices.SortFunc(edges, func(a, b Edge) int { return q.key(a.Node).compare(q.key(b.Node)) })
	return q.page(edges), nil
}
