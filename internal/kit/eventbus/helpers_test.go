package eventbus

import (
	"context"
	"slices"
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

// soon is the longest wait for what happens within milliseconds on an idle machine.
const soon = 20 * time.Second

// open opens a Redis as the server does.
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

// newStream is a bus that has more patience than one of a server: the machine may
// be busy with other tests.
func newStream(rdb redis.UniversalClient) *Redis {
	return NewRedis(rdb, redisdb.NewBlockingClient, Options{Timeout: 2 * time.Second})
}

// An ear writes down what a follower and hearer of the topic "t" is told.
type ear struct {
	mu     sync.Mutex
	told   []string // "reset WHY" and bodies
	at     time.Time
	syncs  int
	before int               // syncs before the last reset
	hearer func(body string) // called before it is written down; may be nil
}

func listen(b Bus) *ear {
	e := new(ear)
	b.AddObserver(e)
	b.Subscribe("t", e.hear)
	return e
}

func (e *ear) hear(_ context.Context, bodies [][]byte) {
	for _, body := range bodies {
		if e.hearer != nil {
			e.hearer(string(body))
		}
		e.mu.Lock()
		e.told = append(e.told, string(body))
		e.mu.Unlock()
	}
}

func (e *ear) Reset(_ context.Context, why Gap) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.told = append(e.told, "reset "+string(why))
	e.before = e.syncs
}

func (e *ear) Synced(at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.at = at
	e.syncs++
}

func (e *ear) all() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.told)
}

func (e *ear) has(what string) bool { return slices.Contains(e.all(), what) }

func (e *ear) synced() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.at
}

// await waits until the follower knows that it heard everything up to now.
func (e *ear) await(t testing.TB) {
	t.Helper()
	now := time.Now()
	testkit.Eventually(t, soon, func() bool { return e.synced().After(now) })
}

// run starts a bus, which ends with the test, or by the function that it returns.
func run(t testing.TB, b Bus) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func publish(t testing.TB, b Bus, bodies ...string) {
	t.Helper()
	var ms []Message
	for _, body := range bodies {
		ms = append(ms, Message{"t", []byte(body)})
	}
	if err := b.Publish(t.Context(), ms...); err != nil {
		t.Fatal(err)
	}
}

// must fails the test for the error of a Redis command.
func must(t testing.TB, cmds ...redis.Cmder) {
	t.Helper()
	for _, cmd := range cmds {
		if err := cmd.Err(); err != nil {
			t.Fatal(err)
		}
	}
}
