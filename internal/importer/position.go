package importer

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/tandian-dev/tandian/internal/kit/geo"
	"github.com/tandian-dev/tandian/internal/kit/text"
)

// A position is the position of a record, or the reason why it cannot be read.
type position struct {
	geo.Point
	wrong string
}

func noPosition(format string, args ...any) position {
	return position{wrong: fmt.Sprintf(format, args...)}
}

const (
	// MaxLatitude is the largest latitude that can be imported: Redis stores no position
	// beyond it (GEOADD, EPSG:3857).
	MaxLatitude = geo.MaxLat

	// maxTurns limits longitudes that continue around the globe, as those of map widgets
	// do. Larger numbers are metres or mistakes, not degrees.
	maxTurns = 10
)

// decimal matches a coordinate. ParseFloat alone accepts "Inf", "NaN" and hexadecimal
// numbers too.
var decimal = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

// parseDegrees parses a coordinate with a decimal point or, as in CSV with semicolons, a
// decimal comma. wrong completes "latitude …".
func parseDegrees(s string) (deg float64, wrong string) {
	s = text.Line(s)
	if s == "" {
		return 0, "is empty"
	}
	written := s
	if strings.Count(s, ",") == 1 && !strings.Contains(s, ".") {
		written = strings.Replace(s, ",", ".", 1)
	}
	if !decimal.MatchString(written) {
		short, _ := text.Truncate(s, maxExample/4)
		return 0, fmt.Sprintf("is the text %q", short)
	}
	return parseFinite(written)
}

// parseJSONDegrees parses a coordinate of a JSON document: a number, or a text as in all
// formats.
func parseJSONDegrees(raw json.RawMessage) (deg float64, wrong string) {
	switch kind := shape(raw); kind {
	case "a number":
		return parseFinite(string(raw))
	case "a text":
		return parseDegrees(string(looseOf(raw)))
	default:
		return 0, "is " + kind
	}
}

func parseFinite(s string) (deg float64, wrong string) {
	deg, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(deg, 0) || math.IsNaN(deg) {
		return 0, "is not finite"
	}
	return deg, ""
}

// corner returns a corner of a shape, or a whole position.
func corner(lat float64, latWrong string, lng float64, lngWrong string) position {
	switch {
	case latWrong != "":
		return noPosition("latitude %s", latWrong)
	case lngWrong != "":
		return noPosition("longitude %s", lngWrong)
	case math.Abs(lat) > 90:
		return noPosition("latitude %v is beyond ±90", lat)
	case math.Abs(lng) > 360*maxTurns:
		return noPosition("longitude %v is no number of degrees", lng)
	}
	return position{Point: geo.Point{Lat: lat, Lng: lng}}
}

// centreOf returns the centre of parts. If a corner is unreadable, it returns the first
// such corner.
func centreOf(parts [][]position, rings bool) position {
	valid := make([][]geo.Point, len(parts))
	for i, part := range parts {
		for _, p := range part {
			if p.wrong != "" {
				return p
			}
			valid[i] = append(valid[i], p.Point)
		}
	}
	return centre(valid, rings)
}

// centre returns the centre of a shape: the mean of the corners of its parts, which are
// points, lines or outer rings. Several rings are weighted by their areas.
func centre(parts [][]geo.Point, rings bool) position {
	var sum, weighed geo.Point
	corners, areas := 0.0, 0.0
	for _, part := range unwrapped(parts) {
		var in geo.Point
		for _, p := range part {
			in.Lat, in.Lng = in.Lat+p.Lat, in.Lng+p.Lng
		}
		n, a := float64(len(part)), ringArea(part)
		sum.Lat, sum.Lng, corners = sum.Lat+in.Lat, sum.Lng+in.Lng, corners+n
		if n > 0 {
			weighed.Lat, weighed.Lng, areas = weighed.Lat+a*in.Lat/n, weighed.Lng+a*in.Lng/n, areas+a
		}
	}
	switch {
	case corners == 0:
		return noPosition("coordinates are empty")
	case rings && len(parts) > 1 && areas > 0:
		sum, corners = weighed, areas
	}
	return normalized(geo.Point{Lat: sum.Lat / corners, Lng: sum.Lng / corners})
}

// normalized wraps the longitude and rejects positions that cannot be stored. It rejects
// (0,0), in the Gulf of Guinea, because broken exports write it for "unknown".
func normalized(p geo.Point) position {
	if math.Abs(p.Lng) > 180 {
		p.Lng = math.Remainder(p.Lng, 360)
	}
	switch {
	case math.Abs(p.Lat) > MaxLatitude:
		return noPosition("latitude %v is beyond ±%v, the end of the map", p.Lat, MaxLatitude)
	case p == geo.Point{}:
		return noPosition("0, 0 stands for an unknown position")
	}
	return position{Point: p}
}

// unwrapped continues longitudes across the 180° meridian. Each corner is at most half a
// turn from the previous one, because no shop is wider. It omits the last corner of a
// closed ring, which repeats the first.
func unwrapped(parts [][]geo.Point) [][]geo.Point {
	out := make([][]geo.Point, 0, len(parts))
	var first geo.Point
	for _, part := range parts {
		if n := len(part); n > 1 && part[0].Lat == part[n-1].Lat && math.Remainder(part[0].Lng-part[n-1].Lng, 360) == 0 {
			part = part[:n-1]
		}
		line := make([]geo.Point, len(part))
		for i, p := range part {
			before := first
			if i > 0 {
				before = line[i-1]
			}
			if i > 0 || len(out) > 0 {
				p.Lng += 360 * math.Round((before.Lng-p.Lng)/360)
			}
			line[i] = p
		}
		if len(line) == 0 {
			continue
		}
		if len(out) == 0 {
			first = line[0]
		}
		out = append(out, line)
	}
	return out
}

// ringArea returns the area of a ring in square degrees.
func ringArea(ring []geo.Point) float64 {
	twice := 0.0
	for i, p := range ring {
		q := ring[(i+1)%len(ring)]
		twice += (p.Lng-ring[0].Lng)*(q.Lat-ring[0].Lat) - (q.Lng-ring[0].Lng)*(p.Lat-ring[0].Lat)
	}
	return math.Abs(twice) / 2
}
