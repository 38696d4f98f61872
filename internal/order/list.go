package order

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"entgo.io/ent/dialect/sql"

	"github.com/tandian-dev/tandian/ent"
	entorder "github.com/tandian-dev/tandian/ent/order"
	"github.com/tandian-dev/tandian/ent/predicate"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/page"
)

// A Filter says which part of a list of orders to show.
type Filter struct {
	Status []Status    // none for all
	First  int         // 1 to page.Max
	After  page.Cursor // "" for the first page
}

// A Page is a part of a list of orders, newest first.
type Page struct {
	Edges []*Edge
	Info  page.Info
}

// An Edge is an order's place in a list.
type Edge struct {
	Cursor page.Cursor
	Node   *Order
}

// liveMost is how many orders Live returns.
const liveMost = 100

// ByUser returns a page of what a user ordered, newest first: by the moment of the
// admission, then by number. Failed orders are among them. One that is queued has the
// place that its row will have, so it neither repeats nor gets lost when it is
// committed between two pages.
//
// Without a filter it is three round trips to Redis while the page lies within the
// newest orders that the list holds: what is queued, the list and the rows, none of
// which can be asked for before the answer of the one before is there, if an order
// shall not slip through between them. Older pages and those with a filter are one
// statement; so is everything when Redis is away, and queued orders are missing then.
//
// A filter that makes no sense is a fault.
func (s *Service) ByUser(ctx context.Context, userID int64, f Filter) (*Page, error) {
	ctx, span := observe.Span(ctx, "order.OfUser")
	defer span.End()
	q, err := f.query()
	if err != nil {
		return nil, err
	}
	var waiting []*Order
	if q.shows(Queued) {
		if waiting, err = s.waiting(ctx, userID); err != nil {
			return nil, err
		}
	}
	read := s.stored
	if len(q.status) == 0 {
		read = s.newest
	}
	rows, err := read(ctx, userID, q)
	if err != nil {
		return nil, err
	}
	return q.page(q.merge(waiting, rows)), nil
}

// ByShop returns a page of what was ordered of a shop, newest first, from the rows:
// queued orders are not among them. Whether the caller may see it says MaySeeShop.
func (s *Service) ByShop(ctx context.Context, shopID int64, f Filter) (*Page, error) {
	ctx, span := observe.Span(ctx, "order.OfShop")
	defer span.End()
	q, err := f.query()
	if err != nil {
		return nil, err
	}
	rows, err := s.rowsOf(ctx, entorder.ShopID(shopID), q)
	if err != nil {
		return nil, fmt.Errorf("orders of shop %d: %w", shopID, err)
	}
	return q.page(rows), nil
}

// MaySeeShop returns a fault unless the viewer may see the orders of a shop and what
// it sold: its owner may, and an administrator.
func (s *Service) MaySeeShop(ctx context.Context, v Viewer, shopID int64) error {
	owns, err := s.owns(ctx, v, shopID)
	if err != nil {
		return err
	}
	if !owns {
		return apierror.New(apierror.Forbidden, "Only its owner may see the orders of a shop.")
	}
	return nil
}

// Active returns the orders of a user that something can still happen to: queued,
// unpaid, paid or being refunded. Newest first, and a hundred at most.
func (s *Service) Active(ctx context.Context, userID int64) ([]*Order, error) {
	ctx, span := observe.Span(ctx, "order.Live")
	defer span.End()
	waiting, err := s.waiting(ctx, userID)
	if err != nil {
		return nil, err
	}
	return s.live(ctx, userID, waiting)
}

// live is Live with what waits, which was read before.
func (s *Service) live(ctx context.Context, userID int64, waiting []*Order) ([]*Order, error) {
	q := query{status: []Status{Queued, Unpaid, Paid, Refunding}, first: liveMost, from: newestPlace}
	rows, err := s.stored(ctx, userID, q)
	if err != nil {
		return nil, err
	}
	live := q.merge(waiting, rows)
	return live[:min(len(live), liveMost)], nil
}

// cursorOrder names the order of these lists in cursors.
const cursorOrder = "orders"

// newestPlace is above all places.
var newestPlace = listKey{math.MaxInt64, math.MaxInt64}

// A query is a Filter that makes sense.
type query struct {
	status []Status
	first  int
	after  page.Cursor
	from   listKey // where the cursor is: orders below it are shown
}

func (f Filter) query() (query, error) {
	q := query{status: f.Status, first: f.First, after: f.After, from: newestPlace}
	if err := page.CheckFirst(f.First); err != nil {
		return q, err
	}
	for _, one := range f.Status {
		if one != Queued && entorder.StatusValidator(entorder.Status(one)) != nil {
			return q, apierror.BadInput("%.20q is no status of an order", string(one))
		}
	}
	if f.After == "" {
		return q, nil
	}
	return q, page.Decode(f.After, cursorOrder, &q.from.Ms, &q.from.Number)
}

// shows says whether the list has orders of a status.
func (q query) shows(one Status) bool { return len(q.status) == 0 || slices.Contains(q.status, one) }

// compare orders places from the oldest to the newest.
func (p listKey) compare(other listKey) int {
	return cmp.Or(cmp.Compare(p.Ms, other.Ms), cmp.Compare(p.Number, other.Number))
}

// merge puts those of waiting that belong there among rows, which are in order. An
// order that is in both is as the row says.
func (q query) merge(waiting, rows []*Order) []*Order {
	all := slices.Clone(rows)
	for _, o := range waiting {
		same := func(row *Order) bool { return row.ID == o.ID }
		if q.shows(o.Status) && placeOf(o).compare(q.from) < 0 && !slices.ContainsFunc(rows, same) {
			all = append(all, o)
		}
	}
	if len(all) > len(rows) {
		slices.SortFunc(all, func(a, b *Order) int { return placeOf(b).compare(placeOf(a)) })
	}
	return all
}

// page cuts a page out of orders, of which one more than fits says that there are more.
func (q query) page(orders []*Order) *Page {
	more := len(orders) > q.first
	orders = orders[:min(len(orders), q.first)]
	p := &Page{Edges: make([]*Edge, len(orders))}
	cursors := make([]page.Cursor, len(orders))
	for i, o := range orders {
		at := placeOf(o)
		cursors[i] = page.Encode(cursorOrder, at.Ms, at.Number)
		p.Edges[i] = &Edge{Cursor: cursors[i], Node: o}
	}
	p.Info = page.InfoOf(cursors, q.after, more)
	return p
}

// newest reads one order more than a page of all orders of a user: from the list in
// Redis and the cache of rows, and what lies below the list from the database.
func (s *Service) newest(ctx context.Context, user int64, q query) ([]*Order, error) {
	var after *cache.Entry
	if q.after != "" {
		e := q.from.entry()
		after = &e
	}
	entries, complete, err := s.lists.window.Page(ctx, user, after, q.first+1)
	if err != nil {
		return nil, fmt.Errorf("newest orders of user %d: %w", user, err)
	}
	orders, ok, err := s.ofEntries(ctx, user, entries)
	if err != nil {
		return nil, err
	}
	if !ok { // the list is not what the rows say
		if err := s.lists.window.Invalidate(ctx, user); err != nil {
			s.metrics.failed(ctx, "list-add", err)
		}
		return s.stored(ctx, user, q)
	}
	if complete || len(orders) > q.first {
		return orders, nil
	}
	rest := q
	rest.first = q.first - len(orders)
	if n := len(orders); n > 0 {
		rest.from = placeOf(orders[n-1])
	}
	below, err := s.stored(ctx, user, rest)
	return append(orders, below...), err
}

// ofEntries reads the orders of a list. It reports false if one of them does not
// stand where the list has it, or is not the user's.
func (s *Service) ofEntries(ctx context.Context, user int64, entries []cache.Entry) ([]*Order, bool, error) {
	places, ids := make([]listKey, len(entries)), make([]int64, len(entries))
	for i, e := range entries {
		p, err := placeIn(e)
		if err != nil {
			return nil, false, nil //nolint:nilerr // whoever wrote that, it is no list of ours
		}
		places[i], ids[i] = p, p.Number
	}
	found, err := s.rows.GetMany(ctx, ids)
	if err != nil {
		return nil, false, fmt.Errorf("read %d orders of user %d: %w", len(ids), user, err)
	}
	orders := make([]*Order, len(places))
	for i, p := range places {
		o, ok := found[p.Number]
		if !ok || o.UserID != user || placeOf(&o) != p {
			return nil, false, nil
		}
		orders[i] = &o
	}
	return orders, true, nil
}

// stored reads one order more than a page of a user's from the database.
func (s *Service) stored(ctx context.Context, user int64, q query) ([]*Order, error) {
	rows, err := s.rowsOf(ctx, entorder.UserID(user), q)
	if err != nil {
		return nil, fmt.Errorf("orders of user %d: %w", user, err)
	}
	return rows, nil
}

func (s *Service) rowsOf(ctx context.Context, owner predicate.Order, q query) ([]*Order, error) {
	where := []predicate.Order{owner}
	if q.from != newestPlace {
		where = append(where, q.below)
	}
	if len(q.status) > 0 {
		var status []entorder.Status
		for _, one := range q.status {
			if one != Queued {
				status = append(status, entorder.Status(one))
			}
		}
		if len(status) == 0 {
			return nil, nil
		}
		where = append(where, entorder.StatusIn(status...))
	}
	rows, err := s.db.Order.Query().Where(where...).Order(newestFirst...).Limit(q.first + 1).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select a page: %w", err)
	}
	return fromRows(rows), nil
}

func fromRows(rows []*ent.Order) []*Order {
	orders := make([]*Order, len(rows))
	for i, r := range rows {
		orders[i] = fromRow(r)
	}
	return orders
}

// newestFirst is the order of all lists; the indexes have it.
var newestFirst = []entorder.OrderOption{entorder.ByCreatedAt(sql.OrderDesc()), entorder.ByID(sql.OrderDesc())}

// below keeps the rows that come after the cursor.
func (q query) below(sel *sql.Selector) {
	sel.Where(sql.CompositeLT([]string{sel.C(entorder.FieldCreatedAt), sel.C(entorder.FieldID)}, q.from.Ms, q.from.Number))
}
