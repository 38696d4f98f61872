package graph

import (
	"context"

	"github.com/tandian-dev/tandian/graph/model"
	"github.com/tandian-dev/tandian/internal/comment"
)

func commentID(c *comment.Comment) int64 { return c.ID }

func commentDraft(in model.AddCommentInput) (d comment.Draft, err error) {
	d.Content = in.Content
	if d.NoteID, err = in.NoteID.Of("Note"); err != nil || in.ParentID == nil {
		return d, err
	}
	parent, err := in.ParentID.Of("Comment")
	d.ParentID = &parent
	return d, err
}

// parents returns the comment that each comment replies to, or nil.
func (r *Resolver) parents(ctx context.Context, all []*comment.Comment) ([]*comment.Comment, error) {
	var ids []int64
	for _, c := range all {
		if c.ParentID != nil {
			ids = append(ids, *c.ParentID)
		}
	}
	if len(ids) == 0 {
		return make([]*comment.Comment, len(all)), nil
	}
	found, err := r.services.Comments.ByIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	return convert(all, func(c *comment.Comment) *comment.Comment {
		if c.ParentID == nil {
			return nil
		}
		return found[*c.ParentID]
	}), nil
}
