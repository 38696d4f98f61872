package cache

import (
	"context"
	"errors"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidisaside"
)

const rueidisAsideName = "rueidisaside"

// rueidisAside is redis/rueidis/rueidisaside v1.0.78: a placeholder with the client's id is the
// lock, and Redis' client tracking wakes waiters. The client caches values until Redis invalidates
// them.
type rueidisAside struct {
	Process
	client rueidisaside.CacheAsideClient
}

func newRueidisAside(p Process) (Scheme, error) {
	o, err := rueidis.ParseURL(p.URL)
	if err != nil {
		return nil, errors.New("invalid Redis URL for rueidis") // err has the URL with its password
	}
	c, err := rueidisaside.NewClient(rueidisaside.ClientOption{ClientOption: o})
	if err != nil {
		return nil, err
	}
	return &rueidisAside{p, c}, nil
}

func (s *rueidisAside) Read(ctx context.Context, key string) (string, error) {
	return s.client.Get(ctx, s.TTL, s.key(key), func(ctx context.Context, _ string) (string, error) {
		r, err := s.DB.Load(ctx, key)
		return r.Value, err
	})
}

func (s *rueidisAside) Write(ctx context.Context, key string) (int64, error) {
	r, err := s.DB.Update(ctx, key, nil)
	if err != nil {
		return 0, err
	}
	return r.Version, s.client.Del(ctx, s.key(key))
}

func (s *rueidisAside) Close() error {
	s.client.Close()
	return nil
}
