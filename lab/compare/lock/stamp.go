package lock

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// stamp is the recipe from before SET had options: the key has no expiry. Its value is the time at
// which the lock expires, by the clock of its holder. A process that finds it expired takes it over
// with GETSET: only the first one gets the old stamp.
//
// Right: a process that dies between two commands leaves a lock that expires. Wrong: two clocks
// that differ by more than the lease make two holders (S3). The second process in the GETSET has
// put its stamp over the winner's, which cannot release the lock any more (S3b). Taking over with
// DEL and SETNX is worse: the second process deletes the lock of the first.
type stamp struct {
	Process
	getset bool
	unlock *redis.Script
}

func newStamp(getset bool) func(Process) (Scheme, error) {
	return func(p Process) (Scheme, error) {
		return &stamp{Process: p, getset: getset, unlock: redis.NewScript(unlockLua)}, nil
	}
}

func (s *stamp) Try(ctx context.Context, name string) (Holding, error) {
	h, err := s.set(ctx, name)
	if !errors.Is(err, ErrBusy) {
		return h, err
	}
	old, err := s.Nodes[0].Get(ctx, s.key(name)).Result()
	if errors.Is(err, redis.Nil) {
		return nil, ErrBusy // released just now: the next attempt
	}
	if err != nil {
		return nil, fmt.Errorf("read the lock %s: %w", name, err)
	}
	ends, err := strconv.ParseInt(old, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("read the lock %s: %w", name, err)
	}
	if s.Now().UnixMilli() <= ends {
		return nil, ErrBusy
	}
	return s.takeOver(ctx, name, old)
}

func (s *stamp) set(ctx context.Context, name string) (Holding, error) {
	h := s.holding(name)
	got, err := s.Nodes[0].SetNX(ctx, h.key, h.ends, 0).Result()
	switch {
	case err != nil:
		return nil, fmt.Errorf("lock %s: %w", name, err)
	case !got:
		return nil, ErrBusy
	}
	return h, nil
}

func (s *stamp) takeOver(ctx context.Context, name, old string) (Holding, error) {
	if !s.getset {
		if err := s.Nodes[0].Del(ctx, s.key(name)).Err(); err != nil {
			return nil, fmt.Errorf("delete the lock %s: %w", name, err)
		}
		return s.set(ctx, name)
	}
	h := s.holding(name)
	before, err := s.Nodes[0].Do(ctx, "getset", h.key, h.ends).Text()
	switch {
	case err != nil && !errors.Is(err, redis.Nil):
		return nil, fmt.Errorf("take over the lock %s: %w", name, err)
	case before != old && err == nil:
		return nil, ErrBusy // another process was faster
	}
	return h, nil
}

func (s *stamp) holding(name string) *stampHeld {
	return &stampHeld{s, s.key(name), strconv.FormatInt(s.Now().Add(s.TTL).UnixMilli(), 10)}
}

func (s *stamp) Lock(ctx context.Context, name string) (Holding, error) {
	return poll(ctx, pollPause, func() (Holding, error) { return s.Try(ctx, name) })
}

func (*stamp) Close(context.Context) error { return nil }

type stampHeld struct {
	*stamp
	key, ends string
}

func (h *stampHeld) Unlock(ctx context.Context) error {
	return h.unlock.Run(ctx, h.Nodes[0], []string{h.key}, h.ends).Err()
}
