package media

import (
	"context"
	"errors"
	"fmt"
	"time"

	"entgo.io/ent/dialect/sql"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/picture"
	"github.com/tandian-dev/tandian/ent/pictureuse"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/schedule"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

const (
	// Orphaned is the minimum lifetime of a picture after its last upload, so that its user can
	// write a note with it. Each run deletes the unused pictures that are older.
	Orphaned = 24 * time.Hour

	collectInterval = time.Hour
	collectBatch    = 100 // rows per transaction
	collectTimeout  = 30 * time.Second
)

// deletedTopic is the outbox topic of files to delete.
const deletedTopic = "pictures-gone"

func (s *Service) openOutbox() {
	s.outbox.Handle(deletedTopic, outbox.Handler{Do: outbox.DoBatch(s.deleteFiles)})
	s.outbox.Handle(droppedTopic, outbox.Handler{Do: outbox.DoBatch(s.dropAll)})
}

// Jobs returns the scheduled jobs: media.pictures deletes unused pictures.
func (s *Service) Jobs() []schedule.Job {
	return []schedule.Job{{Name: "media.pictures", Every: collectInterval, Do: func(ctx context.Context) error {
		_, err := s.DeleteOrphans(ctx)
		return err
	}}}
}

// DeleteOrphans deletes all unused pictures whose last upload is older than [Orphaned], and
// returns their number.
func (s *Service) DeleteOrphans(ctx context.Context) (collected int, err error) {
	for at := (gcCursor{}); ; {
		n, next, err := s.collect(ctx, at)
		collected += n
		if err != nil || next == (gcCursor{}) {
			return collected, err
		}
		at = next
	}
}

type gcCursor struct{ touched, id int64 }

// collect deletes the rows of one page, and then their files. It locks the rows first, as
// [Usages.SetUsed] does, and then checks again that they are unused. It deletes files after the
// commit, or leaves them to the outbox. No other row gets their names, so no upload can conflict.
func (s *Service) collect(ctx context.Context, at gcCursor) (n int, next gcCursor, err error) {
	ctx, cancel := context.WithTimeout(ctx, collectTimeout)
	defer cancel()
	var files []string
	var job []outbox.JobRef
	err = ent.WithTx(ctx, s.db, func(tx *ent.Tx) error {
		files, job, next = nil, nil, gcCursor{}
		page := tx.Picture.Query().Where(
			picture.TouchedAtLT(s.now().Add(-Orphaned).UnixMilli()),
			picture.Or(picture.TouchedAtGT(at.touched), picture.And(picture.TouchedAt(at.touched), picture.IDGT(at.id))),
			notShown,
		).Order(picture.ByTouchedAt(), picture.ByID()).Limit(collectBatch)
		page.Modify(sqldb.ForUpdateSkipLocked)
		rows, err := page.All(ctx)
		if err != nil || len(rows) == 0 {
			return err
		}
		if len(rows) == collectBatch {
			last := rows[len(rows)-1]
			next = gcCursor{last.TouchedAt, last.ID}
		}
		if files, err = s.deleteRows(ctx, tx, rows); err != nil {
			return err
		}
		job, err = outbox.AddBatch(ctx, s.outbox, tx, deletedTopic, files...)
		return err
	})
	if err != nil {
		return 0, gcCursor{}, fmt.Errorf("delete orphaned pictures: %w", err)
	}
	if len(files) > 0 {
		s.collected.Add(float64(len(files)))
		s.outbox.Finish(ctx, s.deleteFiles(ctx, files...), job...)
	}
	return len(files), next, nil
}

// deleteRows deletes the locked rows that are still unused, and returns the names of their files.
func (s *Service) deleteRows(ctx context.Context, tx *ent.Tx, rows []*ent.Picture) (files []string, err error) {
	ids := make([]int64, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	free, err := tx.Picture.Query().Where(picture.IDIn(ids...), notShown).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("recheck %d rows: %w", len(ids), err)
	}
	ids = ids[:0]
	for _, r := range free {
		ids, files = append(ids, r.ID), append(files, nameOf(r).File())
	}
	if _, err := tx.Picture.Delete().Where(picture.IDIn(ids...)).Exec(ctx); err != nil {
		return nil, fmt.Errorf("delete %d rows: %w", len(ids), err)
	}
	return files, nil
}

// notShown is the SQL condition for unused pictures.
func notShown(s *sql.Selector) {
	use := sql.Table(pictureuse.Table)
	s.Where(sql.NotExists(sql.Select(use.C(pictureuse.FieldID)).From(use).Where(sql.ColumnsEQ(use.C(pictureuse.FieldPictureID), s.C(picture.FieldID)))))
}

// deleteFiles deletes both files of pictures.
func (s *Service) deleteFiles(ctx context.Context, files ...string) error {
	var err error
	for _, file := range files {
		name, ok := mediapath.Parse("/media/" + file)
		if !ok {
			return fmt.Errorf("invalid file name %q", file)
		}
		name.Small = true
		err = errors.Join(err, s.cfg.Blobs.Delete(ctx, file), s.cfg.Blobs.Delete(ctx, name.File()))
	}
	return outbox.Transient(err)
}
