// Package importer imports shops from files: OpenStreetMap's Overpass JSON, GeoJSON
// and CSV.
package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tandian-dev/tandian/internal/kit/geo"
	"github.com/tandian-dev/tandian/internal/kit/progress"
	"github.com/tandian-dev/tandian/internal/shop"
)

// A ShopStore stores shops.
type ShopStore interface {
	// Upsert stores the drafts in one transaction. After each batch it calls progress
	// with the number of drafts done. Calls of progress do not overlap, and none follows
	// the return.
	Upsert(ctx context.Context, drafts []shop.Draft, progress func(done int)) (shop.SaveCounts, error)
}

// A Store stores imported shops and knows the stored ones.
type Store interface {
	ShopStore
	Registry
}

// Options complete the files of an import.
type Options struct {
	// Source names the data set of the files; "" is none. Ids that are unique only in their
	// data set need it.
	Source string
	// ShopZone is the time zone of shops without one; "" is the zone of the server.
	ShopZone string
}

// Check returns an error if an option is invalid.
func (o Options) Check() error {
	if o.Source != "" {
		if err := checkSource(o.Source); err != nil {
			return err
		}
	}
	if o.ShopZone != "" {
		return checkZone(o.ShopZone)
	}
	return nil
}

// Import reads the files and stores their shops in one transaction. After an error of any
// file, nothing is stored. If several files have the same external id, the last one counts.
// Import writes the report of each file, the progress and the totals to out.
func Import(ctx context.Context, store Store, opts Options, paths []string, out io.Writer) error {
	drafts, report, err := gather(ctx, store, opts.Source, paths, out)
	if err != nil {
		return fmt.Errorf("import: %w (nothing was stored)", err)
	}
	for i := range drafts {
		drafts[i].TimeZone = cmp.Or(drafts[i].TimeZone, opts.ShopZone)
	}
	var counts shop.SaveCounts
	if len(drafts) > 0 {
		bar := progress.New(out, "shops", len(drafts))
		defer bar.Close()
		if counts, err = store.Upsert(ctx, drafts, bar.Set); err != nil {
			return fmt.Errorf("import %d shops: %w", len(drafts), err)
		}
		bar.Close()
	}
	if _, err := fmt.Fprintln(out, summary(counts, report)); err != nil {
		return fmt.Errorf("print the totals of the import: %w", err)
	}
	return nil
}

// gather reads the files and writes their reports.
func gather(ctx context.Context, registry Registry, source string, paths []string, out io.Writer) ([]shop.Draft, *Report, error) {
	if len(paths) == 0 {
		return nil, nil, errors.New("no file given")
	}
	all := newCollector("", source)
	for _, path := range paths {
		file, err := Read(ctx, path, source)
		if err != nil {
			return nil, nil, err
		}
		if err := file.checkUsable(); err != nil {
			return nil, nil, err
		}
		if err := file.matchStored(ctx, registry, source); err != nil {
			return nil, nil, err
		}
		if err := all.merge(file); err != nil {
			return nil, nil, err
		}
		if _, err := io.WriteString(out, file.String()); err != nil {
			return nil, nil, fmt.Errorf("print the report: %w", err)
		}
	}
	return all.file.Drafts, &all.file.Report, nil
}

// merge adds the drafts of another file and the counts of its report. It returns an error
// if two files use the same local id for two places.
func (c *collector) merge(f *File) error {
	for _, d := range f.Drafts {
		i, again := c.index[d.ExternalID]
		if !again {
			c.index[d.ExternalID] = len(c.file.Drafts)
			c.file.Drafts = append(c.file.Drafts, d)
			continue
		}
		before := c.file.Drafts[i]
		if _, local := f.local[d.ExternalID]; local && !samePlace(&d, before.Name, geo.Point{Lat: before.Lat, Lng: before.Lng}) {
			return fmt.Errorf("%s: %s is %q here and %q in a previous file; import the files one by one, each with its own --source",
				f.Name, d.ExternalID, shorten(d.Name), shorten(before.Name))
		}
		c.file.Report.Duplicate.Count++
		d.FormerID = cmp.Or(d.FormerID, before.FormerID)
		c.file.Drafts[i] = d
	}
	sum, r := &c.file.Report, &f.Report
	sum.Records += r.Records
	sum.Unreadable.Count += r.Unreadable.Count
	sum.Untagged.Count += r.Untagged.Count
	sum.UnknownCategory.Count += r.UnknownCategory.Count
	sum.Nameless.Count += r.Nameless.Count
	sum.BadCoordinates.Count += r.BadCoordinates.Count
	sum.NoID.Count += r.NoID.Count
	sum.Duplicate.Count += r.Duplicate.Count
	sum.TooLong.Count += r.TooLong.Count
	sum.BadValue.Count += r.BadValue.Count
	sum.UnknownHours.Count += r.UnknownHours.Count
	return nil
}

// summary returns the last line of an import.
func summary(t shop.SaveCounts, r *Report) string {
	var trouble []string
	for _, found := range r.findings() {
		if found.Count > 0 {
			trouble = append(trouble, fmt.Sprintf("%d %s", found.Count, found.label))
		}
	}
	line := fmt.Sprintf("%d added, %d changed, %d unchanged", t.Added, t.Changed, t.Unchanged)
	if trouble == nil {
		return line
	}
	return line + "; " + strings.Join(trouble, ", ")
}
