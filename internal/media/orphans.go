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
	// Orphaned is how long a picture stays that was uploaded and nothing shows: as long as
	// somebody may write the note that it is for. What was shown and is not any more goes
	// with the next round.
	Orphaned = 24 * time.Hour

	collectEvery  = time.Hour
	collectAtOnce = 100 // rows of one transaction
	collectTime   = 30 * time.Second
)

// topic of the files to delete, in the outbox.
const picturesGone = "pictures-gone"

func (s *Service) openOutbox() {
	s.outbox.Handle(picturesGone, outbox.Handler{Do: outbox.DoBatch(s.deleteFiles)})
	s.outbox.Handle(picturesDropped, outbox.Handler{Do: outbox.DoBatch(s.dropAll)})
}

// Jobs are what is due every so often: media.pictures collects what nothing shows.
func (s *Service) Jobs() []schedule.Job {
	return []schedule.Job{{Name: "media.pictures", Every: collectEvery, Do: func(ctx context.Context) error {
		_, err := s.DeleteOrphans(ctx)
		return err
	}}}
}

// DeleteOrphans deletes all pictures that nothing shows and that were last uploaded longer ago
// than [Orphaned], and returns how many.
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

// A gcCursor is how far the collector has come.
type gcCursor struct{ touched, id int64 }

// collect deletes the rows of one page, and then their files. The rows are locked first,
// which whoever begins to show one of them would have locked too; and they are looked at
// once more then. A file is deleted after the commit, by the outbox if not at once, under
// a name that no other row gets: so nobody can upload meanwhile what is deleted here.
func (s *Service) collect(ctx context.Context, at gcCursor) (n int, next gcCursor, err error) {
	ctx, cancel := context.WithTimeout(ctx, collectTime)
	defer cancel()
	var files []string
	var job []outbox.JobRef
	err = ent.WithTx(ctx, s.db, func(tx *ent.Tx) error {
		files, job, next = nil, nil, gcCursor{}
		page := tx.Picture.Query().Where(
			picture.TouchedAtLT(s.now().Add(-Orphaned).UnixMilli()),
			picture.Or(picture.TouchedAtGT(at.touched), picture.And(picture.TouchedAt(at.touched), picture.IDGT(at.id))),
			notShown,
		).Order(picture.ByTouchedAt(), picture.ByID()).Limit(collectAtOnce)
		page.Modify(sqldb.ForUpdateSkipLocked)
		rows, err := page.All(ctx)
		if err != nil || len(rows) == 0 {
			return err
		}
		if len(rows) == collectAtOnce {
			last := rows[len(rows)-1]
			next = gcCursor{last.TouchedAt, last.ID}
		}
		if files, err = s.deleteRows(ctx, tx, rows); err != nil {
			return err
		}
		job, err = outbox.AddBatch(ctx, s.outbox, tx, picturesGone, files...)
		return err
	})
	if err != nil {
		return 0, gcCursor{}, fmt.Errorf("collect pictures: %w", err)
	}
	if len(files) > 0 {
		s.gone.Add(float64(len(files)))
		s.outbox.Finish(ctx, s.deleteFiles(ctx, files...), job...)
	}
	return len(files), next, nil
}

// deleteRows deletes those of some locked rows that still nothing shows, and returns the
// names of their files.
func (s *Service) deleteRows(ctx context.Context, tx *ent.Tx, rows []*ent.Picture) (files []string, err error) {
	ids := make([]int64, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	free, err := tx.Picture.Query().Where(picture.IDIn(ids...), notShown).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("look at %d of them again: %w", len(ids), err)
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

// notShown is the condition that nothing shows a picture.
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
			return fmt.Errorf("%q is no picture", file)
		}
		name.Small = true
		err = errors.Join(err, s.cfg.Blobs.Delete(ctx, file), s.cfg.Blobs.Delete(ctx, name.File()))
	}
	return outbox.Transient(err)
}
