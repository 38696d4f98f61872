package clock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

func TestDetachedContextOutlivesTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, gone := context.WithCancel(t.Context())
		request, whole, cancel := clock.SplitDeadline(ctx, time.Second, 5*time.Second)
		defer cancel()
		gone()
		if request.Err() == nil || whole.Err() != nil {
			t.Errorf("the client went: %v, %v", request.Err(), whole.Err())
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if whole.Err() == nil {
			t.Error("what may not be given up has no end")
		}
		request, whole, cancel = clock.SplitDeadline(t.Context(), time.Second, 5*time.Second)
		time.Sleep(time.Second)
		synctest.Wait()
		if request.Err() == nil || whole.Err() != nil {
			t.Errorf("a second passed: %v, %v", request.Err(), whole.Err())
		}
		cancel()
		if whole.Err() == nil {
			t.Error("cancel leaves one of them")
		}
	})
}
