package cli

import (
	"math"
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// garbageShare is how much garbage there may be before it is collected, in per cent of
// what is in use, as long as there is room: what is in use is small beside the memory
// that a server has, and collecting it twice as often costs a tenth of the processors.
const garbageShare = 400

// boundMemory lets garbage grow as far as the memory of the process allows: that is
// GOMEMLIMIT, else nine tenths of its control group's, else half of the machine's.
// What GOGC and GOMEMLIMIT say goes before.
func boundMemory() {
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		limit := memoryOfProcess()
		if limit == 0 {
			return // without a bound garbage stays what Go thinks best
		}
		debug.SetMemoryLimit(limit)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbageShare)
	}
}

// memoryOfProcess is what the process may have, 0 if nobody says.
func memoryOfProcess() int64 {
	if limit, err := memlimit.FromCgroup(); err == nil && limit > 0 && limit < 1<<50 {
		return int64(limit / 10 * 9)
	}
	if machine, err := memlimit.FromSystem(); err == nil {
		return int64(machine / 2) //nolint:gosec // far below
	}
	return 0
}
