// Package request decodes GraphQL requests and negotiates the type of their
// responses.
package request

import (
	"bytes"
	"unicode/utf8"
)

// A request's JSON is gone over once, which allocates nothing; then what is needed
// of it is made. So what is too deep or too much is refused before it becomes
// anything, and a query that is known is never copied, see [Interner].

// maxNesting is how deep JSON may be nested where no limit says so, as in package
// encoding/json.
const maxNesting = 10_000

// A jsonScanner goes over one JSON text, strictly: the grammar of RFC 8259, in UTF-8.
type jsonScanner struct {
	text []byte
	at   int // the next byte

	depth, values       int // so far, as JSONLimits.Check counts them
	maxDepth, maxValues int
}

// Fields are the properties of a request as they stand in its text, of several by
// one name the last. One that is not there or null is nil.
type Fields struct{ Query, OperationName, Variables, Extensions []byte }

// maxProperty is how long the name of one of them can be: with all its letters
// written as \u0000.
const maxProperty = 6 * len("operationName")

// Scan goes over the text of a request. If ok is false, it is no object in
// JSON, or is nested deeper, or has more values, than it may.
func Scan(text []byte, maxDepth, maxValues int) (p Fields, ok bool) {
	s := jsonScanner{text: text, values: 1, maxDepth: min(maxDepth, maxNesting), maxValues: maxValues}
	s.space()
	if s.peek() != '{' || !s.list('}', &p) {
		return p, false
	}
	s.space()
	return p, s.at == len(text)
}

// peek is the next byte, 0 at the end.
func (s *jsonScanner) peek() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

// skip goes on if the next byte is c.
func (s *jsonScanner) skip(c byte) bool {
	if s.peek() != c || s.at >= len(s.text) {
		return false
	}
	s.at++
	return true
}

func (s *jsonScanner) space() {
	for s.at < len(s.text) && isSpace(s.text[s.at]) {
		s.at++
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// open and more count what JSONLimits.Check counts.
func (s *jsonScanner) open() bool {
	s.at++
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

// value goes over any value.
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
		return s.word("true")
	case c == 'f':
		return s.word("false")
	case c == 'n':
		return s.word("null")
	}
	return false
}

// list goes over an object or an array, up to its end, and keeps properties in p if that is
// the object of a request.
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
		begin := s.at
		if !s.value() {
			return false
		}
		if p != nil {
			p.keep(name, s.text[begin:s.at])
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

// name goes over the name of a property and its colon, and returns it with its quotes; nil
// if there is none.
func (s *jsonScanner) name() []byte {
	begin := s.at
	if s.peek() != '"' || !s.quoted() {
		return nil
	}
	name := s.text[begin:s.at]
	s.space()
	if !s.skip(':') {
		return nil
	}
	s.space()
	return name
}

// keep keeps a property of a request, whose name has its quotes.
func (p *Fields) keep(name, value []byte) {
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

func (s *jsonScanner) word(w string) bool {
	if end := s.at + len(w); end <= len(s.text) && string(s.text[s.at:end]) == w {
		s.at = end
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

// digits goes over one or more.
func (s *jsonScanner) digits() bool {
	begin := s.at
	for s.at < len(s.text) && '0' <= s.text[s.at] && s.text[s.at] <= '9' {
		s.at++
	}
	return s.at > begin
}

// quoted goes over a string.
func (s *jsonScanner) quoted() bool {
	s.at++
	begin, ascii := s.at, true
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c == '"':
			s.at++
			return ascii || utf8.Valid(s.text[begin:s.at])
		case c == '\\':
			if s.at++; !s.escape() {
				return false
			}
			continue
		case c < ' ':
			return false
		case c >= utf8.RuneSelf:
			ascii = false
		}
		s.at++
	}
	return false
}

// escape goes over what stands after a backslash.
func (s *jsonScanner) escape() bool {
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.at++
		return true
	case 'u':
		if s.at+5 > len(s.text) {
			return false
		}
		for _, c := range s.text[s.at+1 : s.at+5] {
			if HexDigit(c) < 0 {
				return false
			}
		}
		s.at += 5
		return true
	}
	return false
}

// HexDigit is the value of a hexadecimal digit, negative if c is none.
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
