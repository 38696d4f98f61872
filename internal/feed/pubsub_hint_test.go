package feed

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/tandian-dev/tandian/internal/kit/cache"
)

// notesOfWidth encodes rows of a given width. It reads none.
type notesOfWidth int

func (notesOfWidth) Rows(context.Context, []int64) (map[int64]any, error) {
	return nil, errors.ErrUnsupported
}

func (notesOfWidth) Newest(context.Context, []int64, int) (map[int64][]cache.ListItem, error) {
	return nil, errors.ErrUnsupported
}
func (notesOfWidth) ReadRow([]byte) (any, error) { return nil, errors.ErrUnsupported }

func (w notesOfWidth) WriteRow(row any) ([]byte, error) {
	if row == "broken" {
		return nil, errors.ErrUnsupported
	}
	return json.Marshal(strings.Repeat("x", int(w)))
}

func TestHintSizeIsBounded(t *testing.T) {
	for _, tt := range []struct {
		name         string
		width        int
		batches      [][]any // rows of events announced together
		events, rows int     // in the hint; 0 and 0 for a number alone
	}{
		{"one note", 10, [][]any{{1}}, 1, 1},
		{"two batches", 10, [][]any{{1, 2}, {3}}, 3, 3},
		{"a deletion", 10, [][]any{{nil}}, 1, 0},
		{"invalid row", 10, [][]any{{"broken", 1}}, 2, 1},
		{"long notes", 8000, [][]any{make([]any, 0), {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}, 0, 0}, // the first has no events
		{"many long notes", 8000, [][]any{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}, 10, 8},
		{"maximum of events", 1, [][]any{rowsOf(100), rowsOf(100)}, 200, 200},
		{"too many events", 1, [][]any{rowsOf(100), rowsOf(100), rowsOf(1)}, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &Service{cfg: Config{Notes: notesOfWidth(tt.width)}}
			s.hub = newLiveHub(s)
			seq := int64(40)
			for _, rows := range tt.batches {
				var events []Event
				for _, row := range rows {
					seq++
					events = append(events, Event{Seq: seq, Note: seq, Row: row, Removed: row == nil})
				}
				s.hub.receive(seq)
				s.hints.add(events)
			}
			text := s.nextHint()
			if tt.events == 0 {
				if string(text) != strconv.FormatInt(seq, 10) {
					t.Fatalf("got %.100s, want %d", text, seq)
				}
			} else {
				var h hint
				if err := json.Unmarshal(text, &h); err != nil {
					t.Fatal(err)
				}
				rows := 0
				for i, e := range h.Events {
					if e.Seq != 41+int64(i) {
						t.Errorf("event %d: got number %d, want %d", i, e.Seq, 41+i)
					}
					if len(h.Rows[e.Note]) > 0 {
						rows++
					}
				}
				if h.Last != seq || len(h.Events) != tt.events || rows != tt.rows {
					t.Errorf("got number %d, %d events and %d rows, want %d, %d and %d", h.Last, len(h.Events), rows, seq, tt.events, tt.rows)
				}
			}
			if more := s.nextHint(); more != nil {
				t.Errorf("second hint: got %s, want none", more)
			}
		})
	}
}

func rowsOf(n int) []any {
	rows := make([]any, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}
