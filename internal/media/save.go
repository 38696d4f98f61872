package media

import (
	"context"
	"fmt"
	"slices"
	"time"

	"entgo.io/ent/dialect/sql"
	"golang.org/x/sync/errgroup"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/picture"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
	"github.com/tandian-dev/tandian/internal/kit/quota"
)

// checkQuota returns an error if a user has recently added or tried too many pictures. Rejected
// files count too, since they take as long to decode. Concurrent uploads may exceed the limit
// slightly.
func (s *Service) checkQuota(ctx context.Context, user int64) error {
	if s.cfg.PerHour == 0 {
		return nil
	}
	if wait := s.attempts.take(user, s.now(), attemptsPerPicture*s.cfg.PerHour); wait > 0 {
		return tooMany("You've tried to upload too many images in the last hour. Please try again later.", wait)
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	hourAgo := s.now().Add(-time.Hour).UnixMilli()
	var created []int64 // the PerHour-th newest picture: the next upload waits until it is an hour old
	err := s.db.Picture.Query().Where(picture.UploaderID(user), picture.CreatedAtGT(hourAgo)).
		Order(picture.ByCreatedAt(sql.OrderDesc())).Offset(s.cfg.PerHour-1).Limit(1).Select(picture.FieldCreatedAt).Scan(ctx, &created)
	if err != nil {
		return fmt.Errorf("count pictures of user %d: %w", user, err)
	}
	if len(created) > 0 {
		wait := time.Duration(created[0]-hourAgo) * time.Millisecond
		return tooMany(fmt.Sprintf("You can upload up to %d images per hour. Please try again later.", s.cfg.PerHour), wait)
	}
	return nil
}

func tooMany(message string, wait time.Duration) error {
	return apierror.UserErrors{{Code: quota.LimitReached, Message: message, Field: []string{"file"}, RetryAfter: wait}}
}

// store stores pictures and returns them in order. It inserts rows, writes the files, and then
// marks the rows as stored. If the process dies before that, the collector finds the files by the
// rows.
func (s *Service) store(ctx context.Context, uploader *int64, made ...encoded) ([]mediapath.Image, error) {
	// Store decoded pictures even if the client has disconnected.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	names, err := s.createRows(ctx, uploader, made)
	if err != nil {
		return nil, err
	}
	ids, images := make([]int64, len(made)), make([]mediapath.Image, len(made))
	var files errgroup.Group
	files.SetLimit(filesAtOnce)
	for i, e := range made {
		screen, small := names[i], names[i]
		small.Small = true
		ids[i] = screen.ID
		images[i] = mediapath.ImageOf(screen.Path(), e.width, e.height)
		files.Go(func() error { return s.put(ctx, screen, e.screen) })
		files.Go(func() error { return s.put(ctx, small, e.small) })
	}
	if err := files.Wait(); err != nil {
		return nil, apierror.New(apierror.Unavailable, "We couldn't save the image. Please try again.").WithCause(err)
	}
	if err := s.db.Picture.Update().Where(picture.IDIn(ids...), picture.Stored(false)).SetStored(true).Exec(ctx); err != nil {
		return nil, fmt.Errorf("mark %d pictures as stored: %w", len(ids), err)
	}
	if err := s.checkStored(ctx, ids, names); err != nil {
		return nil, err
	}
	return images, nil
}

// checkStored returns an error of the kind Unavailable if a picture was deleted while its files
// were stored. It deletes these files, because no row refers to them.
func (s *Service) checkStored(ctx context.Context, ids []int64, names []mediapath.Name) error {
	there, err := s.db.Picture.Query().Where(picture.IDIn(ids...)).IDs(ctx)
	if err != nil {
		return fmt.Errorf("select %d stored pictures: %w", len(ids), err)
	}
	var gone []string
	for _, n := range names {
		if !slices.Contains(there, n.ID) {
			gone = append(gone, n.File())
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return apierror.New(apierror.Unavailable, "The image was deleted during the upload. Please try again.").WithCause(s.deleteFiles(ctx, gone...))
}

const filesAtOnce = 8

func (s *Service) put(ctx context.Context, name mediapath.Name, content []byte) error {
	return s.cfg.Blobs.Put(ctx, name.File(), name.Type(), content)
}

// createRows inserts a row for each picture and returns their names. It touches existing rows, so
// that they are not collected for a day. Each row is a separate transaction: one that locks
// several rows could deadlock with [Usages.SetUsed].
func (s *Service) createRows(ctx context.Context, uploader *int64, made []encoded) ([]mediapath.Name, error) {
	now, names := s.now().UnixMilli(), make([]mediapath.Name, len(made))
	hashes, err := s.hashes(ctx, uploader, made)
	if err != nil {
		return nil, err
	}
	for i, e := range made {
		format := picture.FormatJPEG
		if e.png {
			format = picture.FormatPNG
		}
		hash := hashes[i]
		id, err := s.db.Picture.Create().SetHash(hash).SetFormat(format).SetWidth(e.width).SetHeight(e.height).
			SetBytes(len(e.screen) + len(e.small)).SetNillableUploaderID(uploader).SetCreatedAt(now).SetTouchedAt(now).
			OnConflict(sql.ConflictColumns(picture.FieldHash)).Update(func(u *ent.PictureUpsert) { u.SetTouchedAt(now) }).ID(ctx)
		if err != nil {
			return nil, fmt.Errorf("insert picture: %w", err)
		}
		names[i] = mediapath.Name{Hash: hash, ID: id, PNG: e.png}
	}
	return names, nil
}
