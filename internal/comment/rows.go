package comment

import (
	"slices"
	"time"

	"github.com/tandian-dev/tandian/ent"
)

func fromRow(r *ent.Comment) *Comment {
	return &Comment{
		ID: r.ID, NoteID: r.NoteID, AuthorID: r.AuthorID, RootID: r.RootID, ParentID: r.ParentID, Content: r.Content,
		LikeCount: r.LikeCount, ReplyCount: r.ReplyCount, Version: r.Version, CreatedAt: fromMilli(r.CreatedAt),
	}
}

// fromMilli is a time that is stored as milliseconds, in the form in which it comes out of
// the cache too.
func fromMilli(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// unique is ids without repetitions, in ascending order.
func unique(ids []int64) []int64 {
	return slices.Compact(slices.Sorted(slices.Values(ids)))
}
