package cache

import (
	"context"
	"crypto/rand"
	_ "embed" // the script
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

//go:embed lua/unlock.lua
var unlockLua string

const (
	lockLife  = 10 * time.Second
	lockPause = 50 * time.Millisecond // usual sleep between two tries
)

// mutex is the rebuild under a lock ("mutex against cache breakdown"): a reader that misses takes a
// lock with SET NX, loads, sets and unlocks; the others sleep and read again. A writer commits and
// deletes.
//
// Right: one load over all processes. Wrong: the delete does not know of the lock, so the load
// under it may put the old row back (A1). All readers wait for the load, and then for the rest of a
// sleep. Without the owner check a process with an expired lock deletes its successor's, and two
// load at once.
type mutex struct {
	Process
	owned  bool
	unlock *redis.Script
}

func newMutex(owned bool) func(Process) (Scheme, error) {
	return func(p Process) (Scheme, error) {
		return &mutex{Process: p, owned: owned, unlock: redis.NewScript(unlockLua)}, nil
	}
}

func (s *mutex) Read(ctx context.Context, key string) (string, error) {
	for {
		if v, ok, err := s.get(ctx, key); ok || err != nil {
			return v, err
		}
		token, got, err := s.lock(ctx, key)
		if err != nil {
			return "", err
		}
		if got {
			return s.rebuild(ctx, key, token)
		}
		if err := clock.Sleep(ctx, lockPause); err != nil {
			return "", err
		}
	}
}

func (s *mutex) rebuild(ctx context.Context, key, token string) (v string, err error) {
	defer func() {
		if failed := s.free(context.WithoutCancel(ctx), key, token); err == nil {
			err = failed
		}
	}()
	v, ok, err := s.get(ctx, key) // another reader may have set it before we had the lock
	if ok || err != nil {
		return v, err
	}
	return s.fill(ctx, key)
}

func (s *mutex) Write(ctx context.Context, key string) (int64, error) {
	r, err := s.DB.Update(ctx, key, nil)
	if err != nil {
		return 0, err
	}
	return r.Version, s.drop(ctx, key)
}

func (*mutex) Close() error { return nil }

func (p Process) lockKey(key string) string { return p.key("lock:" + key) }

// lock tries to take the lock of a key.
func (p Process) lock(ctx context.Context, key string) (token string, got bool, err error) {
	token = rand.Text()
	err = p.Redis.SetArgs(ctx, p.lockKey(key), token, redis.SetArgs{Mode: "NX", TTL: lockLife}).Err()
	if errors.Is(err, redis.Nil) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("lock %s: %w", key, err)
	}
	return token, true, nil
}

func (s *mutex) free(ctx context.Context, key, token string) error {
	var err error
	if s.owned {
		err = s.unlock.Run(ctx, s.Redis, []string{s.lockKey(key)}, token).Err()
	} else {
		err = s.Redis.Del(ctx, s.lockKey(key)).Err()
	}
	if err != nil {
		return fmt.Errorf("unlock %s: %w", key, err)
	}
	return nil
}
