package scalar

import (
	"github.com/99designs/gqlgen/graphql"

	"github.com/tandian-dev/tandian/internal/kit/calendar"
	"github.com/tandian-dev/tandian/internal/kit/fault"
)

// MarshalDate writes a day as yyyy-mm-dd.
func MarshalDate(d calendar.Date) graphql.Marshaler {
	return written(d, AppendDate)
}

// AppendDate appends a day as [MarshalDate] writes it.
func AppendDate(out []byte, d calendar.Date) []byte {
	return append(append(append(out, '"'), d.String()...), '"')
}

// UnmarshalDate reads a day as yyyy-mm-dd. Anything else is a fault.
func UnmarshalDate(v any) (calendar.Date, error) {
	s, _ := v.(string)
	d, err := calendar.Parse(s)
	if err != nil {
		return d, fault.BadInput("a Date is a day as yyyy-mm-dd")
	}
	return d, nil
}
