package media

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestUploadsOfOneUserRunInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var queues userQueue
		leave, err := queues.enter(t.Context(), ann)
		if err != nil {
			t.Fatal(err)
		}
		if other, err := queues.enter(t.Context(), bob); err != nil {
			t.Errorf("other user: got %v, want nil", err)
		} else {
			other()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := queues.enter(ctx, ann); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("second upload: got %v, want a timeout", err)
		}
		time.AfterFunc(time.Second, leave)
		begin := time.Now()
		next, err := queues.enter(t.Context(), ann)
		if err != nil || time.Since(begin) != time.Second {
			t.Fatalf("got %v after %v, want nil after 1s", err, time.Since(begin))
		}
		next()
		if len(queues.byUser) != 0 {
			t.Errorf("got %d queues, want 0", len(queues.byUser))
		}
	})
}

func TestAttemptsAreCountedPerHour(t *testing.T) {
	var attempts uploadAttempts
	now := time.Now()
	for i := range 3 {
		want := time.Duration(0)
		if i == 2 {
			want = time.Hour
		}
		if got := attempts.take(ann, now, 2); got != want {
			t.Errorf("attempt %d: got %s, want %s", i+1, got, want)
		}
	}
	if attempts.take(bob, now, 2) != 0 {
		t.Error("other user is limited")
	}
	if attempts.take(ann, now.Add(time.Hour-1), 2) != 1 || attempts.take(ann, now.Add(time.Hour), 2) != 0 {
		t.Error("the limit does not reset after an hour")
	}
}
