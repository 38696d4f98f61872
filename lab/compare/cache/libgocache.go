package cache

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"

	gocache "github.com/eko/gocache/lib/v4/cache"
	"github.com/eko/gocache/lib/v4/store"
	gostore "github.com/eko/gocache/store/redis/v4"
)

// gocacheLoadable is the loadable cache of eko/gocache v4.2.0 over its Redis store: a goroutine
// sets loaded values some time later, in order of arrival.
type gocacheLoadable struct {
	Process
	cache *gocache.LoadableCache[string]
	store *markedStore
}

// markedStore detects when a mark is set, which is after all values that were loaded before it.
type markedStore struct {
	store.StoreInterface
	marks sync.Map // key → chan struct{}
}

func (s *markedStore) Set(ctx context.Context, key, value any, o ...store.Option) error {
	if ch, ok := s.marks.LoadAndDelete(key); ok {
		close(ch.(chan struct{}))
		return nil
	}
	return s.StoreInterface.Set(ctx, key, value, o...)
}

func newGocache(p Process) (Scheme, error) {
	marked := &markedStore{StoreInterface: gostore.NewRedis(p.Redis, store.WithExpiration(p.TTL))}
	load := func(ctx context.Context, key any) (string, []store.Option, error) {
		if _, mark := marked.marks.Load(key); mark {
			return "", nil, nil
		}
		r, err := p.DB.Load(ctx, strings.TrimPrefix(key.(string), p.Prefix))
		return r.Value, nil, err
	}
	return &gocacheLoadable{p, gocache.NewLoadable(load, gocache.New[string](marked)), marked}, nil
}

func (s *gocacheLoadable) Settle(ctx context.Context) error {
	mark, set := s.key("mark:"+rand.Text()), make(chan struct{})
	s.store.marks.Store(mark, set)
	if _, err := s.cache.Get(ctx, mark); err != nil {
		return err
	}
	select {
	case <-set:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *gocacheLoadable) Read(ctx context.Context, key string) (string, error) {
	return s.cache.Get(ctx, s.key(key))
}

func (s *gocacheLoadable) Write(ctx context.Context, key string) (int64, error) {
	r, err := s.DB.Update(ctx, key, nil)
	if err != nil {
		return 0, err
	}
	return r.Version, s.cache.Delete(ctx, s.key(key))
}

func (s *gocacheLoadable) Close() error { return s.cache.Close() }
