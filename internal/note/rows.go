package note

import (
	"database/sql"
	"time"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/schema"
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

// scanNote reads a row of notes.sql, as [fromRow] does one of ent.
func scanNote(rows *sql.Rows) (n Note, err error) {
	var images []byte
	var seq sql.NullInt64
	var created int64
	err = rows.Scan(&n.ID, &n.AuthorID, &n.ShopID, &n.Title, &n.Content, &images, &seq, &created)
	n.Seq, n.CreatedAt = seq.Int64, time.UnixMilli(created).UTC()
	if err == nil {
		n.Images, err = mediapath.ImagesOf(images)
	}
	return n, err
}

// imagesOf are pictures whose sizes are known, as a row has them.
func imagesOf(paths []string, known map[string]mediapath.Size) []schema.Image {
	images := make([]schema.Image, len(paths))
	for i, path := range paths {
		images[i] = schema.Image{URL: path, Width: known[path].Width, Height: known[path].Height}
	}
	return images
}

// shownBy returns the pictures that notes show, by note. With program they may be any
// pictures, else only those of their authors.
func shownBy(rows []*ent.Note, program bool) map[int64]mediapath.Shown {
	shown := map[int64]mediapath.Shown{}
	for _, r := range rows {
		if len(r.Images) > 0 {
			shown[r.ID] = mediapath.Shown{By: mediapath.Editor{UserID: r.AuthorID, Any: program}, Paths: schema.URLs(r.Images)}
		}
	}
	return shown
}

func countsOf(r *ent.NoteCount) Counts {
	return Counts{Likes: r.Likes, Comments: r.Comments, Hot: r.Hot, Version: r.Version}
}
