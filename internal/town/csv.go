package town

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tandian-dev/tandian/internal/kit/text"
)

// CSV (RFC 4180, UTF-8, commas): the first line names the columns, in any
// order. Blank lines are skipped, unknown columns are noted and ignored.
//
//	external_id  required, names the shop in its source; at most 200 bytes
//	type         required, a key of the catalogue
//	name         required
//	lat, lng     required, WGS 84 degrees
//	area         the quarter it lies in
//	address
//	avg_price    minor units (cents, fen) per person; empty is unknown
//	score        0 to 5; empty is 0
//	open_hours
var (
	requiredColumns = []string{"external_id", "type", "name", "lat", "lng"}
	optionalColumns = []string{"area", "address", "avg_price", "score", "open_hours"}
)

// readCSV reads the rows of a CSV file.
func readCSV(in *stream, c *collector) error {
	c.file.Format = "CSV"
	r := csv.NewReader(in)
	r.ReuseRecord = true
	header, err := r.Read()
	if err != nil {
		return explainCSV(r, err)
	}
	columns, err := c.columns(header)
	if err != nil {
		return err
	}
	for {
		in.mark = r.InputOffset()
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return explainCSV(r, err)
		}
		line, _ := r.FieldPos(0)
		c.addRow(line, columns, row)
	}
}

// columns finds the place of each column of ours in the header.
func (c *collector) columns(header []string) (map[string]int, error) {
	columns := make(map[string]int)
	for i, title := range header {
		name := strings.ToLower(text.Line(title))
		_, twice := columns[name]
		switch {
		case !slices.Contains(requiredColumns, name) && !slices.Contains(optionalColumns, name):
			note, _ := text.Cut(fmt.Sprintf("column %q is not known and ignored", text.Line(title)), maxExample)
			c.file.Report.Notes = append(c.file.Report.Notes, note)
		case twice:
			return nil, &formatError{0, fmt.Sprintf("the header has the column %q twice", name)}
		default:
			columns[name] = i
		}
	}
	var missing []string
	for _, name := range requiredColumns {
		if _, ok := columns[name]; !ok {
			missing = append(missing, name)
		}
	}
	if missing != nil {
		return nil, &formatError{0, fmt.Sprintf("as CSV, the header has no column %s; it needs %s",
			strings.Join(missing, ", "), strings.Join(requiredColumns, ", "))}
	}
	return columns, nil
}

func (c *collector) addRow(line int, columns map[string]int, row []string) {
	column := func(name string) string {
		if i, ok := columns[name]; ok {
			return row[i]
		}
		return ""
	}
	rec := columnsRecord(fmt.Sprintf("line %d", line), column)
	rec.lat, rec.lng = degrees(column("lat")), degrees(column("lng"))
	c.add(rec)
}

// explainCSV gives an error of the reader its place. The reader counts lines
// and columns itself, so the place is part of the message.
func explainCSV(r *csv.Reader, err error) error {
	if errors.Is(err, io.EOF) {
		return &formatError{0, "the file has no line of column names"}
	}
	wrong, ok := errors.AsType[*csv.ParseError](err)
	if !ok {
		return err
	}
	what := wrong.Err.Error()
	if errors.Is(wrong.Err, csv.ErrFieldCount) {
		what = fmt.Sprintf("as many fields as the header has are needed: %d", r.FieldsPerRecord)
	}
	if wrong.StartLine != wrong.Line {
		what = fmt.Sprintf("%s, in the row that begins on line %d", what, wrong.StartLine)
	}
	return fmt.Errorf("line %d, column %d: %s", wrong.Line, max(wrong.Column, 1), what)
}
