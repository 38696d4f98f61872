package importer

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// featureAt returns a GeoJSON file of one cafe with a geometry.
func featureAt(geometry string) string {
	return `{"features": [{"id": "node/1", "geometry": ` + geometry + `, "properties": {"amenity": "cafe", "name": "Cup"}}]}`
}

func geometryOf(kind, coordinates string) string {
	return featureAt(fmt.Sprintf(`{"type": %q, "coordinates": %s}`, kind, coordinates))
}

// elementAt returns an Overpass response of one cafe with more members.
func elementAt(members string) string {
	return `{"elements": [{"type": "way", "id": 1, ` + members + ` "tags": {"amenity": "cafe", "name": "Cup"}}]}`
}

func rowAt(cells string) string {
	return "name;type;external_id;lat;lng\nCup;cafe;own:1;" + cells + "\n"
}

func TestBadCoordinatesHaveReasons(t *testing.T) {
	tests := []struct{ name, file, content, want string }{
		{"null latitude", "a.geojson", geometryOf("Point", `[105.85, null]`), "latitude is null"},
		{"null longitude", "a.geojson", geometryOf("Point", `[null, 21]`), "longitude is null"},
		{"null point", "a.geojson", geometryOf("Point", `null`), "coordinates are null"},
		{"no coordinates", "a.geojson", featureAt(`{"type": "Point"}`), "coordinates are missing"},
		{"no geometry", "a.geojson", featureAt(`null`), "no geometry"},
		{"empty point", "a.geojson", geometryOf("Point", `[]`), "coordinates are empty"},
		{"half a point", "a.geojson", geometryOf("Point", `[1]`), "latitude is missing"},
		{"empty text", "a.geojson", geometryOf("Point", `["", " "]`), "latitude is empty"},
		{"words", "a.geojson", geometryOf("Point", `[1, "N/A"]`), `latitude is the text "N/A"`},
		{"NaN as text", "a.geojson", geometryOf("Point", `["NaN", 1]`), `longitude is the text "NaN"`},
		{"Infinity as text", "a.geojson", geometryOf("Point", `["-Infinity", 1]`), `longitude is the text "-Infinity"`},
		{"hexadecimal text", "a.geojson", geometryOf("Point", `["0x1p4", 1]`), `longitude is the text "0x1p4"`},
		{"a number without end", "a.geojson", geometryOf("Point", `[1, 1e999]`), "latitude is not finite"},
		{"a boolean", "a.geojson", geometryOf("Point", `[true, 1]`), "longitude is a boolean"},
		{"an array too deep", "a.geojson", geometryOf("Point", `[[1, 2]]`), "latitude is missing"},
		{"all text", "a.geojson", geometryOf("Polygon", `"here"`), "coordinates are text"},
		{"a null corner", "a.geojson", geometryOf("Polygon", `[[[1, 1], null, [2, 2], [1, 1]]]`), "coordinates are not those of a Polygon: one is null, not an array"},
		{"null in a corner", "a.geojson", geometryOf("Polygon", `[[[1, 1], [1, null], [2, 2], [1, 1]]]`), "latitude is null"},
		{"null in a line", "a.geojson", geometryOf("LineString", `[[1, 1], [null, 1]]`), "longitude is null"},
		{"null in many lines", "a.geojson", geometryOf("MultiLineString", `[[[1, 1], [2, 2]], [[1, null], [2, 2]]]`), "latitude is null"},
		{"null in the second of many polygons", "a.geojson", geometryOf("MultiPolygon", `[[[[1, 1], [2, 1], [2, 2]]], [[[1, null], [2, 1], [2, 2]]]]`), "latitude is null"},
		{"an empty polygon", "a.geojson", geometryOf("Polygon", `[]`), "coordinates are empty"},
		{"empty polygons", "a.geojson", geometryOf("MultiPolygon", `[[[]], []]`), "coordinates are empty"},
		{"a flat polygon", "a.geojson", geometryOf("Polygon", `[1, 2]`), "coordinates are not those of a Polygon: one is a number, not an array"},
		{"a collection", "a.geojson", featureAt(`{"type": "GeometryCollection", "geometries": []}`), "GeometryCollection is not read"},
		{"a type of another type", "a.geojson", featureAt(`{"type": 1, "coordinates": [1, 2]}`), "the type of the geometry is a number, not a text"},
		{"a geometry of another type", "a.geojson", featureAt(`"POINT (1 2)"`), "geometry is a text, not an object"},
		{"exactly zero", "a.geojson", geometryOf("Point", `[0, -0.0]`), "0, 0 stands for an unknown position"},
		{"no latitude", "a.json", elementAt(`"lon": 1,`), "latitude is missing"},
		{"null latitude", "a.json", elementAt(`"lat": null, "lon": 1,`), "latitude is null"},
		{"all null", "a.json", elementAt(`"lat": null, "lon": null,`), "no coordinates (ask Overpass for out center)"},
		{"null in the center", "a.json", elementAt(`"center": {"lat": 1, "lon": null},`), "longitude is null"},
		{"an empty center", "a.json", elementAt(`"center": {},`), "latitude is missing"},
		{"a center of another type", "a.json", elementAt(`"center": [1, 2],`), "center is an array, not an object"},
		{"null in the bounds", "a.json", elementAt(`"bounds": {"minlat": 1, "minlon": 1, "maxlat": null, "maxlon": 2},`), "latitude is null"},
		{"null in the geometry", "a.json", elementAt(`"geometry": [{"lat": 1, "lon": 2}, null],`), "a corner is null, not an object"},
		{"an empty cell", "a.csv", rowAt(";1"), "latitude is empty"},
		{"a blank cell", "a.csv", rowAt("1; "), "longitude is empty"},
		{"words in a cell", "a.csv", rowAt("N/A;1"), `latitude is the text "N/A"`},
		{"NaN in a cell", "a.csv", rowAt("nan;1"), `latitude is the text "nan"`},
		{"Inf in a cell", "a.csv", rowAt("1;+Inf"), `longitude is the text "+Inf"`},
		{"1e999 in a cell", "a.csv", rowAt("1;1e999"), "longitude is not finite"},
		{"two commas", "a.csv", rowAt("1,000,5;1"), `latitude is the text "1,000,5"`},
		{"beyond the pole", "a.csv", rowAt("90.5;1"), "latitude 90.5 is beyond ±90"},
		{"beyond the map", "a.csv", rowAt("89;1"), "latitude 89 is beyond ±85.05112878, the end of the map"},
		{"metres", "a.csv", rowAt("10;580000"), "longitude 580000 is no number of degrees"},
	}
	for _, tt := range tests {
		t.Run(tt.file+" "+tt.name, func(t *testing.T) {
			file, err := read(t, tt.file, tt.content)
			if err != nil {
				t.Fatal(err)
			}
			bad := file.Report.BadCoordinates
			if len(file.Drafts) != 0 || bad.Count != 1 || !strings.HasSuffix(bad.Examples[0], " Cup: "+tt.want) {
				t.Errorf("got %d shops, %d bad: %q; want %q", len(file.Drafts), bad.Count, bad.Examples, tt.want)
			}
		})
	}
}

func TestShapePositionIsCentre(t *testing.T) {
	tests := []struct {
		name, file, content string
		lat, lng            float64
	}{
		{"point", "a.geojson", geometryOf("Point", `[105.85, 21.03, 12]`), 21.03, 105.85},
		{"numbers as text", "a.geojson", geometryOf("Point", `["105.85", "21.03"]`), 21.03, 105.85},
		{"on the equator", "a.geojson", geometryOf("Point", `[105.85, 0]`), 0, 105.85},
		{"at Greenwich", "a.geojson", geometryOf("Point", `[0, 51.5]`), 51.5, 0},
		{"one of many points", "a.geojson", geometryOf("MultiPoint", `[[105.85, 21.03]]`), 21.03, 105.85},
		{"line", "a.geojson", geometryOf("LineString", `[[1, 1], [2, 2], [3, 3]]`), 2, 2},
		{"closed line", "a.geojson", geometryOf("LineString", `[[1, 1], [3, 1], [3, 3], [1, 3], [1, 1]]`), 2, 2},
		{"lines", "a.geojson", geometryOf("MultiLineString", `[[[1, 1], [2, 2]], [[2, 2], [3, 3]]]`), 2, 2},
		{"polygon with a hole", "a.geojson", geometryOf("Polygon", `[[[1, 1], [3, 1], [3, 3], [1, 3], [1, 1]], [[1, 1], [1, 1]]]`), 2, 2},
		{"open polygon", "a.geojson", geometryOf("Polygon", `[[[1, 1], [3, 1], [3, 3], [1, 3]]]`), 2, 2},
		{"polygons by area", "a.geojson", geometryOf("MultiPolygon", `[[[[0, 1], [2, 1], [2, 3], [0, 3]]], [[[8, 1], [9, 1], [9, 2], [8, 2]]]]`), 1.9, 2.5},
		{"text in Overpass", "a.json", elementAt(`"lat": "21.03", "lon": "105.85",`), 21.03, 105.85},
		{"bounds", "a.json", elementAt(`"bounds": {"minlat": 1, "minlon": 2, "maxlat": 3, "maxlon": 4},`), 2, 3},
		{"geometry", "a.json", elementAt(`"geometry": [{"lat": 1, "lon": 2}, {"lat": 3, "lon": 4}],`), 2, 3},
		{"decimal comma", "a.csv", rowAt("21,03;105,85"), 21.03, 105.85},
		{"decimal point", "a.csv", rowAt(" +21.03 ;1.0585e2"), 21.03, 105.85},

		{"on the line", "a.csv", rowAt("-16.8;180"), -16.8, 180},
		{"beyond the line", "a.csv", rowAt("-16.8;180.5"), -16.8, -179.5},
		{"beyond it westwards", "a.csv", rowAt("-16.8;-180.5"), -16.8, 179.5},
		{"once round", "a.csv", rowAt("21;465,5"), 21, 105.5},
		{"twice round westwards", "a.geojson", geometryOf("Point", `[-614.5, 21]`), 21, 105.5},
		{"a center beyond", "a.json", elementAt(`"center": {"lat": 1, "lon": 180.5},`), 1, -179.5},
		{"bounds across", "a.json", elementAt(`"bounds": {"minlat": 1, "minlon": 179.5, "maxlat": 1, "maxlon": -179.5},`), 1, 180},
		{"bounds across, smallest first", "a.json", elementAt(`"bounds": {"minlat": 1, "minlon": -179.5, "maxlat": 1, "maxlon": 179.5},`), 1, 180},
		{"bounds across, more in the east", "a.json", elementAt(`"bounds": {"minlat": 1, "minlon": 179, "maxlat": 1, "maxlon": -179.5},`), 1, 179.75},
		{"geometry across", "a.json", elementAt(`"geometry": [{"lat": 1, "lon": 179.5}, {"lat": 3, "lon": -179.5}],`), 2, 180},
		{"line across", "a.geojson", geometryOf("LineString", `[[179.5, 1], [-179.5, 3]]`), 2, 180},
		{"points across", "a.geojson", geometryOf("MultiPoint", `[[-179.5, 1], [179.5, 3]]`), 2, 180},
		{"lines across", "a.geojson", geometryOf("MultiLineString", `[[[179.5, 1], [180, 1]], [[-180, 3], [-179.5, 3]]]`), 2, 180},
		{"polygon across", "a.geojson", geometryOf("Polygon", `[[[179.5, 1], [-179.5, 1], [-179.5, 3], [179.5, 3], [179.5, 1]]]`), 2, 180},
		{"polygon across, counted on", "a.geojson", geometryOf("Polygon", `[[[179.5, 1], [180.5, 1], [180.5, 3], [179.5, 3], [179.5, 1]]]`), 2, 180},
		{"polygon closed on the other side", "a.geojson", geometryOf("Polygon", `[[[180, 1], [179, 1], [179, 3], [-180, 3], [-180, 1]]]`), 2, 179.5},
		{"polygon cut at the line", "a.geojson", geometryOf("MultiPolygon", `[[[[179.5, 1], [180, 1], [180, 3], [179.5, 3], [179.5, 1]]], [[[-180, 1], [-179.5, 1], [-179.5, 3], [-180, 3], [-180, 1]]]]`), 2, 180},
		{"polygons on both sides", "a.geojson", geometryOf("MultiPolygon", `[[[[-179.6, 1], [-179.5, 1], [-179.5, 3], [-179.6, 3]]], [[[179.5, 1], [179.6, 1], [179.6, 3], [179.5, 3]]]]`), 2, 180},
	}
	for _, tt := range tests {
		t.Run(tt.file+" "+tt.name, func(t *testing.T) {
			file, err := read(t, tt.file, tt.content)
			if err != nil {
				t.Fatal(err)
			}
			if len(file.Drafts) != 1 {
				t.Fatalf("no shop:\n%s", file)
			}
			d := file.Drafts[0]
			checkDraft(t, d)
			lng := d.Lng
			if tt.lng == 180 { // the same meridian as -180
				lng = math.Abs(lng)
			}
			if math.Abs(d.Lat-tt.lat) > 1e-9 || math.Abs(lng-tt.lng) > 1e-9 {
				t.Errorf("got %v, %v, want %v, %v", d.Lat, d.Lng, tt.lat, tt.lng)
			}
		})
	}
}

// Any value in place of a part of a record must not affect the neighbouring records.
func TestOddRecordsAffectOnlyThemselves(t *testing.T) {
	var element, feature map[string]any
	mustJSON := func(s string, into *map[string]any) {
		if err := json.Unmarshal([]byte(s), into); err != nil {
			t.Fatal(err)
		}
	}
	odd := []any{nil, true, 7, "text", []any{}, []any{7}, map[string]any{}, map[string]any{"x": []any{nil}}}
	names := func(file *File) (names []string) {
		for _, d := range file.Drafts {
			names = append(names, d.Name)
		}
		return names
	}
	check := func(t *testing.T, array, before, behind string, record any) {
		t.Helper()
		raw, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		file, err := read(t, "a.json", `{"`+array+`": [`+before+","+string(raw)+","+behind+"]}")
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		got := names(file)
		if len(got) < 2 || got[0] != "Before" || got[len(got)-1] != "Behind" || file.Report.Records != 3 {
			t.Errorf("%s: shops %v of %d records", raw, got, file.Report.Records)
		}
		skipped := file.Report.Untagged.Count
		for _, f := range file.Report.findings() {
			if f.label != "without tags (geometry only)" {
				skipped += f.Count
			}
		}
		if len(got)+skipped < 3 {
			t.Errorf("%s: the record is neither a shop nor reported", raw)
		}
	}
	const elementJSON = `{"type":"node","id":%d,"lat":1.5,"lon":2,"tags":{"amenity":"cafe","name":"%s"}}`
	const featureJSON = `{"type":"Feature","id":"node/%d","geometry":{"type":"Point","coordinates":[2,1.5]},"properties":{"amenity":"cafe","name":"%s"}}`
	for _, instead := range odd {
		check(t, "elements", fmt.Sprintf(elementJSON, 1, "Before"), fmt.Sprintf(elementJSON, 3, "Behind"), instead)
		check(t, "features", fmt.Sprintf(featureJSON, 1, "Before"), fmt.Sprintf(featureJSON, 3, "Behind"), instead)
		for _, part := range []string{"type", "id", "lat", "lon", "tags", "center", "bounds", "geometry"} {
			mustJSON(fmt.Sprintf(elementJSON, 2, "Odd"), &element)
			if part == "center" || part == "bounds" || part == "geometry" {
				delete(element, "lat")
				delete(element, "lon")
			}
			element[part] = instead
			check(t, "elements", fmt.Sprintf(elementJSON, 1, "Before"), fmt.Sprintf(elementJSON, 3, "Behind"), element)
			element = nil
		}
		for _, part := range []string{"type", "id", "geometry", "properties"} {
			mustJSON(fmt.Sprintf(featureJSON, 2, "Odd"), &feature)
			feature[part] = instead
			check(t, "features", fmt.Sprintf(featureJSON, 1, "Before"), fmt.Sprintf(featureJSON, 3, "Behind"), feature)
			feature = nil
		}
	}
}

func TestCSVDialectsAreEquivalent(t *testing.T) {
	const plain = "External ID,TYPE, name ,lat,lng,Avg-Price\nown:1,cafe,\"Two\nLines\",30.25,120.15,100\nown:2,bar,Plain,30.5,120.5,\n"
	want, err := read(t, "a.csv", plain)
	if err != nil || len(want.Drafts) != 2 || *want.Drafts[0].AvgPrice != 100 {
		t.Fatalf("%v, %v", want, err)
	}
	utf16 := func(order string, s string) string {
		var b strings.Builder
		for _, r := range "\ufeff" + s {
			if order == "LE" {
				b.Write([]byte{byte(r), byte(r >> 8)})
			} else {
				b.Write([]byte{byte(r >> 8), byte(r)})
			}
		}
		return b.String()
	}
	with := func(old, now string) string { return strings.ReplaceAll(plain, old, now) }
	decimal := strings.NewReplacer(",", ";", ".", ",").Replace(plain)
	tests := []struct{ name, content string }{
		{"semicolons", with(",", ";")},
		{"semicolons and decimal commas", decimal},
		{"tabs", with(",", "\t")},
		{"CR", with("\n", "\r")},
		{"CR LF", with("\n", "\r\n")},
		{"LF and CR LF", strings.Replace(plain, "\n", "\r\n", 1)},
		{"no end of the last line", strings.TrimSuffix(plain, "\n")},
		{"blank lines", "\n\n" + strings.Replace(plain, "\nown:2", "\n\n\nown:2", 1) + "\n\n"},
		{"sep", "sep=,\n" + plain},
		{"sep with a semicolon and CR LF", "SEP=;\r\n" + strings.ReplaceAll(decimal, "\n", "\r\n")},
		{"sep in quotes", "\"sep=\t\"\r" + strings.ReplaceAll(with(",", "\t"), "\n", "\r")},
		{"a sep of its own", "sep=~\n" + with(",", "~")},
		{"mark and sep", "\ufeffsep=;\n" + decimal},
		{"UTF-16 LE", utf16("LE", plain)},
		{"UTF-16 BE of tabs and CR LF", utf16("BE", strings.ReplaceAll(with(",", "\t"), "\n", "\r\n"))},
		{"empty cells behind the row", strings.Replace(plain, "100\n", "100,,\n", 1)},
		{"empty columns behind the header", strings.Replace(strings.Replace(strings.Replace(plain, "Price\n", "Price,,\n", 1), "100\n", "100,,\n", 1), "120.5,\n", "120.5,,,\n", 1)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file, err := read(t, "a.csv", tt.content)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.Drafts, file.Drafts); diff != "" || file.Report.Records != 2 {
				t.Errorf("%d records; (-want +got)\n%s\n%s", file.Report.Records, diff, file)
			}
		})
	}
}

func TestBadRowsAffectOnlyThemselves(t *testing.T) {
	row := func(n int) string { return fmt.Sprintf("own:%d,cafe,Cup %d,1,2\n", n, n) }
	tests := []struct {
		name, rows string
		shops      string
		bad        string
	}{
		{"too short", row(1) + "own:2,cafe\n" + row(3), "1 3", "line 3: it has 2 cells, the header has 5"},
		{"too short at the end", row(1) + "own:2,cafe", "1", "line 3: it has 2 cells, the header has 5"},
		{"too long", row(1) + "own:2,cafe,Cup,1,2,x\n" + row(3), "1 3", "line 3: it has 6 cells, the header has 5"},
		{"a quote in the middle", row(1) + "own:2,cafe,12\" Cup,1,2\n" + row(3), "1 3", `line 3: bare " in non-quoted-field`},
		{"text behind a quote", row(1) + "own:2,cafe,\"Cup\" 2,1,2\n" + row(3), "1 3", `line 3: extraneous or missing " in quoted-field`},
		{"an open quote", row(1) + "own:2,cafe,\"Cup,1,2\n" + row(3) + row(4), "1 3 4", "line 3: its quotes are not closed"},
		{"an open quote closed by a later row", row(1) + "own:2,cafe,\"Cup,1,2\n" + row(3) + "own:4,cafe,\"Cup\n 4\",1,2\n" + row(5), "1 3 4 5", `line 3: extraneous or missing " in quoted-field`},
		{"two open quotes", row(1) + "own:2,cafe,\"Cup,1,2\n" + "own:3,cafe,\"Cup,1,2\n" + row(4), "1 4", `line 3: extraneous or missing " in quoted-field; line 4: its quotes are not closed`},
		{"an open quote closed by a bad row", row(1) + "own:2,cafe,\"Cup,1,2\n" + row(3) + "own:4,cafe,12\" Cup,1,2\n" + row(5), "1 3 5", `line 3: extraneous or missing " in quoted-field; line 5: bare " in non-quoted-field`},
		{"a short row of two lines", row(1) + "own:2,cafe,\"Cup\n2\",1\n" + row(3), "1 3", "line 3: it has 4 cells, the header has 5"},
		{"a good row of two lines", row(1) + "own:2,cafe,\"Cup\n2\",1,2\n" + row(3), "1 2 3", ""},
		{"lines counted behind blank ones", row(1) + "\n\nown:2,cafe\n\n" + row(3), "1 3", "line 5: it has 2 cells, the header has 5"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file, err := read(t, "a.csv", "external_id,type,name,lat,lng\n"+tt.rows)
			if err != nil {
				t.Fatal(err)
			}
			var shops []string
			for _, d := range file.Drafts {
				shops = append(shops, strings.TrimPrefix(d.ExternalID, "own:"))
			}
			if got := strings.Join(shops, " "); got != tt.shops {
				t.Errorf("got shops %s, want %s", got, tt.shops)
			}
			if got := strings.Join(file.Report.Unreadable.Examples, "; "); got != tt.bad {
				t.Errorf("got bad rows %q, want %q", got, tt.bad)
			}
		})
	}
}
