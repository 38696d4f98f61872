package cache

import (
	"context"
	"sync"
	"time"
)

// secondDelete is the usual delay, "longer than a load takes". The loads of [Race] take 3 ms at
// most.
const secondDelete = 20 * time.Millisecond

// doubleDelete is the delayed double delete: delete, write the row, and delete again a moment
// later, in the background.
//
// Right: a row that a load put back in between does not stay for the TTL. Wrong: it is served until
// the second delete, and a load that takes longer than the delay, or a process that ends before it,
// leaves it there anyway (A1). Every write causes two misses.
type doubleDelete struct {
	aside
	later sync.WaitGroup
}

func newDoubleDelete(p Process) (Scheme, error) {
	return &doubleDelete{aside: aside{Process: p, single: true}}, nil
}

func (s *doubleDelete) Write(ctx context.Context, key string) (int64, error) {
	if err := s.drop(ctx, key); err != nil {
		return 0, err
	}
	r, err := s.DB.Update(ctx, key, nil)
	if err != nil {
		return 0, err
	}
	s.later.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		time.Sleep(secondDelete)
		_ = s.drop(ctx, key) // without a retry: that is the scheme
	})
	return r.Version, nil
}

func (s *doubleDelete) Settle(context.Context) error {
	s.later.Wait()
	return nil
}

func (s *doubleDelete) Close() error { return s.Settle(context.Background()) }
