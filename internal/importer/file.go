package importer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tandian-dev/tandian/internal/kit/text"
	"github.com/tandian-dev/tandian/internal/shop"
)

// A File is the content of one file of shops.
type File struct {
	Name   string // as passed to Read
	Format string // "Overpass JSON", "GeoJSON" or "CSV"
	// Drafts are the usable shops in the order of the file. External ids are unique.
	// Texts are clean and within the bounds of package shop.
	Drafts []shop.Draft
	Report Report
	// local maps each local external id of Drafts to the id that it had before data sets
	// had names. See source.go.
	local map[string]string
}

// A Report counts the problems of the records of a file: elements, features or rows. The
// problems up to NoID reject a record, which counts only for the first of them. Those
// after NoID do not.
type Report struct {
	Records         int
	Unreadable      Problem // wrong JSON type, wrong row length, …
	Untagged        Problem // OpenStreetMap geometry without tags
	UnknownCategory Problem // no type of the catalogue fits
	Nameless        Problem // no name
	BadCoordinates  Problem // missing, not a number, out of range, or (0,0)
	NoID            Problem // no id, or an id of more than 200 bytes
	Duplicate       Problem // repeated external id; the last record counts
	TooLong         Problem // a text beyond the bound of package shop; cut
	BadValue        Problem // an invalid price, score, phone, …; left unknown
	UnknownHours    Problem // opening hours in an unknown syntax; kept as text
	Notes           []string
}

// A Problem counts one kind of problem and names the first 20 records that have it.
type Problem struct {
	Count    int
	Examples []string
}

const (
	maxExamples = 20
	maxExample  = 100 // characters

	maxNotes = 20

	maxExternalID = 200 // bytes
)

func (f *Problem) add(format string, args ...any) {
	f.Count++
	if len(f.Examples) < maxExamples {
		example, _ := text.Truncate(text.Line(fmt.Sprintf(format, args...)), maxExample)
		f.Examples = append(f.Examples, example)
	}
}

// findings returns the problems of a report with the words that follow their count.
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
		{"with text that is too long (truncated)", r.TooLong},
		{"with an invalid value (omitted)", r.BadValue},
		{"with opening hours in an unknown syntax (kept as text)", r.UnknownHours},
		{"without tags (geometry only)", r.Untagged},
	}
}

// String returns a human-readable report: a line of counts, the notes, and each kind of
// problem with its first records.
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

// A record is one shop as it is in the file, unchecked.
type record struct {
	where       string // name in the report
	id          string
	prefix      string // prefix of the external id, if any
	category    string // key of the catalogue; "" if none fits
	rawCategory string // category in the file
	name        string
	area        string
	address     string
	at          position
	price       string
	score       string
	hours       string
	phone       string
	website     string
	zone        string
}

// A collector turns records into the drafts and the report of a file.
type collector struct {
	file   *File
	source string         // name of the data set of local ids; "" if unnamed
	index  map[string]int // external id → index in file.Drafts
}

func newCollector(name, source string) *collector {
	return &collector{file: &File{Name: name, local: make(map[string]string)}, source: source, index: make(map[string]int)}
}

// note adds a line to the report, which has at most maxNotes.
func (c *collector) note(format string, args ...any) {
	if len(c.file.Report.Notes) < maxNotes {
		c.file.Report.Notes = append(c.file.Report.Notes, fmt.Sprintf(format, args...))
	}
}

// addUnreadable counts an unreadable record.
func (c *collector) addUnreadable(where, format string, args ...any) {
	c.file.Report.Records++
	c.file.Report.Unreadable.add("%s: %s", where, fmt.Sprintf(format, args...))
}

// add adds a record, or reports its problem.
func (c *collector) add(rec record) {
	report := &c.file.Report
	report.Records++
	name := text.Line(rec.name)
	id, former := c.externalID(rec)
	switch {
	case rec.category == "":
		report.UnknownCategory.add("%s (%s)", rec.where, rec.rawCategory)
		return
	case name == "":
		report.Nameless.add("%s (%s)", rec.where, rec.category)
		return
	case rec.at.wrong != "":
		report.BadCoordinates.add("%s %s: %s", rec.where, shorten(name), rec.at.wrong)
		return
	case id == "" || len(id) > maxExternalID: // two cut ids could be equal
		report.NoID.add("%s %s", rec.where, name)
		return
	}
	d := shop.Draft{ExternalID: id, Type: rec.category, Name: name, Lat: rec.at.Lat, Lng: rec.at.Lng}
	d.Area, d.Address = text.Line(rec.area), text.Line(rec.address)
	c.truncateTexts(rec.where, &d)
	c.setDetails(rec, &d)
	if former != "" {
		c.file.local[id] = former
	}
	if i, again := c.index[id]; again {
		report.Duplicate.add("%s %s", rec.where, id)
		c.file.Drafts[i] = d
		return
	}
	c.index[id] = len(c.file.Drafts)
	c.file.Drafts = append(c.file.Drafts, d)
}

// truncateTexts cuts the texts of a draft to the bounds of package shop.
func (c *collector) truncateTexts(where string, d *shop.Draft) {
	var long []string
	for _, field := range []struct {
		name  string
		text  *string
		limit int
	}{
		{"name", &d.Name, shop.MaxName},
		{"area", &d.Area, shop.MaxArea},
		{"address", &d.Address, shop.MaxAddress},
	} {
		short, was := text.Truncate(*field.text, field.limit)
		if was {
			*field.text = short
			long = append(long, field.name)
		}
	}
	if long != nil {
		c.file.Report.TooLong.add("%s %s", where, strings.Join(long, ", "))
	}
}

// shorten cuts a name so that a reason fits behind it.
func shorten(name string) string {
	short, was := text.Truncate(name, maxExample/4)
	if was {
		short += "…"
	}
	return short
}

// catalogueKey returns the key of the catalogue that s spells, or "".
func catalogueKey(kinds []shop.TypeSpec, s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	if slices.ContainsFunc(kinds, func(k shop.TypeSpec) bool { return k.Key == s }) {
		return s
	}
	return ""
}
