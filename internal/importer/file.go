package importer

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tandian-dev/tandian/internal/kit/text"
	"github.com/tandian-dev/tandian/internal/shop"
)

// A File is what one file of shops holds.
type File struct {
	Name   string // as it was given to Read
	Format string // "Overpass JSON", "GeoJSON" or "CSV"
	// Drafts are the usable shops in the order of the file, each external id
	// once, every text clean and within its bound.
	Drafts []shop.Draft
	Report Report
	// local are the external ids of Drafts that only tell the records of their
	// data set apart, by the id under which they were stored before data sets
	// had names. See source.go.
	local map[string]string
}

// A Report says what became of the records of a file: elements, features or
// rows. A record is refused for the first reason that holds, in the order of
// the fields below down to NoID; the others do not refuse it.
type Report struct {
	Records         int
	Unreadable      Problem // a part of the wrong JSON type, a row of another length, …
	Untagged        Problem // OpenStreetMap geometry without any tag
	UnknownCategory Problem // no type of the catalogue fits
	Nameless        Problem // no name
	BadCoordinates  Problem // none, not a number, out of range, or exactly (0,0)
	NoID            Problem // nothing that names the shop in its source, or more than 200 bytes
	Duplicate       Problem // an external id again: the last one counts
	TooLong         Problem // a text beyond its bound of package shop: cut
	BadValue        Problem // an unreadable price or score: left unknown
	Notes           []string
}

// A Problem counts one kind of trouble, with the first few places of it.
type Problem struct {
	Count    int
	Examples []string
}

const (
	maxExamples = 20
	maxExample  = 100 // characters

	maxNotes = 20

	maxExternalID = 200 // bytes: what a Sink takes
)

func (f *Problem) add(format string, args ...any) {
	f.Count++
	if len(f.Examples) < maxExamples {
		example, _ := text.Truncate(text.Line(fmt.Sprintf(format, args...)), maxExample)
		f.Examples = append(f.Examples, example)
	}
}

// findings lists the trouble of a report with the words that follow a count.
func (r *Report) findings() []struct {
	label string
	Problem
} {
	return []struct {
		label string
		Problem
	}{
		{"unreadable", r.Unreadable},
		{"without a name", r.Nameless},
		{"of no known category", r.UnknownCategory},
		{"with bad coordinates", r.BadCoordinates},
		{"without an id", r.NoID},
		{"given again (the last one counts)", r.Duplicate},
		{"with a text too long (cut)", r.TooLong},
		{"with an unreadable price or score (left out)", r.BadValue},
		{"without tags (geometry only)", r.Untagged},
	}
}

// String describes the file for people: a line of counts, the notes, and each
// kind of trouble with its first places.
func (f *File) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %d records, %d shops\n", f.Name, f.Format, f.Report.Records, len(f.Drafts))
	for _, note := range f.Report.Notes {
		fmt.Fprintf(&b, "  note: %s\n", note)
	}
	for _, found := range f.Report.findings() {
		if found.Count == 0 {
			continue
		}
		fmt.Fprintf(&b, "  %d %s\n", found.Count, found.label)
		for _, example := range found.Examples {
			fmt.Fprintf(&b, "    %s\n", example)
		}
		if more := found.Count - len(found.Examples); more > 0 && len(found.Examples) > 0 {
			fmt.Fprintf(&b, "    … and %d more\n", more)
		}
	}
	return b.String()
}

// A record is one shop as a file has it, before anything was checked.
type record struct {
	where    string // how the report names it
	id       string
	prefix   string // of the external id, if id needs one
	category string // a key of the catalogue, or "" if none fits
	saw      string // what stood in the place of the category
	name     string
	area     string
	address  string
	at       position
	price    string
	score    string
	hours    string
}

// A collector turns records into the drafts and the report of a file.
type collector struct {
	file   *File
	source string         // of ids that are local to their data set; "" is unnamed
	place  map[string]int // external id → index in file.Drafts
}

func newCollector(name, source string) *collector {
	return &collector{file: &File{Name: name, local: make(map[string]string)}, source: source, place: make(map[string]int)}
}

// note adds a line to the report, up to a number of them.
func (c *collector) note(format string, args ...any) {
	if len(c.file.Report.Notes) < maxNotes {
		c.file.Report.Notes = append(c.file.Report.Notes, fmt.Sprintf(format, args...))
	}
}

// spoiled counts a record that cannot be read.
func (c *collector) spoiled(where, format string, args ...any) {
	c.file.Report.Records++
	c.file.Report.Unreadable.add("%s: %s", where, fmt.Sprintf(format, args...))
}

// add takes one record in, or reports why not.
func (c *collector) add(rec record) {
	report := &c.file.Report
	report.Records++
	name := text.Line(rec.name)
	id, former := c.externalID(rec)
	switch {
	case rec.category == "":
		report.UnknownCategory.add("%s (%s)", rec.where, rec.saw)
		return
	case name == "":
		report.Nameless.add("%s (%s)", rec.where, rec.category)
		return
	case rec.at.wrong != "":
		report.BadCoordinates.add("%s %s: %s", rec.where, shortened(name), rec.at.wrong)
		return
	case id == "" || len(id) > maxExternalID: // cut, two ids could become one
		report.NoID.add("%s %s", rec.where, name)
		return
	}
	d := shop.Draft{ExternalID: id, Type: rec.category, Name: name, Lat: rec.at.Lat, Lng: rec.at.Lng}
	d.Area, d.Address, d.OpenHours = text.Line(rec.area), text.Line(rec.address), text.Line(rec.hours)
	c.bound(rec.where, &d)
	c.figures(rec, &d)
	if former != "" {
		c.file.local[id] = former
	}
	if i, again := c.place[id]; again {
		report.Duplicate.add("%s %s", rec.where, id)
		c.file.Drafts[i] = d
		return
	}
	c.place[id] = len(c.file.Drafts)
	c.file.Drafts = append(c.file.Drafts, d)
}

// bound cuts the texts of a draft to what a shop may have.
func (c *collector) bound(where string, d *shop.Draft) {
	var long []string
	for _, field := range []struct {
		name string
		text *string
		most int
	}{
		{"name", &d.Name, shop.MaxName},
		{"area", &d.Area, shop.MaxArea},
		{"address", &d.Address, shop.MaxAddress},
		{"open hours", &d.OpenHours, shop.MaxOpenHours},
	} {
		short, was := text.Truncate(*field.text, field.most)
		if was {
			*field.text = short
			long = append(long, field.name)
		}
	}
	if long != nil {
		c.file.Report.TooLong.add("%s %s", where, strings.Join(long, ", "))
	}
}

// figures reads price and score; what makes no sense stays unknown.
func (c *collector) figures(rec record, d *shop.Draft) {
	var odd []string
	if s := strings.TrimSpace(rec.price); s != "" {
		price, err := strconv.Atoi(s)
		if err == nil && price >= 0 && price <= shop.MaxAvgPrice {
			d.AvgPrice = &price
		} else {
			odd = append(odd, fmt.Sprintf("avg_price %q", s))
		}
	}
	if s := strings.TrimSpace(rec.score); s != "" {
		score, err := strconv.ParseFloat(s, 64)
		if err == nil && score >= 0 && score <= shop.MaxScore {
			d.Score = math.Abs(score) // no negative zero
		} else {
			odd = append(odd, fmt.Sprintf("score %q", s))
		}
	}
	if odd != nil {
		c.file.Report.BadValue.add("%s %s", rec.where, strings.Join(odd, ", "))
	}
}

// shortened leaves room for the reason behind a name.
func shortened(name string) string {
	short, was := text.Truncate(name, maxExample/4)
	if was {
		short += "…"
	}
	return short
}

// catalogued returns the catalogue's key that s writes, or "".
func catalogued(kinds []shop.TypeSpec, s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	if slices.ContainsFunc(kinds, func(k shop.TypeSpec) bool { return k.Key == s }) {
		return s
	}
	return ""
}
