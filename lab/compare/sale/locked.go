package sale

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/lock"
)

// locked serialises the requests of each user, by the server's lock over Redis, and then checks for
// an order and updates conditionally.
type locked struct {
	conditional
	locks *lock.Locker
}

func newLocked(ctx context.Context, on *Servers) (Admitter, error) {
	s, err := newSingle(ctx, on)
	if err != nil {
		return nil, err
	}
	locks, err := lock.NewRedis([]redis.UniversalClient{on.rdb}, lock.Options{Prefix: on.space(), NodeTimeout: patience})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open locks: %w", err), s.Close(ctx))
	}
	return &locked{conditional{s}, locks}, nil
}

// Admit implements [Admitter].
func (l *locked) Admit(ctx context.Context, w Wish) (a Answer, err error) {
	err = l.locks.Do(ctx, fmt.Sprintf("order:%d:%d", w.Voucher, w.User), func(ctx context.Context, _ *lock.Lease) error {
		if a, err = l.held(ctx, w); err != nil || a.Decision != 0 {
			return err
		}
		a, err = l.conditional.Admit(ctx, w)
		return err
	})
	return a, err
}

// Close implements [Admitter].
func (l *locked) Close(ctx context.Context) error {
	return errors.Join(l.locks.Close(ctx), l.conditional.Close(ctx))
}
