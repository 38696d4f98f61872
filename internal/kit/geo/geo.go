// Package geo computes distances on the earth and divides its surface into geohash cells.
//
// Distances are haversine distances on the sphere of Redis. They differ from GEOSEARCH by less
// than 1 m, the rounding of its 52-bit positions, at the distances served here.
package geo

import "math"

// EarthRadius is the radius of the sphere in metres, the same as in Redis.
const EarthRadius = 6372797.560856

// MaxLat is the maximum absolute latitude of a Redis GEO set in degrees: the edge of the Web
// Mercator square.
const MaxLat = 85.05112878

// A Point is a position on the earth in degrees, WGS 84.
type Point struct {
	Lat, Lng float64
}

// Valid reports whether Redis can store p: finite, |lat| ≤ [MaxLat] and |lng| ≤ 180.
func (p Point) Valid() bool {
	return math.Abs(p.Lat) <= MaxLat && math.Abs(p.Lng) <= 180 // false for NaN
}

// Distance returns the haversine distance from p to q in metres.
func (p Point) Distance(q Point) float64 {
	lat1, lat2 := radians(p.Lat), radians(q.Lat)
	u := math.Sin((lat2 - lat1) / 2)
	v := math.Sin((radians(q.Lng) - radians(p.Lng)) / 2)
	return 2 * EarthRadius * math.Asin(math.Min(1, math.Sqrt(u*u+math.Cos(lat1)*math.Cos(lat2)*v*v)))
}

func radians(deg float64) float64 { return deg * math.Pi / 180 }

func degrees(rad float64) float64 { return rad * 180 / math.Pi }

// A Box is a rectangle of latitudes and longitudes in degrees, edges included.
type Box struct {
	MinLat, MaxLat, MinLng, MaxLng float64
}

// A Circle contains all points within Radius metres of Center.
type Circle struct {
	Center Point
	Radius float64
}

// Boxes returns the box around c, or two boxes if c crosses the 180th meridian. For a circle
// over a pole it returns the whole cap.
func (c Circle) Boxes() []Box {
	angle := c.Radius / EarthRadius
	b := Box{
		MinLat: c.Center.Lat - degrees(angle), MaxLat: c.Center.Lat + degrees(angle),
		MinLng: -180, MaxLng: 180,
	}
	if b.MinLat <= -90 || b.MaxLat >= 90 {
		b.MinLat, b.MaxLat = max(b.MinLat, -90), min(b.MaxLat, 90)
		return []Box{b}
	}
	// The tangent meridians touch the circle closer to the pole than its centre:
	// asin(sin(angle)/cos(lat)), not angle/cos(lat).
	dLng := degrees(math.Asin(min(1, math.Sin(angle)/math.Cos(radians(c.Center.Lat)))))
	west, east := c.Center.Lng-dLng, c.Center.Lng+dLng
	switch {
	case west < -180:
		other := b
		other.MinLng, b.MaxLng = west+360, east
		return []Box{b, other}
	case east > 180:
		other := b
		b.MinLng, other.MaxLng = west, east-360
		return []Box{b, other}
	}
	b.MinLng, b.MaxLng = west, east
	return []Box{b}
}
