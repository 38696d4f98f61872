package geo

import (
	"cmp"
	"math"
	"slices"
)

// MaxPrecision is the maximum geohash length of a [Cell] in characters.
const MaxPrecision = 10

const hashBits = 5 * MaxPrecision

const base32 = "0123456789bcdefghjkmnpqrstuvwxyz"

// A Cell is one geohash cell (G. Niemeyer, 2008): a rectangle of points that share a prefix of
// interleaved longitude and latitude bits, five bits a character. At the equator a cell of
// precision 4 is about 39 × 20 km, of precision 5 about 5 × 5 km.
type Cell struct {
	bits      uint64 // 5·precision bits
	precision int
}

// Hash returns the geohash of p with [MaxPrecision] characters as a number. The hashes of the
// points in one cell are one range, see [Cell.Range].
func Hash(p Point) int64 {
	return int64(interleave(p, MaxPrecision)) //nolint:gosec // 50 bits
}

// CellOf returns the cell that contains p. The precision must be 1 to [MaxPrecision].
func CellOf(p Point, precision int) Cell {
	return Cell{interleave(p, precision), precision}
}

// interleave alternates the bits of longitude and latitude, longitude first.
func interleave(p Point, precision int) uint64 {
	lngBits, latBits := axisBits(precision)
	x := axisIndex(p.Lng, -180, 360, lngBits)
	y := axisIndex(p.Lat, -90, 180, latBits)
	var h uint64
	for i := 5*precision - 1; i >= 0; i-- {
		h <<= 1
		if (5*precision-1-i)%2 == 0 {
			lngBits--
			h |= x >> lngBits & 1
		} else {
			latBits--
			h |= y >> latBits & 1
		}
	}
	return h
}

// axisBits returns the number of longitude and latitude bits of a cell.
func axisBits(precision int) (lng, lat int) {
	return (5*precision + 1) / 2, 5 * precision / 2
}

// axisIndex returns the index of the part that contains v, of 2^bits equal parts of an axis.
// The far edge belongs to the last part.
func axisIndex(v, lowest, span float64, bits int) uint64 {
	n := float64(uint64(1) << bits)
	return uint64(min(max(math.Floor((v-lowest)/span*n), 0), n-1))
}

// Precision returns the number of characters of c.
func (c Cell) Precision() int { return c.precision }

// String returns the geohash in its usual base 32.
func (c Cell) String() string {
	s := make([]byte, c.precision)
	for i := range s {
		s[i] = base32[c.bits>>(5*(c.precision-1-i))&31]
	}
	return string(s)
}

// Range returns the range of [Hash] values of the points in c: lo ≤ n < hi.
func (c Cell) Range() (lo, hi int64) {
	shift := hashBits - 5*c.precision
	return int64(c.bits << shift), int64((c.bits + 1) << shift) //nolint:gosec // 50 bits
}

// Children returns the 32 cells, one character longer, that divide c.
func (c Cell) Children() []Cell {
	children := make([]Cell, 32)
	for i := range children {
		children[i] = Cell{c.bits<<5 | uint64(i), c.precision + 1} //nolint:gosec // below 32
	}
	return children
}

// Box returns the rectangle that c covers.
func (c Cell) Box() Box {
	lngBits, latBits := axisBits(c.precision)
	var x, y uint64
	for i := 5*c.precision - 1; i >= 0; i-- {
		bit := c.bits >> i & 1
		if (5*c.precision-1-i)%2 == 0 {
			x = x<<1 | bit
		} else {
			y = y<<1 | bit
		}
	}
	w := 360 / float64(uint64(1)<<lngBits)
	h := 180 / float64(uint64(1)<<latBits)
	b := Box{MinLng: -180 + float64(x)*w, MinLat: -90 + float64(y)*h}
	b.MaxLng, b.MaxLat = b.MinLng+w, b.MinLat+h
	return b
}

// Intersects reports whether the cell and b, edges included, overlap.
func (c Cell) Intersects(b Box) bool {
	o := c.Box()
	return o.MinLat <= b.MaxLat && o.MaxLat >= b.MinLat && o.MinLng <= b.MaxLng && o.MaxLng >= b.MinLng
}

// Cover returns the cells of one precision that b touches, in ascending order.
func Cover(b Box, precision int) []Cell {
	lngBits, latBits := axisBits(precision)
	w := 360 / float64(uint64(1)<<lngBits)
	h := 180 / float64(uint64(1)<<latBits)
	x0, x1 := axisIndex(b.MinLng, -180, 360, lngBits), axisIndex(b.MaxLng, -180, 360, lngBits)
	y0, y1 := axisIndex(b.MinLat, -90, 180, latBits), axisIndex(b.MaxLat, -90, 180, latBits)
	cells := make([]Cell, 0, (x1-x0+1)*(y1-y0+1))
	for x := x0; x <= x1; x++ {
		for y := y0; y <= y1; y++ {
			middle := Point{Lat: -90 + (float64(y)+0.5)*h, Lng: -180 + (float64(x)+0.5)*w}
			cells = append(cells, CellOf(middle, precision))
		}
	}
	slices.SortFunc(cells, func(a, b Cell) int { return cmp.Compare(a.bits, b.bits) })
	return cells
}

// A Span is a range of hashes, Lo ≤ n < Hi.
type Span struct{ Lo, Hi int64 }

// Spans returns few hash ranges that contain every point of c at least inner metres from its
// centre. For each box it takes the finest cover of at most maxCells cells, drops cells within
// inner metres and joins neighbours.
func (c Circle) Spans(maxCells int, inner float64) []Span {
	var spans []Span
	for _, b := range c.Boxes() {
		spans = append(spans, spansOf(b, maxCells, Circle{c.Center, inner})...)
	}
	return spans
}

// contains reports whether the corners of b are in c. For boxes much smaller than the earth,
// the whole box is then in c.
func (c Circle) contains(b Box) bool {
	for _, p := range []Point{{b.MinLat, b.MinLng}, {b.MinLat, b.MaxLng}, {b.MaxLat, b.MinLng}, {b.MaxLat, b.MaxLng}} {
		if c.Center.Distance(p) >= c.Radius {
			return false
		}
	}
	return true
}

func spansOf(b Box, maxCells int, inner Circle) []Span {
	cells := Cover(b, 1)
	for precision := 2; precision <= MaxPrecision; precision++ {
		if coverSize(b, precision) > maxCells {
			break
		}
		cells = Cover(b, precision)
	}
	var spans []Span
	for _, c := range cells {
		if inner.contains(c.Box()) {
			continue
		}
		lo, hi := c.Range()
		if n := len(spans); n > 0 && spans[n-1].Hi == lo {
			spans[n-1].Hi = hi
			continue
		}
		spans = append(spans, Span{lo, hi})
	}
	return spans
}

// coverSize returns len(Cover(b, precision)).
func coverSize(b Box, precision int) int {
	lngBits, latBits := axisBits(precision)
	x := axisIndex(b.MaxLng, -180, 360, lngBits) - axisIndex(b.MinLng, -180, 360, lngBits) + 1
	y := axisIndex(b.MaxLat, -90, 180, latBits) - axisIndex(b.MinLat, -90, 180, latBits) + 1
	return int(x * y) //nolint:gosec // at most 2^50
}
