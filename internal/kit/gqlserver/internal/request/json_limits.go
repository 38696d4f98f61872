package request

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
)

// JSONLimits limit the variables and extensions of a request. A negative limit is none.
type JSONLimits struct {
	Depth  int // levels of nesting
	Values int
}

// Check returns an error for JSON that is nested too deep or has too many values,
// before it is decoded: a megabyte of brackets would become a hundred of Go. It counts
// characters outside of strings that open or separate values, which is never too few.
// The variables begin above levels below the top.
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

// EnvelopeValues is the number of values that a request may have besides its variables.
const EnvelopeValues = 16

// DecodeStrict decodes one JSON value and nothing after it. Numbers keep their
// digits.
func DecodeStrict(text []byte, to any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(to); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something stands after the JSON value")
	}
	return nil
}

var errKind = errors.New("not of the kind that is wanted")

// Object returns the members of a JSON object. Unlike a struct it tells their
// names' case apart.
func Object(text []byte) (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	if fields == nil { // null
		return nil, errKind
	}
	return fields, nil
}

// String returns the value of a JSON string.
func String(value json.RawMessage) (string, error) {
	if IsNull(value) || value[0] != '"' {
		return "", errKind
	}
	var s string
	err := json.Unmarshal(value, &s)
	return s, err
}

// IsNull reports whether a value is missing or null.
func IsNull(value json.RawMessage) bool { return len(value) == 0 || string(value) == "null" }
