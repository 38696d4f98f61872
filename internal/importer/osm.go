package importer

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// OpenStreetMap, as Overpass answers with [out:json]: an object with an array
// "elements" of nodes, ways and relations. A way or relation lies at its
// "center" (ask for `out center`), else in the middle of its "bounds", else of
// its "geometry".
//
//	external id  osm:node/42, osm:way/42, osm:relation/42
//	name         the tag name, as it stands on the sign. An element that only
//	             has translations (name:en and the like) counts as nameless:
//	             they are written by mappers, not by the shop
//	type         the category tags, see osmTypes
//	address      addr:housenumber and addr:street, else addr:place, else
//	             addr:full
//	area         the smallest part of the town that is given, see osmAreas
//	open hours   opening_hours as it is written
//	score        none

// osmID is how OpenStreetMap's tools write the id of an element.
var osmID = regexp.MustCompile(`^(node|way|relation)/[0-9]{1,19}$`)

// osmKeys are the tags that can say what a place is, the strongest first: a
// hotel's restaurant that is tagged both ways is a restaurant.
var osmKeys = []string{"amenity", "shop", "tourism", "leisure", "craft"}

// osmTypes maps category tags to the keys of the catalogue. Values that no
// shop of ours has (banks, offices, car repair) are left out on purpose.
var osmTypes = map[string]string{
	"amenity=restaurant": "restaurant",

	"amenity=cafe": "cafe", "shop=coffee": "cafe", "shop=tea": "cafe", "amenity=hookah_lounge": "cafe",

	"amenity=fast_food": "fast_food", "amenity=food_court": "fast_food",

	"amenity=ice_cream": "bakery", "shop=bakery": "bakery", "shop=pastry": "bakery", "shop=confectionery": "bakery",
	"shop=chocolate": "bakery", "shop=ice_cream": "bakery", "craft=bakery": "bakery", "craft=confectionery": "bakery",

	"amenity=bar": "bar", "amenity=pub": "bar", "amenity=biergarten": "bar", "amenity=nightclub": "bar",
	"craft=brewery": "bar",

	"amenity=karaoke_box": "karaoke", "amenity=karaoke": "karaoke",

	"shop=hairdresser": "hair", "shop=beauty": "hair", "shop=cosmetics": "hair", "shop=nails": "hair",

	"shop=massage": "massage", "amenity=spa": "massage", "leisure=spa": "massage", "leisure=sauna": "massage",
	"amenity=public_bath": "massage",

	"leisure=fitness_centre": "fitness", "leisure=sports_centre": "fitness", "leisure=sports_hall": "fitness",
	"leisure=bowling_alley": "fitness", "leisure=ice_rink": "fitness", "leisure=swimming_pool": "fitness",
	"leisure=dance": "fitness", "amenity=gym": "fitness", "shop=sports": "fitness",

	"amenity=cinema": "cinema", "amenity=theatre": "cinema",

	"leisure=playground": "kids", "leisure=indoor_play": "kids", "leisure=amusement_arcade": "kids",
	"leisure=water_park": "kids", "shop=toys": "kids", "shop=baby_goods": "kids", "tourism=theme_park": "kids",
	"tourism=zoo": "kids", "tourism=aquarium": "kids",

	"shop=books": "books", "shop=music": "books", "shop=art": "books", "amenity=library": "books",
	"amenity=public_bookcase": "books", "amenity=arts_centre": "books", "tourism=museum": "books",
	"tourism=gallery": "books",

	"shop=convenience": "market", "shop=supermarket": "market", "shop=greengrocer": "market", "shop=butcher": "market",
	"shop=seafood": "market", "shop=deli": "market", "shop=dairy": "market", "shop=cheese": "market",
	"shop=farm": "market", "shop=food": "market", "shop=health_food": "market", "shop=spices": "market",
	"shop=alcohol": "market", "shop=wine": "market", "shop=beverages": "market", "amenity=marketplace": "market",
	"craft=winery": "market",

	"tourism=hotel": "hotel", "tourism=hostel": "hotel", "tourism=guest_house": "hotel", "tourism=motel": "hotel",
	"tourism=apartment": "hotel", "tourism=chalet": "hotel",
}

// osmAreas are the tags that name a part of a town, the smallest part first.
var osmAreas = []string{
	"addr:neighbourhood", "addr:quarter", "addr:suburb", "addr:subdistrict", "addr:city_district", "addr:district",
}

// addElement takes in an element of an Overpass answer.
func (c *collector) addElement(where string, fields map[string]json.RawMessage) {
	if name := string(looseOf(fields["type"]) + "/" + looseOf(fields["id"])); osmID.MatchString(name) {
		where = name
	}
	t, wrong := tagsOf(fields["tags"])
	switch {
	case wrong != "":
		c.spoiled(where, "member tags %s", wrong)
		return
	case len(t) == 0: // the corners of ways, and "out count"
		c.file.Report.Records++
		c.file.Report.Untagged.Count++
		return
	}
	rec := osmRecord(where, t)
	if osmID.MatchString(where) {
		rec.id, rec.prefix = where, osmPrefix
	}
	rec.at = osmPlace(fields)
	c.add(rec)
}

// osmRecord reads what tags say about a shop, all but its id and position.
func osmRecord(where string, t tags) record {
	rec := record{
		where:   where,
		name:    string(t["name"]),
		area:    t.first(osmAreas...),
		address: osmAddress(t),
		hours:   string(t["opening_hours"]),
	}
	rec.category, rec.saw = osmType(t)
	return rec
}

// osmType finds the catalogue's key for tags. Without one, saw is the tag
// that names the category, or says that there is none.
func osmType(t tags) (key, saw string) {
	saw = "no category tag"
	for _, k := range osmKeys {
		values := string(t[k])
		if values == "" {
			continue
		}
		if saw == "no category tag" {
			saw = k + "=" + values
		}
		for value := range strings.SplitSeq(values, ";") { // several values in one tag
			if key, ok := osmTypes[k+"="+strings.TrimSpace(value)]; ok {
				return key, ""
			}
		}
	}
	return "", saw
}

// osmAddress writes street and number in the order of the street's script:
// "12 Canal Road", but "运河路12".
func osmAddress(t tags) string {
	street := t.first("addr:street", "addr:place")
	if street == "" {
		return string(t["addr:full"])
	}
	number := string(t["addr:housenumber"])
	if number == "" {
		return street
	}
	if last, _ := utf8.DecodeLastRuneInString(street); unicode.Is(unicode.Han, last) {
		return street + number
	}
	return number + " " + street
}

// osmPlace finds where an element lies.
func osmPlace(el map[string]json.RawMessage) position {
	var corners []position
	switch {
	case !absent(el["lat"]) || !absent(el["lon"]):
		corners = []position{osmCorner(el, "lat", "lon")}
	case !absent(el["center"]):
		corners = osmCorners("center", el["center"], "lat", "lon")
	case !absent(el["bounds"]):
		corners = append(osmCorners("bounds", el["bounds"], "minlat", "minlon"), osmCorners("bounds", el["bounds"], "maxlat", "maxlon")...)
	case !absent(el["geometry"]):
		line, wrong := array(el["geometry"])
		if wrong != "" {
			return nowhere("geometry %s", wrong)
		}
		for _, raw := range line {
			corners = append(corners, osmCorners("a corner", raw, "lat", "lon")...)
		}
	default:
		return nowhere("no coordinates (ask Overpass for out center)")
	}
	return middleOf([][]position{corners}, false)
}

// osmCorners reads one position of a member of an element.
func osmCorners(name string, raw json.RawMessage, lat, lon string) []position {
	fields, wrong := object(raw)
	if wrong != "" {
		return []position{nowhere("%s %s", name, wrong)}
	}
	return []position{osmCorner(fields, lat, lon)}
}

func osmCorner(fields map[string]json.RawMessage, latName, lonName string) position {
	lat, latWrong := jsonDegrees(fields[latName])
	lon, lonWrong := jsonDegrees(fields[lonName])
	return corner(lat, latWrong, lon, lonWrong)
}
