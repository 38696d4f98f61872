package eventbus

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
)

func at(epoch, n uint64, mark string) position { return position{epoch, n, mark} }

func TestAStreamThatCannotHoldThePositionIsSeenByItsEnd(t *testing.T) {
	none := position{}
	tests := []struct {
		name     string
		at, tail position
		within   bool
		reached  bool
	}{
		{"no stream yet", none, none, true, true},
		{"the stream has begun", none, at(7, 3, "c"), true, false},
		{"at the end", at(7, 3, "c"), at(7, 3, "c"), true, true},
		{"behind the end", at(7, 3, "c"), at(7, 5, "e"), true, false},
		{"beyond the end that was seen", at(7, 5, "e"), at(7, 5, "e"), true, true},
		{"the stream is gone", at(7, 3, "c"), none, false, true},
		{"the stream went back", at(7, 3, "c"), at(7, 2, "b"), false, true},
		{"a new stream, further on", at(7, 3, "c"), at(8, 9, "z"), false, false},
		{"an older stream", at(7, 3, "c"), at(6, 9, "z"), false, false},
		{"another past, as long", at(7, 3, "c"), at(7, 3, "x"), false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := streamCursor{position: tt.at}
			if got := c.within(tt.tail); got != tt.within {
				t.Errorf("within: %v", got)
			}
			if got := c.reached(tt.tail); tt.within && got != tt.reached {
				t.Errorf("reached: %v", got)
			}
		})
	}
}

func TestAHoleBetweenEntriesIsSeen(t *testing.T) {
	e := func(epoch, n uint64, before, mark string) entry {
		return entry{position: at(epoch, n, mark), before: before, Message: Message{Topic: mark}}
	}
	tests := []struct {
		name  string
		at    position
		in    []entry
		heard string
		want  streamCursor
	}{
		{"nothing came", at(7, 2, "b"), nil, "", streamCursor{position: at(7, 2, "b")}},
		{"what follows", at(7, 2, "b"), []entry{e(7, 3, "b", "c"), e(7, 4, "c", "d")}, "cd", streamCursor{position: at(7, 4, "d")}},
		{"the first of a new stream", position{}, []entry{e(7, 1, "", "a"), e(7, 2, "a", "b")}, "ab", streamCursor{position: at(7, 2, "b")}},
		{"a stream that was trimmed before its first was read", position{}, []entry{e(7, 2, "a", "b")}, "", streamCursor{why: GapTrimmed}},
		{"trimmed", at(7, 2, "b"), []entry{e(7, 4, "c", "d")}, "", streamCursor{at(7, 2, "b"), GapTrimmed}},
		{"trimmed in between", at(7, 2, "b"), []entry{e(7, 3, "b", "c"), e(7, 5, "d", "e")}, "c", streamCursor{at(7, 3, "c"), GapTrimmed}},
		{"begun anew", at(7, 2, "b"), []entry{e(8, 1, "", "a")}, "", streamCursor{at(7, 2, "b"), GapLost}},
		{"the numbers given out again", at(7, 2, "b"), []entry{e(7, 3, "x", "y")}, "", streamCursor{at(7, 2, "b"), GapLost}},
		{"nothing after a hole", at(7, 2, "b"), []entry{e(7, 4, "c", "d"), e(7, 3, "b", "c")}, "", streamCursor{at(7, 2, "b"), GapTrimmed}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := streamCursor{position: tt.at}
			heard := ""
			for _, m := range c.advance(tt.in) {
				heard += m.Topic
			}
			if diff := cmp.Diff(tt.heard, heard); diff != "" {
				t.Error(diff)
			}
			if c != tt.want {
				t.Errorf("at %v, want %v", c, tt.want)
			}
		})
	}
}

func TestWhatIsNoEntryIsRefused(t *testing.T) {
	for _, id := range []string{"", "7", "7-", "a-1", "7-b", "-7-1"} {
		if _, err := parse(redis.XMessage{ID: id}); err == nil {
			t.Errorf("the id %q is read", id)
		}
	}
}
