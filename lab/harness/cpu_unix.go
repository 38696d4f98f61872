//go:build unix

package harness

import (
	"fmt"
	"syscall"
	"time"
)

// CPUTime is what this process has had of the processors.
func CPUTime() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("ask for the time of the processors: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
