// Package clock waits, and keeps from saying a thing too often.
package clock

import (
	"context"
	"sync/atomic"
	"time"
)

// Sleep returns nil after d, or the error of ctx if that ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// seldom is how often a failure that comes with every request is logged.
const seldom = 10 * time.Second

// Seldom keeps a failure that may come with every request from filling the log;
// a metric counts each. The zero value is ready. It is safe for concurrent use.
type Seldom struct{ last atomic.Int64 } // unix nanoseconds

// Due reports whether the failure should be logged: the first time, and then
// not again for ten seconds.
func (s *Seldom) Due() bool {
	now, last := time.Now().UnixNano(), s.last.Load()
	return now-last > int64(seldom) && s.last.CompareAndSwap(last, now)
}
