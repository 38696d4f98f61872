package request

import (
	"bytes"
	"encoding/json"
	"math"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
	"github.com/tandian-dev/tandian/internal/kit/jsonbody"
)

// Decode decodes one request. It does not retain text, and takes known strings from
// the interner, which may be nil. Its errors do not quote the request. It ignores
// unknown properties, as the GraphQL over HTTP specification requires.
func Decode(text []byte, limits JSONLimits, interner *Interner) (*graphql.RawParams, *gqlerror.Error) {
	text = jsonbody.TrimBOM(text)
	maxDepth, maxValues := math.MaxInt, math.MaxInt
	if limits.Depth >= 0 {
		maxDepth = limits.Depth + 1
	}
	if limits.Values >= 0 {
		maxValues = limits.Values + EnvelopeValues
	}
	found, ok := Scan(text, maxDepth, maxValues)
	if !ok {
		return nil, decodeError(text, limits)
	}
	params, err := interner.Params(found)
	if err != nil {
		return nil, badRequestf("%s", err)
	}
	return params, nil
}

func decodeError(text []byte, limits JSONLimits) *gqlerror.Error {
	if !utf8.Valid(text) {
		return badRequestf("The request must be UTF-8.")
	}
	if err := limits.Check(text, 1); err != nil {
		return err
	}
	if bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("[")) {
		return errcode.Errorf(errcode.BatchingNotSupported, "Batching is not supported. Send each operation in its own request.")
	}
	return badRequestf("The request must be one JSON object with a query.")
}

// jsonDecoder decodes JSON that a [jsonScanner] found valid into nil, bool,
// json.Number, string, []any and map[string]any. The values do not share memory
// with the text.
type jsonDecoder struct {
	text []byte
	pos  int // index of the next byte
}

// decodeObject decodes a text that is one object. It returns false for any other
// value.
func decodeObject(text []byte) (fields map[string]any, ok bool) {
	if len(text) == 0 || text[0] != '{' {
		return nil, false
	}
	b := jsonDecoder{text: text}
	return b.object(), true
}

// next skips spaces and returns the next byte.
func (b *jsonDecoder) next() byte {
	for isSpace(b.text[b.pos]) {
		b.pos++
	}
	return b.text[b.pos]
}

func (b *jsonDecoder) value() any {
	switch b.next() {
	case '"':
		return b.quoted()
	case '{':
		return b.object()
	case '[':
		return b.array()
	case 't':
		b.pos += len("true")
		return true
	case 'f':
		b.pos += len("false")
		return false
	case 'n':
		b.pos += len("null")
		return nil
	}
	begin := b.pos
	for b.pos < len(b.text) && isNumeric(b.text[b.pos]) {
		b.pos++
	}
	return json.Number(b.text[begin:b.pos])
}

// isNumeric reports whether a number may contain c.
func isNumeric(c byte) bool {
	return '0' <= c && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'
}

func (b *jsonDecoder) object() map[string]any {
	b.pos++
	fields := map[string]any{}
	for b.next() != '}' {
		if b.text[b.pos] == ',' {
			b.pos++
			b.next()
		}
		name := b.quoted()
		b.next() // the colon
		b.pos++
		fields[name] = b.value()
	}
	b.pos++
	return fields
}

func (b *jsonDecoder) array() []any {
	b.pos++
	list := []any{}
	for b.next() != ']' {
		if b.text[b.pos] == ',' {
			b.pos++
		}
		list = append(list, b.value())
	}
	b.pos++
	return list
}

func (b *jsonDecoder) quoted() string {
	begin := b.pos
	for b.pos++; b.text[b.pos] != '"'; b.pos++ {
		if b.text[b.pos] == '\\' {
			b.pos++
		}
	}
	text := b.text[begin+1 : b.pos]
	b.pos++
	if bytes.IndexByte(text, '\\') < 0 {
		return string(text)
	}
	return string(unescape(make([]byte, 0, len(text)), text))
}

// unescape appends text to out and resolves its escapes. Half of a surrogate pair
// becomes U+FFFD.
func unescape(out, text []byte) []byte {
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			return append(out, text...)
		}
		out = append(out, text[:i]...)
		c := text[i+1]
		text = text[i+2:]
		switch c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			r := utf16Unit(text)
			text = text[4:]
			if utf16.IsSurrogate(r) {
				second := rune(-1)
				if len(text) >= 6 && text[0] == '\\' && text[1] == 'u' {
					second = utf16Unit(text[2:])
				}
				if r = utf16.DecodeRune(r, second); r != utf8.RuneError {
					text = text[6:]
				}
			}
			out = utf8.AppendRune(out, r)
			continue
		}
		out = append(out, c)
	}
}

// utf16Unit returns the UTF-16 code unit of four hexadecimal digits.
func utf16Unit(digits []byte) rune {
	return HexDigit(digits[0])<<12 | HexDigit(digits[1])<<8 | HexDigit(digits[2])<<4 | HexDigit(digits[3])
}
