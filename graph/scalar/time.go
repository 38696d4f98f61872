package scalar

import (
	"time"

	"github.com/99designs/gqlgen/graphql"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
)

// MarshalTime writes a moment as RFC 3339.
func MarshalTime(t time.Time) graphql.Marshaler { return graphql.MarshalTime(t) }

// AppendTime appends a moment as [MarshalTime] writes it, the zero one as null.
func AppendTime(out []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(out, "null"...)
	}
	return append(t.AppendFormat(append(out, '"'), time.RFC3339Nano), '"')
}

// UnmarshalTime reads a moment as RFC 3339 with a zone, of years that can be written
// so in any zone. Anything else is a fault.
func UnmarshalTime(v any) (time.Time, error) {
	s, _ := v.(string)
	t, err := time.Parse(time.RFC3339Nano, s)
	if year := t.UTC().Year(); err != nil || year < 1970 || year > 9998 {
		return time.Time{}, apierror.BadInput("a Time is a moment of the years 1970 to 9998 as RFC 3339 with a zone")
	}
	return t, nil
}
