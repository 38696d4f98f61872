package shop

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"entgo.io/ent/dialect/sql"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/predicate"
	entshop "github.com/tandian-dev/tandian/ent/shop"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/geo"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/page"
)

// Order is the sort order of a list of shops.
type Order string

// Sort orders. Ties sort by newest first, in [ByDistance] by oldest first.
const (
	ByDistance Order = "DISTANCE" // nearest first; requires Query.Near
	ByScore    Order = "SCORE"    // best first; shops without ratings last, by popularity
	BySold     Order = "SOLD"     // most sold first
	ByNewest   Order = "NEWEST"   // newest first
)

// rank returns the sort value of a shop in the order by score: its score, or a number below
// 1 that grows with its popularity.
func (s *Shop) rank() float64 {
	if s.Score == nil {
		return float64(s.Sold+s.SaveCount) / maxPopularity
	}
	return *s.Score
}

// maxPopularity is a power of two, so that Go and both databases compute equal quotients.
const maxPopularity = 1 << 30

// rankColumn is rank as an SQL expression, exactly as in the indexes of the migration
// shop_lists.
func rankColumn(sel *sql.Selector) string {
	return "COALESCE(" + sel.C(entshop.FieldRatingScore) + ", CAST(" + sel.C(entshop.FieldSold) + " + " + sel.C(entshop.FieldSaveCount) + " AS double precision) / 1073741824)"
}

// MaxRadius is the maximum radius of a nearby search, in metres.
const MaxRadius = 50_000

// nearestSorted is the number of nearest shops that a nearby list in another order than
// distance considers.
const nearestSorted = 1000

// Query selects and sorts a list of shops.
type Query struct {
	TypeID  int64       // 0 for all types
	OwnerID int64       // 0 for all, including shops without an owner
	Filter  Filter      // the zero value matches all shops
	Search  string      // "" for all; substring of name, area or address in [text.SearchForm]
	Near    *geo.Circle // nil for everywhere; radius of 1 to MaxRadius metres
	Order   Order       // default ByDistance with Near, else ByScore
	First   int         // 1 to page.Max
	After   page.Cursor // "" for the first page

	before string // Search in the form of the previous release
	now    time.Time
	isOpen func(*Shop, time.Time) *bool
}

// Page is one page of a list of shops.
type Page struct {
	Edges []Edge
	Info  page.Info
}

// Edge is one shop of a Page.
type Edge struct {
	Cursor   page.Cursor
	Node     *Shop
	Distance *float64 // metres from Query.Near; nil without it
}

// List returns a page of the shops that match q. Concurrent inserts neither repeat nor hide
// shops.
//
// Without Near it reads a cached list and its rows, or runs one statement. With Near it
// makes one or a few searches, each with a round trip for the positions and one for the
// rows. An invalid query is an [apierror.BadUserInput] error.
func (s *Service) List(ctx context.Context, q Query) (*Page, error) {
	ctx, span := observe.Span(ctx, "shop.List")
	defer span.End()
	q.now, q.isOpen = s.now(), s.isOpen
	q, err := q.checked()
	if err != nil {
		return nil, err
	}
	if q.TypeID != 0 {
		// Check the type first: unknown ids must not create cells.
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

// checked applies the defaults and validates q.
func (q Query) checked() (Query, error) {
	if err := page.CheckFirst(q.First); err != nil {
		return q, err
	}
	if n := q.Near; n != nil {
		if !n.Center.Valid() {
			return q, apierror.BadInput("invalid near: latitude must be -85.05 to 85.05 degrees, longitude -180 to 180")
		}
		if !(n.Radius >= 1 && n.Radius <= MaxRadius) {
			return q, apierror.BadInput("radius must be 1 to %d metres, not %v", MaxRadius, n.Radius)
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
			return q, apierror.BadInput("order DISTANCE requires near")
		}
	case ByScore, BySold, ByNewest:
	default:
		return q, apierror.BadInput("unknown order %q (want one of %v)", q.Order, []Order{ByDistance, ByScore, BySold, ByNewest})
	}
	if err := q.Filter.check(); err != nil {
		return q, err
	}
	var err error
	q.Search, q.before, err = checkSearch(q.Search)
	return q, err
}

// Sizes of cached lists: ten pages of 20, with filters five and spare shops that may be open.
const (
	headSize         = 200
	filteredHeadSize = 160
)

// firstPage identifies a cached list.
type firstPage struct {
	typeID int64 // 0 for all types
	order  Order
	filter string // see Query.cachedFilter; empty for none
}

func (h firstPage) size() int {
	if h.filter != "" {
		return filteredHeadSize
	}
	return headSize
}

// statement identifies the cached content. The previous release sorts unrated shops like
// average ones, so it must not share the list by score.
func (h firstPage) statement() string {
	if h.order == ByScore {
		return fmt.Sprintf("first %d shops of type %d, best first%s", h.size(), h.typeID, h.filter)
	}
	return fmt.Sprintf("first %d shops of type %d by %s%s", h.size(), h.typeID, h.order, h.filter)
}

// cachedFilter returns the filter as text, with the hour whose opening hours it compares.
func (q Query) cachedFilter() (string, error) {
	if q.Filter == (Filter{}) {
		return "", nil
	}
	f := struct {
		Filter

		Hour int `json:",omitempty"`
	}{Filter: q.Filter}
	if q.Filter.OpenNow != nil {
		f.Hour = maskIndex(q.now)
	}
	text, err := json.Marshal(f)
	if err != nil {
		return "", fmt.Errorf("encode filter: %w", err)
	}
	return string(text), nil
}

func (s *Service) loadHead(ctx context.Context, h firstPage) ([]sortKey, error) {
	q := Query{TypeID: h.typeID, Order: h.order, now: s.now()}
	if h.filter != "" {
		if err := json.Unmarshal([]byte(h.filter), &q.Filter); err != nil {
			return nil, fmt.Errorf("decode filter: %w", err)
		}
	}
	first := s.db.Shop.Query().Where(q.filters()...).Order(q.sorted).Limit(h.size())
	first.Select(entshop.FieldID, entshop.FieldRatingScore, entshop.FieldSold, entshop.FieldSaveCount) // other fields stay zero
	rows, err := first.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select the first shops by %s: %w", h.order, err)
	}
	keys := make([]sortKey, len(rows))
	for i, r := range rows {
		keys[i] = q.key(&Shop{ID: r.ID, Score: r.RatingScore, Sold: r.Sold, SaveCount: r.SaveCount})
	}
	return keys, nil
}

// listHead reads a page from the cached list and the cached rows, in two round trips to
// Redis. It returns false if the page is not entirely in the cached list. Type, order and
// filter identify a list, so clients cannot fill the cache with invented cursors. They can
// invent filters, so filtered lists are short, and expire soon.
func (s *Service) listHead(ctx context.Context, q Query) (*Page, bool, error) {
	var behind sortKey
	if q.After != "" {
		var err error
		if behind, err = q.decode(nil); err != nil {
			return nil, true, err
		}
	}
	filter, err := q.cachedFilter()
	if err != nil {
		return nil, true, err
	}
	head, lists := firstPage{q.TypeID, q.Order, filter}, s.heads
	if filter != "" {
		lists = s.filtered
	}
	keys, err := lists.Get(ctx, head)
	if err != nil {
		return nil, true, fmt.Errorf("list shops by %s: %w", q.Order, err)
	}
	whole := len(keys) < head.size()
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
	var edges []Edge
	for len(keys) > 0 && len(edges) <= q.First {
		batch := keys[:min(len(keys), q.spare(q.First+1-len(edges)))]
		keys = keys[len(batch):]
		ids := make([]int64, len(batch))
		for i, k := range batch {
			ids[i] = k.ID
		}
		shops, err := s.ByIDs(ctx, ids)
		if err != nil {
			return nil, true, err
		}
		if len(shops) < len(batch) { // the cache does not contain all rows yet
			return nil, false, nil
		}
		for _, k := range batch {
			// A list with a filter also contains shops that may be open, and is older than the rows.
			if shop := shops[k.ID]; filter == "" || q.lists(shop) {
				edges = append(edges, Edge{Cursor: page.Encode(string(q.Order), k.Value, k.ID), Node: shop})
			}
		}
	}
	if len(edges) <= q.First && !whole {
		return nil, false, nil
	}
	return q.page(edges), true, nil
}

// listRows reads one page: from the cached list if possible, else with one statement. A
// search on Postgres may need two, see [Service.search]. Opening hours may need more, because
// rows only tell which shops may be open.
func (s *Service) listRows(ctx context.Context, q Query) (*Page, error) {
	if q.Search == "" && q.OwnerID == 0 {
		if found, ok, err := s.listHead(ctx, q); ok || err != nil {
			return found, err
		}
	}
	var behind []predicate.Shop
	if q.After != "" {
		key, err := q.decode(nil)
		if err != nil {
			return nil, err
		}
		behind = append(behind, q.behind(key))
	}
	read := s.read
	if q.Search != "" {
		read = s.search
	}
	var edges []Edge
	for limit := q.spare(q.First + 1); ; limit = min(2*limit, maxRead) {
		rows, err := read(ctx, q, append(q.filters(), behind...), limit)
		if err != nil {
			return nil, fmt.Errorf("list shops by %s: %w", q.Order, err)
		}
		for _, r := range rows {
			s.shops.MarkExisting(r.ID) // clients may request it by id
			shop, err := fromRow(r)
			if err != nil {
				return nil, fmt.Errorf("list shops by %s: %w", q.Order, err)
			}
			behind = []predicate.Shop{q.behind(q.key(shop))}
			if q.lists(shop) {
				edges = append(edges, Edge{Cursor: q.cursor(shop), Node: shop})
			}
		}
		if len(edges) > q.First || len(rows) < limit {
			return q.page(edges), nil
		}
	}
}

// spare returns how many rows to read for a number of shops: some of the rows that may be open
// are not.
func (q Query) spare(shops int) int {
	if q.Filter.OpenNow != nil {
		return shops + shops/2
	}
	return shops
}

// maxRead is the maximum number of rows of one statement of listRows.
const maxRead = 1000

// read returns the first rows in order.
func (s *Service) read(ctx context.Context, q Query, where []predicate.Shop, limit int) ([]*ent.Shop, error) {
	return s.db.Shop.Query().Where(where...).Order(q.sorted).Limit(limit).All(ctx)
}

// sorted adds the sort order, with the id last, so that it is total.
func (q Query) sorted(sel *sql.Selector) {
	switch q.Order {
	case BySold:
		sel.OrderBy(sql.Desc(sel.C(entshop.FieldSold)))
	case ByScore:
		sel.OrderExpr(sql.Raw(rankColumn(sel) + " DESC"))
	case ByNewest, ByDistance: // by id only; SQL does not sort by distance
	}
	sel.OrderBy(sql.Desc(sel.C(entshop.FieldID)))
}

// sortedUnindexed adds the same order in a form that matches no index. The statement finds
// its rows through another index.
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

// behind selects the rows after a key.
func (q Query) behind(k sortKey) predicate.Shop {
	if q.Order == ByNewest {
		return entshop.IDLT(k.ID)
	}
	return func(sel *sql.Selector) {
		column := rankColumn(sel)
		value := any(k.Value)
		if q.Order == BySold {
			column, value = sel.C(entshop.FieldSold), int64(k.Value)
		}
		// On Postgres the index scan starts at the compared row, even if many shops share the
		// value. On SQLite it starts at the value.
		sel.Where(sql.P(func(b *sql.Builder) {
			b.WriteString(column + " <= ").Arg(value).
				WriteString(" AND (" + column + ", " + sel.C(entshop.FieldID) + ") < (").Arg(value).WriteString(", ").Arg(k.ID).WriteString(")")
		}))
	}
}

// sortKey is the position of a shop in a list that is not sorted by distance.
type sortKey struct {
	Value float64 `json:"v,omitempty"` // rank or number sold; 0 for the newest
	ID    int64   `json:"id"`
}

func (q Query) key(s *Shop) sortKey {
	switch q.Order {
	case ByScore:
		return sortKey{s.rank(), s.ID}
	case BySold:
		return sortKey{float64(s.Sold), s.ID}
	case ByNewest, ByDistance: // by id only; see distanceKey
	}
	return sortKey{0, s.ID}
}

func (k sortKey) compare(o sortKey) int {
	return cmp.Or(cmp.Compare(o.Value, k.Value), cmp.Compare(o.ID, k.ID))
}

// nearName returns the name of the order in cursors of nearby lists. They also contain the
// border of the list, see listNearestSorted.
func (q Query) nearName() string { return "NEAR_" + string(q.Order) }

// cursor returns the cursor of a shop. Nearby lists pass a border.
func (q Query) cursor(s *Shop, border ...distanceKey) page.Cursor {
	k := q.key(s)
	if len(border) == 0 {
		return page.Encode(string(q.Order), k.Value, k.ID)
	}
	return page.Encode(q.nearName(), k.Value, k.ID, border[0].distance, border[0].id)
}

// decode parses the cursor of q. For nearby lists it also sets border.
func (q Query) decode(border *distanceKey) (sortKey, error) {
	var k sortKey
	var err error
	if border == nil {
		err = page.Decode(q.After, string(q.Order), &k.Value, &k.ID)
	} else {
		err = page.Decode(q.After, q.nearName(), &k.Value, &k.ID, &border.distance, &border.id)
	}
	if err == nil && math.Abs(k.Value) > math.MaxInt32 {
		err = apierror.BadInput("invalid after: not a cursor of this list")
	}
	return k, err
}

// page returns the first q.First edges. One more edge means that there is a next page.
func (q Query) page(edges []Edge) *Page {
	more := len(edges) > q.First
	edges = edges[:min(len(edges), q.First)]
	cursors := make([]page.Cursor, len(edges))
	for i, e := range edges {
		cursors[i] = e.Cursor
	}
	return &Page{Edges: edges, Info: page.InfoOf(cursors, q.After, more)}
}

// listNearestSorted sorts the nearest shops by q.Order. The first page determines the set
// of shops: the cursor contains its border, so that shops added later displace none.
func (s *Service) listNearestSorted(ctx context.Context, q Query) (*Page, error) {
	var after *sortKey
	border, limit := distanceKey{q.Near.Radius, math.MaxInt64}, s.nearestSorted
	if q.After != "" {
		k, err := q.decode(&border)
		if err != nil {
			return nil, err
		}
		// Allow for shops added since the first page.
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
