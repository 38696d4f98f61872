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

// fromMilli converts stored milliseconds to a UTC time, as the cache decodes it.
func fromMilli(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// unique returns ids without duplicates, ascending.
func unique(ids []int64) []int64 {
	return slices.Compact(slices.Sorted(slices.Values(ids)))
}
