package note

import (
	"time"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
	"github.com/tandian-dev/tandian/internal/kit/optional"
)

func fromRow(r *ent.Note) *Note {
	n := &Note{
		ID: r.ID, AuthorID: r.AuthorID, ShopID: r.ShopID, Title: r.Title, Content: r.Content,
		Seq: optional.Value(r.Seq), CreatedAt: time.UnixMilli(r.CreatedAt).UTC(),
	}
	for _, i := range r.Images {
		n.Images = append(n.Images, mediapath.ImageOf(i.URL, i.Width, i.Height))
	}
	return n
}

func countsOf(r *ent.NoteCount) Counts {
	return Counts{Likes: r.Likes, Comments: r.Comments, Hot: r.Hot, Version: r.Version}
}
