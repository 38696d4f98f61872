package pubsub

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/redistest"
)

// A recorder records messages and gaps.
type recorder struct {
	mu       sync.Mutex
	received []string
	missed   int
}

func (e *recorder) handle(body []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.received = append(e.received, string(body))
}

func (e *recorder) onGap() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.missed++
}

func (e *recorder) gaps() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.missed
}

func (e *recorder) has(body string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Contains(e.received, body)
}

func listen(t *testing.T, rdb redis.UniversalClient, o Options) (*Channel, *recorder) {
	t.Helper()
	e := new(recorder)
	o.Channel = "td:hints"
	h := New(rdb, o, e.handle, e.onGap)
	testkit.RunWorkers(t, h)
	testkit.Eventually(t, soon, func() bool { return e.gaps() > 0 })
	return h, e
}

func publish(t *testing.T, h *Channel, body string) {
	t.Helper()
	if err := h.Publish(t.Context(), []byte(body)); err != nil {
		t.Fatal(err)
	}
}

func TestMessagesReachEveryProcess(t *testing.T) {
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		here, ear1 := listen(t, rdb, Options{})
		_, ear2 := listen(t, rdb, Options{})
		publish(t, here, "7")
		publish(t, here, "")
		for _, e := range []*recorder{ear1, ear2} {
			testkit.Eventually(t, soon, func() bool { return e.has("7") && e.has("") })
		}
	})
}

func TestMessagesStayInProcessWithoutRedis(t *testing.T) {
	h, e := listen(t, nil, Options{})
	publish(t, h, "7")
	if !e.has("7") {
		t.Errorf("got %q", e.received)
	}
}

func TestMessagesAreShardedOnCluster(t *testing.T) {
	rdb, ok := redistest.OpenConfig(t, redisdb.RedisConfig{URL: testkit.RedisCluster(t)}).(*redis.ClusterClient)
	if !ok {
		t.Fatal("not a cluster client")
	}
	h, e := listen(t, rdb, Options{})
	publish(t, h, "7")
	testkit.Eventually(t, soon, func() bool { return e.has("7") })
	master, err := testkit.AdminClient(t, rdb).(*redis.ClusterClient).MasterForKey(t.Context(), "td:hints") //nolint:forcetypeassert // the type of rdb
	if err != nil {
		t.Fatal(err)
	}
	if n, err := master.PubSubShardNumSub(t.Context(), "td:hints").Result(); err != nil || n["td:hints"] != 1 {
		t.Errorf("got %v subscribers of the shard, %v", n, err)
	}
}

func TestLostConnectionIsReplacedWithGap(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: addrOf(testkit.Redis(t))})
	t.Cleanup(func() { _ = rdb.Close() })
	admin := testkit.AdminClient(t, rdb)
	h, e := listen(t, rdb, Options{})
	for gaps := e.gaps(); gaps < 4; gaps++ {
		if err := admin.ClientKillByFilter(t.Context(), "TYPE", "pubsub").Err(); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, soon, func() bool { return e.gaps() > gaps })
		publish(t, h, "again")
		testkit.Eventually(t, soon, func() bool { return e.has("again") })
		e.mu.Lock()
		e.received = nil
		e.mu.Unlock()
	}
}

// An open but dead connection looks like an idle one.
func TestSilentConnectionIsProbed(t *testing.T) {
	addr := addrOf(testkit.Redis(t))
	var mu sync.Mutex
	dead := map[net.Conn]bool{}
	rdb := redis.NewClient(&redis.Options{Addr: addr, Dialer: func(ctx context.Context, network, to string) (net.Conn, error) {
		inner, err := new(net.Dialer).DialContext(ctx, network, to)
		return &muteConn{Conn: inner, mu: &mu, dead: dead}, err
	}})
	t.Cleanup(func() { _ = rdb.Close() })
	reg := prometheus.NewRegistry()
	h, e := listen(t, rdb, Options{PingAfter: 100 * time.Millisecond, Timeout: 2 * time.Second, Registerer: reg})
	if within(400*time.Millisecond, func() bool { return e.gaps() > 1 }) {
		t.Fatal("got a replaced connection, though it answers")
	}
	mu.Lock()
	dead[nil] = true // receivers get nothing any more
	mu.Unlock()
	testkit.Eventually(t, soon, func() bool { return testutil.ToFloat64(h.probes) >= 1 && testutil.ToFloat64(h.connected) == 0 })
	mu.Lock()
	delete(dead, nil)
	mu.Unlock()
	testkit.Eventually(t, soon, func() bool {
		publish(t, h, "7")
		return e.has("7") && testutil.ToFloat64(h.connected) == 1
	})
}

// addrOf returns the address of a Redis.
func addrOf(url string) string {
	o, err := redis.ParseURL(url)
	if err != nil {
		panic(err)
	}
	return o.Addr
}

// within reports whether an event happened within d.
func within(d time.Duration, happened func() bool) bool {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if happened() {
			return true
		}
	}
	return false
}

// A muteConn drops pub/sub messages while it is dead.
type muteConn struct {
	net.Conn
	mu   *sync.Mutex
	dead map[net.Conn]bool
}

func (m *muteConn) Read(p []byte) (int, error) {
	for {
		n, err := m.Conn.Read(p)
		m.mu.Lock()
		dead := m.dead[nil]
		m.mu.Unlock()
		if !dead || !strings.Contains(string(p[:n]), "message") || err != nil {
			return n, err
		}
	}
}
