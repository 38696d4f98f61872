package app_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

const cacheStats = `{ cacheStats { name localHits remoteHits misses loads loadErrors staleServed hitRatio } }`

// cacheFigures holds the cacheStats of one cache.
type cacheFigures struct {
	Name                                                          string
	LocalHits, RemoteHits, Misses, Loads, LoadErrors, StaleServed int
	HitRatio                                                      float64
}

// figures returns the cacheStats by cache name.
func figures(t *testing.T, admin *apptest.Server) map[string]cacheFigures {
	t.Helper()
	var got struct{ CacheStats []cacheFigures }
	admin.Must(t, cacheStats, nil, &got)
	named := map[string]cacheFigures{}
	var names []string
	for _, c := range got.CacheStats {
		named[c.Name] = c
		names = append(names, c.Name)
	}
	if !slices.IsSorted(names) || len(named) != len(names) {
		t.Errorf("got caches %q, want unique, sorted names", names)
	}
	return named
}

// staff is a server with some shops, for a client of each role.
type staff struct{ anonymous, customer, merchant, admin *apptest.Server }

// startStaff starts a server with some shops and one user of each role.
func startStaff(t *testing.T, stack *apptest.Stack) staff {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens")
	stack.Seed(t, "--users", "3", "--shops", "20", "--tokens", path)
	stack.Config.Run = []string{"api"} // workers read on their own
	s, people := stack.Start(t), tokens(t, path)
	return staff{s, s.As(people[2].token), s.As(people[1].token), s.As(people[0].token)}
}

// someShop returns the id of a shop.
func someShop(t *testing.T, s *apptest.Server) string {
	t.Helper()
	var p shopPage
	s.Must(t, listQuery, map[string]any{"first": 1}, &p)
	return p.Shops.Edges[0].Node.ID
}

const shopByID = `query S($id: ID!) { shop(id: $id) { id } }`

func TestCacheStatsFollowReads(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		s := startStaff(t, stack)
		awaitIdle(t, s.anonymous)
		before := figures(t, s.admin)["shop"]
		id := map[string]any{"id": someShop(t, s.anonymous)}
		cold := figures(t, s.admin)["shop"]
		if read := cold.Misses - before.Misses; read < 1 || cold.Loads != before.Loads+read || cold.RemoteHits != before.RemoteHits {
			t.Errorf("got %+v after the first read, %+v before; want misses and as many loads", cold, before)
		}
		const again = 3
		for range again {
			s.anonymous.Must(t, shopByID, id, nil)
		}
		warm := figures(t, s.admin)["shop"]
		if warm.LocalHits != cold.LocalHits+again || warm.RemoteHits != cold.RemoteHits || warm.Misses != cold.Misses || warm.Loads != cold.Loads {
			t.Errorf("got %+[2]v after %[1]d more reads, %+[3]v before; want only local hits", again, warm, cold)
		}
		hits := warm.LocalHits + warm.RemoteHits
		if want := float64(hits) / float64(hits+warm.Misses); warm.HitRatio != want {
			t.Errorf("got hit ratio %v, want %v", warm.HitRatio, want)
		}
		var hot struct {
			HotKeys []struct {
				Key  string
				Hits int
			}
		}
		s.admin.Must(t, `{ hotKeys(top: 100) { key hits } }`, nil, &hot)
		found := 0
		for i, k := range hot.HotKeys {
			if i > 0 && k.Hits > hot.HotKeys[i-1].Hits {
				t.Errorf("key %d is hotter than the key before it: %+v", i, hot.HotKeys)
			}
			if strings.Contains(k.Key, "shop") {
				found = max(found, k.Hits)
			}
		}
		if found < again {
			t.Errorf("got hot keys %+[2]v, want a shop with %[1]d hits", again, hot.HotKeys)
		}
	})
}

func TestCacheStatsAreForAdministrators(t *testing.T) {
	s := startStaff(t, apptest.Embedded(t))
	for _, tt := range []struct {
		name, query string
		who         *apptest.Server
		want        string
	}{
		{"anonymous, stats", cacheStats, s.anonymous, "UNAUTHENTICATED"},
		{"a customer, stats", cacheStats, s.customer, "FORBIDDEN"},
		{"a merchant, stats", cacheStats, s.merchant, "FORBIDDEN"},
		{"an administrator, stats", cacheStats, s.admin, ""},
		{"anonymous, hot keys", `{ hotKeys { key } }`, s.anonymous, "UNAUTHENTICATED"},
		{"a customer, hot keys", `{ hotKeys { key } }`, s.customer, "FORBIDDEN"},
		{"a merchant, hot keys", `{ hotKeys { key } }`, s.merchant, "FORBIDDEN"},
		{"an administrator, hot keys", `{ hotKeys { key } }`, s.admin, ""},
		{"zero", `{ hotKeys(top: 0) { key } }`, s.admin, "BAD_USER_INPUT"},
		{"negative", `{ hotKeys(top: -1) { key } }`, s.admin, "BAD_USER_INPUT"},
		{"more than a hundred", `{ hotKeys(top: 101) { key } }`, s.admin, "BAD_USER_INPUT"},
		{"a hundred", `{ hotKeys(top: 100) { key } }`, s.admin, ""},
		{"a customer, zero", `{ hotKeys(top: 0) { key } }`, s.customer, "FORBIDDEN"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if c := code(t, tt.who.Do(t, tt.query, nil, nil)); c != tt.want {
				t.Errorf("got %q, want %q", c, tt.want)
			}
		})
	}
	s.anonymous.Must(t, shopByID, map[string]any{"id": someShop(t, s.anonymous)}, nil)
	var one struct{ HotKeys []struct{ Key string } }
	if s.admin.Must(t, `{ hotKeys(top: 1) { key } }`, nil, &one); len(one.HotKeys) != 1 {
		t.Errorf("got %+v, want the hottest key", one.HotKeys)
	}
}
