// Package media takes pictures and serves them.
package media

import (
	"context"
	"errors"
	"io"

	"github.com/tandian-dev/tandian/internal/kit/mediapath"
)

// Service is the room.
type Service struct{}

// Upload takes a picture of a user.
func (s *Service) Upload(ctx context.Context, user int64, file io.ReadSeeker) (*mediapath.Image, error) {
	return nil, errors.ErrUnsupported
}
