//go:build !linux

package live

import (
	"context"
	"errors"
	"io"
)

// serveCrowd needs epoll.
func serveCrowd(context.Context, io.Reader, io.Writer) error { return errors.ErrUnsupported }
