package scalar

import (
	"github.com/99designs/gqlgen/graphql"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/civil"
)

// MarshalDate writes a day as yyyy-mm-dd.
func MarshalDate(d civil.Date) graphql.Marshaler {
	return written(d, AppendDate)
}

// AppendDate appends a day as [MarshalDate] writes it.
func AppendDate(out []byte, d civil.Date) []byte {
	return append(append(append(out, '"'), d.String()...), '"')
}

// UnmarshalDate reads a day as yyyy-mm-dd. Anything else is a fault.
func UnmarshalDate(v any) (civil.Date, error) {
	s, _ := v.(string)
	d, err := civil.Parse(s)
	if err != nil {
		return d, apierror.BadInput("a Date is a day as yyyy-mm-dd")
	}
	return d, nil
}
