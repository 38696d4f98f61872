package notify

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/tandian-dev/tandian/internal/kit/embedredis"
	"github.com/tandian-dev/tandian/internal/kit/eventbus"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// soon is the longest wait for what happens within milliseconds on an idle machine.
const soon = 20 * time.Second

// run runs workers until the function that it returns is called, or until the
// test ends.
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

// watch watches keys until the test ends.
func watch(t testing.TB, h *Hub, keys ...string) (list []*Watch) {
	t.Helper()
	for _, k := range keys {
		w, err := h.Watch(k)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.Close)
		list = append(list, w)
	}
	return list
}

// hinted reports which of the watches have a hint, and takes it.
func hinted(list ...*Watch) []bool {
	got := make([]bool, len(list))
	for i, w := range list {
		select {
		case <-w.C():
			got[i] = true
		default:
		}
	}
	return got
}

// A tape is a bus that hands on what a hub publishes, unless it is to fail, and
// keeps it.
type tape struct {
	eventbus.Memory
	mu     sync.Mutex
	fail   error
	tries  int
	bodies []string
}

func (b *tape) Publish(ctx context.Context, ms ...eventbus.Message) error {
	b.mu.Lock()
	b.tries++
	if b.fail != nil {
		defer b.mu.Unlock()
		return b.fail
	}
	for _, m := range ms {
		b.bodies = append(b.bodies, string(m.Body))
	}
	b.mu.Unlock()
	return b.Memory.Publish(ctx, ms...)
}

func (b *tape) breaks(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fail = err
}

func (b *tape) published() (bodies []string, tries int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bodies, b.tries
}

// eachRedis runs a test on a Redis in the process and on a real one.
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

// A follows is told of syncs.
type follows struct {
	mu sync.Mutex
	at time.Time
}

func (f *follows) Reset(context.Context, eventbus.Gap) {}

func (f *follows) Synced(at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = at
}

// await waits until the bus has heard all that there was.
func (f *follows) await(t testing.TB) {
	t.Helper()
	now := time.Now()
	testkit.Eventually(t, soon, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.at.After(now)
	})
}

// A process has a bus and a hub of its own.
type process struct {
	*Hub
	bus  *eventbus.Redis
	sync *follows
}

func startProcess(t testing.TB, rdb redis.UniversalClient, o Options) process {
	t.Helper()
	bus := eventbus.NewRedis(rdb, redisdb.NewBlockingClient, eventbus.Options{Timeout: 2 * time.Second})
	p := process{Hub: New(bus, o), bus: bus, sync: new(follows)}
	bus.AddObserver(p.sync)
	run(t, bus, p.Hub)
	p.sync.await(t)
	// That the bus began has everybody look; who comes later should not hear of it.
	begun := watch(t, p.Hub, "begun")[0]
	p.Notify("begun")
	testkit.Eventually(t, soon, func() bool { return hinted(begun)[0] })
	begun.Close()
	return p
}
