// Package page holds what every paged list shares: the size rule, opaque
// keyset cursors and the facts of a Relay PageInfo.
//
// A cursor is the sort key of one row, so a page begins behind a place and not
// after a count: rows that appear or vanish meanwhile make no row repeat or
// get lost.
package page

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
)

// Max is the largest page.
const Max = 100

// A Cursor is an opaque place in a list: base64url, without padding, of a JSON
// array with the name of the order first. "" is none.
type Cursor string

// Info describes a page for a client that wants the next one.
type Info struct {
	HasNextPage     bool
	HasPreviousPage bool // whether the page began behind a cursor
	StartCursor     *Cursor
	EndCursor       *Cursor
}

// InfoOf describes a page that has these cursors.
func InfoOf(cursors []Cursor, after Cursor, more bool) Info {
	info := Info{HasNextPage: more, HasPreviousPage: after != ""}
	if n := len(cursors); n > 0 {
		info.StartCursor, info.EndCursor = &cursors[0], &cursors[n-1]
	}
	return info
}

// CheckFirst returns a fault unless first is 1 to [Max].
func CheckFirst(first int) error {
	if first < 1 || first > Max {
		return apierror.BadInput("first is 1 to %d, not %d", Max, first)
	}
	return nil
}

// Encode returns the cursor of a row's sort key, of int, int64, float64 and string values. It
// panics on other types. The name of the order keeps a cursor of one list from being used in
// another.
func Encode(order string, key ...any) Cursor {
	var room [96]byte
	b := appendJSON(append(room[:0], '['), order)
	for _, k := range key {
		b = appendJSON(append(b, ','), k)
	}
	b = append(b, ']')
	var text [128]byte
	return Cursor(base64.RawURLEncoding.AppendEncode(text[:0], b))
}

// appendJSON appends the same text as encoding/json, without an allocation for a number or a
// plain string: v does not escape. A page of 20 shops had 80 allocations for its cursors, and
// costs 7 % less without them.
func appendJSON(b []byte, v any) []byte {
	var text []byte
	var err error
	switch v := v.(type) {
	case int64:
		return strconv.AppendInt(b, v, 10)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case float64:
		if size := math.Abs(v); size == 0 && !math.Signbit(v) || size >= 1e-6 && size < 1e21 {
			return strconv.AppendFloat(b, v, 'f', -1, 64)
		}
		text, err = json.Marshal(v)
	case string:
		if plain(v) {
			return append(append(append(b, '"'), v...), '"')
		}
		text, err = json.Marshal(strings.Clone(v))
	default:
		panic("page: a key of a cursor is an int, an int64, a float64 or a string")
	}
	if err != nil {
		panic("page: a key of a cursor is not a number") // NaN or an infinity
	}
	return append(b, text...)
}

// plain reports whether s consists of letters, digits, _ and - of ASCII.
func plain(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// Decode reads the sort key out of a cursor into pointers. It returns a fault
// when c is no cursor of this order.
func Decode(c Cursor, order string, key ...any) error {
	bad := apierror.BadInput("after is no cursor of this list")
	if len(c) > 512 {
		return bad
	}
	b, err := base64.RawURLEncoding.DecodeString(string(c))
	if err != nil {
		return bad.WithCause(err)
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(b, &parts); err != nil {
		return bad.WithCause(err)
	}
	if len(parts) != len(key)+1 {
		return bad
	}
	var got string
	if err := json.Unmarshal(parts[0], &got); err != nil || got != order {
		return bad
	}
	for i, p := range parts[1:] {
		if err := json.Unmarshal(p, key[i]); err != nil || string(p) == "null" {
			return bad
		}
	}
	return nil
}
