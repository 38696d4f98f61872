//go:build !unix

package harness

import (
	"errors"
	"time"
)

// CPUTime returns [errors.ErrUnsupported] on this system.
func CPUTime() (time.Duration, error) { return 0, errors.ErrUnsupported }
