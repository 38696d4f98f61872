package comment

import (
	"context"
	"fmt"

	"github.com/tandian-dev/tandian/ent"
	entcomment "github.com/tandian-dev/tandian/ent/comment"
	entnote "github.com/tandian-dev/tandian/ent/note"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/store"
)

// AddLikes adds n, which may be negative, to the likes of a comment and keeps its row
// locked until tx ends, and its note from being deleted. It returns how many there are
// then, and what is to be told after the commit; tell is nil if there is no such comment
// or its note was deleted. What tell could not do, [Service.LikesChanged] makes up for:
// the job in the outbox is the caller's.
func (s *Service) AddLikes(ctx context.Context, tx *ent.Tx, id int64, n int) (total int, tell func(context.Context) error, err error) {
	found, err := tx.Comment.Query().Where(entcomment.ID(id)).Select(entcomment.FieldNoteID).Ints(ctx)
	if err != nil {
		return 0, nil, fmt.Errorf("select comment %d: %w", id, err)
	}
	if len(found) == 0 {
		return 0, nil, nil
	}
	note := tx.Note.Query().Where(entnote.ID(int64(found[0])), entnote.DeletedAtIsNil())
	note.Modify(store.ForShare) // before the comment: notes are the first to be locked
	live, err := note.IDs(ctx)
	if err != nil {
		return 0, nil, fmt.Errorf("lock the note of comment %d: %w", id, err)
	}
	if len(live) == 0 {
		return 0, nil, nil
	}
	row, err := tx.Comment.UpdateOneID(id).AddLikeCount(n).AddVersion(1).Save(ctx)
	if err != nil {
		return 0, nil, fmt.Errorf("count likes into comment %d: %w", id, err)
	}
	return row.LikeCount, func(ctx context.Context) error { return s.put(ctx, row) }, nil
}

// LikesChanged forgets what is cached of comments whose likes were counted, by whomever.
// It may be repeated, late too.
func (s *Service) LikesChanged(ctx context.Context, ids ...int64) error {
	return outbox.Later(s.comments.Invalidate(ctx, ids...)) // Redis is away
}
