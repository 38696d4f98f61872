package pubsub

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/tandian-dev/tandian/internal/kit/embedredis"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// soon is the time limit for events that take milliseconds on an idle machine.
const soon = 20 * time.Second

// run runs workers until the returned function is called, or the test ends.
func run(t testing.TB, workers ...interface{ Run(context.Context) error }) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for _, w := range workers {
		all.Go(func() {
			if err := w.Run(ctx); err != nil {
				t.Errorf("Run: %v", err)
			}
		})
	}
	stop = sync.OnceFunc(func() {
		cancel()
		all.Wait()
	})
	t.Cleanup(stop)
	return stop
}

// eachRedis runs a test on an embedded Redis and on a real one.
func eachRedis(t *testing.T, test func(t *testing.T, rdb redis.UniversalClient)) {
	t.Run("embedded", func(t *testing.T) {
		s, err := embedredis.Start(embedredis.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		test(t, open(t, redisdb.RedisConfig{URL: "redis://embedded", Dial: s.Dial}))
	})
	t.Run("real", func(t *testing.T) {
		test(t, open(t, redisdb.RedisConfig{URL: testkit.Redis(t)}))
	})
}

func open(t testing.TB, cfg redisdb.RedisConfig) redis.UniversalClient {
	t.Helper()
	cfg.Role, cfg.Timeout = "state", 5*time.Second
	rdb, err := redisdb.OpenRedis(cfg, redisdb.NewRedisMetrics(prometheus.NewRegistry()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}
