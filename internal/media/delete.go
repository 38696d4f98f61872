package media

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/picture"
	"github.com/tandian-dev/tandian/ent/pictureuse"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// An Editor is the user that deletes a picture.
type Editor struct {
	UserID  int64
	IsAdmin bool // may delete pictures of other users
}

// droppedTopic is the outbox topic of things that lose a deleted picture.
const droppedTopic = "pictures-dropped"

// dropsPerJob is the maximum number of drops per job. Each takes at most 130 bytes as JSON.
const dropsPerJob = 100

// A drop is a thing that showed a deleted picture.
type drop struct {
	Kind  Kind   `json:"kind"`
	Owner int64  `json:"owner"`
	Path  string `json:"path"`
}

// OnDelete registers the function that removes a deleted picture from a thing of a kind. The
// function may be called again for the same thing. Call OnDelete before any other method.
func (s *Service) OnDelete(k Kind, remove func(ctx context.Context, owner int64, path string) error) {
	s.onDelete[k] = remove
}

// Delete deletes a picture: its row, its files and its uses in all things. When it returns nil,
// no thing can begin to show the picture. The outbox repeats file deletions and removals from
// things that fail.
//
// It returns [apierror.UserErrors] if the picture does not exist. It returns an [apierror.Error]
// of the kind Forbidden for pictures of other users and for icons of shop types. Any other error
// means that the database failed.
func (s *Service) Delete(ctx context.Context, by Editor, path string) error {
	ctx, span := observe.Span(ctx, "media.Delete")
	defer span.End()
	name, ok := mediapath.Parse(path)
	if !ok || name.Small {
		return errPictureNotFound()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout) // finish a committed deletion
	defer cancel()
	var drops []drop
	var files, places []outbox.JobRef
	err := ent.WithTx(ctx, s.db, func(tx *ent.Tx) (err error) {
		if drops, err = deleteRow(ctx, tx, by, name); err != nil {
			return err
		}
		if files, err = outbox.AddBatch(ctx, s.outbox, tx, deletedTopic, name.File()); err != nil {
			return err
		}
		places, err = s.addDrops(ctx, tx, drops)
		return err
	})
	if err != nil {
		return fmt.Errorf("delete picture %d: %w", name.ID, err)
	}
	s.outbox.Finish(ctx, s.dropAll(ctx, drops...), places...)
	s.outbox.Finish(ctx, s.deleteFiles(ctx, name.File()), files...)
	return nil
}

// addDrops adds jobs that remove a deleted picture from things.
func (s *Service) addDrops(ctx context.Context, tx *ent.Tx, drops []drop) (jobs []outbox.JobRef, err error) {
	for part := range slices.Chunk(drops, dropsPerJob) {
		job, err := s.outbox.Add(ctx, tx, droppedTopic, part)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, job)
	}
	return jobs, nil
}

func errPictureNotFound() error {
	return apierror.Refuse(apierror.NotFound, "This image doesn't exist.", "url")
}

// deleteRow deletes a picture and its uses, and returns the things that showed it. It locks the
// picture first: a thing that begins to show it commits before, or finds no picture.
func deleteRow(ctx context.Context, tx *ent.Tx, by Editor, name mediapath.Name) ([]drop, error) {
	one := tx.Picture.Query().Where(picture.ID(name.ID))
	one.Modify(sqldb.ForUpdate)
	row, err := one.Only(ctx)
	switch {
	case ent.IsNotFound(err) || err == nil && nameOf(row) != name:
		return nil, errPictureNotFound()
	case err != nil:
		return nil, fmt.Errorf("select row: %w", err)
	case !by.IsAdmin && (row.UploaderID == nil || *row.UploaderID != by.UserID):
		return nil, apierror.New(apierror.Forbidden, "Only the uploader can delete this image.")
	}
	uses, err := tx.PictureUse.Query().Where(pictureuse.PictureID(row.ID)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select uses: %w", err)
	}
	if slices.ContainsFunc(uses, func(u *ent.PictureUse) bool { return u.Kind == OfShopType }) {
		return nil, apierror.New(apierror.Forbidden, "The icon of a category can't be deleted.")
	}
	drops := make([]drop, len(uses))
	for i, u := range uses {
		drops[i] = drop{u.Kind, u.OwnerID, name.Path()}
	}
	if _, err := tx.PictureUse.Delete().Where(pictureuse.PictureID(row.ID)).Exec(ctx); err != nil {
		return nil, fmt.Errorf("delete uses: %w", err)
	}
	if err := tx.Picture.DeleteOneID(row.ID).Exec(ctx); err != nil {
		return nil, fmt.Errorf("delete row: %w", err)
	}
	return drops, nil
}

// dropAll removes deleted pictures from things, until ctx ends. It may be repeated.
func (s *Service) dropAll(ctx context.Context, drops ...drop) error {
	var err error
	for _, d := range drops {
		if ctx.Err() != nil { // the functions have deadlines of their own
			return outbox.Transient(errors.Join(err, ctx.Err()))
		}
		if remove := s.onDelete[d.Kind]; remove != nil {
			err = errors.Join(err, remove(ctx, d.Owner, d.Path))
		}
	}
	return outbox.Transient(err)
}
