package gqlserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// modest refuses JSON that is nested too deep or has too many values, before it
// is decoded: a megabyte of brackets would become a hundred of Go. It counts what
// opens or parts values outside of strings, which never is less than there are.
func (d *Server) modest(text []byte, above int) *failure {
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
			if limit := d.cfg.Limits.VariableDepth; limit >= 0 && depth > limit+above {
				return badRequest("The request is nested more than %d levels deep.", limit)
			}
		case c == '}' || c == ']':
			depth--
		case c == ',':
			values++
		}
	}
	if limit := d.cfg.Limits.VariableNodes; limit >= 0 && values > limit+requestValues {
		return badRequest("The request has more than %d values.", limit)
	}
	return nil
}

// requestValues is how many values a request has beside its variables.
const requestValues = 16

// strictJSON decodes one JSON value and nothing after it. Numbers keep their
// digits.
func strictJSON(text []byte, to any) error {
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

// object returns the members of a JSON object. Unlike a struct it tells their
// names' case apart.
func object(text []byte) (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	if fields == nil { // null
		return nil, errKind
	}
	return fields, nil
}

func jsonString(value json.RawMessage) (string, error) {
	if absent(value) || value[0] != '"' {
		return "", errKind
	}
	var s string
	err := json.Unmarshal(value, &s)
	return s, err
}

func absent(value json.RawMessage) bool { return len(value) == 0 || string(value) == "null" }
