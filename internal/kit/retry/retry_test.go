package retry

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestWhatFailsIsDoneBehindTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue[int](3, time.Second)
		for i := 1; i <= 3; i++ {
			if !q.Add(i) {
				t.Errorf("no room for %d", i)
			}
		}
		if q.Add(4) || q.Len() != 3 {
			t.Errorf("a fourth has room; %d wait", q.Len())
		}
		ctx, stop := context.WithCancel(t.Context())
		broken := errors.New("away")
		var done, again []int
		var all sync.WaitGroup
		all.Go(func() {
			q.Run(ctx, func(_ context.Context, i int) error {
				if i == 1 && len(again) < 2 {
					return broken
				}
				done = append(done, i)
				return nil
			}, func(i int, err error, kept bool) {
				again = append(again, i)
				if !kept || !errors.Is(err, broken) {
					t.Errorf("%d: %v, kept %v", i, err, kept)
				}
			})
		})
		begin := time.Now()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if !slices.Equal(done, []int{2, 3, 1}) || !slices.Equal(again, []int{1, 1}) {
			t.Errorf("done %v, failed %v after %v", done, again, time.Since(begin))
		}
		stop()
		all.Wait()
	})
}

func TestOneThatFailsWithoutRoomIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue[int](1, time.Second)
		q.Add(1)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		lost := 0
		q.Run(ctx, func(context.Context, int) error {
			q.Add(2) // somebody takes its place
			return errors.New("away")
		}, func(i int, _ error, kept bool) {
			if !kept {
				lost = i
			}
			stop()
		})
		if lost != 1 || q.Len() != 1 {
			t.Errorf("%d is lost, %d wait", lost, q.Len())
		}
	})
}
