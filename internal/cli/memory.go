package cli

import (
	"math"
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// gcPercent is the default GOGC. It trades memory for CPU time: the live heap is small, and
// a GOGC of 200 costs another tenth of the CPU.
const gcPercent = 400

// boundMemory sets the memory limit and GOGC of the process. The limit is GOMEMLIMIT, else
// nine tenths of that of the control group, else half of the machine's memory. The
// environment variable GOGC takes precedence.
func boundMemory() {
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		limit := memoryLimit()
		if limit == 0 {
			return // a high GOGC needs a limit
		}
		debug.SetMemoryLimit(limit)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}

// memoryLimit returns the memory limit of the process, or 0 if it is unknown.
func memoryLimit() int64 {
	if limit, err := memlimit.FromCgroup(); err == nil && limit > 0 && limit < 1<<50 {
		return int64(limit / 10 * 9)
	}
	if machine, err := memlimit.FromSystem(); err == nil {
		return int64(machine / 2) //nolint:gosec // below the maximum
	}
	return 0
}
