package scalar

import (
	"github.com/99designs/gqlgen/graphql"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
)

// MarshalString writes a string.
func MarshalString(s string) graphql.Marshaler { return graphql.MarshalString(s) }

// UnmarshalString reads a string. A number is a BAD_USER_INPUT error: converted to a
// string it would lose its leading zeros.
func UnmarshalString(v any) (string, error) {
	s, ok := v.(string)
	if !ok {
		return "", apierror.BadInput("a String must be in quotes")
	}
	return s, nil
}

// AppendString appends s in the form of [MarshalString]. It does not change invalid UTF-8.
func AppendString(out []byte, s string) []byte {
	out = append(out, '"')
	begin := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '\\' && c != '"' {
			continue
		}
		out = append(out, s[begin:i]...)
		switch c {
		case '\t':
			out = append(out, `\t`...)
		case '\r':
			out = append(out, `\r`...)
		case '\n':
			out = append(out, `\n`...)
		case '\\', '"':
			out = append(out, '\\', c)
		default:
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		}
		begin = i + 1
	}
	return append(append(out, s[begin:]...), '"')
}

const hex = "0123456789ABCDEF"
