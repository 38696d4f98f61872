package comment

import (
	"context"
	"errors"
	"fmt"
	"slices"

	entcomment "github.com/tandian-dev/tandian/ent/comment"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
)

// Outbox topics of this package.
const (
	addedTopic     = "comments"       // ids of comments that were inserted or whose reply count was repaired
	recountedTopic = "comment-counts" // ids of notes whose comment count was repaired
)

// openOutbox registers the outbox handlers. They run if the writer fails after its commit.
func (s *Service) openOutbox() {
	s.outbox.Handle(addedTopic, outbox.Handler{Retention: outbox.ReplayRetention, Do: outbox.DoBatch(s.invalidateAdded)})
	s.outbox.Handle(recountedTopic, outbox.Handler{Retention: outbox.ReplayRetention, Do: outbox.DoBatch(func(ctx context.Context, notes ...int64) error {
		return outbox.Transient(s.notes.InvalidateComments(ctx, notes...))
	})})
}

// Invalidate publishes that rows of comments were inserted, changed or deleted, by any program. It
// invalidates the cached comments, their roots and their lists. It is idempotent and may run late.
// Lists contain deleted ids until they expire; readers omit them.
func (s *Service) Invalidate(ctx context.Context, ids ...int64) error {
	_, err := s.invalidate(ctx, ids)
	return err
}

// invalidateAdded is Invalidate for new comments. It also invalidates the counts of notes.
func (s *Service) invalidateAdded(ctx context.Context, ids ...int64) error {
	rows, err := s.invalidate(ctx, ids)
	notes := make([]int64, 0, len(rows))
	for _, r := range rows {
		notes = append(notes, r.NoteID)
	}
	if notes = unique(notes); len(notes) > 0 {
		err = errors.Join(err, s.notes.InvalidateComments(ctx, notes...))
	}
	return outbox.Transient(err) // Redis is unavailable
}

// invalidate is Invalidate. It returns the existing comments, with only id, note and root.
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

// invalidateLists drops the lists that contain comments. It does not append to them,
// because invalidations may run out of order.
func (s *Service) invalidateLists(ctx context.Context, rows []*Comment) error {
	var notes, roots []int64
	for _, r := range rows {
		switch {
		case r == nil: // rejected
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

// put replaces cached comments of older versions.
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
