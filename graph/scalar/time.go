package scalar

import (
	"time"

	"github.com/99designs/gqlgen/graphql"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
)

// MarshalTime writes a time in RFC 3339 format.
func MarshalTime(t time.Time) graphql.Marshaler { return graphql.MarshalTime(t) }

// AppendTime appends t in the form of [MarshalTime], and null for the zero time.
func AppendTime(out []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(out, "null"...)
	}
	return append(t.AppendFormat(append(out, '"'), time.RFC3339Nano), '"')
}

// UnmarshalTime reads a time in RFC 3339 format with a zone, in the years 1970 to 9998 of
// UTC. It returns a BAD_USER_INPUT error for any other value.
func UnmarshalTime(v any) (time.Time, error) {
	s, _ := v.(string)
	t, err := time.Parse(time.RFC3339Nano, s)
	if year := t.UTC().Year(); err != nil || year < 1970 || year > 9998 {
		return time.Time{}, apierror.BadInput("invalid Time: want RFC 3339 with a zone, years 1970 to 9998")
	}
	return t, nil
}
