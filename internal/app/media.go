package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/kit/blob"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/media"
)

// openMedia opens the blob store, waits for it, and builds the room of pictures.
func (h *Components) openMedia(ctx context.Context, cfg *config.Config, client *ent.Client, reg prometheus.Registerer, log *slog.Logger) (*media.Service, error) {
	place, err := cfg.Media()
	if err != nil {
		return nil, fmt.Errorf("where pictures are kept: %w", err)
	}
	blobs, err := awaitBlobs(ctx, place, log)
	if err != nil {
		return nil, fmt.Errorf("pictures: %w", err)
	}
	s := media.New(client, h.outbox, media.Config{Blobs: blobs, PerHour: cfg.UploadsPerUser, Registerer: reg, Log: log})
	s.OnDelete(media.OfNote, func(ctx context.Context, id int64, path string) error { return h.Notes.DropImage(ctx, id, path) })
	s.OnDelete(media.OfShop, func(ctx context.Context, id int64, path string) error { return h.Shops.DropImage(ctx, id, path) })
	s.OnDelete(media.OfUser, func(ctx context.Context, id int64, path string) error { return h.Accounts.DropAvatar(ctx, id, path) })
	return s, nil
}

const blobPause = time.Second // between two tries to open a bucket

// awaitBlobs opens the blob store as soon as it answers.
func awaitBlobs(ctx context.Context, place string, log *slog.Logger) (blob.Store, error) {
	for {
		blobs, err := blob.Open(ctx, place)
		if err == nil || !errors.Is(err, blob.ErrUnavailable) {
			return blobs, err
		}
		log.WarnContext(ctx, "waiting for the blob store", "err", err)
		if clock.Sleep(ctx, blobPause) != nil {
			return nil, err
		}
	}
}

// noteOfPictures says at the start what an operator of several instances should know.
func (a *App) noteOfPictures() {
	if a.cfg.MediaURL == "" && a.cfg.DatabaseURL != "" && a.cfg.RedisURL != "" {
		a.log.Info("pictures are kept in the folder media of --data-dir: several instances need one folder for all, or a bucket, by --media-url")
	}
}
