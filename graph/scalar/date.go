package scalar

import (
	"github.com/99designs/gqlgen/graphql"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/civil"
)

// MarshalDate writes a date as yyyy-mm-dd.
func MarshalDate(d civil.Date) graphql.Marshaler {
	return written(d, AppendDate)
}

// AppendDate appends a date in the form of [MarshalDate].
func AppendDate(out []byte, d civil.Date) []byte {
	return append(append(append(out, '"'), d.String()...), '"')
}

// UnmarshalDate reads a date in the form yyyy-mm-dd. It returns a BAD_USER_INPUT error for
// any other value.
func UnmarshalDate(v any) (civil.Date, error) {
	s, _ := v.(string)
	d, err := civil.Parse(s)
	if err != nil {
		return d, apierror.BadInput("invalid Date: want yyyy-mm-dd")
	}
	return d, nil
}
