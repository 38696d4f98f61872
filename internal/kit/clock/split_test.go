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
		ctx, disconnect := context.WithCancel(t.Context())
		request, detached, cancel := clock.SplitDeadline(ctx, time.Second, 5*time.Second)
		defer cancel()
		disconnect()
		if request.Err() == nil || detached.Err() != nil {
			t.Errorf("client disconnected: got %v, %v", request.Err(), detached.Err())
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if detached.Err() == nil {
			t.Error("the detached context has no deadline")
		}
		request, detached, cancel = clock.SplitDeadline(t.Context(), time.Second, 5*time.Second)
		time.Sleep(time.Second)
		synctest.Wait()
		if request.Err() == nil || detached.Err() != nil {
			t.Errorf("after a second: got %v, %v", request.Err(), detached.Err())
		}
		cancel()
		if detached.Err() == nil {
			t.Error("cancel does not end both contexts")
		}
	})
}
