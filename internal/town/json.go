package town

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tandian-dev/tandian/internal/kit/text"
)

// A jsonReader walks one JSON document token by token.
type jsonReader struct {
	in   *stream
	text content
	dec  *json.Decoder
	raw  json.RawMessage // the record in hand; reused
}

// readJSON reads the elements of an Overpass answer or the features of a
// GeoJSON FeatureCollection, whichever the document has.
func readJSON(in *stream, t content, c *collector) error {
	r := &jsonReader{in: in, text: t, dec: json.NewDecoder(in)}
	if err := r.delim('{', "a JSON object with \"elements\" (Overpass) or \"features\" (GeoJSON)"); err != nil {
		return err
	}
	for r.dec.More() {
		if err := r.member(c); err != nil {
			return err
		}
	}
	if _, err := r.token(); err != nil { // the closing brace
		return err
	}
	if c.file.Format == "" {
		return &formatError{0, "neither \"elements\" (Overpass) nor \"features\" (GeoJSON) in this JSON object"}
	}
	if _, err := r.dec.Token(); !errors.Is(err, io.EOF) {
		if err != nil {
			return r.explain(err)
		}
		return &formatError{r.dec.InputOffset(), "something follows the end of the JSON document"}
	}
	return nil
}

// member reads one member of the outermost object.
func (r *jsonReader) member(c *collector) error {
	key, err := r.token()
	if err != nil {
		return err
	}
	switch key {
	case "elements":
		c.file.Format = "Overpass JSON"
		return each(r, func(el *osmElement) { c.addElement(el) })
	case "features":
		c.file.Format = "GeoJSON"
		n := 0
		return each(r, func(f *feature) { n++; c.addFeature(n, f) })
	case "remark": // Overpass says here that it gave up half-way
		var remark loose
		if err := r.value(&remark); err != nil {
			return err
		}
		c.file.Report.Notes = append(c.file.Report.Notes, text.Line("the server remarks: "+string(remark)))
		return nil
	default:
		return r.value(&json.RawMessage{})
	}
}

// each decodes the members of the array that comes next, one at a time.
func each[T any](r *jsonReader, use func(*T)) error {
	if err := r.delim('[', "an array"); err != nil {
		return err
	}
	for r.dec.More() {
		var v T
		if err := r.value(&v); err != nil {
			return err
		}
		use(&v)
	}
	_, err := r.token() // the closing bracket
	return err
}

// value decodes the next value into v.
func (r *jsonReader) value(v any) error {
	before := r.dec.InputOffset()
	if err := r.dec.Decode(&r.raw); err != nil {
		return r.explainValue(before, err)
	}
	end := r.dec.InputOffset()
	r.in.mark = end
	err := json.Unmarshal(r.raw, v)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		at := end - int64(len(r.raw)) + wrong.Offset
		return &formatError{max(at-1, 0), fmt.Sprintf("a JSON %s where %s should be", wrong.Value, shape(wrong.Type.Kind().String()))}
	}
	if err != nil {
		return &formatError{end - int64(len(r.raw)), err.Error()}
	}
	return nil
}

// shape says what JSON a Go kind is read from.
func shape(kind string) string {
	switch kind {
	case "struct", "map":
		return "an object"
	case "slice":
		return "an array"
	case "string":
		return "a string"
	default:
		return "a number"
	}
}

// delim reads the bracket that must come next.
func (r *jsonReader) delim(want json.Delim, what string) error {
	tok, err := r.token()
	if err != nil {
		return err
	}
	if tok != want {
		return &formatError{max(r.dec.InputOffset()-1, 0), "wanted " + what + " here"}
	}
	return nil
}

func (r *jsonReader) token() (json.Token, error) {
	tok, err := r.dec.Token()
	if err != nil {
		return nil, r.explain(err)
	}
	r.in.mark = r.dec.InputOffset()
	return tok, nil
}

// explain gives an error of the decoder its place in the text.
func (r *jsonReader) explain(err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return &formatError{max(r.dec.InputOffset(), 0), syntax.Error()}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &formatError{r.text.size, "the file ends in the middle of the JSON document"}
	}
	return err
}

// explainValue is explain for a value that begins behind the byte before. The
// decoder's own offset counts some bytes and not others, so the value is read
// again by a decoder that has seen nothing else.
func (r *jsonReader) explainValue(before int64, err error) error {
	first, ok := errors.AsType[*json.SyntaxError](err)
	if !ok {
		return r.explain(err)
	}
	start := before
	var b [1]byte
	for start < r.text.size {
		if _, err := r.text.r.ReadAt(b[:], start); err != nil || !strings.ContainsRune(" \t\r\n,:", rune(b[0])) {
			break
		}
		start++
	}
	var again json.RawMessage
	err = json.NewDecoder(io.LimitReader(r.text.from(start), maxRecord)).Decode(&again)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return &formatError{start + max(syntax.Offset-1, 0), syntax.Error()}
	}
	return &formatError{start, first.Error()} // between values: a comma is missing
}

// A coordinate is a number that may be written as a string, or be missing:
// then it is NaN, which is a finding and not a broken file.
type coordinate float64

// UnmarshalJSON implements [json.Unmarshaler].
func (c *coordinate) UnmarshalJSON(b []byte) error {
	*c = coordinate(degrees(strings.Trim(string(b), `"`)))
	return nil
}

// A loose is any JSON value read as a text: numbers and booleans as they are
// written; null, arrays and objects are "".
type loose string

// UnmarshalJSON implements [json.Unmarshaler].
func (l *loose) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case '"':
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		*l = loose(s)
	case '{', '[', 'n':
		*l = ""
	default:
		*l = loose(b)
	}
	return nil
}

// tags are the key-value pairs of an element of OpenStreetMap.
type tags map[string]loose

// first returns the value of the first of keys that has one.
func (t tags) first(keys ...string) string {
	for _, key := range keys {
		if v := t[key]; v != "" {
			return string(v)
		}
	}
	return ""
}
