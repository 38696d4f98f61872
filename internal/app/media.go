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

// openMedia opens the blob store, waits for it, and builds the picture service.
func (c *Components) openMedia(ctx context.Context, cfg *config.Config, client *ent.Client, reg prometheus.Registerer, log *slog.Logger) (*media.Service, error) {
	storeURL, err := cfg.Media()
	if err != nil {
		return nil, fmt.Errorf("resolve the picture store: %w", err)
	}
	blobs, err := awaitBlobs(ctx, storeURL, log)
	if err != nil {
		return nil, fmt.Errorf("open the picture store: %w", err)
	}
	s := media.New(client, c.outbox, media.Config{Blobs: blobs, PerHour: cfg.UploadsPerUser, Registerer: reg, Log: log})
	s.OnDelete(media.OfNote, func(ctx context.Context, id int64, path string) error { return c.Notes.DropImage(ctx, id, path) })
	s.OnDelete(media.OfShop, func(ctx context.Context, id int64, path string) error { return c.Shops.DropImage(ctx, id, path) })
	s.OnDelete(media.OfUser, func(ctx context.Context, id int64, path string) error { return c.Accounts.DropAvatar(ctx, id, path) })
	return s, nil
}

const blobPause = time.Second // between two attempts to open a bucket

// awaitBlobs opens the blob store as soon as it answers.
func awaitBlobs(ctx context.Context, storeURL string, log *slog.Logger) (blob.Store, error) {
	for {
		blobs, err := blob.Open(ctx, storeURL)
		if err == nil || !errors.Is(err, blob.ErrUnavailable) {
			return blobs, err
		}
		log.WarnContext(ctx, "waiting for the blob store", "err", err)
		if clock.Sleep(ctx, blobPause) != nil {
			return nil, err
		}
	}
}

// logPictureStore logs that pictures are stored on this machine, which other instances
// cannot read.
func (a *App) logPictureStore() {
	if a.cfg.MediaURL == "" && a.cfg.DatabaseURL != "" && a.cfg.RedisURL != "" {
		a.log.Info("pictures are stored in --data-dir", "hint", "several instances need a shared folder or a bucket: set --media-url")
	}
}
