package graph

import (
	"github.com/tandian-dev/tandian/internal/feed"
	"github.com/tandian-dev/tandian/internal/note"
)

// addedNote is the note of an update of a live feed.
func addedNote(a *feed.Added) *note.Note {
	n, _ := a.Row.(*note.Note)
	return n
}

// noteOf is the note of a place in the feed, whose room knows nothing of notes but ids.
func noteOf(e *feed.Edge) *note.Note {
	n, _ := e.Note.(*note.Note)
	return n
}
