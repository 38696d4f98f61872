package scalar

import (
	"encoding/json"
	"io"
	"math"
	"strconv"

	"github.com/99designs/gqlgen/graphql"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/page"
)

// maxLong is the largest whole number that JavaScript represents exactly.
const maxLong = 1<<53 - 1

// MarshalInt writes a whole number of 32 bits. A number outside of that range
// is written as the bound that it passed.
func MarshalInt(n int) graphql.Marshaler { return written(n, AppendInt) }

// UnmarshalInt reads a whole number of 32 bits. A string, a fraction or a
// bigger number is a fault.
func UnmarshalInt(v any) (int, error) {
	return unmarshalWhole(v, math.MinInt32, math.MaxInt32, "an Int is a whole number from -2147483648 to 2147483647")
}

// MarshalLong writes a whole number from -(2^53-1) to 2^53-1. A number outside
// of that range is written as the bound that it passed.
func MarshalLong(n int) graphql.Marshaler { return written(n, AppendLong) }

// UnmarshalLong reads a whole number from -(2^53-1) to 2^53-1. A string, a
// fraction or a bigger number is a fault.
func UnmarshalLong(v any) (int, error) {
	return unmarshalWhole(v, -maxLong, maxLong, "a Long is a whole number from -9007199254740991 to 9007199254740991")
}

// AppendInt appends n as [MarshalInt] writes it.
func AppendInt(out []byte, n int) []byte {
	return strconv.AppendInt(out, int64(min(max(n, math.MinInt32), math.MaxInt32)), 10)
}

// AppendLong appends n as [MarshalLong] writes it.
func AppendLong(out []byte, n int) []byte {
	return strconv.AppendInt(out, int64(min(max(n, -maxLong), maxLong)), 10)
}

// written is the marshaler of what an append function writes.
func written[V any](v V, write func([]byte, V) []byte) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) { _, _ = w.Write(write(make([]byte, 0, 24), v)) })
}

func unmarshalWhole(v any, least, most int64, want string) (int, error) {
	bad := apierror.BadInput("%s", want)
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
		if v != math.Trunc(v) || math.Abs(v) > maxLong {
			return 0, bad
		}
		n = int64(v)
	default:
		return 0, bad
	}
	if n < least || n > most {
		return 0, bad
	}
	return int(n), nil
}

// MarshalFloat writes a finite number so that it reads back as the same, and null for
// another one.
func MarshalFloat(f float64) graphql.Marshaler {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return graphql.Null
	}
	return written(f, AppendFloat)
}

// AppendFloat appends a number as [MarshalFloat] writes it.
func AppendFloat(out []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(out, "null"...)
	}
	return strconv.AppendFloat(out, f, 'g', -1, 64)
}

// UnmarshalFloat reads a finite number. A string or NaN is a fault.
func UnmarshalFloat(v any) (float64, error) {
	bad := apierror.BadInput("a Float is a finite number")
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
func MarshalCursor(c page.Cursor) graphql.Marshaler { return written(c, AppendCursor) }

// AppendCursor appends a cursor as [MarshalCursor] writes it.
func AppendCursor(out []byte, c page.Cursor) []byte { return AppendString(out, string(c)) }

// UnmarshalCursor reads a cursor; whether it fits the list is checked there.
func UnmarshalCursor(v any) (page.Cursor, error) {
	s, ok := v.(string)
	if !ok || s == "" {
		return "", apierror.BadInput("a cursor is a string that a page gave")
	}
	return page.Cursor(s), nil
}
