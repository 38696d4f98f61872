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
)

// An ear writes down what it hears.
type ear struct {
	mu     sync.Mutex
	heard  []string
	missed int
}

func (e *ear) hear(body []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard = append(e.heard, string(body))
}

func (e *ear) miss() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.missed++
}

func (e *ear) gaps() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.missed
}

func (e *ear) has(body string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Contains(e.heard, body)
}

func listen(t *testing.T, rdb redis.UniversalClient, o Options) (*Channel, *ear) {
	t.Helper()
	e := new(ear)
	o.Channel = "td:hints"
	h := New(rdb, o, e.hear, e.miss)
	run(t, h)
	testkit.Eventually(t, soon, func() bool { return e.gaps() > 0 })
	return h, e
}

func publish(t *testing.T, h *Channel, body string) {
	t.Helper()
	if err := h.Publish(t.Context(), []byte(body)); err != nil {
		t.Fatal(err)
	}
}

func TestHintsReachEveryProcess(t *testing.T) {
	eachRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		here, ear1 := listen(t, rdb, Options{})
		_, ear2 := listen(t, rdb, Options{})
		publish(t, here, "7")
		publish(t, here, "")
		for _, e := range []*ear{ear1, ear2} {
			testkit.Eventually(t, soon, func() bool { return e.has("7") && e.has("") })
		}
	})
}

func TestWithoutARedisHintsStayInTheProcess(t *testing.T) {
	h, e := listen(t, nil, Options{})
	publish(t, h, "7")
	if !e.has("7") {
		t.Errorf("heard %q", e.heard)
	}
}

func TestOnAClusterHintsAreSharded(t *testing.T) {
	rdb, ok := open(t, redisdb.RedisConfig{URL: testkit.RedisCluster(t)}).(*redis.ClusterClient)
	if !ok {
		t.Fatal("this is no client of a cluster")
	}
	h, e := listen(t, rdb, Options{})
	publish(t, h, "7")
	testkit.Eventually(t, soon, func() bool { return e.has("7") })
	master, err := testkit.AdminClient(t, rdb).(*redis.ClusterClient).MasterForKey(t.Context(), "td:hints") //nolint:forcetypeassert // it is what rdb is
	if err != nil {
		t.Fatal(err)
	}
	if n, err := master.PubSubShardNumSub(t.Context(), "td:hints").Result(); err != nil || n["td:hints"] != 1 {
		t.Errorf("%v listen to the shard, %v", n, err)
	}
}

func TestAConnectionThatIsLostIsReplacedAndAGapTold(t *testing.T) {
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
		e.heard = nil
		e.mu.Unlock()
	}
}

// A connection that is open and dead is silent, as one is on which nothing happens.
func TestASilentConnectionIsTriedWithAMessageToOurselves(t *testing.T) {
	addr := addrOf(testkit.Redis(t))
	var mu sync.Mutex
	dead := map[net.Conn]bool{}
	rdb := redis.NewClient(&redis.Options{Addr: addr, Dialer: func(ctx context.Context, network, to string) (net.Conn, error) {
		inner, err := new(net.Dialer).DialContext(ctx, network, to)
		return &mute{Conn: inner, mu: &mu, dead: dead}, err
	}})
	t.Cleanup(func() { _ = rdb.Close() })
	reg := prometheus.NewRegistry()
	h, e := listen(t, rdb, Options{PingAfter: 100 * time.Millisecond, Timeout: 2 * time.Second, Registerer: reg})
	if within(400*time.Millisecond, func() bool { return e.gaps() > 1 }) {
		t.Fatal("a connection that answers was replaced")
	}
	mu.Lock()
	dead[nil] = true // those that listen hear nothing any more
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

// addrOf is where a Redis listens.
func addrOf(url string) string {
	o, err := redis.ParseURL(url)
	if err != nil {
		panic(err)
	}
	return o.Addr
}

// within reports whether something happened within a time.
func within(d time.Duration, happened func() bool) bool {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if happened() {
			return true
		}
	}
	return false
}

// A mute connection gives back nothing that begins like a message of pub/sub while it is
// dead.
type mute struct {
	net.Conn
	mu   *sync.Mutex
	dead map[net.Conn]bool
}

func (m *mute) Read(p []byte) (int, error) {
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
