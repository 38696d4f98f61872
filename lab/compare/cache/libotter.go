package cache

import (
	"context"
	"fmt"

	"github.com/maypok86/otter/v2"
)

const otterAlone = "otter alone"

// otterOnly is otter v2.4.0 with the database as its loader: a local cache alone. It does not see
// writes of other processes.
type otterOnly struct {
	Process
	cache *otter.Cache[string, string]
}

func newOtter(p Process) (Scheme, error) {
	c, err := otter.New(&otter.Options[string, string]{MaximumSize: localRows})
	if err != nil {
		return nil, fmt.Errorf("create otter cache: %w", err)
	}
	return &otterOnly{p, c}, nil
}

func (s *otterOnly) Read(ctx context.Context, key string) (string, error) {
	if v, ok := s.cache.GetIfPresent(key); ok {
		return v, nil
	}
	return s.cache.Get(ctx, key, otter.LoaderFunc[string, string](func(ctx context.Context, key string) (string, error) {
		r, err := s.DB.Load(ctx, key)
		return r.Value, err
	}))
}

func (s *otterOnly) Write(ctx context.Context, key string) (int64, error) {
	r, err := s.DB.Update(ctx, key, nil)
	if err != nil {
		return 0, err
	}
	s.cache.Invalidate(key)
	return r.Version, nil
}

func (s *otterOnly) Close() error {
	s.cache.StopAllGoroutines()
	return nil
}
