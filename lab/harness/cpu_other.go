//go:build !unix

package harness

import (
	"errors"
	"time"
)

// CPUTime is not known here.
func CPUTime() (time.Duration, error) { return 0, errors.ErrUnsupported }
