package failover

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/tandian-dev/tandian/internal/kit/embedredis"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// soon is the time limit for events that take milliseconds on an idle machine.
const soon = 20 * time.Second

// open opens a Redis like the server.
func open(t testing.TB, url string) redis.UniversalClient {
	t.Helper()
	return openWith(t, redisdb.RedisConfig{URL: url})
}

func openWith(t testing.TB, cfg redisdb.RedisConfig) redis.UniversalClient {
	t.Helper()
	cfg.Role, cfg.Timeout = "state", 5*time.Second
	rdb, err := redisdb.OpenRedis(cfg, redisdb.NewRedisMetrics(prometheus.NewRegistry()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// embedded opens a Redis inside the process.
func embedded(t testing.TB) redis.UniversalClient {
	t.Helper()
	s, err := embedredis.Start(embedredis.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return openWith(t, redisdb.RedisConfig{URL: "redis://embedded", Dial: s.Dial})
}

// must fails the test if a Redis command failed.
func must(t testing.TB, cmds ...redis.Cmder) {
	t.Helper()
	for _, cmd := range cmds {
		if err := cmd.Err(); err != nil {
			t.Fatal(err)
		}
	}
}
