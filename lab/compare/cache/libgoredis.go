package cache

import (
	"context"
	"time"

	goredis "github.com/go-redis/cache/v9"
)

// localRows limits the local caches of libraries.
const localRows = 10_000

// goRedisCache is go-redis/cache v9.0.0: cache-aside with singleflight, values
// as msgpack, compressed when long; a TTL below a second becomes an hour.
type goRedisCache struct {
	Process
	cache *goredis.Cache
}

func newGoRedisCache(local bool) func(Process) (Scheme, error) {
	return func(p Process) (Scheme, error) {
		o := &goredis.Options{Redis: p.Redis}
		if local {
			o.LocalCache = goredis.NewTinyLFU(localRows, time.Minute)
		}
		return &goRedisCache{p, goredis.New(o)}, nil
	}
}

func (s *goRedisCache) Read(ctx context.Context, key string) (string, error) {
	var v string
	err := s.cache.Once(&goredis.Item{
		Ctx: ctx, Key: s.key(key), Value: &v, TTL: s.TTL,
		Do: func(*goredis.Item) (any, error) {
			r, err := s.DB.Load(ctx, key)
			return r.Value, err
		},
	})
	return v, err
}

func (s *goRedisCache) Write(ctx context.Context, key string) (int64, error) {
	r, err := s.DB.Update(ctx, key, nil)
	if err != nil {
		return 0, err
	}
	return r.Version, s.cache.Delete(ctx, s.key(key))
}

func (*goRedisCache) Close() error { return nil }
