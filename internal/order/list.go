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

// A Filter selects a part of a list of orders.
type Filter struct {
	Status []Status    // none: all
	First  int         // 1 to page.Max
	After  page.Cursor // "" for the first page
}

// A Page is a part of a list of orders, newest first.
type Page struct {
	Edges []*Edge
	Info  page.Info
}

// An Edge is an order and its position in a list.
type Edge struct {
	Cursor page.Cursor
	Node   *Order
}

const maxActive = 100

// ByUser returns a page of a user's orders, newest first: by time of admission, then by
// number. It includes failed orders. A queued order has the position of its future row, so a
// commit between two pages neither repeats nor loses it.
//
// Without a filter, a page of the cached newest orders takes three round trips to Redis: queued
// orders, list and rows. Their order guarantees that no order is missed. Older pages and pages
// with a filter take one statement. If Redis is unavailable, every page comes from the
// database, and queued orders are missing.
//
// An invalid filter is an [apierror.BadUserInput] error.
func (s *Service) ByUser(ctx context.Context, userID int64, f Filter) (*Page, error) {
	ctx, span := observe.Span(ctx, "order.OfUser")
	defer span.End()
	q, err := f.query()
	if err != nil {
		return nil, err
	}
	var queued []*Order
	if q.includes(Queued) {
		if queued, err = s.queued(ctx, userID); err != nil {
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
	return q.page(q.merge(queued, rows)), nil
}

// ByShop returns a page of the orders of a shop, newest first, from the rows: it has no queued
// orders. Check access with [Service.MaySeeShop].
func (s *Service) ByShop(ctx context.Context, shopID int64, f Filter) (*Page, error) {
	ctx, span := observe.Span(ctx, "order.OfShop")
	defer span.End()
	q, err := f.query()
	if err != nil {
		return nil, err
	}
	rows, err := s.rowsOf(ctx, entorder.ShopID(shopID), q)
	if err != nil {
		return nil, fmt.Errorf("list orders of shop %d: %w", shopID, err)
	}
	return q.page(rows), nil
}

// MaySeeShop returns an [apierror.Forbidden] error unless the viewer may see the orders and
// sales of a shop. Its owner and administrators may.
func (s *Service) MaySeeShop(ctx context.Context, v Viewer, shopID int64) error {
	owns, err := s.owns(ctx, v, shopID)
	if err != nil {
		return err
	}
	if !owns {
		return apierror.New(apierror.Forbidden, "Only the shop's owner can see its orders.")
	}
	return nil
}

// Active returns a user's orders that are not final: queued, unpaid, paid or being refunded.
// They are newest first, at most 100.
func (s *Service) Active(ctx context.Context, userID int64) ([]*Order, error) {
	ctx, span := observe.Span(ctx, "order.Live")
	defer span.End()
	queued, err := s.queued(ctx, userID)
	if err != nil {
		return nil, err
	}
	return s.live(ctx, userID, queued)
}

// live is Active with queued orders that were read before.
func (s *Service) live(ctx context.Context, userID int64, queued []*Order) ([]*Order, error) {
	q := query{status: []Status{Queued, Unpaid, Paid, Refunding}, first: maxActive, from: newestKey}
	rows, err := s.stored(ctx, userID, q)
	if err != nil {
		return nil, err
	}
	live := q.merge(queued, rows)
	return live[:min(len(live), maxActive)], nil
}

// cursorOrder is the name of the sort order in cursors.
const cursorOrder = "orders"

// newestKey is above all keys.
var newestKey = listKey{math.MaxInt64, math.MaxInt64}

// A query is a valid Filter.
type query struct {
	status []Status
	first  int
	after  page.Cursor
	from   listKey // key of the cursor: the page has orders below it
}

func (f Filter) query() (query, error) {
	q := query{status: f.Status, first: f.First, after: f.After, from: newestKey}
	if err := page.CheckFirst(f.First); err != nil {
		return q, err
	}
	for _, one := range f.Status {
		if one != Queued && entorder.StatusValidator(entorder.Status(one)) != nil {
			return q, apierror.BadInput("unknown order status %.20q", string(one))
		}
	}
	if f.After == "" {
		return q, nil
	}
	return q, page.Decode(f.After, cursorOrder, &q.from.Ms, &q.from.Number)
}

func (q query) includes(one Status) bool { return len(q.status) == 0 || slices.Contains(q.status, one) }

// compare orders keys from the oldest to the newest.
func (p listKey) compare(other listKey) int {
	return cmp.Or(cmp.Compare(p.Ms, other.Ms), cmp.Compare(p.Number, other.Number))
}

// merge inserts matching queued orders into rows, which are sorted. If an order is in both, it
// takes the row.
func (q query) merge(queued, rows []*Order) []*Order {
	all := slices.Clone(rows)
	for _, o := range queued {
		same := func(row *Order) bool { return row.ID == o.ID }
		if q.includes(o.Status) && keyOf(o).compare(q.from) < 0 && !slices.ContainsFunc(rows, same) {
			all = append(all, o)
		}
	}
	if len(all) > len(rows) {
		slices.SortFunc(all, func(a, b *Order) int { return keyOf(b).compare(keyOf(a)) })
	}
	return all
}

// page returns a page of orders. One order more than q.first means that a next page exists.
func (q query) page(orders []*Order) *Page {
	more := len(orders) > q.first
	orders = orders[:min(len(orders), q.first)]
	p := &Page{Edges: make([]*Edge, len(orders))}
	cursors := make([]page.Cursor, len(orders))
	for i, o := range orders {
		at := keyOf(o)
		cursors[i] = page.Encode(cursorOrder, at.Ms, at.Number)
		p.Edges[i] = &Edge{Cursor: cursors[i], Node: o}
	}
	p.Info = page.InfoOf(cursors, q.after, more)
	return p
}

// newest reads one order more than a page of a user's orders. It reads the list in Redis and the
// row cache, and below the list the database.
func (s *Service) newest(ctx context.Context, user int64, q query) ([]*Order, error) {
	var after *cache.Entry
	if q.after != "" {
		e := q.from.entry()
		after = &e
	}
	entries, complete, err := s.lists.window.Page(ctx, user, after, q.first+1)
	if err != nil {
		return nil, fmt.Errorf("list newest orders of user %d: %w", user, err)
	}
	orders, ok, err := s.ordersAt(ctx, user, entries)
	if err != nil {
		return nil, err
	}
	if !ok { // the list differs from the rows
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
		rest.from = keyOf(orders[n-1])
	}
	below, err := s.stored(ctx, user, rest)
	return append(orders, below...), err
}

// ordersAt reads the orders of a list. It returns false if an order is missing, or has another
// position or user than in the list.
func (s *Service) ordersAt(ctx context.Context, user int64, entries []cache.Entry) ([]*Order, bool, error) {
	listKeys, ids := make([]listKey, len(entries)), make([]int64, len(entries))
	for i, e := range entries {
		p, err := parseKey(e)
		if err != nil {
			return nil, false, nil //nolint:nilerr // not a valid list
		}
		listKeys[i], ids[i] = p, p.Number
	}
	found, err := s.rows.GetMany(ctx, ids)
	if err != nil {
		return nil, false, fmt.Errorf("read %d orders of user %d: %w", len(ids), user, err)
	}
	orders := make([]*Order, len(listKeys))
	for i, p := range listKeys {
		o, ok := found[p.Number]
		if !ok || o.UserID != user || keyOf(&o) != p {
			return nil, false, nil
		}
		orders[i] = &o
	}
	return orders, true, nil
}

// stored reads one order more than a page of a user's orders from the database.
func (s *Service) stored(ctx context.Context, user int64, q query) ([]*Order, error) {
	rows, err := s.rowsOf(ctx, entorder.UserID(user), q)
	if err != nil {
		return nil, fmt.Errorf("list orders of user %d: %w", user, err)
	}
	return rows, nil
}

func (s *Service) rowsOf(ctx context.Context, owner predicate.Order, q query) ([]*Order, error) {
	where := []predicate.Order{owner}
	if q.from != newestKey {
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
		return nil, fmt.Errorf("select page: %w", err)
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

// newestFirst is the sort order of all lists and of their indexes.
var newestFirst = []entorder.OrderOption{entorder.ByCreatedAt(sql.OrderDesc()), entorder.ByID(sql.OrderDesc())}

func (q query) below(sel *sql.Selector) {
	sel.Where(sql.CompositeLT([]string{sel.C(entorder.FieldCreatedAt), sel.C(entorder.FieldID)}, q.from.Ms, q.from.Number))
}
