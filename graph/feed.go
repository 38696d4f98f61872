package graph

import (
	"github.com/tandian-dev/tandian/internal/feed"
	"github.com/tandian-dev/tandian/internal/note"
)

func addedNote(a *feed.Added) *note.Note {
	n, _ := a.Row.(*note.Note)
	return n
}

// noteOf returns the note of a feed edge. Package feed does not know its type.
func noteOf(e *feed.Edge) *note.Note {
	n, _ := e.Note.(*note.Note)
	return n
}
