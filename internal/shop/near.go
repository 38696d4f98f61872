package shop

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"entgo.io/ent/dialect/sql"

	"github.com/tandian-dev/tandian/ent/predicate"
	entshop "github.com/tandian-dev/tandian/ent/shop"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/geo"
	"github.com/tandian-dev/tandian/internal/kit/page"
)

const (
	// slack is how far, in metres, a distance by GEO set may be off: the set
	// rounds positions to 52 bits, and the embedded Redis rounds its sphere.
	slack = 2.0

	// firstRing is how far beyond the cursor, in metres, a page of 20 looks
	// at first; each further look reaches ringGrowth times as far.
	firstRing  = 200.0
	ringGrowth = 4

	// wordIndexRadius is the radius, in metres, from which on the index of words
	// narrows a search more than the place does.
	wordIndexRadius = 500.0

	// maxSpans bounds the ranges of one statement over cells.
	maxSpans = 128

	// spareCandidates are read beyond those that a page needs: some are stale.
	spareCandidates = 16
	// maxByGEO is how many candidates of one cell are taken from its set. A set
	// begins at the centre; a page far behind that many is left to the rows,
	// which begin at the cursor.
	maxByGEO = 2048
)

// distanceKey is a position in the order of distance. The zero place comes before
// all shops.
type distanceKey struct {
	distance float64 // metres
	id       int64
}

func (p distanceKey) compare(o distanceKey) int {
	return cmp.Or(cmp.Compare(p.distance, o.distance), cmp.Compare(p.id, o.id))
}

// A candidate is a shop that probably lies where it is asked for; its row decides.
type candidate struct {
	id       int64
	geo      int64   // geo.Hash of the position that this candidate stands for
	distance float64 // metres, give or take slack
}

// ranked is a shop and where it stands in the order of distance.
type ranked struct {
	at   distanceKey
	shop *Shop
}

func (s *Service) listNearest(ctx context.Context, q Query) (*Page, error) {
	var after distanceKey
	if q.After != "" {
		if err := page.Decode(q.After, string(ByDistance), &after.distance, &after.id); err != nil {
			return nil, err
		}
		if !(after.distance >= 0 && after.distance <= MaxRadius) {
			return nil, apierror.BadInput("after is no cursor of this list")
		}
	}
	near, err := s.nearest(ctx, q, after, q.First+1)
	if err != nil {
		return nil, err
	}
	edges := make([]Edge, len(near))
	for i, f := range near {
		edges[i] = Edge{
			Cursor:   page.Encode(string(ByDistance), f.at.distance, f.at.id),
			Node:     f.shop,
			Distance: &near[i].at.distance,
		}
	}
	return q.page(edges), nil
}

// nearest returns the first n shops behind a place, in order of distance.
//
// It looks in rings around the centre, each wider than the last, until it has
// enough: in a town the first ring does, and nowhere is a whole circle of
// 50 km read for one page. Each look is one pipeline over the GEO cells (or one
// statement over the rows, when a cell is missing, Redis is away, the page lies
// deep, or a search or an owner narrows the list: only the rows know these), and
// one batch of rows. However many shops there are, a look brings back no more candidates
// than a few pages hold; only shops on one spot, which have no order by distance
// among themselves, are all brought back by a page that begins or ends there.
func (s *Service) nearest(ctx context.Context, q Query, after distanceKey, n int) ([]ranked, error) {
	// A wider first ring for longer lists, in proportion to the area.
	step := firstRing * math.Sqrt(max(1, float64(n)/20))
	byGEO := q.Search == "" && q.OwnerID == 0
	if after.distance > q.Near.Radius {
		return nil, nil
	}
	for ; ; step *= ringGrowth {
		ring := geo.Circle{Center: q.Near.Center, Radius: min(after.distance+step, q.Near.Radius)}
		var near []ranked
		for limit := n + spareCandidates; ; {
			if byGEO && limit > s.maxByGEO {
				byGEO, limit = false, n+spareCandidates
			}
			c, err := s.findCandidates(ctx, q, ring, after, limit, &byGEO)
			if err != nil {
				return nil, err
			}
			if near, err = s.resolve(ctx, q, ring, c, after, n); err != nil {
				return nil, err
			}
			if len(near) >= n || c.reach >= ring.Radius {
				break
			}
			limit = more(limit, c.reach, after.distance)
		}
		if len(near) >= n || ring.Radius >= q.Near.Radius {
			return near, nil
		}
	}
}

// more is how many candidates to ask for when limit of them reached too short a
// way: enough to get past the cursor at once, if it is as crowded on the way
// there as up to here.
func more(limit int, reach, cursor float64) int {
	estimate := float64(limit)
	if reach < cursor {
		estimate *= math.Pow(cursor/max(reach, 1), 2)
	}
	return int(min(max(estimate*1.25, float64(limit)*ringGrowth), math.MaxInt32))
}

// candidates is what a look brought back: everything up to a distance.
type candidates struct {
	list  []candidate
	reach float64 // metres: no shop nearer than this is missing
}

// findCandidates returns the candidates of a ring, about limit of them at most. It turns
// byGEO off when the cells cannot answer.
func (s *Service) findCandidates(ctx context.Context, q Query, ring geo.Circle, after distanceKey, limit int, byGEO *bool) (candidates, error) {
	if *byGEO {
		wide := geo.Circle{Center: ring.Center, Radius: ring.Radius + slack}
		c, ok := s.cells.within(ctx, q.TypeID, wide, limit)
		if ok {
			if c.reach < wide.Radius {
				c.reach -= slack
			} else {
				c.reach = ring.Radius // not wide.Radius - slack, which may round to less
			}
			return c, nil
		}
		*byGEO = false
	}
	s.cells.sources.WithLabelValues("sql").Inc()
	where := append(q.filters(), within(ring.Spans(maxSpans, after.distance-slack)), between(ring.Center, after.distance-slack, ring.Radius+slack))
	if q.Search != "" {
		where = append(where, contains(q))
		if ring.Radius > wordIndexRadius {
			where = append(where, indexed(q))
		}
	}
	rows, err := s.db.Shop.Query().Where(where...).Order(byDistance(ring.Center)).Limit(limit).
		Select(entshop.FieldID, entshop.FieldLat, entshop.FieldLng, entshop.FieldGeo).All(ctx)
	if err != nil {
		return candidates{}, fmt.Errorf("select shops near a place: %w", err)
	}
	c := candidates{reach: ring.Radius}
	for _, r := range rows {
		c.list = append(c.list, candidate{r.ID, r.Geo, ring.Center.Distance(geo.Point{Lat: r.Lat, Lng: r.Lng})})
	}
	if len(rows) == limit {
		// The database rounds otherwise than we do.
		c.reach = c.list[len(rows)-1].distance - slack
	}
	return c, nil
}

// resolve reads the rows of candidates, the nearest first, until n shops behind
// the place are certain, and returns them in order.
func (s *Service) resolve(ctx context.Context, q Query, ring geo.Circle, c candidates, after distanceKey, n int) ([]ranked, error) {
	certain := min(ring.Radius, c.reach)
	list := slices.DeleteFunc(c.list, func(c candidate) bool { return c.distance < after.distance-slack })
	slices.SortFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.id, b.id))
	})
	var near []ranked
	for len(list) > 0 {
		batch := list[:min(len(list), n+spareCandidates)]
		list = list[len(batch):]
		shops, err := s.ByIDs(ctx, ids(batch))
		if err != nil {
			return nil, err
		}
		for _, c := range batch {
			shop := shops[c.id]
			// A shop that moved leaves its old place behind in the cell until
			// that is rebuilt: only the place that the row names counts.
			if shop == nil || c.geo != geo.Hash(shop.At) || !q.lists(shop) {
				continue
			}
			f := ranked{distanceKey{ring.Center.Distance(shop.At), shop.ID}, shop}
			if f.at.distance <= certain && after.compare(f.at) < 0 {
				near = append(near, f)
			}
		}
		slices.SortFunc(near, func(a, b ranked) int { return a.at.compare(b.at) })
		// The next candidate may be nearer than it looks.
		if len(near) >= n && len(list) > 0 && list[0].distance-slack > near[n-1].at.distance {
			break
		}
	}
	return near[:min(len(near), n)], nil
}

// between keeps the rows that lie from a distance to another from the centre.
func between(center geo.Point, from, to float64) predicate.Shop {
	return func(sel *sql.Selector) {
		sel.Where(sql.P(func(b *sql.Builder) {
			writeHaversine(b, sel, center)
			b.WriteString(" BETWEEN ").Arg(haversine(max(from, 0))).WriteString(" AND ").Arg(haversine(to))
		}))
	}
}

// byDistance orders rows by distance from the centre, then by id.
func byDistance(center geo.Point) func(*sql.Selector) {
	return func(sel *sql.Selector) {
		sel.OrderExpr(sql.ExprFunc(func(b *sql.Builder) { writeHaversine(b, sel, center) }))
		sel.OrderBy(sel.C(entshop.FieldID))
	}
}

// haversine is hav(d/R) of a distance in metres: it grows with the distance.
func haversine(distance float64) float64 {
	return math.Pow(math.Sin(distance/geo.EarthRadius/2), 2)
}

// writeHaversine writes the same of the distance between a row and a point, in
// terms that both dialects have.
func writeHaversine(b *sql.Builder, sel *sql.Selector, p geo.Point) {
	lat, lng := sel.C(entshop.FieldLat), sel.C(entshop.FieldLng)
	b.WriteString("(power(sin(radians(" + lat + " - ").Arg(p.Lat).WriteString(")/2), 2) + cos(radians(").Arg(p.Lat).
		WriteString(")) * cos(radians(" + lat + ")) * power(sin(radians(" + lng + " - ").Arg(p.Lng).WriteString(")/2), 2))")
}

func ids(list []candidate) []int64 {
	out := make([]int64, len(list))
	for i, c := range list {
		out[i] = c.id
	}
	return out
}
