package comment

import (
	"context"
	"errors"
	"fmt"
	"slices"

	entcomment "github.com/tandian-dev/tandian/ent/comment"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
)

// The topics of this room's jobs in the outbox.
const (
	addedTopic     = "comments"       // ids of comments that were inserted, or whose replies were counted anew
	recountedTopic = "comment-counts" // ids of notes whose comments were counted anew
)

// openOutbox says what is done for a committed write when its writer could not.
func (s *Service) openOutbox() {
	s.outbox.Handle(addedTopic, outbox.Handler{Retention: outbox.ReplayRetention, Do: outbox.DoBatch(s.invalidateAdded)})
	s.outbox.Handle(recountedTopic, outbox.Handler{Retention: outbox.ReplayRetention, Do: outbox.DoBatch(func(ctx context.Context, notes ...int64) error {
		return outbox.Transient(s.notes.InvalidateComments(ctx, notes...))
	})})
}

// Invalidate tells Redis that rows of comments were inserted, changed or deleted, by
// whomever: what is cached of them and of their roots is dropped, and the lists that they
// stand in. It may be repeated, late too. The list of a row that is gone keeps its id
// until it ends; readers leave it out.
func (s *Service) Invalidate(ctx context.Context, ids ...int64) error {
	_, err := s.invalidate(ctx, ids)
	return err
}

// invalidateAdded is Changed for comments that were inserted: their notes counted them.
func (s *Service) invalidateAdded(ctx context.Context, ids ...int64) error {
	rows, err := s.invalidate(ctx, ids)
	notes := make([]int64, 0, len(rows))
	for _, r := range rows {
		notes = append(notes, r.NoteID)
	}
	if notes = unique(notes); len(notes) > 0 {
		err = errors.Join(err, s.notes.InvalidateComments(ctx, notes...))
	}
	return outbox.Transient(err) // Redis is away
}

// invalidate is Changed. It returns which comments there are, and where they stand.
func (s *Service) invalidate(ctx context.Context, ids []int64) ([]*Comment, error) {
	rows, err := s.db.Comment.Query().Where(entcomment.IDIn(ids...)).
		Select(entcomment.FieldID, entcomment.FieldNoteID, entcomment.FieldRootID).All(ctx)
	if err != nil {
		return nil, outbox.Transient(fmt.Errorf("select %d comments: %w", len(ids), err))
	}
	touched, found := slices.Clip(ids), make([]*Comment, 0, len(rows))
	for _, r := range rows {
		found = append(found, fromRow(r))
		if r.RootID != nil {
			touched = append(touched, *r.RootID)
		}
	}
	return found, outbox.Transient(errors.Join(s.comments.Invalidate(ctx, unique(touched)...), s.invalidateLists(ctx, found)))
}

// invalidateLists drops the lists that comments stand in. A list is not added to in place:
// its insert may be told later than what came after it.
func (s *Service) invalidateLists(ctx context.Context, rows []*Comment) error {
	var notes, roots []int64
	for _, r := range rows {
		switch {
		case r == nil: // it was refused
		case r.RootID == nil:
			notes = append(notes, r.NoteID)
		default:
			roots = append(roots, *r.RootID)
		}
	}
	var err error
	if len(notes) > 0 {
		err = s.onNotes.Invalidate(ctx, unique(notes)...)
	}
	if len(roots) > 0 {
		err = errors.Join(err, s.replies.Invalidate(ctx, unique(roots)...))
	}
	return err
}

// put replaces cached comments that are older.
func (s *Service) put(ctx context.Context, rows ...*Comment) error {
	return s.comments.PutMany(ctx, byID(rows))
}

func byID(rows []*Comment) map[int64]Comment {
	values := make(map[int64]Comment, len(rows))
	for _, c := range rows {
		values[c.ID] = *c
	}
	return values
}
