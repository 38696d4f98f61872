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

// A position is where a record lies, or the reason why that cannot be read.
type position struct {
	geo.Point
	wrong string
}

func nowhere(format string, args ...any) position {
	return position{wrong: fmt.Sprintf(format, args...)}
}

const (
	// MaxLatitude bounds the latitudes that can be imported, because Redis
	// stores no position beyond it (GEOADD, EPSG:3857).
	MaxLatitude = geo.MaxLat

	// maxTurns bounds longitudes that were counted on around the globe, as map
	// widgets do. Larger numbers are no degrees: they are metres or mistakes.
	maxTurns = 10
)

// decimal is how a coordinate is written. ParseFloat alone would take "Inf",
// "NaN" and hexadecimal numbers too.
var decimal = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

// degrees reads a coordinate that is written as a text, with a decimal point or,
// as in CSV with semicolons, a decimal comma. wrong completes "latitude …".
func degrees(s string) (deg float64, wrong string) {
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
	return finite(written)
}

// jsonDegrees reads a coordinate of a JSON document. A number may be written as
// a text, in all formats alike.
func jsonDegrees(raw json.RawMessage) (deg float64, wrong string) {
	switch kind := shape(raw); kind {
	case "a number":
		return finite(string(raw))
	case "a text":
		return degrees(string(looseOf(raw)))
	default:
		return 0, "is " + kind
	}
}

func finite(s string) (deg float64, wrong string) {
	deg, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(deg, 0) || math.IsNaN(deg) {
		return 0, "is not finite"
	}
	return deg, ""
}

// corner makes a corner of a shape, or a whole position, of what was read.
func corner(lat float64, latWrong string, lng float64, lngWrong string) position {
	switch {
	case latWrong != "":
		return nowhere("latitude %s", latWrong)
	case lngWrong != "":
		return nowhere("longitude %s", lngWrong)
	case math.Abs(lat) > 90:
		return nowhere("latitude %v is beyond ±90", lat)
	case math.Abs(lng) > 360*maxTurns:
		return nowhere("longitude %v is no number of degrees", lng)
	}
	return position{Point: geo.Point{Lat: lat, Lng: lng}}
}

// middleOf is the middle of parts whose corners may be unreadable: the first
// such corner is the reason.
func middleOf(parts [][]position, rings bool) position {
	sound := make([][]geo.Point, len(parts))
	for i, part := range parts {
		for _, p := range part {
			if p.wrong != "" {
				return p
			}
			sound[i] = append(sound[i], p.Point)
		}
	}
	return middle(sound, rings)
}

// middle is the centre of a shape: the mean of the corners of its parts, which are
// points, lines or outer rings. Several rings count by their areas.
func middle(parts [][]geo.Point, rings bool) position {
	var sum, weighed geo.Point
	corners, areas := 0.0, 0.0
	for _, part := range unrolled(parts) {
		var in geo.Point
		for _, p := range part {
			in.Lat, in.Lng = in.Lat+p.Lat, in.Lng+p.Lng
		}
		n, a := float64(len(part)), area(part)
		sum.Lat, sum.Lng, corners = sum.Lat+in.Lat, sum.Lng+in.Lng, corners+n
		if n > 0 {
			weighed.Lat, weighed.Lng, areas = weighed.Lat+a*in.Lat/n, weighed.Lng+a*in.Lng/n, areas+a
		}
	}
	switch {
	case corners == 0:
		return nowhere("coordinates are empty")
	case rings && len(parts) > 1 && areas > 0:
		sum, corners = weighed, areas
	}
	return onMap(geo.Point{Lat: sum.Lat / corners, Lng: sum.Lng / corners})
}

// onMap wraps the longitude and refuses what cannot be stored. The middle of the
// Gulf of Guinea is what broken exports write for "unknown".
func onMap(p geo.Point) position {
	if math.Abs(p.Lng) > 180 {
		p.Lng = math.Remainder(p.Lng, 360)
	}
	switch {
	case math.Abs(p.Lat) > MaxLatitude:
		return nowhere("latitude %v is beyond ±%v, the end of the map", p.Lat, MaxLatitude)
	case p == geo.Point{}:
		return nowhere("0, 0 stands for an unknown position")
	}
	return position{Point: p}
}

// unrolled continues longitudes across the 180° meridian: each corner lies at
// most half a turn from the one before, because no shop is wider than that.
// The last corner of a closed ring repeats the first and is left out.
func unrolled(parts [][]geo.Point) [][]geo.Point {
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

// area is that of a ring in square degrees.
func area(ring []geo.Point) float64 {
	twice := 0.0
	for i, p := range ring {
		q := ring[(i+1)%len(ring)]
		twice += (p.Lng-ring[0].Lng)*(q.Lat-ring[0].Lat) - (q.Lng-ring[0].Lng)*(p.Lat-ring[0].Lat)
	}
	return math.Abs(twice) / 2
}
