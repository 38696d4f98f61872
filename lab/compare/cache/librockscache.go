package cache

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/dtm-labs/rockscache"
)

// rocksCache is dtm-labs/rockscache v0.1.1: a hash with value, lock and owner. A delete only tags
// the value. Weak mode serves the tagged value until one reader has loaded; in strong mode all
// readers wait.
type rocksCache struct {
	Process
	client *rockscache.Client
	expire time.Duration
}

func newRocksCache(strong bool) func(Process) (Scheme, error) {
	return func(p Process) (Scheme, error) {
		o := rockscache.NewDefaultOptions()
		o.StrongConsistency = strong
		expire := p.TTL
		if p.Tuned { // it takes Delay off the life and rounds down to seconds
			o.Delay, o.LockSleep = time.Second, 2*time.Millisecond
			expire += 2 * time.Second
		}
		return &rocksCache{Process: p, client: rockscache.NewClient(p.Redis, o), expire: expire}, nil
	}
}

func (s *rocksCache) Read(ctx context.Context, key string) (string, error) {
	v, err := s.client.Fetch2(ctx, s.key(key), s.expire, func() (string, error) {
		r, err := s.DB.Load(ctx, key)
		if errors.Is(err, ErrAbsent) {
			err = nil
		}
		return r.Value, err
	})
	if err == nil && v == "" { // its own mark of "there is none"
		return "", ErrAbsent
	}
	return v, err
}

func (s *rocksCache) ReadMany(ctx context.Context, keys []string) (map[string]string, error) {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = s.key(key)
	}
	found, err := s.client.FetchBatch2(ctx, names, s.expire, func(missing []int) (map[int]string, error) {
		asked := make([]string, len(missing))
		for i, at := range missing {
			asked[i] = keys[at]
		}
		rows, err := s.DB.LoadMany(ctx, asked)
		out := make(map[int]string, len(rows))
		for _, at := range missing {
			if r, ok := rows[keys[at]]; ok {
				out[at] = r.Value
			}
		}
		return out, err
	})
	out := make(map[string]string, len(found))
	for at, v := range found {
		if v != "" {
			out[keys[at]] = v
		}
	}
	return out, err
}

func (s *rocksCache) Write(ctx context.Context, key string) (int64, error) {
	r, err := s.DB.Update(ctx, key, nil)
	if err != nil {
		return 0, err
	}
	return r.Version, s.client.TagAsDeleted2(ctx, s.key(key))
}

func (*rocksCache) Close() error { return nil }

// values returns the values of rows.
func values(rows iter.Seq2[string, Row]) map[string]string {
	out := make(map[string]string)
	for key, r := range rows {
		out[key] = r.Value
	}
	return out
}
