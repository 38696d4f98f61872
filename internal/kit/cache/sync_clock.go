package cache

import (
	"context"
	"math"
	"sync/atomic"
	"time"
)

// syncClock is a clock that a hit can afford: reading the system's costs more than
// finding the entry. Ticks are nanoseconds since the hub was built, on the
// monotonic clock, at most [tickEvery] behind while a Hub runs,
// and more in a process that was stopped, until its ticker runs again.
type syncClock struct {
	zero   time.Time
	now    atomic.Int64 // stopped while nobody moves it: no entry is good
	synced atomic.Int64 // until when this process hears of every invalidation
}

const (
	tickEvery = 5 * time.Millisecond
	tickBits  = 22 // of a nanosecond count, that a tick changes
)

// stopped is the time of a clock that nobody moves: everything is over.
const stopped = math.MaxInt64

// start sets the clock to a time in which no entry is good: nobody moves it yet.
func (t *syncClock) start(alone bool) {
	t.zero = time.Now()
	t.now.Store(stopped)
	if alone {
		t.synced.Store(math.MaxInt64)
	}
}

// run moves the clock until ctx ends.
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

// at is the tick of a time, as far as the wall clock does not jump.
func (t *syncClock) at(when time.Time) int64 { return int64(time.Since(t.zero) + time.Until(when)) }

// inSync reports whether this process hears of every invalidation.
func (t *syncClock) inSync() bool { return t.now.Load() < t.synced.Load() }
