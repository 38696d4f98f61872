// Package request decodes GraphQL requests and negotiates the type of their
// responses.
package request

import (
	"bytes"
	"unicode/utf8"
)

// The JSON of a request is scanned once, without allocations, before it is decoded.
// So requests that are too deep or too large are rejected before they use memory,
// and known queries are never copied, see [Interner].

// maxNesting is the maximum depth of JSON without a limit, as in encoding/json.
const maxNesting = 10_000

// jsonScanner scans one JSON text strictly: the grammar of RFC 8259, in UTF-8.
type jsonScanner struct {
	text []byte
	pos  int // index of the next byte

	depth, values       int // so far, as JSONLimits.Check counts them
	maxDepth, maxValues int
}

// Fields holds the properties of a request as raw JSON. Of duplicate properties, the
// last one counts. Missing properties and null are nil.
type Fields struct{ Query, OperationName, Variables, Extensions []byte }

// maxProperty is the maximum length of a property name, with every letter escaped
// as \u0000.
const maxProperty = 6 * len("operationName")

// Scan scans the text of a request. It returns false if the text is not a JSON
// object, or is nested deeper or has more values than allowed.
func Scan(text []byte, maxDepth, maxValues int) (p Fields, ok bool) {
	s := jsonScanner{text: text, values: 1, maxDepth: min(maxDepth, maxNesting), maxValues: maxValues}
	s.space()
	if s.peek() != '{' || !s.list('}', &p) {
		return p, false
	}
	s.space()
	return p, s.pos == len(text)
}

// peek returns the next byte, or 0 at the end.
func (s *jsonScanner) peek() byte {
	if s.pos < len(s.text) {
		return s.text[s.pos]
	}
	return 0
}

// skip consumes the next byte if it is c.
func (s *jsonScanner) skip(c byte) bool {
	if s.peek() != c || s.pos >= len(s.text) {
		return false
	}
	s.pos++
	return true
}

func (s *jsonScanner) space() {
	for s.pos < len(s.text) && isSpace(s.text[s.pos]) {
		s.pos++
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// open and more count what JSONLimits.Check counts.
func (s *jsonScanner) open() bool {
	s.pos++
	s.depth++
	s.values++
	return s.depth <= s.maxDepth && s.values <= s.maxValues
}

func (s *jsonScanner) more() bool {
	if !s.skip(',') {
		return false
	}
	s.values++
	return true
}

func (s *jsonScanner) value() bool {
	switch c := s.peek(); {
	case c == '"':
		return s.quoted()
	case c == '{':
		return s.list('}', nil)
	case c == '[':
		return s.list(']', nil)
	case c == '-' || '0' <= c && c <= '9':
		return s.number()
	case c == 't':
		return s.literal("true")
	case c == 'f':
		return s.literal("false")
	case c == 'n':
		return s.literal("null")
	}
	return false
}

// list scans an object or an array up to its end. If p is not nil, it stores the
// properties of the request there.
func (s *jsonScanner) list(end byte, p *Fields) bool {
	if !s.open() {
		return false
	}
	s.space()
	if s.skip(end) {
		s.depth--
		return true
	}
	for {
		s.space()
		var name []byte
		if end == '}' {
			if name = s.name(); name == nil {
				return false
			}
		}
		begin := s.pos
		if !s.value() {
			return false
		}
		if p != nil {
			p.set(name, s.text[begin:s.pos])
		}
		s.space()
		if !s.more() {
			break
		}
		if s.values > s.maxValues {
			return false
		}
	}
	s.depth--
	return s.skip(end)
}

// name scans the name of a property and its colon. It returns the name with its
// quotes, or nil if there is none.
func (s *jsonScanner) name() []byte {
	begin := s.pos
	if s.peek() != '"' || !s.quoted() {
		return nil
	}
	name := s.text[begin:s.pos]
	s.space()
	if !s.skip(':') {
		return nil
	}
	s.space()
	return name
}

// set stores a property of a request. The name has its quotes.
func (p *Fields) set(name, value []byte) {
	if name = name[1 : len(name)-1]; len(name) > maxProperty {
		return
	}
	if bytes.IndexByte(name, '\\') >= 0 {
		name = unescape(make([]byte, 0, maxProperty), name)
	}
	if string(value) == "null" {
		value = nil
	}
	switch string(name) {
	case "query":
		p.Query = value
	case "operationName":
		p.OperationName = value
	case "variables":
		p.Variables = value
	case "extensions":
		p.Extensions = value
	}
}

func (s *jsonScanner) literal(w string) bool {
	if end := s.pos + len(w); end <= len(s.text) && string(s.text[s.pos:end]) == w {
		s.pos = end
		return true
	}
	return false
}

func (s *jsonScanner) number() bool {
	s.skip('-')
	if !s.skip('0') && !s.digits() {
		return false
	}
	if s.skip('.') && !s.digits() {
		return false
	}
	if s.skip('e') || s.skip('E') {
		_ = s.skip('+') || s.skip('-')
		return s.digits()
	}
	return true
}

// digits scans one or more digits.
func (s *jsonScanner) digits() bool {
	begin := s.pos
	for s.pos < len(s.text) && '0' <= s.text[s.pos] && s.text[s.pos] <= '9' {
		s.pos++
	}
	return s.pos > begin
}

func (s *jsonScanner) quoted() bool {
	s.pos++
	begin, ascii := s.pos, true
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; {
		case c == '"':
			s.pos++
			return ascii || utf8.Valid(s.text[begin:s.pos])
		case c == '\\':
			if s.pos++; !s.escape() {
				return false
			}
			continue
		case c < ' ':
			return false
		case c >= utf8.RuneSelf:
			ascii = false
		}
		s.pos++
	}
	return false
}

// escape scans an escape after its backslash.
func (s *jsonScanner) escape() bool {
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos++
		return true
	case 'u':
		if s.pos+5 > len(s.text) {
			return false
		}
		for _, c := range s.text[s.pos+1 : s.pos+5] {
			if HexDigit(c) < 0 {
				return false
			}
		}
		s.pos += 5
		return true
	}
	return false
}

// HexDigit returns the value of a hexadecimal digit, or -1 if c is not one.
func HexDigit(c byte) rune {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0')
	case 'a' <= c && c <= 'f':
		return rune(c - 'a' + 10)
	case 'A' <= c && c <= 'F':
		return rune(c - 'A' + 10)
	}
	return -1
}
