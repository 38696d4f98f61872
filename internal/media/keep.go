package media

import (
	"context"
	"fmt"
	"time"

	"entgo.io/ent/dialect/sql"
	"golang.org/x/sync/errgroup"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/picture"
	"github.com/tandian-dev/tandian/internal/kit/fault"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
)

// LimitReached is the code of the refusal of one picture too many.
const LimitReached fault.Code = "LIMIT_REACHED"

// mayAdd refuses who has added too many pictures of late, or has tried too often: what is
// refused takes as long to decode. Of many at once a few more may get in.
func (s *Service) mayAdd(ctx context.Context, user int64) error {
	if s.cfg.PerHour == 0 {
		return nil
	}
	if !s.tries.take(user, s.now(), triesFor*s.cfg.PerHour) {
		return fault.Refuse(LimitReached, "You have tried too many pictures in the last hour. Please wait.", "file")
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	n, err := s.db.Picture.Query().Where(picture.UploaderID(user), picture.CreatedAtGT(s.now().Add(-time.Hour).UnixMilli())).Count(ctx)
	if err != nil {
		return fmt.Errorf("count the pictures of user %d: %w", user, err)
	}
	if n >= s.cfg.PerHour {
		return fault.Refuse(LimitReached, fmt.Sprintf("You have added %d pictures in the last hour. Please wait.", n), "file")
	}
	return nil
}

// keep stores pictures and returns them in their order. First they have rows, which say
// that they are not stored yet; then files; then the rows say so. Whatever dies between,
// the collector finds the row, and with it the files.
func (s *Service) keep(ctx context.Context, uploader *int64, made ...encoded) ([]mediapath.Image, error) {
	// What was decoded is stored, also if the client has gone.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	names, err := s.rows(ctx, uploader, made)
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
		return nil, fault.New(fault.Unavailable, "The picture could not be kept now. Please try again.").Because(err)
	}
	if err := s.db.Picture.Update().Where(picture.IDIn(ids...), picture.Stored(false)).SetStored(true).Exec(ctx); err != nil {
		return nil, fmt.Errorf("say that %d pictures are stored: %w", len(ids), err)
	}
	return images, nil
}

const filesAtOnce = 8

func (s *Service) put(ctx context.Context, name mediapath.Name, content []byte) error {
	return s.blobs.Put(ctx, name.File(), name.Type(), content)
}

// rows has a row for each picture, and returns their names. One that is there is touched: it
// will not be collected for a day. Each is a transaction of its own: of several that were
// locked together, somebody who shows them might lock some first.
func (s *Service) rows(ctx context.Context, uploader *int64, made []encoded) ([]mediapath.Name, error) {
	now, names := s.now().UnixMilli(), make([]mediapath.Name, len(made))
	for i, e := range made {
		format := picture.FormatJPEG
		if e.png {
			format = picture.FormatPNG
		}
		hash := e.hash()
		id, err := s.db.Picture.Create().SetHash(hash).SetFormat(format).SetWidth(e.width).SetHeight(e.height).
			SetBytes(len(e.screen) + len(e.small)).SetNillableUploaderID(uploader).SetCreatedAt(now).SetTouchedAt(now).
			OnConflict(sql.ConflictColumns(picture.FieldHash)).Update(func(u *ent.PictureUpsert) { u.SetTouchedAt(now) }).ID(ctx)
		if err != nil {
			return nil, fmt.Errorf("write down a picture: %w", err)
		}
		names[i] = mediapath.Name{Hash: hash, ID: id, PNG: e.png}
	}
	return names, nil
}
