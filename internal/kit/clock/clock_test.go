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
			t.Errorf("it took %v, %v", time.Since(begin), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin = time.Now()
		if err := Sleep(ctx, time.Minute); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Second {
			t.Errorf("it took %v, %v", time.Since(begin), err)
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
			t.Errorf("25 failures in 25 seconds are logged %d times, want 3", due)
		}
	})
}
