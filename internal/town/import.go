package town

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tandian-dev/tandian/internal/shop"
)

// Import reads the files and stores their shops in one transaction, so after
// an error of any file nothing is stored. An external id that several files
// have is that of the last one. Import writes to out what was found in each
// file, the progress, and the tally.
func Import(ctx context.Context, sink Sink, paths []string, out io.Writer) error {
	if len(paths) == 0 {
		return errors.New("import: no file given")
	}
	all := newCollector("")
	for _, path := range paths {
		file, err := Read(ctx, path)
		if err != nil {
			return fmt.Errorf("import: %w", err)
		}
		if _, err := io.WriteString(out, file.String()); err != nil {
			return fmt.Errorf("import: print the report: %w", err)
		}
		all.merge(file)
	}
	drafts := all.file.Drafts
	var tally shop.Tally
	if len(drafts) > 0 {
		progress := NewProgress(out, "shops", len(drafts))
		defer progress.Close()
		var err error
		if tally, err = sink.Upsert(ctx, drafts, progress.Set); err != nil {
			return fmt.Errorf("import %d shops: %w", len(drafts), err)
		}
		progress.Close()
	}
	if _, err := fmt.Fprintln(out, summary(tally, &all.file.Report)); err != nil {
		return fmt.Errorf("import: print the tally: %w", err)
	}
	return nil
}

// merge takes in another file: its drafts, and the counts of its report.
func (c *collector) merge(f *File) {
	for _, d := range f.Drafts {
		if i, again := c.place[d.ExternalID]; again {
			c.file.Report.Duplicate.Count++
			c.file.Drafts[i] = d
			continue
		}
		c.place[d.ExternalID] = len(c.file.Drafts)
		c.file.Drafts = append(c.file.Drafts, d)
	}
	sum, r := &c.file.Report, &f.Report
	sum.Records += r.Records
	sum.Untagged.Count += r.Untagged.Count
	sum.UnknownCategory.Count += r.UnknownCategory.Count
	sum.Nameless.Count += r.Nameless.Count
	sum.BadCoordinates.Count += r.BadCoordinates.Count
	sum.NoID.Count += r.NoID.Count
	sum.Duplicate.Count += r.Duplicate.Count
	sum.TooLong.Count += r.TooLong.Count
	sum.BadValue.Count += r.BadValue.Count
}

// summary is the last line of an import.
func summary(t shop.Tally, r *Report) string {
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
