package redistest

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/embedredis"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/testkit"
)

// Open opens a client of the Redis at url, with the options of a Tandian server. The client closes
// with the test.
func Open(t testing.TB, url string) redis.UniversalClient {
	t.Helper()
	return OpenConfig(t, redisdb.RedisConfig{URL: url})
}

// OpenConfig is like [Open], for a configuration. It sets the role "state" and a timeout of five
// seconds.
func OpenConfig(t testing.TB, cfg redisdb.RedisConfig) redis.UniversalClient {
	t.Helper()
	cfg.Role, cfg.Timeout = "state", 5*time.Second
	rdb, err := redisdb.OpenRedis(cfg, redisdb.NewRedisMetrics(prometheus.NewRegistry()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// OpenEmbedded starts an embedded Redis and returns a client of it. Both close with the test.
func OpenEmbedded(t testing.TB) redis.UniversalClient {
	t.Helper()
	s, err := embedredis.Start(embedredis.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return OpenConfig(t, redisdb.RedisConfig{URL: "redis://embedded", Dial: s.Dial})
}

// Each runs a test on an embedded Redis and on a real one.
func Each(t *testing.T, test func(t *testing.T, rdb redis.UniversalClient)) {
	t.Helper()
	t.Run("embedded", func(t *testing.T) { test(t, OpenEmbedded(t)) })
	t.Run("real", func(t *testing.T) { test(t, Open(t, testkit.Redis(t))) })
}

// Must fails the test if a command failed.
func Must(t testing.TB, cmds ...redis.Cmder) {
	t.Helper()
	for _, cmd := range cmds {
		if err := cmd.Err(); err != nil {
			t.Fatal(err)
		}
	}
}
