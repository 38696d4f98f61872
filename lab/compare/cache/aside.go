package cache

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/singleflight"
)

// aside is cache-aside, the usual default, "database first": a reader that misses loads and sets; a
// writer commits and deletes.
//
// Right: simple, and a crash costs at most a TTL. Wrong: a load that began before the write may set
// after the delete, and the old row stays for the whole TTL (A1). With singleflight one process
// loads once, but a reader can join a load from before the write (A3), and the first reader's
// cancellation affects all of them.
type aside struct {
	Process
	single bool
	group  singleflight.Group
}

func newAside(single bool) func(Process) (Scheme, error) {
	return func(p Process) (Scheme, error) { return &aside{Process: p, single: single}, nil }
}

func (s *aside) Read(ctx context.Context, key string) (string, error) {
	if v, ok, err := s.get(ctx, key); ok || err != nil {
		return v, err
	}
	if !s.single {
		return s.fill(ctx, key)
	}
	v, err, _ := s.group.Do(key, func() (any, error) { return s.fill(ctx, key) })
	text, _ := v.(string)
	return text, err
}

func (s *aside) Write(ctx context.Context, key string) (int64, error) {
	r, err := s.DB.Update(ctx, key, nil)
	if err != nil {
		return 0, err
	}
	return r.Version, s.drop(ctx, key)
}

func (*aside) Close() error { return nil }

// get, set, fill and drop are the building blocks of the schemes of this package.

// get reads the key from Redis.
func (p Process) get(ctx context.Context, key string) (value string, ok bool, err error) {
	value, err = p.Redis.Get(ctx, p.key(key)).Result()
	if errors.Is(err, redis.Nil) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("read %s: %w", key, err)
	}
	return value, true, nil
}

func (p Process) set(ctx context.Context, r Row) error {
	if err := p.Redis.Set(ctx, p.key(r.Key), r.Value, p.TTL).Err(); err != nil {
		return fmt.Errorf("set %s: %w", r.Key, err)
	}
	return nil
}

// fill loads a row and sets it, without a check for writes in between.
func (p Process) fill(ctx context.Context, key string) (string, error) {
	r, err := p.DB.Load(ctx, key)
	if err != nil {
		return "", err
	}
	return r.Value, p.set(ctx, r)
}

func (p Process) drop(ctx context.Context, key string) error {
	if err := p.Redis.Del(ctx, p.key(key)).Err(); err != nil {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	return nil
}
