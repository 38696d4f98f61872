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
	// slack is the error of a GEO set distance in metres. The set rounds positions to 52
	// bits, and the embedded Redis rounds its sphere.
	slack = 2.0

	// firstRing is the distance beyond the cursor, in metres, of the first search for a
	// page of 20. Each further search reaches at most ringGrowth times as far.
	firstRing  = 200.0
	ringGrowth = 4

	// wordIndexRadius is the radius, in metres, above which the word index is more
	// selective than the position.
	wordIndexRadius = 500.0

	// maxSpans limits the geohash ranges of one statement.
	maxSpans = 128

	// spareCandidates are read in addition to the page size, because some are stale.
	spareCandidates = 16
	// maxByGEO is the maximum number of candidates from one cell set. A set is read from
	// its centre, so deep pages use the rows, which are read from the cursor.
	maxByGEO = 2048
	// maxFiltered is the same with filters. The cell sets do not know what filters compare,
	// so each candidate costs a row. The rows' index knows it.
	maxFiltered = 256
)

// distanceKey is a position in the order by distance. The zero key sorts before all shops.
type distanceKey struct {
	distance float64 // metres
	id       int64
}

func (p distanceKey) compare(o distanceKey) int {
	return cmp.Or(cmp.Compare(p.distance, o.distance), cmp.Compare(p.id, o.id))
}

// candidate is a possible result. Its row must confirm the position.
type candidate struct {
	id       int64
	geo      int64   // geo.Hash of the candidate's position
	distance float64 // metres ± slack
}

// ranked is a shop with its position in the order by distance.
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
			return nil, apierror.BadInput("invalid after: not a cursor of this list")
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

// nearest returns the first n shops after a key, in order of distance.
//
// It searches rings around the centre, each wider than the last, until it finds n shops.
// In a town the first ring suffices, so no page reads a whole circle of 50 km. Each search
// is one pipeline over the GEO cells and one batch of rows. One statement over the rows
// replaces the pipeline if a cell is missing, Redis is unavailable, or the page is deep. It
// also does for a text, for an owner, and with a filter after the first page.
//
// The number of candidates depends on the page size, not on the number of shops. Shops at
// the same position are an exception: a page that begins or ends there reads all of them.
func (s *Service) nearest(ctx context.Context, q Query, after distanceKey, n int) ([]ranked, error) {
	// Longer lists start with a wider ring, in proportion to the area.
	step := firstRing * math.Sqrt(max(1, float64(n)/20))
	filtered := q.Filter != (Filter{})
	byGEO := q.Search == "" && q.OwnerID == 0 && !(filtered && after.distance > 0)
	if after.distance > q.Near.Radius {
		return nil, nil
	}
	first, mostByGEO := q.spare(n)+spareCandidates, s.maxByGEO
	if filtered {
		mostByGEO = min(mostByGEO, max(maxFiltered, first))
	}
	for rings := 0; ; rings++ {
		ring := geo.Circle{Center: q.Near.Center, Radius: min(after.distance+step, q.Near.Radius)}
		var near []ranked
		limit := first
		if byGEO && filtered {
			limit = mostByGEO // a filter excludes most
		}
		for {
			if byGEO && limit > mostByGEO {
				byGEO, limit = false, first
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
		if filtered && len(near) > 0 {
			step *= growth(n, len(near), rings)
		} else {
			step *= ringGrowth
		}
	}
}

// growth returns how many times as far the next ring reaches if a ring found too few shops.
// With a filter, each shop in a ring costs time, so it follows the density so far, with a third to
// spare. The density can fall, so it grows with the number of rings.
func growth(wanted, found, rings int) float64 {
	least := min(1.25*math.Pow(2, float64(rings)), ringGrowth)
	return min(max(math.Sqrt(float64(4*wanted)/float64(3*found)), least), ringGrowth)
}

// more returns a larger limit for a search whose candidates did not reach far enough. It
// estimates the number up to the cursor from the density so far.
func more(limit int, reach, cursor float64) int {
	estimate := float64(limit)
	if reach < cursor {
		estimate *= math.Pow(cursor/max(reach, 1), 2)
	}
	return int(min(max(estimate*1.25, float64(limit)*ringGrowth), math.MaxInt32))
}

// candidates is the result of one search.
type candidates struct {
	list  []candidate
	reach float64 // metres; the list is complete up to here
}

// findCandidates returns about limit candidates in a ring. It clears byGEO if the cells
// cannot answer.
func (s *Service) findCandidates(ctx context.Context, q Query, ring geo.Circle, after distanceKey, limit int, byGEO *bool) (candidates, error) {
	if *byGEO {
		wide := geo.Circle{Center: ring.Center, Radius: ring.Radius + slack}
		c, ok := s.cells.within(ctx, q.TypeID, wide, limit)
		if ok {
			if c.reach < wide.Radius {
				c.reach -= slack
			} else {
				c.reach = ring.Radius // wide.Radius - slack may round to less
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
		return candidates{}, fmt.Errorf("select nearby shops: %w", err)
	}
	c := candidates{reach: ring.Radius}
	for _, r := range rows {
		c.list = append(c.list, candidate{r.ID, r.Geo, ring.Center.Distance(geo.Point{Lat: r.Lat, Lng: r.Lng})})
	}
	if len(rows) == limit {
		// The database rounds differently from Go.
		c.reach = c.list[len(rows)-1].distance - slack
	}
	return c, nil
}

// resolve reads the rows of candidates, nearest first, until the first n shops after the
// key are certain. It returns them in order.
func (s *Service) resolve(ctx context.Context, q Query, ring geo.Circle, c candidates, after distanceKey, n int) ([]ranked, error) {
	certain := min(ring.Radius, c.reach)
	list := slices.DeleteFunc(c.list, func(c candidate) bool { return c.distance < after.distance-slack })
	slices.SortFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.id, b.id))
	})
	var near []ranked
	for size := n + spareCandidates; len(list) > 0; size *= 2 {
		batch := list[:min(len(list), size)]
		list = list[len(batch):]
		shops, err := s.ByIDs(ctx, ids(batch))
		if err != nil {
			return nil, err
		}
		for _, c := range batch {
			shop := shops[c.id]
			// A moved shop leaves its old position in the cell until the rebuild. Only the
			// position in the row counts.
			if shop == nil || c.geo != geo.Hash(shop.At) || !q.lists(shop) {
				continue
			}
			f := ranked{distanceKey{ring.Center.Distance(shop.At), shop.ID}, shop}
			if f.at.distance <= certain && after.compare(f.at) < 0 {
				near = append(near, f)
			}
		}
		slices.SortFunc(near, func(a, b ranked) int { return a.at.compare(b.at) })
		// The next candidate may be nearer than its distance, by slack.
		if len(near) >= n && len(list) > 0 && list[0].distance-slack > near[n-1].at.distance {
			break
		}
	}
	return near[:min(len(near), n)], nil
}

// between selects the rows with a distance in [from, to] metres from the centre.
func between(center geo.Point, from, to float64) predicate.Shop {
	return func(sel *sql.Selector) {
		sel.Where(sql.P(func(b *sql.Builder) {
			writeHaversine(b, sel, center)
			b.WriteString(" BETWEEN ").Arg(haversine(max(from, 0))).WriteString(" AND ").Arg(haversine(to))
		}))
	}
}

func byDistance(center geo.Point) func(*sql.Selector) {
	return func(sel *sql.Selector) {
		sel.OrderExpr(sql.ExprFunc(func(b *sql.Builder) { writeHaversine(b, sel, center) }))
		sel.OrderBy(sel.C(entshop.FieldID))
	}
}

// haversine returns hav(d/R) of a distance in metres. It is monotonic.
func haversine(distance float64) float64 {
	return math.Pow(math.Sin(distance/geo.EarthRadius/2), 2)
}

// writeHaversine writes the haversine of the distance between a row and a point. Both
// dialects have these functions.
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
