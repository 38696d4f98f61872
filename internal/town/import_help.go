package town

// ImportHelp describes the files that [Import] reads, for people at a terminal.
const ImportHelp = `Formats, recognized by their content:
  Overpass JSON   of OpenStreetMap, with [out:json] and "out center"
  GeoJSON         a FeatureCollection with tags of OpenStreetMap, or with the columns of a CSV, as properties
  CSV             cells between commas, semicolons or tabs; UTF-8, or UTF-16 with a byte order mark

Columns of a CSV, in any order; the first line names them:
  external_id     required: names the shop, so that a second import changes it; at most 200 bytes
  type            required: restaurant, cafe, fast_food, bakery, bar, karaoke, hair, massage, fitness,
                  cinema, kids, books, market or hotel
  name            required
  lat, lng        required: degrees, WGS 84
  area            quarter of the town
  address
  avg_price       per person, in minor units (cents, fen)
  score           0 to 5
  open_hours

Ids: node/42 of OpenStreetMap, an id with a prefix like own:42, a URL, a UUID and a Wikidata item
are unique in the world. All others, like 42, are unique in their data set only: name it with
--source, always by the same NAME.

All files are stored in one transaction. After an error nothing is stored. A bad record is left out
and reported. A shop that has an owner is left as it is.`
