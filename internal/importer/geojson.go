package importer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tandian-dev/tandian/internal/kit/text"
	"github.com/tandian-dev/tandian/internal/shop"
)

// GeoJSON (RFC 7946): a FeatureCollection. The position of a shape is the centre of its
// corners; of a polygon, those of its outer ring.
//
// A feature with a property external_id has the properties of a CSV file (see csv.go),
// except lat and lng. Any other feature has OpenStreetMap tags as properties (see
// osm.go). Its id is its property "@id" or its "id". An id like node/42 becomes the
// external id osm:node/42; for other ids see source.go.

// addFeature adds a feature.
func (c *collector) addFeature(where string, f map[string]json.RawMessage) {
	p, wrong := tagsOf(f["properties"])
	if wrong != "" {
		c.addUnreadable(where, "member properties %s", wrong)
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

// columnsRecord returns a record from CSV columns, without its position.
func columnsRecord(where string, column func(string) string) record {
	return record{
		where:       where,
		id:          column("external_id"),
		category:    catalogueKey(shop.Catalogue(), column("type")),
		rawCategory: fmt.Sprintf("type %q", column("type")),
		name:        column("name"),
		area:        column("area"),
		address:     column("address"),
		price:       column("avg_price"),
		score:       column("score"),
		hours:       cmp.Or(column("open_hours"), column("hours")),
		phone:       column("phone"),
		website:     column("website"),
		zone:        column("time_zone"),
	}
}

// geometryPlace returns the position of a feature.
func geometryPlace(raw json.RawMessage) position {
	if absent(raw) {
		return noPosition("no geometry")
	}
	g, wrong := object(raw)
	if wrong != "" {
		return noPosition("geometry %s", wrong)
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
		return noPosition("the type of the geometry is %s, not a text", shape(g["type"]))
	case read == nil:
		short, _ := text.Truncate(text.Line(kind), maxExample/4)
		return noPosition("%s is not read", short)
	case shape(coordinates) != "an array":
		return noPosition("coordinates are %s", strings.Replace(shape(coordinates), "a text", "text", 1))
	}
	parts, wrong := read(coordinates)
	if wrong != "" {
		return noPosition("coordinates are not those of a %s: one %s", kind, wrong)
	}
	return centreOf(parts, kind == "MultiPolygon")
}

// onePart adapts a reader of one part.
func onePart(part func(json.RawMessage) ([]position, string)) func(json.RawMessage) ([][]position, string) {
	return func(raw json.RawMessage) ([][]position, string) {
		corners, wrong := part(raw)
		return [][]position{corners}, wrong
	}
}

// manyParts adapts a reader of parts to an array of them.
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

// readPoint reads [longitude, latitude]. It ignores an altitude.
func readPoint(raw json.RawMessage) ([]position, string) {
	numbers, wrong := array(raw)
	switch {
	case wrong != "":
		return nil, wrong
	case len(numbers) == 0:
		return []position{noPosition("coordinates are empty")}, ""
	case len(numbers) == 1:
		return []position{noPosition("latitude is missing")}, ""
	}
	lng, lngWrong := parseJSONDegrees(numbers[0])
	lat, latWrong := parseJSONDegrees(numbers[1])
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

// outerRing reads the first ring of a polygon. The other rings are holes.
func outerRing(raw json.RawMessage) ([]position, string) {
	rings, wrong := array(raw)
	if wrong != "" || len(rings) == 0 {
		return nil, wrong
	}
	return readLine(rings[0])
}
