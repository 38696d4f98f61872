package eventbus

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
)

func at(epoch, n uint64, mark string) position { return position{epoch, n, mark} }

func TestCursorWithinAndReached(t *testing.T) {
	none := position{}
	tests := []struct {
		name     string
		at, tail position
		within   bool
		reached  bool
	}{
		{"no stream", none, none, true, true},
		{"a new stream", none, at(7, 3, "c"), true, false},
		{"at the tail", at(7, 3, "c"), at(7, 3, "c"), true, true},
		{"before the tail", at(7, 3, "c"), at(7, 5, "e"), true, false},
		{"at a later tail", at(7, 5, "e"), at(7, 5, "e"), true, true},
		{"a deleted stream", at(7, 3, "c"), none, false, true},
		{"a shorter stream", at(7, 3, "c"), at(7, 2, "b"), false, true},
		{"another stream, longer", at(7, 3, "c"), at(8, 9, "z"), false, false},
		{"an older stream", at(7, 3, "c"), at(6, 9, "z"), false, false},
		{"another past, same length", at(7, 3, "c"), at(7, 3, "x"), false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := streamCursor{position: tt.at}
			if got := c.within(tt.tail); got != tt.within {
				t.Errorf("within: got %v", got)
			}
			if got := c.reached(tt.tail); tt.within && got != tt.reached {
				t.Errorf("reached: got %v", got)
			}
		})
	}
}

func TestAdvanceDetectsHoles(t *testing.T) {
	e := func(epoch, n uint64, before, mark string) entry {
		return entry{position: at(epoch, n, mark), prevMark: before, Message: Message{Topic: mark}}
	}
	tests := []struct {
		name     string
		at       position
		in       []entry
		received string
		want     streamCursor
	}{
		{"no entries", at(7, 2, "b"), nil, "", streamCursor{position: at(7, 2, "b")}},
		{"next entries", at(7, 2, "b"), []entry{e(7, 3, "b", "c"), e(7, 4, "c", "d")}, "cd", streamCursor{position: at(7, 4, "d")}},
		{"the first of a new stream", position{}, []entry{e(7, 1, "", "a"), e(7, 2, "a", "b")}, "ab", streamCursor{position: at(7, 2, "b")}},
		{"trimmed before the first read", position{}, []entry{e(7, 2, "a", "b")}, "", streamCursor{gap: GapTrimmed}},
		{"trimmed", at(7, 2, "b"), []entry{e(7, 4, "c", "d")}, "", streamCursor{at(7, 2, "b"), GapTrimmed}},
		{"trimmed in between", at(7, 2, "b"), []entry{e(7, 3, "b", "c"), e(7, 5, "d", "e")}, "c", streamCursor{at(7, 3, "c"), GapTrimmed}},
		{"a new epoch", at(7, 2, "b"), []entry{e(8, 1, "", "a")}, "", streamCursor{at(7, 2, "b"), GapLost}},
		{"reused numbers", at(7, 2, "b"), []entry{e(7, 3, "x", "y")}, "", streamCursor{at(7, 2, "b"), GapLost}},
		{"nothing after a hole", at(7, 2, "b"), []entry{e(7, 4, "c", "d"), e(7, 3, "b", "c")}, "", streamCursor{at(7, 2, "b"), GapTrimmed}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := streamCursor{position: tt.at}
			received := ""
			for _, m := range c.advance(tt.in) {
				received += m.Topic
			}
			if diff := cmp.Diff(tt.received, received); diff != "" {
				t.Error(diff)
			}
			if c != tt.want {
				t.Errorf("got %v, want %v", c, tt.want)
			}
		})
	}
}

func TestParseRejectsInvalidIDs(t *testing.T) {
	for _, id := range []string{"", "7", "7-", "a-1", "7-b", "-7-1"} {
		if _, err := parse(redis.XMessage{ID: id}); err == nil {
			t.Errorf("id %q: got no error", id)
		}
	}
}
