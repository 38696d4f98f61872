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

// MarshalInt writes a 32-bit integer. It clamps a number outside of that range.
func MarshalInt(n int) graphql.Marshaler { return written(n, AppendInt) }

// UnmarshalInt reads a 32-bit integer. A string, a fraction or a number outside of that
// range is a BAD_USER_INPUT error.
func UnmarshalInt(v any) (int, error) {
	return unmarshalWhole(v, math.MinInt32, math.MaxInt32, "an Int must be a whole number from -2147483648 to 2147483647")
}

// MarshalLong writes an integer from -(2^53-1) to 2^53-1. It clamps a number outside of
// that range.
func MarshalLong(n int) graphql.Marshaler { return written(n, AppendLong) }

// UnmarshalLong reads an integer from -(2^53-1) to 2^53-1. A string, a fraction or a number
// outside of that range is a BAD_USER_INPUT error.
func UnmarshalLong(v any) (int, error) {
	return unmarshalWhole(v, -maxLong, maxLong, "a Long must be a whole number from -9007199254740991 to 9007199254740991")
}

// AppendInt appends n in the form of [MarshalInt].
func AppendInt(out []byte, n int) []byte {
	return strconv.AppendInt(out, int64(min(max(n, math.MinInt32), math.MaxInt32)), 10)
}

// AppendLong appends n in the form of [MarshalLong].
func AppendLong(out []byte, n int) []byte {
	return strconv.AppendInt(out, int64(min(max(n, -maxLong), maxLong)), 10)
}

// written returns a marshaler that writes with an append function.
func written[V any](v V, write func([]byte, V) []byte) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) { _, _ = w.Write(write(make([]byte, 0, 24), v)) })
}

func unmarshalWhole(v any, low, high int64, want string) (int, error) {
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
	if n < low || n > high {
		return 0, bad
	}
	return int(n), nil
}

// MarshalFloat writes a finite number in a form that parses to the same number. It writes
// null for NaN and infinities.
func MarshalFloat(f float64) graphql.Marshaler {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return graphql.Null
	}
	return written(f, AppendFloat)
}

// AppendFloat appends f in the form of [MarshalFloat].
func AppendFloat(out []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(out, "null"...)
	}
	return strconv.AppendFloat(out, f, 'g', -1, 64)
}

// UnmarshalFloat reads a finite number. A string or NaN is a BAD_USER_INPUT error.
func UnmarshalFloat(v any) (float64, error) {
	bad := apierror.BadInput("a Float must be a finite number")
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

// AppendCursor appends a cursor in the form of [MarshalCursor].
func AppendCursor(out []byte, c page.Cursor) []byte { return AppendString(out, string(c)) }

// UnmarshalCursor reads a cursor. It does not check that the cursor fits the list.
func UnmarshalCursor(v any) (page.Cursor, error) {
	s, ok := v.(string)
	if !ok || s == "" {
		return "", apierror.BadInput("invalid cursor: want the cursor of a page")
	}
	return page.Cursor(s), nil
}
