package live

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/tandian-dev/tandian/lab/compare/live/stock/generated"
	"github.com/tandian-dev/tandian/lab/livebench"
)

// item is the JSON of an item as Tandian's subscribers get it.
func item(title, content string) ([]byte, error) {
	return json.Marshal(struct {
		Typename string `json:"__typename"`
		generated.FeedNoteAdded
	}{"FeedNoteAdded", generated.FeedNoteAdded{Cursor: "MTc5NTQ2MDQ4MS4xMjM0NTY3", Note: &generated.Note{
		ID: "Tm90ZToxMjM0NTY3", Title: title, Content: content, CreatedAt: "2026-11-23T12:00:00.123Z", Images: []generated.Image{},
		Author: &generated.User{ID: "VXNlcjoxMjM0NTY3", Nickname: "Crowd"}, Shop: &generated.Shop{ID: "U2hvcDoxMjM0NTY3", Name: "Noon"},
	}}})
}

var mark = []byte(livebench.Mark) //nolint:gochecknoglobals // a constant that Go cannot say

// nextItem finds the first item in a message and returns the bytes after it. ok is false if there
// is none.
func nextItem(b []byte) (n int64, at time.Duration, rest []byte, ok bool) {
	i := bytes.Index(b, mark)
	if i < 0 {
		return 0, 0, nil, false
	}
	n, b = digits(b[i+len(mark):])
	if len(b) == 0 || b[0] != ' ' {
		return 0, 0, nil, false
	}
	nanos, b := digits(b[1:])
	return n, time.Duration(nanos), b, true
}

func digits(b []byte) (n int64, rest []byte) {
	for len(b) > 0 && b[0] >= '0' && b[0] <= '9' {
		n, b = n*10+int64(b[0]-'0'), b[1:]
	}
	return n, b
}
