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

// newBus returns a bus with a longer timeout than in a server: other tests may load the
// machine.
func newBus(rdb redis.UniversalClient) *Redis {
	return NewRedis(rdb, redisdb.NewBlockingClient, Options{Timeout: 2 * time.Second})
}

// A recorder observes a bus and handles the topic "t".
type recorder struct {
	mu        sync.Mutex
	calls     []string // "reset WHY" and bodies
	at        time.Time
	syncs     int
	before    int               // syncs before the last reset
	onMessage func(body string) // called before a body is recorded; may be nil
}

func listen(b Bus) *recorder {
	e := new(recorder)
	b.AddObserver(e)
	b.Subscribe("t", e.handle)
	return e
}

func (e *recorder) handle(_ context.Context, bodies [][]byte) {
	for _, body := range bodies {
		if e.onMessage != nil {
			e.onMessage(string(body))
		}
		e.mu.Lock()
		e.calls = append(e.calls, string(body))
		e.mu.Unlock()
	}
}

func (e *recorder) Reset(_ context.Context, why Gap) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls = append(e.calls, "reset "+string(why))
	e.before = e.syncs
}

func (e *recorder) Synced(at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.at = at
	e.syncs++
}

func (e *recorder) all() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.calls)
}

func (e *recorder) has(what string) bool { return slices.Contains(e.all(), what) }

func (e *recorder) synced() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.at
}

// await waits until all messages up to now have been handled.
func (e *recorder) await(t testing.TB) {
	t.Helper()
	now := time.Now()
	testkit.Eventually(t, soon, func() bool { return e.synced().After(now) })
}

// run starts a bus, and stops it at the end of the test or by the returned function.
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

// must fails the test if a Redis command failed.
func must(t testing.TB, cmds ...redis.Cmder) {
	t.Helper()
	for _, cmd := range cmds {
		if err := cmd.Err(); err != nil {
			t.Fatal(err)
		}
	}
}
