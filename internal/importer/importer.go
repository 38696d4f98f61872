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
	// Upsert stores the drafts in one transaction, whatever their number, and
	// reports after each batch how many of them are done. It calls progress
	// from one goroutine at a time, and not after it has returned.
	Upsert(ctx context.Context, drafts []shop.Draft, progress func(done int)) (shop.SaveCounts, error)
}

// Store is where imported shops go.
type Store interface {
	ShopStore
	Registry
}

// Import reads the files and stores their shops in one transaction, so after
// an error of any file nothing is stored. source names the data set that the
// files belong to, for ids that are local to it; "" is none. An external id that
// several files have is that of the last one. Import writes to out what was found
// in each file, the progress, and the tally.
func Import(ctx context.Context, store Store, source string, paths []string, out io.Writer) error {
	drafts, report, err := gather(ctx, store, source, paths, out)
	if err != nil {
		return fmt.Errorf("import: %w (nothing was stored)", err)
	}
	var tally shop.SaveCounts
	if len(drafts) > 0 {
		bar := progress.New(out, "shops", len(drafts))
		defer bar.Close()
		if tally, err = store.Upsert(ctx, drafts, bar.Set); err != nil {
			return fmt.Errorf("import %d shops: %w", len(drafts), err)
		}
		bar.Close()
	}
	if _, err := fmt.Fprintln(out, summary(tally, report)); err != nil {
		return fmt.Errorf("import: print the tally: %w", err)
	}
	return nil
}

// gather reads the files and writes the report of each.
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
		if err := file.usable(); err != nil {
			return nil, nil, err
		}
		if err := file.recognize(ctx, registry, source); err != nil {
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

// merge takes in another file: its drafts, and the counts of its report. It
// refuses a local id that two files use for two places.
func (c *collector) merge(f *File) error {
	for _, d := range f.Drafts {
		i, again := c.place[d.ExternalID]
		if !again {
			c.place[d.ExternalID] = len(c.file.Drafts)
			c.file.Drafts = append(c.file.Drafts, d)
			continue
		}
		before := c.file.Drafts[i]
		if _, local := f.local[d.ExternalID]; local && !samePlace(&d, before.Name, geo.Point{Lat: before.Lat, Lng: before.Lng}) {
			return fmt.Errorf("%s: %s is %q here and %q in a file before it; import the files one by one, each with its own --source",
				f.Name, d.ExternalID, shortened(d.Name), shortened(before.Name))
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
	return nil
}

// summary is the last line of an import.
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
