package graph

import (
	"github.com/tandian-dev/tandian/internal/feed"
	"github.com/tandian-dev/tandian/internal/note"
)

// noteOf is the note of a place in the feed, whose room knows nothing of notes but ids.
func noteOf(e *feed.Edge) *note.Note {
	n, _ := e.Note.(*note.Note)
	return n
}
