package graph

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/graph/model"
	"github.com/tandian-dev/tandian/internal/kit/cache"
)

func TestCacheStatsShowCounters(t *testing.T) {
	tests := []struct {
		name string
		from cache.Stats
		want model.CacheStats
	}{
		{"nothing yet", cache.Stats{Name: "shop"}, model.CacheStats{Name: "shop"}},
		{
			"each in its place",
			cache.Stats{Name: "user", LocalHits: 2, Hits: 3, NegativeHits: 1, Misses: 4, Loads: 5, LoadCalls: 100, LoadErrors: 6, StaleServed: 7, Waits: 200},
			model.CacheStats{Name: "user", LocalHits: 2, RemoteHits: 4, Misses: 4, Loads: 5, LoadErrors: 6, StaleServed: 7, HitRatio: .6},
		},
		{"misses alone", cache.Stats{Misses: 9, Loads: 9}, model.CacheStats{Misses: 9, Loads: 9}},
		{"hits alone", cache.Stats{NegativeHits: 9}, model.CacheStats{RemoteHits: 9, HitRatio: 1}},
		{
			"more than 32 bits",
			cache.Stats{LocalHits: 1 << 40, Hits: math.MaxInt32, NegativeHits: 1, Misses: 1 << 40},
			model.CacheStats{LocalHits: 1 << 40, RemoteHits: 1 << 31, Misses: 1 << 40, HitRatio: float64(1<<40+1<<31) / float64(1<<41+1<<31)},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, cacheStats(tt.from)); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
	if d := cmp.Diff(model.HotKey{Key: "k", Hits: 1 << 40}, hotKey(cache.HotKey{Key: "k", Hits: 1 << 40})); d != "" {
		t.Errorf("a hot key (-want +got)\n%s", d)
	}
}
