//go:build !unix

package salebench

import (
	"errors"
	"time"
)

// cpuTime is not known here.
func cpuTime() (time.Duration, error) { return 0, errors.ErrUnsupported }
