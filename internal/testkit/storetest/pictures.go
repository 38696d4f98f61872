package storetest

import (
	"context"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
)

// AnyPictures is a fake picture store. It records no usage.
type AnyPictures struct{}

// Sizes returns 640 × 480 pixels for every valid media path.
func (AnyPictures) Sizes(_ context.Context, _ mediapath.Editor, paths []string) (map[string]mediapath.Size, error) {
	known := map[string]mediapath.Size{}
	for _, path := range paths {
		if mediapath.Valid(path) {
			known[path] = mediapath.Size{Width: 640, Height: 480}
		}
	}
	return known, nil
}

// SetUsed does nothing.
func (AnyPictures) SetUsed(context.Context, *ent.Tx, map[int64]mediapath.Usage) error { return nil }
