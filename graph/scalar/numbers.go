package scalar

import (
	"encoding/json"
	"io"
	"math"
	"strconv"

	"github.com/99designs/gqlgen/graphql"

	"github.com/tandian-dev/tandian/internal/kit/fault"
	"github.com/tandian-dev/tandian/internal/kit/page"
)

// MarshalInt writes a whole number.
func MarshalInt(n int) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) { _, _ = io.WriteString(w, strconv.Itoa(n)) })
}

// UnmarshalInt reads a whole number of 32 bits. A string, a fraction or a
// bigger number is a fault.
func UnmarshalInt(v any) (int, error) {
	bad := fault.BadInput("an Int is a whole number from -2147483648 to 2147483647")
	var n int64
	switch v := v.(type) {
	case int:
		n = int64(v)
	case int64:
		n = v
	case json.Number:
		var err error
		if n, err = v.Int64(); err != nil {
			return 0, bad
		}
	case float64:
		if v != math.Trunc(v) || math.Abs(v) > math.MaxInt32+1 {
			return 0, bad
		}
		n = int64(v)
	default:
		return 0, bad
	}
	if n < math.MinInt32 || n > math.MaxInt32 {
		return 0, bad
	}
	return int(n), nil
}

// MarshalFloat writes a finite number so that it reads back as the same.
func MarshalFloat(f float64) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			_, _ = io.WriteString(w, "null")
			return
		}
		_, _ = io.WriteString(w, strconv.FormatFloat(f, 'g', -1, 64))
	})
}

// UnmarshalFloat reads a finite number. A string or NaN is a fault.
func UnmarshalFloat(v any) (float64, error) {
	bad := fault.BadInput("a Float is a finite number")
	var f float64
	switch v := v.(type) {
	case int:
		f = float64(v)
	case int64:
		f = float64(v)
	case float64:
		f = v
	case json.Number:
		var err error
		if f, err = v.Float64(); err != nil {
			return 0, bad
		}
	default:
		return 0, bad
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, bad
	}
	return f, nil
}

// MarshalCursor writes a cursor.
func MarshalCursor(c page.Cursor) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) { _, _ = io.WriteString(w, strconv.Quote(string(c))) })
}

// UnmarshalCursor reads a cursor; whether it fits the list is checked there.
func UnmarshalCursor(v any) (page.Cursor, error) {
	s, ok := v.(string)
	if !ok || s == "" {
		return "", fault.BadInput("a cursor is a string that a page gave")
	}
	return page.Cursor(s), nil
}
