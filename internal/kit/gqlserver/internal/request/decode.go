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

// Decode reads one request. It keeps nothing of the text, and shares the texts that
// known has. Its errors say what is wrong and quote nothing of the request. Unknown
// properties are ignored, as the GraphQL over HTTP specification demands.
func Decode(text []byte, limits JSONLimits, known *Interner) (*graphql.RawParams, *gqlerror.Error) {
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
		return nil, undecodable(text, limits)
	}
	params, err := known.Params(found)
	if err != nil {
		return nil, badRequestf("%s", err)
	}
	return params, nil
}

// undecodable returns why a text is no request.
func undecodable(text []byte, limits JSONLimits) *gqlerror.Error {
	if !utf8.Valid(text) {
		return badRequestf("The request is not UTF-8.")
	}
	if err := limits.Check(text, 1); err != nil {
		return err
	}
	if bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("[")) {
		return errcode.Errorf(errcode.BatchingNotSupported, "Several requests in one are not supported: send them side by side.")
	}
	return badRequestf("The request is not one JSON object with a query.")
}

// A jsonDecoder makes values of JSON that a [jsonScanner] found good: nil, bool, json.Number,
// string, []any and map[string]any. They keep nothing of the text.
type jsonDecoder struct {
	text []byte
	at   int // the next byte
}

// objectOf is the object in a text that holds nothing else; ok is false if it is
// something else.
func objectOf(text []byte) (fields map[string]any, ok bool) {
	if len(text) == 0 || text[0] != '{' {
		return nil, false
	}
	b := jsonDecoder{text: text}
	return b.object(), true
}

// next is the next byte after spaces.
func (b *jsonDecoder) next() byte {
	for isSpace(b.text[b.at]) {
		b.at++
	}
	return b.text[b.at]
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
		b.at += len("true")
		return true
	case 'f':
		b.at += len("false")
		return false
	case 'n':
		b.at += len("null")
		return nil
	}
	begin := b.at
	for b.at < len(b.text) && isNumeric(b.text[b.at]) {
		b.at++
	}
	return json.Number(b.text[begin:b.at])
}

// isNumeric says whether c can stand in a number.
func isNumeric(c byte) bool {
	return '0' <= c && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'
}

func (b *jsonDecoder) object() map[string]any {
	b.at++
	fields := map[string]any{}
	for b.next() != '}' {
		if b.text[b.at] == ',' {
			b.at++
			b.next()
		}
		name := b.quoted()
		b.next() // the colon
		b.at++
		fields[name] = b.value()
	}
	b.at++
	return fields
}

func (b *jsonDecoder) array() []any {
	b.at++
	list := []any{}
	for b.next() != ']' {
		if b.text[b.at] == ',' {
			b.at++
		}
		list = append(list, b.value())
	}
	b.at++
	return list
}

func (b *jsonDecoder) quoted() string {
	begin := b.at
	for b.at++; b.text[b.at] != '"'; b.at++ {
		if b.text[b.at] == '\\' {
			b.at++
		}
	}
	text := b.text[begin+1 : b.at]
	b.at++
	if bytes.IndexByte(text, '\\') < 0 {
		return string(text)
	}
	return string(unescape(make([]byte, 0, len(text)), text))
}

// unescape appends a text without its escapes. Half of a surrogate pair becomes U+FFFD.
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
			r := unit(text)
			text = text[4:]
			if utf16.IsSurrogate(r) {
				second := rune(-1)
				if len(text) >= 6 && text[0] == '\\' && text[1] == 'u' {
					second = unit(text[2:])
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

// unit is the UTF-16 of four hexadecimal digits.
func unit(digits []byte) rune {
	return HexDigit(digits[0])<<12 | HexDigit(digits[1])<<8 | HexDigit(digits[2])<<4 | HexDigit(digits[3])
}
