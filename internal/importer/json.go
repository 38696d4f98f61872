package importer

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/tandian-dev/tandian/internal/kit/text"
)

// maxDepth limits the nesting of arrays and objects in one record.
const maxDepth = 200

// A jsonReader walks one JSON document. It holds one value at a time, so maxRecord limits
// its memory.
type jsonReader struct {
	in  *bufio.Reader
	at  int64  // bytes read
	raw []byte // the current value; reused
}

// A jsonValue is one value of the document, as written.
type jsonValue struct {
	at  int64
	raw []byte // valid until the next value is read
	odd string // the reason if raw is incomplete; "" if it is valid
}

// readJSON reads the elements of an Overpass response or the features of a GeoJSON
// FeatureCollection.
func readJSON(in io.Reader, c *collector) error {
	r := &jsonReader{in: bufio.NewReaderSize(in, 64<<10)}
	if err := r.expect('{', `a JSON object with "elements" (Overpass) or "features" (GeoJSON)`); err != nil {
		return err
	}
	var others otherMembers
	err := r.list('}', func() error { return r.member(c, &others) })
	if err != nil {
		return err
	}
	if c.file.Format == "" {
		return &formatError{0, `neither "elements" (Overpass) nor "features" (GeoJSON) in this JSON object` + others.String()}
	}
	switch b, err := r.peek(); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	default:
		return &formatError{r.at, fmt.Sprintf("something follows the end of the JSON document: %q", b)}
	}
}

// member reads one member of the outermost object.
func (r *jsonReader) member(c *collector, others *otherMembers) error {
	if b, err := r.peek(); err != nil {
		return r.truncated(err)
	} else if b != '"' {
		return &formatError{r.at, fmt.Sprintf("invalid character %q looking for beginning of object key string", b)}
	}
	name, err := r.value()
	if err != nil {
		return err
	}
	var key string
	if name.odd == "" {
		_ = json.Unmarshal(name.raw, &key) // value has checked it
	}
	if err := r.expect(':', "a colon"); err != nil {
		return err
	}
	switch key {
	case "elements":
		c.file.Format = "Overpass JSON"
		return r.records("element", c, c.addElement)
	case "features":
		c.file.Format = "GeoJSON"
		return r.records("feature", c, c.addFeature)
	}
	v, err := r.value()
	if err != nil {
		return err
	}
	if key == "remark" {
		return c.remark(v)
	}
	others.add(key, v)
	return nil
}

// incompleteRemark matches the remarks of Overpass about incomplete responses.
var incompleteRemark = regexp.MustCompile(`(?i)error|timed? ?out|out of memory`)

// remark handles a remark of Overpass about its response.
func (c *collector) remark(v jsonValue) error {
	said, _ := text.Truncate(text.Line(string(looseOf(v.raw))), 2*maxExample)
	if v.odd == "" && incompleteRemark.MatchString(said) {
		return &formatError{v.at, fmt.Sprintf("the download is incomplete: the server gave up (%s); query again with a longer [timeout:] or for a smaller area", said)}
	}
	c.note("the server remarks: %s", said)
	return nil
}

// otherMembers collects the members of a document without records, for the error.
type otherMembers struct{ names, said []string }

func (o *otherMembers) add(key string, v jsonValue) {
	const shown = 5
	if len(o.names) < shown {
		name, _ := text.Truncate(text.Line(key), maxExample/2)
		o.names = append(o.names, fmt.Sprintf("%q", name))
	}
	if v.odd == "" && v.raw[0] == '"' && (key == "error" || key == "message" || key == "detail") && len(o.said) < shown {
		said, _ := text.Truncate(text.Line(string(looseOf(v.raw))), maxExample)
		o.said = append(o.said, said)
	}
}

func (o *otherMembers) String() string {
	if o.names == nil {
		return ""
	}
	found := "; it has " + strings.Join(o.names, ", ")
	if o.said != nil {
		found += ": " + strings.Join(o.said, "; ")
	}
	return found
}

// records passes the members of the next array to add, one at a time. A member that is no
// object, too large or too deep counts as one bad record.
func (r *jsonReader) records(what string, c *collector, add func(where string, fields map[string]json.RawMessage)) error {
	if err := r.expect('[', "an array"); err != nil {
		return err
	}
	n := 0
	return r.list(']', func() error {
		v, err := r.value()
		if err != nil {
			return err
		}
		n++
		where := fmt.Sprintf("%s %d", what, n)
		switch fields, wrong := object(v.raw); {
		case v.odd != "":
			c.addUnreadable(where, "%s", v.odd)
		case wrong != "":
			c.addUnreadable(where, "it %s", wrong)
		default:
			add(where, fields)
		}
		return nil
	})
}

// list reads members between commas up to the closing bracket. The caller has read the
// opening one.
func (r *jsonReader) list(end byte, member func() error) error {
	for first := true; ; first = false {
		b, err := r.peek()
		if err != nil {
			return r.truncated(err)
		}
		if b == end {
			r.skip()
			return nil
		}
		if !first {
			if b != ',' {
				return &formatError{r.at, map[byte]string{']': "expected comma after array element", '}': "expected comma after object member"}[end] + fmt.Sprintf(", not %q", b)}
			}
			r.skip()
		}
		if err := member(); err != nil {
			return err
		}
	}
}

// expect reads the next byte, which must be sign.
func (r *jsonReader) expect(sign byte, what string) error {
	b, err := r.peek()
	if err != nil {
		return r.truncated(err)
	}
	if b != sign {
		return &formatError{r.at, "want " + what + " here"}
	}
	r.skip()
	return nil
}

// value reads the next value. It tracks only brackets and strings until the value is
// complete. Then encoding/json validates it.
func (r *jsonReader) value() (jsonValue, error) {
	b, err := r.peek()
	if err != nil {
		return jsonValue{}, r.truncated(err)
	}
	v := jsonValue{at: r.at}
	if strings.IndexByte(",:]}", b) >= 0 {
		return v, &formatError{r.at, fmt.Sprintf("invalid character %q looking for beginning of value", b)}
	}
	r.raw = r.raw[:0]
	depth, deepest, quoted, escaped := 0, 0, false, false
	for {
		b, err := r.in.ReadByte()
		if err != nil {
			return v, r.truncated(err)
		}
		r.at++
		if len(r.raw) < maxRecord {
			r.raw = append(r.raw, b)
		} else {
			v.odd = fmt.Sprintf("it has more than %d MB", maxRecord>>20)
		}
		switch {
		case escaped:
			escaped = false
		case quoted && b == '\\':
			escaped = true
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '{', b == '[':
			depth++
			deepest = max(deepest, depth)
		case b == '}', b == ']':
			depth--
		}
		if depth == 0 && !quoted && r.ended(b) {
			break
		}
	}
	if deepest > maxDepth && v.odd == "" {
		v.odd = fmt.Sprintf("it is nested deeper than %d levels", maxDepth)
	}
	if v.odd != "" {
		return v, nil
	}
	v.raw = r.raw
	if syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(v.raw, new(struct{}))); ok {
		return v, &formatError{v.at + max(syntax.Offset-1, 0), syntax.Error()}
	}
	return v, nil
}

// ended reports whether a value outside of brackets and quotes ends with b.
func (r *jsonReader) ended(b byte) bool {
	if b == '"' || b == '}' || b == ']' {
		return true
	}
	next, err := r.in.Peek(1)
	return err != nil || strings.IndexByte(" \t\r\n,:]}", next[0]) >= 0
}

// peek returns the next byte that is no space, without reading it.
func (r *jsonReader) peek() (byte, error) {
	for {
		next, err := r.in.Peek(1)
		if err != nil {
			return 0, err
		}
		if strings.IndexByte(" \t\r\n", next[0]) < 0 {
			return next[0], nil
		}
		r.skip()
	}
}

func (r *jsonReader) skip() {
	if _, err := r.in.Discard(1); err == nil {
		r.at++
	}
}

// truncated describes a read error in the middle of the document.
func (r *jsonReader) truncated(err error) error {
	if errors.Is(err, io.EOF) {
		return &formatError{r.at, "the file ends in the middle of the JSON document: the download is incomplete"}
	}
	return err
}

// shape names the kind of a JSON value for a report.
func shape(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "missing"
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a text"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	default:
		return "a number"
	}
}

// object returns the members of a JSON object. If raw is no object, wrong names its kind.
func object(raw json.RawMessage) (members map[string]json.RawMessage, wrong string) {
	if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &members) != nil {
		return nil, "is " + shape(raw) + ", not an object"
	}
	return members, ""
}

// array returns the members of a JSON array. If raw is no array, wrong names its kind.
func array(raw json.RawMessage) (members []json.RawMessage, wrong string) {
	if len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &members) != nil {
		return nil, "is " + shape(raw) + ", not an array"
	}
	return members, ""
}

// absent reports whether a member is missing or null.
func absent(raw json.RawMessage) bool { return len(raw) == 0 || raw[0] == 'n' }

// A loose is any JSON value as a text. Numbers and booleans are as written; null, arrays
// and objects are "".
type loose string

// UnmarshalJSON implements [json.Unmarshaler].
func (l *loose) UnmarshalJSON(b []byte) error {
	*l = looseOf(b)
	return nil
}

func looseOf(raw json.RawMessage) loose {
	switch shape(raw) {
	case "a text":
		var s string
		_ = json.Unmarshal(raw, &s) // of a valid document
		return loose(s)
	case "a number", "a boolean":
		return loose(raw)
	default:
		return ""
	}
}

// tags are the key-value pairs of an OpenStreetMap element.
type tags map[string]loose

// tagsOf reads an object of tags. It returns none for null and for a missing one.
func tagsOf(raw json.RawMessage) (t tags, wrong string) {
	if absent(raw) {
		return nil, ""
	}
	if raw[0] != '{' || json.Unmarshal(raw, &t) != nil {
		return nil, "is " + shape(raw) + ", not an object"
	}
	return t, ""
}

// first returns the value of the first key that has one.
func (t tags) first(keys ...string) string {
	for _, key := range keys {
		if v := t[key]; v != "" {
			return string(v)
		}
	}
	return ""
}
