package stream

import (
	"context"
	"io"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/tandian-dev/tandian/internal/kit/embedredis"
	"github.com/tandian-dev/tandian/internal/kit/store"
	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// soon is the longest wait for what happens within milliseconds on an idle machine.
const soon = 20 * time.Second

// open opens a Redis as the server does.
func open(t testing.TB, url string) redis.UniversalClient {
	t.Helper()
	return openWith(t, store.RedisConfig{URL: url})
}

func openWith(t testing.TB, cfg store.RedisConfig) redis.UniversalClient {
	t.Helper()
	cfg.Role, cfg.Timeout = "state", 5*time.Second
	rdb, err := store.OpenRedis(cfg, store.NewRedisMetrics(prometheus.NewRegistry()))
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
	return openWith(t, store.RedisConfig{URL: "redis://embedded", Dial: s.Dial})
}

// newStream is a bus that has more patience than one of a server: the machine may
// be busy with other tests.
func newStream(rdb redis.UniversalClient) *Redis {
	return NewRedis(rdb, store.NewBlockingClient, Options{Timeout: 2 * time.Second})
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

// A wire stands between clients and a server. It can be frozen, which leaves
// connections open and moves no byte, cut, and led to another server.
type wire struct {
	listener net.Listener
	gate     sync.RWMutex // held while frozen
	mu       sync.Mutex
	target   string // unix path, or host:port
	conns    []net.Conn
	copies   sync.WaitGroup
}

func newWire(t testing.TB, url string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{listener: l, target: address(url)}
	w.copies.Go(w.accept)
	t.Cleanup(func() {
		_ = l.Close()
		w.cut()
		w.copies.Wait()
	})
	return w
}

// address is where a server of testkit listens.
func address(url string) string {
	return strings.TrimPrefix(strings.TrimPrefix(url, "unix://"), "redis://")
}

func (w *wire) url() string { return "redis://" + w.listener.Addr().String() }

func (w *wire) accept() {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return
		}
		w.mu.Lock()
		network := "tcp"
		if strings.HasPrefix(w.target, "/") {
			network = "unix"
		}
		server, err := net.Dial(network, w.target)
		if err != nil {
			w.mu.Unlock()
			_ = client.Close()
			continue
		}
		w.conns = append(w.conns, client, server)
		w.mu.Unlock()
		w.copies.Go(func() { w.carry(client, server) })
		w.copies.Go(func() { w.carry(server, client) })
	}
}

func (w *wire) carry(to io.WriteCloser, from io.Reader) {
	defer func() { _ = to.Close() }()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		w.gate.RLock()
		_, err = to.Write(buf[:n])
		w.gate.RUnlock()
		if err != nil {
			return
		}
	}
}

func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.conns = nil
}

// lead cuts all connections; new ones come to another server.
func (w *wire) lead(url string) {
	w.mu.Lock()
	w.target = address(url)
	w.mu.Unlock()
	w.cut()
}

// A server listens on a port of its own, so that it can be started again, with
// what it saved.
type server struct {
	t         testing.TB
	dir, port string
	admin     *redis.Client
}

func startServer(t testing.TB) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, dir: t.TempDir(), port: strconv.Itoa(l.Addr().(*net.TCPAddr).Port)} //nolint:forcetypeassert // the network is tcp
	_ = l.Close()
	s.start()
	return s
}

func (s *server) start() {
	s.t.Helper()
	testkit.Redis(s.t, "--bind", "127.0.0.1", "--port", s.port, "--dir", s.dir, "--repl-diskless-sync-delay", "0")
	s.admin = redis.NewClient(&redis.Options{Addr: address(s.url()), Username: testkit.AdminUser, Password: "any", MaxRetries: -1, DialerRetries: 1})
	s.t.Cleanup(func() { _ = s.admin.Close() })
}

func (s *server) url() string { return "redis://127.0.0.1:" + s.port }

// crash ends the server, which saves nothing more.
func (s *server) crash() {
	s.t.Helper()
	_ = s.admin.ShutdownNoSave(s.t.Context())
	testkit.Eventually(s.t, soon, func() bool {
		c, err := net.Dial("tcp", address(s.url()))
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
}

// replicate starts a server that has all that s has, and follows it.
func (s *server) replicate() *server {
	s.t.Helper()
	r := startServer(s.t)
	must(s.t, r.admin.ReplicaOf(s.t.Context(), "127.0.0.1", s.port))
	testkit.Eventually(s.t, soon, func() bool {
		return strings.Contains(r.admin.Info(s.t.Context(), "replication").Val(), "master_link_status:up")
	})
	must(s.t, s.admin.Do(s.t.Context(), "WAIT", "1", "0"))
	return r
}

// promote makes a master of a replica, which hears nothing more.
func (s *server) promote() {
	s.t.Helper()
	must(s.t, s.admin.ReplicaOf(s.t.Context(), "NO", "ONE"))
}

// A notebook is a log that a test can read.
type notebook struct{ testkit.Log }

func (n *notebook) count(words string) int { return strings.Count(n.String(), words) }

func (n *notebook) logger() *slog.Logger { return slog.New(slog.NewTextHandler(n, nil)) }
