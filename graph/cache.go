package graph

import (
	"github.com/tandian-dev/tandian/graph/model"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/page"
)

// Caches reports the statistics of the caches of this process since its start.
type Caches interface {
	Stats() []cache.Stats           // by name
	HotKeys(top int) []cache.HotKey // at most top, the hottest first
}

func cacheStats(s cache.Stats) model.CacheStats {
	remote := s.Hits + s.NegativeHits
	out := model.CacheStats{
		Name: s.Name, LocalHits: int(s.LocalHits), RemoteHits: int(remote), Misses: int(s.Misses),
		Loads: int(s.Loads), LoadErrors: int(s.LoadErrors), StaleServed: int(s.StaleServed),
	}
	if hits := s.LocalHits + remote; hits > 0 {
		out.HitRatio = float64(hits) / float64(hits+s.Misses)
	}
	return out
}

func hotKey(k cache.HotKey) model.HotKey { return model.HotKey{Key: k.Key, Hits: int(k.Hits)} }

func convert[F, T any](list []F, to func(F) T) []T {
	out := make([]T, len(list))
	for i, v := range list {
		out[i] = to(v)
	}
	return out
}

// checkTop returns a BAD_USER_INPUT error unless top is 1 to [page.Max].
func checkTop(top int) error {
	if top < 1 || top > page.Max {
		return apierror.BadInput("top must be 1 to %d, not %d", page.Max, top)
	}
	return nil
}
