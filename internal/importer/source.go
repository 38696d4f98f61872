package importer

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/tandian-dev/tandian/internal/kit/geo"
	"github.com/tandian-dev/tandian/internal/kit/text"
	"github.com/tandian-dev/tandian/internal/shop"
)

// An external id is global or local.
//
// A global id names a shop in the whole world: OpenStreetMap's node/42, anything
// with a prefix (own:42, a URL), a UUID, a Wikidata item. It is stored as it is;
// in GeoJSON it gets the prefix osm: or geojson:.
//
// A local id, like 42, tells records of one data set apart, and each data set has
// such ids. It is stored as SOURCE:42, where SOURCE is the name that the import
// gives the data set. An import without a source accepts local ids only for
// shops that are already stored under them, at the same places: before data sets
// had names, local ids were stored without one.

const (
	osmPrefix     = "osm:"
	geojsonPrefix = "geojson:"
)

var (
	sourceName = regexp.MustCompile(`^[a-z][a-z0-9._-]{0,39}$`)

	prefixedID = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+._-]*:.`)
	uuid       = regexp.MustCompile(`^\{?[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\}?$`)
	wikidata   = regexp.MustCompile(`^Q[1-9][0-9]{4,}$`) // shorter ones could be numbers of questions
)

// CheckSource returns an error unless name can be that of a data set.
func CheckSource(name string) error {
	if !sourceName.MatchString(name) {
		return fmt.Errorf("invalid source %q: want 1 to 40 of a-z, 0-9, dot, underscore and hyphen, a letter first", name)
	}
	if reserved := []string{"demo", "geojson", "http", "https", "osm", "seed", "urn"}; slices.Contains(reserved, name) {
		return fmt.Errorf("invalid source %q: %s are taken", name, strings.Join(reserved, ", "))
	}
	return nil
}

// global reports whether an id of a file names a shop in the whole world.
func global(id string) bool {
	return osmID.MatchString(id) || prefixedID.MatchString(id) || uuid.MatchString(id) || wikidata.MatchString(id)
}

// externalID is the id under which a record is stored. former is not empty if the
// id is local: the id under which it was stored before data sets had names.
func (c *collector) externalID(rec record) (id, former string) {
	own := text.Line(rec.id)
	if own == "" {
		return "", ""
	}
	id = rec.prefix + own
	if global(own) {
		return id, ""
	}
	if c.source == "" {
		return id, id
	}
	return c.source + ":" + own, id
}

// A Registry knows the shops that are stored under external ids.
type Registry interface {
	// Known returns the stored shops of external ids, by these.
	Known(ctx context.Context, externalIDs []string) (map[string]shop.Known, error)
}

// How far a shop may move, in metres, and still be the same one.
const (
	movedWithin   = 20_000 // under its name
	renamedWithin = 50     // under another name
)

// samePlace reports whether a draft can be a newer version of a stored shop. Two
// data sets use the same numbers, but not for the same places.
func samePlace(d *shop.Draft, name string, at geo.Point) bool {
	distance := at.Distance(geo.Point{Lat: d.Lat, Lng: d.Lng})
	return distance <= renamedWithin || distance <= movedWithin && strings.EqualFold(d.Name, name)
}

// recognize decides whether the local ids of a file are those of the shops that
// are stored under them. It returns an error if they are of another data set.
// It marks the drafts whose shops were stored before their data set had a name.
func (f *File) recognize(ctx context.Context, registry Registry, source string) error {
	if len(f.local) == 0 {
		return nil
	}
	ids := slices.Collect(maps.Keys(f.local))
	if source != "" {
		ids = slices.AppendSeq(ids, maps.Values(f.local))
	}
	stored, err := registry.Known(ctx, slices.Compact(slices.Sorted(slices.Values(ids))))
	if err != nil {
		return fmt.Errorf("look for the shops of %s: %w", f.Name, err)
	}
	same, renamed := 0, 0
	var others []string
	for i := range f.Drafts {
		d := &f.Drafts[i]
		former, local := f.local[d.ExternalID]
		if !local {
			continue
		}
		if now, ok := stored[d.ExternalID]; ok {
			if samePlace(d, now.Name, now.At) {
				same++
			} else {
				others = append(others, fmt.Sprintf("%s is %q and was %q", d.ExternalID, shortened(d.Name), shortened(now.Name)))
			}
			continue
		}
		if before, ok := stored[former]; ok && samePlace(d, before.Name, before.At) {
			d.FormerID = former
			renamed++
		}
	}
	switch {
	case source == "" && same == 0:
		return f.unnamed("")
	case source == "" && len(others) > 0:
		return f.unnamed(": " + others[0])
	case len(others) > same+renamed:
		return fmt.Errorf("%s: %d of %d ids of the source %q name other places than before (%s): give another data set another --source",
			f.Name, len(others), len(f.local), source, others[0])
	}
	if renamed > 0 {
		f.Report.Notes = append(f.Report.Notes, fmt.Sprintf("%d shops that were imported without a source now belong to %s", renamed, source))
	}
	return nil
}

// unnamed refuses local ids without a source.
func (f *File) unnamed(why string) error {
	example := ""
	for _, d := range f.Drafts {
		if _, local := f.local[d.ExternalID]; local {
			example = strings.TrimPrefix(d.ExternalID, geojsonPrefix)
			break
		}
	}
	return fmt.Errorf("%s: %d ids, like %q, only tell the records of one data set apart, and another data set may use them too%s; "+
		"name the data set with --source NAME, the same NAME at each import, or write ids with a prefix, like NAME:%[3]s",
		f.Name, len(f.local), example, why)
}

// usable returns an error if nothing of a file can be imported for a reason that
// concerns all of it.
func (f *File) usable() error {
	switch {
	case f.Report.Records == 0:
		return fmt.Errorf("%s: no records in this file (%s); is the download complete?", f.Name, f.Format)
	case len(f.Drafts) == 0 && f.Report.NoID.Count > 0:
		return fmt.Errorf("%s: no record has an id (of at most %d bytes), so a second import would double the shops; "+
			`give each feature an "id" or each row an external_id`, f.Name, maxExternalID)
	}
	return nil
}
