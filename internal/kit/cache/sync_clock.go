package cache

import (
	"context"
	"math"
	"sync/atomic"
	"time"
)

// syncClock is a cheap clock for local hits: reading the system clock costs more than finding
// an entry. Ticks are nanoseconds since the client was built, on the monotonic clock. They
// usually lag at most [tickEvery] while the client runs, and more after a pause of the process.
type syncClock struct {
	zero   time.Time
	now    atomic.Int64 // stopped without Run: no entry is valid
	synced atomic.Int64 // end of the time in which this process is in sync
}

const (
	tickEvery = 5 * time.Millisecond
	tickBits  = 22 // low bits of a nanosecond count that change within a tick
)

// stopped is the time of a clock without Run: everything has expired.
const stopped = math.MaxInt64

// start sets a stopped clock. A single process is always in sync.
func (t *syncClock) start(single bool) {
	t.zero = time.Now()
	t.now.Store(stopped)
	if single {
		t.synced.Store(math.MaxInt64)
	}
}

func (t *syncClock) run(ctx context.Context) {
	every := time.NewTicker(tickEvery)
	defer every.Stop()
	defer t.now.Store(stopped)
	for {
		t.now.Store(int64(time.Since(t.zero)))
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
	}
}

// at returns the tick of a time, unless the wall clock jumps.
func (t *syncClock) at(when time.Time) int64 { return int64(time.Since(t.zero) + time.Until(when)) }

// inSync reports whether this process has received all messages that are older than MaxAge.
func (t *syncClock) inSync() bool { return t.now.Load() < t.synced.Load() }
