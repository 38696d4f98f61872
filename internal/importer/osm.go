package importer

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// OpenStreetMap: an Overpass response with [out:json], an object with an array "elements"
// of nodes, ways and relations. The position of a way or relation is its "center" (query
// with `out center`), else the centre of its "bounds", else of its "geometry".
//
//	external id  osm:node/42, osm:way/42, osm:relation/42
//	name         the tag name, the text on the sign. Translations such as name:en
//	             do not count: mappers write them, not the shop
//	type         the category tags, see osmTypes
//	address      addr:housenumber and addr:street, else addr:place, else
//	             addr:full
//	area         the smallest area in the tags, see osmAreas
//	open hours   opening_hours as written
//	phone        the first number of phone, else of contact:phone
//	website      the first address of website, else of contact:website, else of url
//	score        none

// osmID matches element ids as the tools of OpenStreetMap write them.
var osmID = regexp.MustCompile(`^(node|way|relation)/[0-9]{1,19}$`)

// osmKeys lists the category tags, the strongest first. A restaurant in a hotel that has
// both tags is a restaurant.
var osmKeys = []string{"amenity", "shop", "tourism", "leisure", "craft"}

// osmTypes maps category tags to keys of the catalogue. Values without a shop type
// (banks, offices, car repair) are omitted on purpose.
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

// osmAreas lists the tags that name an area, the smallest area first.
var osmAreas = []string{
	"addr:neighbourhood", "addr:quarter", "addr:suburb", "addr:subdistrict", "addr:city_district", "addr:district",
}

// addElement adds an element of an Overpass response.
func (c *collector) addElement(where string, fields map[string]json.RawMessage) {
	if name := string(looseOf(fields["type"]) + "/" + looseOf(fields["id"])); osmID.MatchString(name) {
		where = name
	}
	t, wrong := tagsOf(fields["tags"])
	switch {
	case wrong != "":
		c.addUnreadable(where, "member tags %s", wrong)
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

// osmRecord returns a record from tags, without id and position.
func osmRecord(where string, t tags) record {
	rec := record{
		where:   where,
		name:    string(t["name"]),
		area:    t.first(osmAreas...),
		address: osmAddress(t),
		hours:   string(t["opening_hours"]),
		phone:   t.first("phone", "contact:phone"),
		website: t.first("website", "contact:website", "url"),
	}
	rec.category, rec.rawCategory = osmType(t)
	return rec
}

// osmType returns the key of the catalogue for tags. Without one, raw is the category
// tag, or states that there is none.
func osmType(t tags) (key, raw string) {
	raw = "no category tag"
	for _, k := range osmKeys {
		values := string(t[k])
		if values == "" {
			continue
		}
		if raw == "no category tag" {
			raw = k + "=" + values
		}
		for value := range strings.SplitSeq(values, ";") { // several values in one tag
			if key, ok := osmTypes[k+"="+strings.TrimSpace(value)]; ok {
				return key, ""
			}
		}
	}
	return "", raw
}

// osmAddress writes street and number in the order of the street's script: "12 Canal
// Road", but "运河路12".
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

// osmPlace returns the position of an element.
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
			return noPosition("geometry %s", wrong)
		}
		for _, raw := range line {
			corners = append(corners, osmCorners("a corner", raw, "lat", "lon")...)
		}
	default:
		return noPosition("no coordinates (ask Overpass for out center)")
	}
	return centreOf([][]position{corners}, false)
}

// osmCorners reads one position of a member of an element.
func osmCorners(name string, raw json.RawMessage, lat, lon string) []position {
	fields, wrong := object(raw)
	if wrong != "" {
		return []position{noPosition("%s %s", name, wrong)}
	}
	return []position{osmCorner(fields, lat, lon)}
}

func osmCorner(fields map[string]json.RawMessage, latName, lonName string) position {
	lat, latWrong := parseJSONDegrees(fields[latName])
	lon, lonWrong := parseJSONDegrees(fields[lonName])
	return corner(lat, latWrong, lon, lonWrong)
}
