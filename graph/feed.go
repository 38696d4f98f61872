package graph

import (
	"github.com/tandian-dev/tandian/internal/feed"
	"github.com/tandian-dev/tandian/internal/note"
)

// addedNote returns the note of an update of a live feed.
func addedNote(a *feed.Added) *note.Note {
	n, _ := a.Row.(*note.Note)
	return n
}

// noteOf returns the note of a feed edge. The feed service itself knows only note ids.
func noteOf(e *feed.Edge) *note.Note {
	n, _ := e.Note.(*note.Note)
	return n
}
