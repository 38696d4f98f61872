package cache

import (
	"context"
	"maps"
	"time"

	jetcache "github.com/mgtv-tech/jetcache-go"
	"github.com/mgtv-tech/jetcache-go/local"
	"github.com/mgtv-tech/jetcache-go/remote"
	"github.com/mgtv-tech/jetcache-go/stats"
)

// jetCache is mgtv-tech/jetcache-go v1.2.6: cache-aside with singleflight, "*" for absent rows, and
// a local layer that writes of other processes do not invalidate. It is built with a newer
// bytedance/sonic than it requires, which does not build with Go 1.26.
type jetCache struct {
	Process
	cache jetcache.Cache
	rows  *jetcache.T[string, string]
}

func newJetCache(withLocal bool) func(Process) (Scheme, error) {
	return func(p Process) (Scheme, error) {
		o := []jetcache.Option{
			jetcache.WithRemote(remote.NewGoRedisV9Adapter(p.Redis)), jetcache.WithRemoteExpiry(p.TTL),
			jetcache.WithErrNotFound(ErrAbsent), jetcache.WithStatsHandler(stats.NewHandles(true)),
		}
		if withLocal {
			o = append(o, jetcache.WithLocal(local.NewFreeCache(16*local.MB, time.Minute)))
		}
		c := jetcache.New(o...)
		return &jetCache{p, c, jetcache.NewT[string, string](c)}, nil
	}
}

func (s *jetCache) Read(ctx context.Context, key string) (string, error) {
	var v string
	err := s.cache.Once(ctx, s.key(":"+key), jetcache.Value(&v), jetcache.TTL(s.TTL),
		jetcache.Do(func(ctx context.Context) (any, error) {
			r, err := s.DB.Load(ctx, key)
			return r.Value, err
		}))
	return v, err
}

func (s *jetCache) ReadMany(ctx context.Context, keys []string) (map[string]string, error) {
	return s.rows.MGetWithErr(ctx, s.Prefix, keys, func(ctx context.Context, keys []string) (map[string]string, error) {
		rows, err := s.DB.LoadMany(ctx, keys)
		return values(maps.All(rows)), err
	})
}

func (s *jetCache) Write(ctx context.Context, key string) (int64, error) {
	r, err := s.DB.Update(ctx, key, nil)
	if err != nil {
		return 0, err
	}
	return r.Version, s.cache.Delete(ctx, s.key(":"+key))
}

func (s *jetCache) Close() error {
	s.cache.Close()
	return nil
}
