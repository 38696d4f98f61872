package importer

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tandian-dev/tandian/internal/kit/text"
)

// CSV (RFC 4180): the first line names the columns, in any order and case. The separator
// is a comma, semicolon, tab or vertical bar, which the header reveals, or the one of a
// line "sep=…". The text is UTF-8, or UTF-16 with a byte order mark. Blank lines are
// skipped. Unknown columns and bad rows are reported and skipped.

// A csvColumn describes a column that the import reads.
type csvColumn struct {
	name     string
	required bool
	help     string
}

// csvColumns returns all columns, the required ones first.
func csvColumns() []csvColumn {
	return []csvColumn{
		{"external_id", true, "id of the shop, at most 200 bytes; a later import with this id updates the shop"}, // see source.go
		{"type", true, strings.Join(typeKeys(), ", ")},
		{"name", true, ""},
		{"lat", true, "latitude in degrees, WGS 84"},
		{"lng", true, "longitude in degrees, WGS 84"},
		{"area", false, "neighbourhood"},
		{"address", false, ""},
		{"avg_price", false, "average spend per person, in minor units (cents, fen); unknown if empty"},
		{"score", false, "1 to 5, the score before users rate the shop; none if empty or 0"},
		{"open_hours", false, "in the syntax of OpenStreetMap, like Mo-Fr 09:00-18:00; other text is only shown"},
		{"hours", false, "the same as open_hours"},
		{"phone", false, ""},
		{"website", false, "http or https"},
		{"time_zone", false, "IANA name, like Asia/Ho_Chi_Minh; the one of --shop-zone if empty"},
	}
}

// requiredColumns returns the names of the required columns.
func requiredColumns() []string {
	var names []string
	for _, column := range csvColumns() {
		if column.required {
			names = append(names, column.name)
		}
	}
	return names
}

// separators lists the separators that are tried on the header.
const separators = ",;\t|"

// sepLine matches the line in which spreadsheets declare the separator.
var sepLine = regexp.MustCompile(`^(?i)"?sep=([^\r\n"])"?\s*$`)

// readCSV reads the rows of a CSV file.
func readCSV(in io.Reader, c *collector) error {
	c.file.Format = "CSV"
	lines := newCSVLines(in)
	comma, err := lines.separator()
	if err != nil {
		return err
	}
	r := newCSVRows(lines, comma)
	header, err := r.header()
	if err != nil {
		return err
	}
	columns, err := c.columns(header, comma)
	if err != nil {
		return err
	}
	r.cells = len(header)
	for {
		row, line, wrong, err := r.next()
		switch where := fmt.Sprintf("line %d", line); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case wrong != "":
			c.addUnreadable(where, "%s", wrong)
		default:
			c.addRow(where, columns, row)
		}
	}
}

// columnName normalizes a column title.
func columnName(title string) string {
	return strings.NewReplacer(" ", "_", "-", "_").Replace(strings.ToLower(text.Line(title)))
}

func knownColumn(name string) bool {
	return slices.ContainsFunc(csvColumns(), func(c csvColumn) bool { return c.name == name })
}

// separator returns the separator of a line "sep=…", or else the one that yields the most
// known columns in the header. It is a comma if none yields any.
func (l *csvLines) separator() (rune, error) {
	first, err := l.line()
	for err == nil && strings.TrimSpace(string(first.text)) == "" {
		first, err = l.line()
	}
	if err != nil {
		if errors.Is(err, io.EOF) {
			return 0, &formatError{0, "the file has no line of column names"}
		}
		return 0, err
	}
	if said := sepLine.FindSubmatch(first.text); said != nil {
		comma, _ := utf8.DecodeRune(said[1])
		return comma, nil
	}
	l.beginAt(l.taken - 1)
	best, matches := ',', 0
	for _, comma := range separators {
		r := csv.NewReader(strings.NewReader(string(first.text)))
		r.Comma, r.LazyQuotes = comma, true
		titles, _ := r.Read()
		known := 0
		for _, title := range titles {
			if knownColumn(columnName(title)) {
				known++
			}
		}
		if known > matches {
			best, matches = comma, known
		}
	}
	return best, nil
}

// columns returns the index of each known column in the header.
func (c *collector) columns(header []string, comma rune) (map[string]int, error) {
	columns := make(map[string]int)
	for i, title := range header {
		name := columnName(title)
		_, twice := columns[name]
		switch {
		case name == "":
		case !knownColumn(name):
			note, _ := text.Truncate(fmt.Sprintf("ignored unknown column %q", text.Line(title)), maxExample)
			c.note("%s", note)
		case twice:
			return nil, &formatError{0, fmt.Sprintf("the header has the column %q twice", name)}
		default:
			columns[name] = i
		}
	}
	var missing []string
	for _, name := range requiredColumns() {
		if _, ok := columns[name]; !ok {
			missing = append(missing, name)
		}
	}
	if missing != nil {
		found, _ := text.Truncate(text.Line(strings.Join(header, string(comma))), maxExample)
		return nil, &formatError{0, fmt.Sprintf("as CSV, the header has no column %s; it needs %s, between commas, semicolons or tabs. It is %q",
			strings.Join(missing, ", "), strings.Join(requiredColumns(), ", "), found)}
	}
	return columns, nil
}

func (c *collector) addRow(where string, columns map[string]int, row []string) {
	column := func(name string) string {
		if i, ok := columns[name]; ok {
			return row[i]
		}
		return ""
	}
	rec := columnsRecord(where, column)
	lat, latWrong := parseDegrees(column("lat"))
	lng, lngWrong := parseDegrees(column("lng"))
	rec.at = centreOf([][]position{{corner(lat, latWrong, lng, lngWrong)}}, false)
	c.add(rec)
}
