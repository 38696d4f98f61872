package media

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestWhoSendsManyPicturesWaitsBehindHisOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns userQueue
		leave, err := turns.enter(t.Context(), ann)
		if err != nil {
			t.Fatal(err)
		}
		if other, err := turns.enter(t.Context(), bob); err != nil {
			t.Errorf("somebody else waits: %v", err)
		} else {
			other()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := turns.enter(ctx, ann); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the second one does not wait: %v", err)
		}
		time.AfterFunc(time.Second, leave)
		begin := time.Now()
		next, err := turns.enter(t.Context(), ann)
		if err != nil || time.Since(begin) != time.Second {
			t.Fatalf("after %v: %v", time.Since(begin), err)
		}
		next()
		if len(turns.of) != 0 {
			t.Errorf("%d queues are left", len(turns.of))
		}
	})
}

func TestTriesAreCountedForAnHour(t *testing.T) {
	var tries uploadAttempts
	now := time.Now()
	for i := range 3 {
		want := time.Duration(0)
		if i == 2 {
			want = time.Hour
		}
		if got := tries.take(ann, now, 2); got != want {
			t.Errorf("try %d waits %s, want %s", i+1, got, want)
		}
	}
	if tries.take(bob, now, 2) != 0 {
		t.Error("somebody else may not")
	}
	if tries.take(ann, now.Add(time.Hour-1), 2) != 1 || tries.take(ann, now.Add(time.Hour), 2) != 0 {
		t.Error("the hour does not end after an hour")
	}
}
