package cdc

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A truncated message must not end the process, or count as one without changes.
func TestTruncatedMessagesAreRejected(t *testing.T) {
	const relation7 = "\x00\x00\x00\x07"
	row := func(columns ...string) string {
		text := "\x00" + string(rune(len(columns)))
		for _, c := range columns {
			text += "t\x00\x00\x00" + string(rune(len(c))) + c
		}
		return text
	}
	oldKey := "U" + relation7 + "K" + row("", "11")
	tests := []struct {
		name, message string
		part          int // length of a shorter message that is complete too
		want          []change
	}{
		{name: "begin", message: "B" + strings.Repeat("\x00", 20)},
		{name: "commit", message: "C" + strings.Repeat("\x00", 25)},
		{name: "insert", message: "I" + relation7 + "N" + row("x", "12", "y"), want: []change{{keys: []string{"12"}}}},
		{name: "update", message: "U" + relation7 + "N" + row("x", "12"), want: []change{{keys: []string{"12"}}}},
		{name: "update of the key", message: oldKey + "N" + row("x", "12"), part: len(oldKey), want: []change{{keys: []string{"11", "12"}}}},
		{name: "delete", message: "D" + relation7 + "K" + row("", "11"), want: []change{{keys: []string{"11"}}}},
		{name: "an empty key", message: "D" + relation7 + "K" + row("", ""), want: []change{{keys: []string{""}}}},
		{name: "no key", message: "U" + relation7 + "N\x00\x02nu", want: []change{{all: true}}},
		{name: "fewer columns than before", message: "U" + relation7 + "N" + row("x"), want: []change{{all: true}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for n := 1; n <= len(tt.message); n++ {
				s := &stream{r: new(Reader), relations: map[uint32]*relation{7: {table: new(Table), key: 1}}}
				err := s.decode(t.Context(), []byte(tt.message[:n]))
				if whole := n == len(tt.message) || n == tt.part; whole != (err == nil) || err != nil && !errors.Is(err, errMalformed) {
					t.Errorf("%d bytes of %d: got %v", n, len(tt.message), err)
				}
				if n < len(tt.message) {
					continue
				}
				var got []change
				for _, c := range s.tx.changes {
					got = append(got, change{keys: c.keys, all: c.all})
				}
				if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(change{})); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
	s := &stream{r: new(Reader), relations: map[uint32]*relation{7: {table: new(Table), key: 1}}}
	if err := s.decode(t.Context(), []byte("U"+relation7+"X"+row("x", "12"))); !errors.Is(err, errMalformed) {
		t.Errorf("unknown kind of row version: got %v", err)
	}
}
