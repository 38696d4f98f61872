package importer

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
)

var errLongRow = errors.New("the row is too long")

// A csvLine is one line of a file. Its text always ends with LF.
type csvLine struct {
	text   []byte
	number int // from 1
}

// csvLines reads a text line by line. It can go back to a line of the current row.
type csvLines struct {
	in    *bufio.Reader
	ended int       // lines read from in
	held  []csvLine // lines from the first one of the row
	taken int       // lines of held that belong to the row
	size  int       // bytes of the taken lines
	part  []byte    // rest of the last line that Read has not returned
	atEnd bool      // Read reached the end of the file in this row
}

func newCSVLines(in io.Reader) *csvLines { return &csvLines{in: bufio.NewReaderSize(in, 64<<10)} }

// line returns the next line. It cuts lines that are longer than maxRecord.
func (l *csvLines) line() (csvLine, error) {
	if l.taken < len(l.held) {
		l.taken++
		return l.held[l.taken-1], nil
	}
	var text []byte
	for {
		b, err := l.in.ReadByte()
		if err != nil && (len(text) == 0 || !errors.Is(err, io.EOF)) {
			return csvLine{}, err
		}
		if b == '\r' {
			if next, _ := l.in.Peek(1); len(next) == 1 && next[0] == '\n' {
				_, _ = l.in.Discard(1)
			}
			b = '\n'
		}
		if err != nil || b == '\n' {
			l.ended++
			l.taken++
			l.held = append(l.held, csvLine{append(text, '\n'), l.ended})
			return l.held[l.taken-1], nil //nolint:nilerr // the next call returns the end
		}
		if len(text) <= maxRecord {
			text = append(text, b)
		}
	}
}

// Read implements [io.Reader] for package encoding/csv. It returns one line at a time, so
// that the taken lines are those of the current row.
func (l *csvLines) Read(p []byte) (int, error) {
	if len(l.part) == 0 {
		next, err := l.line()
		if err != nil {
			l.atEnd = errors.Is(err, io.EOF)
			return 0, err
		}
		l.size, l.part = l.size+len(next.text), next.text
	}
	if l.size > maxRecord {
		return 0, errLongRow
	}
	n := copy(p, l.part)
	l.part = l.part[n:]
	return n, nil
}

// begin starts a row after the taken lines.
func (l *csvLines) begin() { l.beginAt(l.taken) }

// beginAt starts a row with line n of the held ones.
func (l *csvLines) beginAt(n int) {
	if l.held = l.held[n:]; len(l.held) == 0 {
		l.held = nil // release the array
	}
	l.taken, l.size, l.part, l.atEnd = 0, 0, nil, false
}

// first returns the index of the first taken line that is not blank.
func (l *csvLines) first() int {
	for i := range l.taken {
		if len(l.held[i].text) > 1 {
			return i
		}
	}
	return 0
}

// csvRows reads rows and skips bad ones.
//
// A quote that is never closed makes one row of all lines up to the next quote. After a
// bad row of several lines, reading therefore resumes at its second line. If the bad row
// only has the wrong number of cells, bad rows within its lines are not reported again.
type csvRows struct {
	lines *csvLines
	buf   *bufio.Reader
	csv   *csv.Reader
	comma rune
	cells int // per row; 0 allows any number

	broken   bool // the last row has wrong quotes
	badUntil int  // last line of a row of wrong length
	unclosed int  // line of an opening quote that is never closed; 0 is none
}

func newCSVRows(lines *csvLines, comma rune) *csvRows {
	r := &csvRows{lines: lines, buf: bufio.NewReaderSize(lines, 4096), comma: comma}
	r.restart()
	return r
}

// restart replaces the reader by one without state.
func (r *csvRows) restart() {
	r.buf.Reset(r.lines)
	r.csv = csv.NewReader(r.buf) // uses buf itself
	r.csv.Comma, r.csv.FieldsPerRecord, r.csv.ReuseRecord = r.comma, -1, true
	r.csv.TrimLeadingSpace = r.comma != '\t' // else it would trim separators
}

// header reads the first row.
func (r *csvRows) header() ([]string, error) {
	row, _, wrong, err := r.read()
	switch {
	case errors.Is(err, io.EOF):
		return nil, &formatError{0, "the file has no line of column names"}
	case err != nil:
		return nil, err
	case wrong != "":
		return nil, &formatError{0, "as CSV, the line of column names cannot be read: " + wrong}
	}
	return append([]string(nil), row...), nil
}

// next returns the next row and its first line. If the row is bad, wrong is the reason.
func (r *csvRows) next() (row []string, line int, wrong string, err error) {
	for {
		row, line, wrong, err = r.read()
		switch {
		case errors.Is(err, io.EOF) && r.unclosed > 0:
			return nil, r.unclosed, "", fmt.Errorf("line %d: the file ends inside quotes that start in this row: "+
				"the download is incomplete, or a quote is missing", r.unclosed)
		case err != nil:
			return nil, line, "", err
		case wrong == "":
			r.unclosed = 0
			return row, line, "", nil
		}
		within := line <= r.badUntil
		if !within && r.lines.atEnd {
			r.unclosed = line
		}
		r.resume()
		if !within {
			return nil, line, wrong, nil
		}
	}
}

// resume continues with the second line of a bad row.
func (r *csvRows) resume() {
	if !r.broken {
		r.badUntil = max(r.badUntil, r.lines.held[r.lines.taken-1].number)
	}
	if next := r.lines.first() + 1; next < r.lines.taken || len(r.lines.part) > 0 {
		r.lines.beginAt(next)
		r.restart()
	}
}

// read reads one row. If the row is bad, wrong is the reason. err is the end of the file
// or a read error.
func (r *csvRows) read() (row []string, line int, wrong string, err error) {
	r.lines.begin()
	row, err = r.csv.Read()
	if r.lines.taken > 0 {
		line = r.lines.held[r.lines.first()].number
	}
	bad, syntax := errors.AsType[*csv.ParseError](err)
	r.broken = syntax
	switch {
	case errors.Is(err, errLongRow):
		return nil, line, fmt.Sprintf("it has more than %d MB", maxRecord>>20), nil
	case syntax && r.lines.atEnd:
		return nil, line, "its quotes are not closed", nil
	case syntax:
		return nil, line, bad.Err.Error(), nil
	case err != nil:
		return nil, line, "", err
	}
	row, wrong = r.fit(row)
	return row, line, wrong, nil
}

// fit compares a row with the header. It drops empty cells that spreadsheets append.
func (r *csvRows) fit(row []string) (fitted []string, wrong string) {
	n := len(row)
	for r.cells > 0 && n > r.cells && strings.TrimSpace(row[n-1]) == "" {
		n--
	}
	if r.cells > 0 && n != r.cells {
		return nil, fmt.Sprintf("it has %d cells, the header has %d", n, r.cells)
	}
	return row[:n], ""
}
