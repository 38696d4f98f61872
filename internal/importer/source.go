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
// A global id is unique in the world: OpenStreetMap's node/42, an id with a prefix
// (own:42, a URL), a UUID, a Wikidata item. It is stored unchanged, in GeoJSON with the
// prefix osm: or geojson:.
//
// A local id, like 42, is unique in its data set only. It is stored as SOURCE:42, where
// SOURCE is the name that the import gives the data set. Before data sets had names, local
// ids were stored without one. So an import without a source accepts local ids only for
// shops that are stored under these ids at the same places.

const (
	osmPrefix     = "osm:"
	geojsonPrefix = "geojson:"
)

var (
	sourceName = regexp.MustCompile(`^[a-z][a-z0-9._-]{0,39}$`)

	prefixedID = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+._-]*:.`)
	uuid       = regexp.MustCompile(`^\{?[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\}?$`)
	wikidata   = regexp.MustCompile(`^Q[1-9][0-9]{4,}$`) // shorter ones could be question numbers
)

// checkSource returns an error unless name is a valid name of a data set.
func checkSource(name string) error {
	if !sourceName.MatchString(name) {
		return fmt.Errorf("invalid source %q: want 1 to 40 of a-z, 0-9, dot, underscore and hyphen, a letter first", name)
	}
	if reserved := []string{"demo", "geojson", "http", "https", "osm", "seed", "urn"}; slices.Contains(reserved, name) {
		return fmt.Errorf("invalid source %q: %s are reserved", name, strings.Join(reserved, ", "))
	}
	return nil
}

// isGlobal reports whether an id of a file is unique in the world.
func isGlobal(id string) bool {
	return osmID.MatchString(id) || prefixedID.MatchString(id) || uuid.MatchString(id) || wikidata.MatchString(id)
}

// externalID returns the external id of a record. If the id is local, former is the id
// that it had before data sets had names; otherwise it is "".
func (c *collector) externalID(rec record) (id, former string) {
	own := text.Line(rec.id)
	if own == "" {
		return "", ""
	}
	id = rec.prefix + own
	if isGlobal(own) {
		return id, ""
	}
	if c.source == "" {
		return id, id
	}
	return c.source + ":" + own, id
}

// A Registry finds stored shops by their external ids.
type Registry interface {
	// Identities returns the stored shops among externalIDs, by external id.
	Identities(ctx context.Context, externalIDs []string) (map[string]shop.Identity, error)
}

// Metres that a shop may move and still be the same shop.
const (
	movedWithin   = 20_000 // with the same name
	renamedWithin = 50     // with another name
)

// samePlace reports whether a draft can be a newer version of a stored shop. Two data
// sets may use the same number, but for different places.
func samePlace(d *shop.Draft, name string, at geo.Point) bool {
	distance := at.Distance(geo.Point{Lat: d.Lat, Lng: d.Lng})
	return distance <= renamedWithin || distance <= movedWithin && strings.EqualFold(d.Name, name)
}

// matchStored compares the local ids of a file with the shops that are stored under them.
// It returns an error if these belong to another data set. It sets FormerID of drafts
// whose shops were stored before their data set had a name.
func (f *File) matchStored(ctx context.Context, registry Registry, source string) error {
	if len(f.local) == 0 {
		return nil
	}
	ids := slices.Collect(maps.Keys(f.local))
	if source != "" {
		ids = slices.AppendSeq(ids, maps.Values(f.local))
	}
	stored, err := registry.Identities(ctx, slices.Compact(slices.Sorted(slices.Values(ids))))
	if err != nil {
		return fmt.Errorf("find stored shops of %s: %w", f.Name, err)
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
				others = append(others, fmt.Sprintf("%s is %q and was %q", d.ExternalID, shorten(d.Name), shorten(now.Name)))
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
		return f.missingSource("")
	case source == "" && len(others) > 0:
		return f.missingSource(": " + others[0])
	case len(others) > same+renamed:
		return fmt.Errorf("%s: %d of %d ids of the source %q belong to other places than before (%s): give another data set another --source",
			f.Name, len(others), len(f.local), source, others[0])
	}
	if renamed > 0 {
		f.Report.Notes = append(f.Report.Notes, fmt.Sprintf("%d shops that were imported without a source now belong to %s", renamed, source))
	}
	return nil
}

// missingSource returns the error of a file with local ids and without a source.
func (f *File) missingSource(why string) error {
	example := ""
	for _, d := range f.Drafts {
		if _, local := f.local[d.ExternalID]; local {
			example = strings.TrimPrefix(d.ExternalID, geojsonPrefix)
			break
		}
	}
	return fmt.Errorf("%s: %d ids, like %q, are unique only in one data set, and another data set may use them too%s; "+
		"name the data set with --source NAME, the same NAME for each import, or write ids with a prefix, like NAME:%[3]s",
		f.Name, len(f.local), example, why)
}

// checkUsable returns an error if a problem of the whole file leaves nothing to import.
func (f *File) checkUsable() error {
	switch {
	case f.Report.Records == 0:
		return fmt.Errorf("%s: no records in this file (%s); is the download complete?", f.Name, f.Format)
	case len(f.Drafts) == 0 && f.Report.NoID.Count > 0:
		return fmt.Errorf("%s: no record has an id (of at most %d bytes), so a second import would duplicate the shops; "+
			`give each feature an "id" or each row an external_id`, f.Name, maxExternalID)
	}
	return nil
}
