package media

import (
	"encoding/binary"
	"math"
)

// Colour profiles follow ICC.1:2022, versions 2 and 4. Supported are profiles of a matrix and three
// curves (displays, cameras, Adobe RGB, Display P3, ProPhoto, Rec. 2020), and of one curve for grey.
// Profiles with multi-dimensional tables, such as those for CMYK, are ignored.

// maxProfile limits profiles, in bytes. The largest ones, for printers, have two megabytes.
const maxProfile = 4 << 20

// profileTransform returns the conversion to sRGB, nil if it is unnecessary or not supported.
func profileTransform(profile []byte, components int) *transform {
	space, ok := parseProfile(profile, components)
	if !ok {
		return nil
	}
	return space.transform()
}

// parseProfile parses a profile. A grey picture may have one for RGB, but not the other way round.
func parseProfile(data []byte, components int) (space colorSpace, ok bool) {
	const header, class, colors, connection, signature = 128, 12, 16, 20, 36
	if len(data) < header+4 || len(data) > maxProfile || string(data[signature:signature+4]) != "acsp" {
		return space, false
	}
	switch string(data[class : class+4]) {
	case "link", "abst", "nmcl":
		return space, false
	}
	tags := profileTags(data)
	switch string(data[colors : colors+4]) {
	case "GRAY":
		trc, ok := parseCurve(tags["kTRC"])
		return colorSpace{curves: [3]curve{trc, trc, trc}, toXYZ: grayToXYZ()}, ok && components == 1
	case "RGB ":
		if components == 4 || string(data[connection:connection+4]) != "XYZ " {
			return space, false
		}
		return parseMatrix(tags)
	}
	return space, false
}

func profileTags(data []byte) map[string][]byte {
	const header, entry = 128, 12
	tags := map[string][]byte{}
	count := binary.BigEndian.Uint32(data[header:])
	for rest := data[header+4:]; count > 0 && len(rest) >= entry; count, rest = count-1, rest[entry:] {
		name := string(rest[:4])
		at, size := int64(binary.BigEndian.Uint32(rest[4:])), int64(binary.BigEndian.Uint32(rest[8:]))
		switch name {
		case "rXYZ", "gXYZ", "bXYZ", "rTRC", "gTRC", "bTRC", "kTRC":
			if _, known := tags[name]; !known && at+size <= int64(len(data)) {
				tags[name] = data[at : at+size]
			}
		}
	}
	return tags
}

func parseMatrix(tags map[string][]byte) (space colorSpace, ok bool) {
	for i, name := range []string{"r", "g", "b"} {
		xyz := tags[name+"XYZ"]
		if len(xyz) < 20 || string(xyz[:4]) != "XYZ " {
			return space, false
		}
		for row := range 3 {
			space.toXYZ[row][i] = fixed(xyz[8+4*row:])
		}
		if space.curves[i], ok = parseCurve(tags[name+"TRC"]); !ok {
			return space, false
		}
	}
	// White must be D50. Some old profiles have the white of their display instead, and would tint
	// all pictures without adaptation.
	white := space.toXYZ.times([3]float64{1, 1, 1})
	for _, v := range white {
		if v < 0.2 || v > 2 {
			return space, false
		}
	}
	space.toXYZ = adaptation(white, whiteD50()).after(space.toXYZ)
	return space, true
}

// fixed parses a signed number with 16 fractional bits.
func fixed(data []byte) float64 {
	return float64(int32(binary.BigEndian.Uint32(data))) / 65536 //nolint:gosec // signed
}

func parseCurve(tag []byte) (curve, bool) {
	const header = 12
	if len(tag) < header {
		return nil, false
	}
	switch string(tag[:4]) {
	case "curv":
		n := int64(binary.BigEndian.Uint32(tag[8:]))
		if n*2 > int64(len(tag)-header) {
			return nil, false
		}
		return sampledCurve(tag[header : header+2*n])
	case "para":
		return parametricCurve(int(binary.BigEndian.Uint16(tag[8:])), tag[header:])
	}
	return nil, false
}

// sampledCurve parses a curve of equidistant samples. No sample means a straight line, one an
// exponent.
func sampledCurve(samples []byte) (curve, bool) {
	at := func(i int) float64 { return float64(binary.BigEndian.Uint16(samples[2*i:])) }
	switch n := len(samples) / 2; n {
	case 0:
		return func(v float64) float64 { return v }, true
	case 1:
		gamma := at(0) / 256
		return power(gamma), gamma > 0
	default:
		return func(v float64) float64 {
			x := v * float64(n-1)
			i := min(int(x), n-2)
			return (at(i) + (x-float64(i))*(at(i+1)-at(i))) / math.MaxUint16
		}, true
	}
}

// parametricCurve parses a curve given by a formula (ICC.1:2022, 10.18).
func parametricCurve(kind int, data []byte) (curve, bool) {
	counts := []int{1, 3, 4, 5, 7}
	if kind >= len(counts) || len(data) < 4*counts[kind] {
		return nil, false
	}
	var p [7]float64
	for i := range counts[kind] {
		p[i] = fixed(data[4*i:])
	}
	g, a, b, c, d, e, f := p[0], p[1], p[2], p[3], p[4], p[5], p[6]
	switch kind {
	case 0:
		a, d = 1, -1
	case 1, 2:
		if a == 0 {
			return nil, false
		}
		c, d, e, f = 0, -b/a, p[3], p[3]
	}
	if g <= 0 {
		return nil, false
	}
	return func(v float64) float64 {
		if v < d {
			return c*v + f
		}
		return math.Pow(max(0, a*v+b), g) + e
	}, true
}

func power(gamma float64) curve {
	return func(v float64) float64 { return math.Pow(v, gamma) }
}
