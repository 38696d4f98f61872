package geo

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func TestDistanceMatchesRedis(t *testing.T) {
	// GEODIST of Redis 7 for the two points of its documentation.
	palermo, catania := Point{38.115556, 13.361389}, Point{37.502669, 15.087269}
	if got, want := palermo.Distance(catania), 166274.1516; math.Abs(got-want) > 0.5 {
		t.Errorf("Distance = %f, want %f", got, want)
	}
	if got := palermo.Distance(palermo); got != 0 {
		t.Errorf("distance to itself = %v", got)
	}
}

func TestValidFollowsRedis(t *testing.T) {
	for _, p := range []Point{{86, 0}, {-85.06, 0}, {0, 180.1}, {math.NaN(), 0}, {0, math.NaN()}, {math.Inf(1), 0}} {
		if p.Valid() {
			t.Errorf("%v is valid, want invalid", p)
		}
	}
	if !(Point{21, 105}).Valid() {
		t.Error("Hanoi is invalid, want valid")
	}
}

func TestCellNamesAreGeohashes(t *testing.T) {
	tests := []struct {
		p    Point
		want string
	}{
		{Point{57.64911, 10.40744}, "u4pruydqqv"}, // the example of geohash.org
		{Point{42.605, -5.603}, "ezs42"},          // the example of the method's description
		{Point{-90, -180}, "0000000000"},
		{Point{90, 180}, "zzzzzzzzzz"},
	}
	for _, tt := range tests {
		if got := CellOf(tt.p, len(tt.want)).String(); got != tt.want {
			t.Errorf("cell of %v = %s, want %s", tt.p, got, tt.want)
		}
	}
}

func TestCellsContainTheirPoints(t *testing.T) {
	seed := uint64(time.Now().UnixNano()) //nolint:gosec // any number will do
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	for range 5000 {
		p := Point{Lat: rnd.Float64()*170 - 85, Lng: rnd.Float64()*360 - 180}
		precision := 1 + rnd.IntN(MaxPrecision)
		c := CellOf(p, precision)
		lo, hi := c.Range()
		if h := Hash(p); h < lo || h >= hi {
			t.Fatalf("hash %d of %v is outside cell %s [%d, %d)", h, p, c, lo, hi)
		}
		if !c.Intersects(Box{p.Lat, p.Lat, p.Lng, p.Lng}) {
			t.Fatalf("box %v of cell %s does not contain %v", c.Box(), c, p)
		}
	}
}

func TestChildrenDivideACell(t *testing.T) {
	c := CellOf(Point{21, 105}, 4)
	lo, hi := c.Range()
	next := lo
	for _, child := range c.Children() {
		l, h := child.Range()
		if l != next {
			t.Fatalf("child %s begins at %d, want %d", child, l, next)
		}
		next = h
	}
	if next != hi {
		t.Fatalf("children end at %d, want %d", next, hi)
	}
}

func TestCoversContainTheirCircle(t *testing.T) {
	seed := uint64(time.Now().UnixNano()) //nolint:gosec // any number will do
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 2))
	inside := 0
	for i := range 400 {
		c := Circle{Point{rnd.Float64()*160 - 80, rnd.Float64()*360 - 180}, 1 + rnd.Float64()*50_000}
		if i%4 == 0 {
			c.Center.Lng = 180 - rnd.Float64()*0.3 // crosses the date line
		}
		inner := c.Radius * rnd.Float64()
		spans := c.Spans(32, inner)
		if len(spans) > 64 {
			t.Fatalf("got %d spans, want at most 64", len(spans))
		}
		cells := map[Cell]bool{}
		for _, box := range c.Boxes() {
			for _, cell := range Cover(box, 4) {
				cells[cell] = true
			}
		}
		for range 100 {
			p := Point{
				c.Center.Lat + (rnd.Float64()*2-1)*degrees(c.Radius/EarthRadius),
				c.Center.Lng + (rnd.Float64()*2-1)*degrees(c.Radius/EarthRadius)/math.Cos(radians(c.Center.Lat))*1.1,
			}
			p.Lng = math.Remainder(p.Lng, 360)
			if d := c.Center.Distance(p); d > c.Radius || d < inner {
				continue
			}
			inside++
			if !cells[CellOf(p, 4)] {
				t.Fatalf("%v of %v is in none of its cells", p, c)
			}
			if !covered(spans, Hash(p)) {
				t.Fatalf("%v of %v is in none of its spans", p, c)
			}
		}
	}
	if inside < 5_000 {
		t.Fatalf("only %d points are inside the circles, want 5000", inside)
	}
}

func covered(spans []Span, h int64) bool {
	for _, s := range spans {
		if h >= s.Lo && h < s.Hi {
			return true
		}
	}
	return false
}

func TestBoxesOfACircle(t *testing.T) {
	tests := []struct {
		name string
		c    Circle
		want int
	}{
		{"one box", Circle{Point{21, 105}, 50_000}, 1},
		{"two across the date line from the west", Circle{Point{-17, 179.99}, 5_000}, 2},
		{"two across the date line from the east", Circle{Point{-17, -179.99}, 5_000}, 2},
		{"the cap over a pole", Circle{Point{89.99, 0}, 5_000}, 1},
	}
	for _, tt := range tests {
		if got := len(tt.c.Boxes()); got != tt.want {
			t.Errorf("%s: got %d boxes, want %d", tt.name, got, tt.want)
		}
	}
}
