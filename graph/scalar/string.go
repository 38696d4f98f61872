package scalar

import (
	"github.com/99designs/gqlgen/graphql"

	"github.com/tandian-dev/tandian/internal/kit/fault"
)

// MarshalString writes a text.
func MarshalString(s string) graphql.Marshaler { return graphql.MarshalString(s) }

// UnmarshalString reads a text. A number is a fault: as a text it would lose its
// leading zeros.
func UnmarshalString(v any) (string, error) {
	s, ok := v.(string)
	if !ok {
		return "", fault.BadInput("a String is a text in quotes")
	}
	return s, nil
}
