package cache

import (
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/testkit"
)

// backend is a kind of Redis that a suite runs on.
type backend struct {
	name   string
	client func() redis.UniversalClient // returns a new client for each process
	elapse func(d time.Duration)        // advances the server's time; nil if it is real
	worlds atomic.Int64
}

// world is the part of a backend for one test.
type world struct {
	*backend
	prefix string
	rdb    redis.UniversalClient
}

func (b *backend) world(t *testing.T) *world {
	w := &world{backend: b, prefix: fmt.Sprintf("t%d", b.worlds.Add(1)), rdb: b.client()}
	t.Cleanup(func() { _ = w.rdb.Close() })
	return w
}

// process returns a client of another process on the same Redis, with hooks. Its loads end
// before the test does.
func (w *world) process(t *testing.T, hooks ...redis.Hook) *Client {
	t.Helper()
	rdb := w.client()
	for _, hook := range hooks {
		rdb.AddHook(hook)
	}
	// Servers and other tests may share two cores: a longer timeout than in production keeps a
	// busy machine from looking like a fault.
	h, err := NewClient(rdb, Options{Prefix: w.prefix, RedisTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.Wait()
		_ = rdb.Close()
	})
	return h
}

// admin returns a client with administrator rights.
func (w *world) admin(t *testing.T) redis.UniversalClient {
	t.Helper()
	if w.elapse != nil { // miniredis has no users
		return w.rdb
	}
	return testkit.AdminClient(t, w.rdb)
}

// names lists the keys of w in Redis.
func (w *world) names(t *testing.T) []string {
	t.Helper()
	var all []string
	scan := func(ctx context.Context, c redis.Cmdable) error {
		it := c.Scan(ctx, 0, w.prefix+":*", 1000).Iterator()
		for it.Next(ctx) {
			all = append(all, it.Val())
		}
		return it.Err()
	}
	var err error
	if cluster, ok := w.rdb.(*redis.ClusterClient); ok {
		masters := make(chan *redis.Client, 16)
		err = cluster.ForEachMaster(t.Context(), func(_ context.Context, c *redis.Client) error {
			masters <- c
			return nil
		})
		close(masters)
		for c := range masters {
			if err == nil {
				err = scan(t.Context(), c)
			}
		}
	} else {
		err = scan(t.Context(), w.rdb)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// onEach runs a suite on miniredis, on Redis and, without -short, on a cluster of three
// masters.
func onEach(t *testing.T, suite func(t *testing.T, b *backend)) {
	starts := map[string]func(t testing.TB) *backend{
		"miniredis": startMini, "redis": startRedis, "cluster": startCluster,
	}
	if testing.Short() {
		delete(starts, "cluster")
	}
	for name, start := range starts {
		t.Run(name, func(t *testing.T) {
			b := start(t)
			b.name = name
			suite(t, b)
		})
	}
}

func startMini(t testing.TB) *backend {
	m := miniredis.NewMiniRedis()
	if err := m.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return &backend{
		client: func() redis.UniversalClient { return newClient("tcp", m.Addr()) },
		elapse: m.FastForward,
	}
}

func startRedis(t testing.TB) *backend {
	socket := strings.TrimPrefix(testkit.Redis(t), "unix://")
	return &backend{client: func() redis.UniversalClient { return newClient("unix", socket) }}
}

func newClient(network, addr string) *redis.Client {
	return redis.NewClient(&redis.Options{
		Network: network, Addr: addr, ContextTimeoutEnabled: true, MaxRetries: -1,
		DialTimeout: 300 * time.Millisecond, DialerRetries: 1,
	})
}

// startCluster returns a cluster of three masters.
func startCluster(t testing.TB) *backend {
	url := testkit.RedisCluster(t)
	return &backend{client: func() redis.UniversalClient {
		o, err := redis.ParseClusterURL(strings.Replace(url, "+cluster", "", 1))
		if err != nil {
			t.Fatal(err)
		}
		o.ContextTimeoutEnabled, o.DialTimeout, o.DialerRetries = true, 300*time.Millisecond, 1
		return redis.NewClusterClient(o)
	}}
}

// eventually waits until cond holds.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for !cond() {
		select {
		case <-ticker.C:
		case <-deadline.C:
			t.Fatalf("not within 20 seconds: %s", what)
		}
	}
}

// hungServer accepts connections and never replies.
func hungServer(t testing.TB) (socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var open sync.WaitGroup
	open.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() {
				_, _ = io.Copy(io.Discard, conn) // until the client leaves
				_ = conn.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		open.Wait()
	})
	return socket
}

// raceTime is the duration of a race on each kind of Redis, unless it needs longer to be
// conclusive.
func raceTime() time.Duration {
	if testing.Short() {
		return 500 * time.Millisecond
	}
	return 2 * time.Second
}
