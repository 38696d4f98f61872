package scalar

import (
	"github.com/99designs/gqlgen/graphql"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
)

// MarshalString writes a text.
func MarshalString(s string) graphql.Marshaler { return graphql.MarshalString(s) }

// UnmarshalString reads a text. A number is a fault: as a text it would lose its
// leading zeros.
func UnmarshalString(v any) (string, error) {
	s, ok := v.(string)
	if !ok {
		return "", apierror.BadInput("a String is a text in quotes")
	}
	return s, nil
}

// AppendString appends a text as [MarshalString] writes it. It leaves bytes that are no UTF-8
// as they are.
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
