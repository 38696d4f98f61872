package town

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/tandian-dev/tandian/internal/shop"
)

// GeoJSON (RFC 7946): a FeatureCollection of Points, or of Polygons and
// MultiPolygons, which count as the mean of the corners of their first ring.
//
// A feature with a property external_id has the properties of a CSV file (see
// csv.go), without lat and lng. Any other one has tags of OpenStreetMap as
// properties (see osm.go), and its id is its property "@id" or its "id": one
// like node/42 gives the external id osm:node/42, any other X geojson:X.

// A feature is one member of a FeatureCollection.
type feature struct {
	ID         loose     `json:"id"`
	Geometry   *geometry `json:"geometry"`
	Properties tags      `json:"properties"`
}

type geometry struct {
	Type        loose           `json:"type"`
	Coordinates json.RawMessage `json:"coordinates"`
}

// addFeature takes in the nth feature of a file, counted from 1.
func (c *collector) addFeature(n int, f *feature) {
	where := fmt.Sprintf("feature %d", n)
	p := f.Properties
	var rec record
	if p["external_id"] != "" {
		rec = columnsRecord(where, func(column string) string { return string(p[column]) })
	} else {
		id := p.first("@id")
		if id == "" {
			id = string(f.ID)
		}
		rec = osmRecord(where, p)
		switch {
		case osmID.MatchString(id):
			rec.where, rec.id = id, "osm:"+id
		case id != "":
			rec.id = "geojson:" + id
		}
	}
	rec.lat, rec.lng = f.Geometry.position()
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

// position is where a shop of this shape is; NaN is nowhere.
func (g *geometry) position() (lat, lng float64) {
	if g == nil {
		return math.NaN(), math.NaN()
	}
	var ring [][]float64
	var err error
	switch g.Type {
	case "Point":
		ring = make([][]float64, 1)
		err = json.Unmarshal(g.Coordinates, &ring[0])
	case "Polygon":
		var polygon [][][]float64
		if err = json.Unmarshal(g.Coordinates, &polygon); len(polygon) > 0 {
			ring = polygon[0]
		}
	case "MultiPolygon":
		var polygons [][][][]float64
		if err = json.Unmarshal(g.Coordinates, &polygons); len(polygons) > 0 && len(polygons[0]) > 0 {
			ring = polygons[0][0]
		}
	}
	if err != nil { // a finding of this feature: the document itself is sound
		return math.NaN(), math.NaN()
	}
	return mean(ring)
}

// mean is the middle of the corners of a ring of [longitude, latitude]. The
// last corner of a closed ring repeats the first and does not count twice.
func mean(ring [][]float64) (lat, lng float64) {
	if len(ring) > 1 {
		ring = ring[:len(ring)-1]
	}
	for _, corner := range ring {
		if len(corner) < 2 {
			return math.NaN(), math.NaN()
		}
		lng += corner[0]
		lat += corner[1]
	}
	n := float64(len(ring)) // of no corners, the mean is 0/0: NaN
	return lat / n, lng / n
}
