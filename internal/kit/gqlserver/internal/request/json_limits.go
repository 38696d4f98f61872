package request

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
)

// JSONLimits limits the variables and extensions of a request. A negative limit
// means no limit.
type JSONLimits struct {
	Depth  int // levels of nesting
	Values int
}

// Check returns an error if JSON is nested too deep or has too many values. It runs
// before the text is decoded, because decoding a megabyte of brackets takes a hundred
// megabytes. It counts the characters outside of strings that open or separate
// values, so it never counts too few. above is the number of levels around the variables.
func (l JSONLimits) Check(text []byte, above int) *gqlerror.Error {
	depth, values, quoted := 0, 1, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			values++
			if l.Depth >= 0 && depth > l.Depth+above {
				return badRequestf("The request is nested more than %d levels deep.", l.Depth)
			}
		case c == '}' || c == ']':
			depth--
		case c == ',':
			values++
		}
	}
	if l.Values >= 0 && values > l.Values+EnvelopeValues {
		return badRequestf("The request has more than %d values.", l.Values)
	}
	return nil
}

func badRequestf(format string, args ...any) *gqlerror.Error {
	return errcode.Errorf(errcode.BadRequest, format, args...)
}

// EnvelopeValues is the number of values that a request may have outside of its
// variables.
const EnvelopeValues = 16

// DecodeStrict decodes exactly one JSON value. Numbers in values of type any become
// [json.Number].
func DecodeStrict(text []byte, to any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(to); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("unexpected data after the JSON value")
	}
	return nil
}

var errType = errors.New("unexpected JSON type")

// Object returns the members of a JSON object. Unlike in a decoded struct, names are
// case-sensitive.
func Object(text []byte) (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	if fields == nil { // null
		return nil, errType
	}
	return fields, nil
}

// String returns the value of a JSON string.
func String(value json.RawMessage) (string, error) {
	if IsNull(value) || value[0] != '"' {
		return "", errType
	}
	var s string
	err := json.Unmarshal(value, &s)
	return s, err
}

// IsNull reports whether a value is missing or null.
func IsNull(value json.RawMessage) bool { return len(value) == 0 || string(value) == "null" }
