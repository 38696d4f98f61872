package shop

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	entshop "github.com/tandian-dev/tandian/ent/shop"
	"github.com/tandian-dev/tandian/internal/kit/fault"
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

	// maxSpans bounds the ranges of one statement over cells.
	maxSpans = 32
)

// place is a position in the order of distance. The zero place comes before
// all shops.
type place struct {
	distance float64 // metres
	id       int64
}

func (p place) compare(o place) int {
	return cmp.Or(cmp.Compare(p.distance, o.distance), cmp.Compare(p.id, o.id))
}

// A candidate is a shop that probably lies where it is asked for; its row decides.
type candidate struct {
	id       int64
	geo      int64   // geo.Hash of the position that this candidate stands for
	distance float64 // metres, give or take slack
}

// found is a shop and where it stands in the order of distance.
type found struct {
	at   place
	shop *Shop
}

func (s *Service) listNearest(ctx context.Context, q Query) (*Page, error) {
	var after place
	if q.After != "" {
		if err := page.Decode(q.After, string(ByDistance), &after.distance, &after.id); err != nil {
			return nil, err
		}
		if !(after.distance >= 0 && after.distance <= MaxRadius) {
			return nil, fault.BadInput("after is no cursor of this list")
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
// 50 km read for one page. Each ring is one pipeline over the GEO cells (or one
// statement over the rows, when a cell is missing, Redis is away or a search
// narrows the list: the words are in the rows), and one batch of rows.
func (s *Service) nearest(ctx context.Context, q Query, after place, n int) ([]found, error) {
	// A wider first ring for longer lists, in proportion to the area.
	step := firstRing * math.Sqrt(max(1, float64(n)/20))
	for ; ; step *= ringGrowth {
		ring := geo.Circle{Center: q.Near.Center, Radius: min(after.distance+step, q.Near.Radius)}
		candidates, err := s.candidates(ctx, q, ring)
		if err != nil {
			return nil, err
		}
		near, err := s.take(ctx, q, ring, candidates, after, n)
		if err != nil {
			return nil, err
		}
		if len(near) >= n || ring.Radius >= q.Near.Radius {
			return near, nil
		}
	}
}

// candidates returns all shops of the circle that fit the query, and perhaps a
// few more.
func (s *Service) candidates(ctx context.Context, q Query, c geo.Circle) ([]candidate, error) {
	if q.Search == "" {
		if list, ok := s.cells.within(ctx, q.TypeID, geo.Circle{Center: c.Center, Radius: c.Radius + slack}); ok {
			return list, nil
		}
	}
	s.cells.sources.WithLabelValues("sql").Inc()
	where := append(q.filters(), within(c.Spans(maxSpans)))
	if q.Search != "" {
		where = append(where, contains(q.Search), indexed(q.Search))
	}
	rows, err := s.db.Shop.Query().Where(where...).
		Select(entshop.FieldID, entshop.FieldLat, entshop.FieldLng, entshop.FieldGeo).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select shops near a place: %w", err)
	}
	var list []candidate
	for _, r := range rows {
		if d := c.Center.Distance(geo.Point{Lat: r.Lat, Lng: r.Lng}); d <= c.Radius {
			list = append(list, candidate{id: r.ID, geo: r.Geo, distance: d})
		}
	}
	return list, nil
}

// take reads the rows of candidates, the nearest first, until n shops behind
// the place are certain, and returns them in order.
func (s *Service) take(ctx context.Context, q Query, ring geo.Circle, candidates []candidate, after place, n int) ([]found, error) {
	candidates = slices.DeleteFunc(candidates, func(c candidate) bool { return c.distance < after.distance-slack })
	slices.SortFunc(candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.id, b.id))
	})
	var near []found
	for len(candidates) > 0 {
		batch := candidates[:min(len(candidates), n+n/8+4)]
		candidates = candidates[len(batch):]
		shops, err := s.ByIDs(ctx, ids(batch))
		if err != nil {
			return nil, err
		}
		for _, c := range batch {
			shop := shops[c.id]
			// A shop that moved leaves its old place behind in the cell until
			// that is rebuilt: only the place that the row names counts.
			if shop == nil || c.geo != geo.Hash(shop.At) || (q.TypeID != 0 && shop.TypeID != q.TypeID) {
				continue
			}
			f := found{place{ring.Center.Distance(shop.At), shop.ID}, shop}
			if f.at.distance <= ring.Radius && after.compare(f.at) < 0 {
				near = append(near, f)
			}
		}
		slices.SortFunc(near, func(a, b found) int { return a.at.compare(b.at) })
		// The next candidate may be nearer than it looks.
		if len(near) >= n && len(candidates) > 0 && candidates[0].distance-slack > near[n-1].at.distance {
			break
		}
	}
	return near[:min(len(near), n)], nil
}

func ids(list []candidate) []int64 {
	out := make([]int64, len(list))
	for i, c := range list {
		out[i] = c.id
	}
	return out
}
