package note

import (
	"database/sql"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
	"github.com/tandian-dev/tandian/internal/kit/optional"
)

func fromRow(r *ent.Note) (*Note, error) {
	images, err := imagesOf(r.ID, r.Images)
	return &Note{
		ID: r.ID, AuthorID: r.AuthorID, ShopID: r.ShopID, Title: r.Title, Content: r.Content,
		Seq: optional.Value(r.Seq), CreatedAt: time.UnixMilli(r.CreatedAt).UTC(), Images: images,
	}, err
}

func imagesOf(id int64, column string) ([]mediapath.Image, error) {
	images, err := mediapath.ImagesOf(column)
	if err != nil {
		return nil, fmt.Errorf("read note %d: %w", id, err)
	}
	return images, nil
}

// shownBy returns the images that notes show, by note id. With program any images are
// allowed, else only those of the author.
func shownBy(rows []*ent.Note, program bool) (map[int64]mediapath.Usage, error) {
	shown := map[int64]mediapath.Usage{}
	for _, r := range rows {
		paths, err := mediapath.PathsOf(r.Images)
		if err != nil {
			return nil, fmt.Errorf("read note %d: %w", r.ID, err)
		}
		if len(paths) > 0 {
			shown[r.ID] = mediapath.Usage{By: mediapath.Editor{UserID: r.AuthorID, Any: program}, Paths: paths}
		}
	}
	return shown, nil
}

// readCounts scans a row of note_counts: the note id, its counters, and further columns.
func readCounts(rows *sql.Rows, further ...any) (note int64, c Counts, err error) {
	err = rows.Scan(append([]any{&note, &c.Likes, &c.Comments, &c.Saves, &c.Hot, &c.Version}, further...)...)
	return note, c, err
}
