package importer

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tandian-dev/tandian/internal/kit/text"
	"github.com/tandian-dev/tandian/internal/shop"
)

// GeoJSON (RFC 7946): a FeatureCollection. A shape counts as the middle of its
// corners; of a polygon these are the corners of its outer ring.
//
// A feature with a property external_id has the properties of a CSV file (see
// csv.go), without lat and lng. Any other one has tags of OpenStreetMap as
// properties (see osm.go), and its id is its property "@id" or its "id": one
// like node/42 gives the external id osm:node/42, for any other see source.go.

// addFeature takes in a feature.
func (c *collector) addFeature(where string, f map[string]json.RawMessage) {
	p, wrong := tagsOf(f["properties"])
	if wrong != "" {
		c.spoiled(where, "member properties %s", wrong)
		return
	}
	var rec record
	if p["external_id"] != "" {
		rec = columnsRecord(where, func(column string) string { return string(p[column]) })
	} else {
		rec = osmRecord(where, p)
		rec.id, rec.prefix = p.first("@id"), geojsonPrefix
		if rec.id == "" {
			rec.id = string(looseOf(f["id"]))
		}
		if osmID.MatchString(rec.id) {
			rec.where, rec.prefix = rec.id, osmPrefix
		}
	}
	rec.at = geometryPlace(f["geometry"])
	c.add(rec)
}

// columnsRecord reads a record that has our own column names, all but its
// position.
func columnsRecord(where string, column func(string) string) record {
	return record{
		where:    where,
		id:       column("external_id"),
		category: catalogued(shop.Catalogue(), column("type")),
		saw:      fmt.Sprintf("type %q", column("type")),
		name:     column("name"),
		area:     column("area"),
		address:  column("address"),
		price:    column("avg_price"),
		score:    column("score"),
		hours:    column("open_hours"),
	}
}

// geometryPlace finds where a feature lies.
func geometryPlace(raw json.RawMessage) position {
	if absent(raw) {
		return nowhere("no geometry")
	}
	g, wrong := object(raw)
	if wrong != "" {
		return nowhere("geometry %s", wrong)
	}
	kind, coordinates := string(looseOf(g["type"])), g["coordinates"]
	read := map[string]func(json.RawMessage) ([][]position, string){
		"Point":           onePart(readPoint),
		"MultiPoint":      onePart(readLine),
		"LineString":      onePart(readLine),
		"MultiLineString": manyParts(readLine),
		"Polygon":         onePart(outerRing),
		"MultiPolygon":    manyParts(outerRing),
	}[kind]
	switch {
	case shape(g["type"]) != "a text":
		return nowhere("the type of the geometry is %s, not a text", shape(g["type"]))
	case read == nil:
		short, _ := text.Truncate(text.Line(kind), maxExample/4)
		return nowhere("%s is not read", short)
	case shape(coordinates) != "an array":
		return nowhere("coordinates are %s", strings.Replace(shape(coordinates), "a text", "text", 1))
	}
	parts, wrong := read(coordinates)
	if wrong != "" {
		return nowhere("coordinates are not those of a %s: one %s", kind, wrong)
	}
	return middleOf(parts, kind == "MultiPolygon")
}

// onePart reads a shape of one part.
func onePart(part func(json.RawMessage) ([]position, string)) func(json.RawMessage) ([][]position, string) {
	return func(raw json.RawMessage) ([][]position, string) {
		corners, wrong := part(raw)
		return [][]position{corners}, wrong
	}
}

// manyParts reads a shape of any number of parts.
func manyParts(part func(json.RawMessage) ([]position, string)) func(json.RawMessage) ([][]position, string) {
	return func(raw json.RawMessage) ([][]position, string) {
		members, wrong := array(raw)
		parts := make([][]position, len(members))
		for i, m := range members {
			if parts[i], wrong = part(m); wrong != "" {
				break
			}
		}
		return parts, wrong
	}
}

// readPoint reads [longitude, latitude]; an altitude is left out.
func readPoint(raw json.RawMessage) ([]position, string) {
	numbers, wrong := array(raw)
	switch {
	case wrong != "":
		return nil, wrong
	case len(numbers) == 0:
		return []position{nowhere("coordinates are empty")}, ""
	case len(numbers) == 1:
		return []position{nowhere("latitude is missing")}, ""
	}
	lng, lngWrong := jsonDegrees(numbers[0])
	lat, latWrong := jsonDegrees(numbers[1])
	return []position{corner(lat, latWrong, lng, lngWrong)}, ""
}

// readLine reads an array of points.
func readLine(raw json.RawMessage) ([]position, string) {
	members, wrong := array(raw)
	corners := make([]position, 0, len(members))
	for _, m := range members {
		var p []position
		if p, wrong = readPoint(m); wrong != "" {
			break
		}
		corners = append(corners, p...)
	}
	return corners, wrong
}

// outerRing reads the first ring of a polygon; the others are its holes.
func outerRing(raw json.RawMessage) ([]position, string) {
	rings, wrong := array(raw)
	if wrong != "" || len(rings) == 0 {
		return nil, wrong
	}
	return readLine(rings[0])
}
