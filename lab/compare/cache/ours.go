package cache

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"

	kit "github.com/tandian-dev/tandian/internal/kit/cache"
)

// Only this file uses internal/kit/cache.

const oursName = "Tandian"

func ours() []Variant {
	return []Variant{
		{Name: oursName, New: func(p Process) (Scheme, error) { return newOurs(p, kit.Options{}, kit.Local{}) }},
		{Name: oursName + " with L1", Local: true, New: func(p Process) (Scheme, error) {
			return newOurs(p, kit.Options{LocalBytes: 64 << 20, SingleProcess: true}, kit.Local{Share: 1, Criteria: kit.Hot | kit.RarelyChanged | kit.Small | kit.MayBeStale})
		}},
	}
}

// kitCache is internal/kit/cache as the domain packages use it.
type kitCache struct {
	Process
	hub   *kit.Client
	cache *kit.Cache[string, string]
	stop  func()
}

func newOurs(p Process, o kit.Options, local kit.Local) (Scheme, error) {
	o.Prefix, o.RedisTimeout = strings.TrimSuffix(p.Prefix, ":"), commandTimeout
	hub, err := kit.NewClient(p.Redis, o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	if err := hub.RefreshEpoch(ctx); err != nil {
		cancel()
		return nil, err
	}
	var running sync.WaitGroup
	running.Go(func() { _ = hub.Run(ctx) })
	stop := func() { cancel(); running.Wait() }
	load := func(ctx context.Context, keys []string) (map[string]string, error) {
		rows, err := p.DB.LoadMany(ctx, keys)
		return values(maps.All(rows)), err
	}
	policy := kit.Policy{Name: "row", TTL: p.TTL, Local: local}
	if p.Soft {
		policy.StaleTTL, policy.Beta = p.TTL, 1
	}
	source := kit.Source[string, string]{Key: func(k string) string { return k }, Load: load}
	return &kitCache{p, hub, kit.New(hub, policy, source), stop}, nil
}

func (s *kitCache) Read(ctx context.Context, key string) (string, error) {
	v, err := s.cache.Get(ctx, key)
	if errors.Is(err, kit.ErrNotFound) {
		err = ErrAbsent
	}
	return v, err
}

func (s *kitCache) ReadMany(ctx context.Context, keys []string) (map[string]string, error) {
	return s.cache.GetMany(ctx, keys)
}

func (s *kitCache) Write(ctx context.Context, key string) (int64, error) {
	r, err := s.DB.Update(ctx, key, nil)
	if err != nil {
		return 0, err
	}
	return r.Version, s.cache.Invalidate(ctx, key)
}

func (s *kitCache) Close() error {
	s.stop()
	s.hub.Wait()
	return nil
}
