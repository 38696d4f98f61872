package lock

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-redsync/redsync/v4"
	lib "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
)

// redsyncs is redsync with its own settings: an attempt every 50 to 250 ms, 32 at most, no renewal.
//
// Right: owner and script; a majority of several nodes. Its caller must handle the rest: renewal
// (S7b), the paused holder (S7), and the notice of a loss (S9).
type redsyncs struct {
	Process
	rs *redsync.Redsync
}

func newRedsync(p Process) (Scheme, error) {
	var pools []lib.Pool
	for _, rdb := range p.Nodes {
		pools = append(pools, goredis.NewPool(rdb))
	}
	return &redsyncs{p, redsync.New(pools...)}, nil
}

func (s *redsyncs) mutex(name string) *redsync.Mutex {
	return s.rs.NewMutex(s.key(name), redsync.WithExpiry(s.TTL))
}

func (s *redsyncs) Try(ctx context.Context, name string) (Holding, error) {
	m := s.mutex(name)
	err := m.TryLockContext(ctx)
	if _, taken := errors.AsType[*redsync.ErrTaken](err); taken {
		return nil, ErrBusy
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	return redsyncHeld{m}, nil
}

func (s *redsyncs) Lock(ctx context.Context, name string) (Holding, error) {
	m := s.mutex(name)
	if err := m.LockContext(ctx); err != nil {
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	return redsyncHeld{m}, nil
}

func (*redsyncs) Close(context.Context) error { return nil }

type redsyncHeld struct{ m *redsync.Mutex }

func (h redsyncHeld) Unlock(ctx context.Context) error {
	_, err := h.m.UnlockContext(ctx)
	return err
}
