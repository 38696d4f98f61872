package clock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestSleepEndsWithTheTimeOrTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		if err := Sleep(t.Context(), time.Minute); err != nil || time.Since(begin) != time.Minute {
			t.Errorf("got %v after %v", err, time.Since(begin))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin = time.Now()
		if err := Sleep(ctx, time.Minute); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Second {
			t.Errorf("got %v after %v", err, time.Since(begin))
		}
	})
}

func TestThrottleLimitsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Throttle
		due := 0
		for range 25 {
			if s.Allow() {
				due++
			}
			time.Sleep(time.Second)
		}
		if due != 3 {
			t.Errorf("25 failures in 25 seconds: got %d log lines, want 3", due)
		}
	})
}
