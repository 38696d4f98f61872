package livetest

import (
	"encoding/base64"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tandian-dev/tandian/graph/scalar"
)

func cursorOf(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

func TestEventStreamIsParsed(t *testing.T) {
	const text = ":\n\nid: a\nevent: next\ndata: {\"n\":\ndata: 1}\n\n:\n\nevent: next\ndata:2\n\nid: b\nevent: next\ndata: 3\n\nevent: complete\ndata:\n\nevent: next\ndata: 4\n\n"
	var got []string
	err := events(strings.NewReader(text), func(data []byte, id string) error {
		got = append(got, id+" "+string(data))
		return nil
	})
	if endOf(err) != "complete" {
		t.Errorf("got %v, want complete", err)
	}
	if d := cmp.Diff([]string{`a {"n":1}`, "a 2", "b 3"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	enough := errors.New("enough")
	if err := events(strings.NewReader(text), func([]byte, string) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("got %v, want %v", err, enough)
	}
	if err := events(strings.NewReader("event: next\n"), nil); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want EOF", err)
	}
}

func TestNumberOfCursor(t *testing.T) {
	for text, want := range map[string]int64{"": 0, cursorOf(`["LIVE",17]`): 17, cursorOf(`["FEED",3,4]`): 4} {
		if got, err := numberOf(text); err != nil || got != want {
			t.Errorf("%q: got %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"!", cursorOf("[]"), cursorOf(`["LIVE"]`), cursorOf(`17`)} {
		if got, err := numberOf(text); err == nil {
			t.Errorf("%q: got %d, want an error", text, got)
		}
	}
}

func TestFollowerResumesFromLastCursor(t *testing.T) {
	note := scalar.ID{Type: "Note", N: 7}.String()
	update := func(kind Kind, cursor, rest string) []byte {
		return []byte(`{"data":{"feedUpdates":{"__typename":"` + string(kind) + `","cursor":"` + cursor + `"` + rest + `}}}`)
	}
	f := &follower{begin: time.Now(), counters: newCounters()}
	for i, text := range [][]byte{
		update(Ready, cursorOf(`["LIVE",5]`), ""),
		update(Added, cursorOf(`["LIVE",6]`), `,"note":{"id":"`+note+`","title":"a"}`),
		update(Removed, cursorOf(`["LIVE",8]`), `,"noteId":"`+note+`"`),
		update(Resync, cursorOf(`["LIVE",9]`), ""),
	} {
		if err := f.receive(i, text, ""); err != nil {
			t.Fatal(err)
		}
	}
	got := f.result()
	want := Client{From: 5, Received: []Delivered{{Kind: Ready, Seq: 5}, {Kind: Added, Seq: 6, Note: 7, Conn: 1}, {Kind: Removed, Seq: 8, Note: 7, Conn: 2}, {Kind: Resync, Seq: 9, Conn: 3}}}
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(Delivered{}, "At")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if f.cursor != cursorOf(`["LIVE",9]`) {
		t.Errorf("got cursor %q, want the last one", f.cursor)
	}
	if _, ok := f.receivedAt(7); !ok {
		t.Error("receivedAt does not find the note")
	}
	if _, flaws, _ := f.counters.all(); len(flaws) > 0 {
		t.Error(flaws)
	}
}

func TestInvalidMessagesAreFlaws(t *testing.T) {
	note := scalar.ID{Type: "Note", N: 7}.String()
	user := scalar.ID{Type: "User", N: 7}.String()
	cursor := cursorOf(`["LIVE",5]`)
	for name, tt := range map[string]struct {
		text, id, cursor string
		sse              bool
	}{
		"an internal error":       {text: `{"errors":[{"message":"x","extensions":{"code":"INTERNAL"}}]}`},
		"an error without a code": {text: `{"errors":[{"message":"x"}]}`},
		"no cursor":               {text: `{"data":{"feedUpdates":{"__typename":"FeedReady","cursor":"17"}}}`},
		"no note":                 {text: `{"data":{"feedUpdates":{"__typename":"FeedNoteAdded","cursor":"` + cursor + `","note":null}}}`, cursor: cursor},
		"id of another type":      {text: `{"data":{"feedUpdates":{"__typename":"FeedNoteRemoved","cursor":"` + cursor + `","noteId":"` + user + `"}}}`, cursor: cursor},
		"unknown type":            {text: `{"data":{"feedUpdates":{"__typename":"FeedParty","cursor":"` + cursor + `"}}}`, cursor: cursor},
		"a note before FeedReady": {text: `{"data":{"feedUpdates":{"__typename":"FeedNoteRemoved","cursor":"` + cursor + `","noteId":"` + note + `"}}}`},
		"wrong event id":          {text: `{"data":{"feedUpdates":{"__typename":"FeedReady","cursor":"` + cursor + `"}}}`, id: "x", sse: true},
	} {
		f := &follower{begin: time.Now(), counters: newCounters(), sse: tt.sse, cursor: tt.cursor}
		_ = f.receive(0, []byte(tt.text), tt.id)
		if _, flaws, n := f.counters.all(); n != 1 {
			t.Errorf("%s: got flaws %v, want one", name, flaws)
		}
	}
}
