package flashsale

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/ent/order"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/sale"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// redisServer is a redis-server that a test kills and restarts.
type redisServer struct {
	t       *testing.T
	dir     string
	port    string
	options []string
	cmd     *exec.Cmd
	stdin   io.Closer // the server ends when it closes, or with the test process
}

// startRedis starts a server with an append-only file that it syncs every second.
func startRedis(t *testing.T, options ...string) *redisServer {
	t.Helper()
	if os.Getenv("TANDIAN_TEST_REDIS_SERVER") == "" {
		testkit.Redis(t) // skips the test, or fails it
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_ = l.Close()
	m := &redisServer{t: t, dir: t.TempDir(), port: port, options: options}
	m.start()
	t.Cleanup(m.kill)
	return m
}

func (m *redisServer) addr() string { return net.JoinHostPort("127.0.0.1", m.port) }

func (m *redisServer) start() {
	m.t.Helper()
	args := append([]string{
		"-c", `"$@" & server=$!; read -r _; kill -9 $server`, "sh", os.Getenv("TANDIAN_TEST_REDIS_SERVER"),
		"--bind", "127.0.0.1", "--port", m.port, "--dir", m.dir, "--save", "", "--appendonly", "yes", "--appendfsync", "everysec",
	}, m.options...)
	m.cmd = exec.Command("sh", args...)
	stdin, err := m.cmd.StdinPipe()
	if err == nil {
		err = m.cmd.Start()
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.stdin = stdin
	rdb := m.client()
	testkit.Eventually(m.t, 20*time.Second, func() bool { return rdb.Ping(m.t.Context()).Err() == nil })
}

func (m *redisServer) client() *redis.Client {
	rdb := redis.NewClient(&redis.Options{Addr: m.addr(), Protocol: 3})
	m.t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// kill ends the server without a shutdown.
func (m *redisServer) kill() {
	_ = m.stdin.Close()
	_ = m.cmd.Wait()
	for range 1000 { // until its port is free
		conn, err := net.Dial("tcp", m.addr())
		if err != nil {
			return
		}
		_ = conn.Close()
		time.Sleep(time.Millisecond)
	}
}

// log returns the path of the append-only file.
func (m *redisServer) log() string {
	m.t.Helper()
	files, err := filepath.Glob(filepath.Join(m.dir, "appendonlydir", "*.incr.aof"))
	if err != nil || len(files) != 1 {
		m.t.Fatalf("append-only files: got %v, %v", files, err)
	}
	return files[0]
}

func (m *redisServer) size() int64 {
	m.t.Helper()
	info, err := os.Stat(m.log())
	if err != nil {
		m.t.Fatal(err)
	}
	return info.Size()
}

// on returns stores with a database and this server.
func (m *redisServer) on(t *testing.T) storetest.Stores {
	on := storetest.Real(t)
	on.Redis.URL = "redis://" + m.addr()
	on.Redis.Timeout = 2 * time.Second
	return on
}

// sell admits users. Orders up to stored get rows, the others stay queued.
func (g *stage) sell(at location, from, stored, to int64) (orders map[int64]int64) {
	g.t.Helper()
	orders = map[int64]int64{}
	for user := from; user <= to; user++ {
		orders[user] = g.number(at)
		if v := g.admits(at, user, orders[user]); v.code != admitted {
			g.t.Fatalf("user %d: got %+v, want admitted", user, v)
		}
		if user <= stored {
			g.row(at, user, orders[user], order.StatusUNPAID)
		}
	}
	return orders
}

// wantClosed fails the test if the partition admits or reports a stock.
func (g *stage) wantClosed(at location, user int64) {
	g.t.Helper()
	v, err := g.admitter.admit(g.t.Context(), g.try(at, user, g.number(at)))
	if err == nil && v.code != noState {
		g.t.Fatalf("before the comparison: got %+v", v)
	}
}

// wantHeld fails the test unless requests of users return their orders.
func (g *stage) wantHeld(at location, orders map[int64]int64, users ...int64) {
	g.t.Helper()
	for _, user := range users {
		if v := g.admits(at, user, g.number(at)); v.code != held || v.order != orders[user] {
			g.t.Errorf("user %d: want held order %d, got %+v", user, orders[user], v)
		}
	}
}

// checkSale fails the test unless stock and buyers add up to the initial stock.
func (g *stage) checkSale(at location, initial, buyers int) {
	g.t.Helper()
	if got := g.stockCount(at); !got.complete || got.stock+got.buyers != initial || got.initial != initial || got.buyers != buyers {
		g.t.Errorf("got %+v in Redis, want %d buyers of %d", got, buyers, initial)
	}
}

func TestWindow06PowerCutLosesTailOfWholeSale(t *testing.T) {
	m := startRedis(t)
	g := newStage(t, m.on(t))
	at := g.open(stagedSale{stock: 50})
	orders := g.sell(at, 1, 10, 10)
	size := m.size()
	tail := g.sell(at, 11, 15, 20)
	m.kill()
	if err := os.Truncate(m.log(), size); err != nil {
		t.Fatal(err)
	}
	m.start()
	for user := range tail {
		g.wantClosed(at, user)
	}
	g.certified()
	g.checkSale(at, 50, 15)
	g.wantHeld(at, orders, 1, 10)
	g.wantHeld(at, tail, 11, 15)
	if v := g.admits(at, 16, g.number(at)); v.code != admitted {
		t.Errorf("user of a lost order: got %+v, want admitted", v)
	}
	for user := int64(16); user <= 20; user++ {
		if e, err := g.entry(tail[user]); e != nil || err != nil {
			t.Errorf("lost order of user %d: got %+v, %v", user, e, err)
		}
	}
}

func TestWindow15HolderKeepsOrderAfterRedisRollback(t *testing.T) {
	m := startRedis(t)
	g := newStage(t, m.on(t))
	at := g.open(stagedSale{stock: 3})
	older, err := os.ReadFile(m.log())
	if err != nil {
		t.Fatal(err)
	}
	orders := g.sell(at, 1, 3, 3)
	if v := g.admits(at, 4, g.number(at)); v.code != outOfStock {
		t.Fatalf("got %+v, want out of stock", v)
	}
	m.kill()
	if err := os.WriteFile(m.log(), older, 0o600); err != nil {
		t.Fatal(err)
	}
	m.start()
	// The older copy has its marker and a stock of 3.
	if n := m.client().Get(t.Context(), g.admitter.keys.stock(at.partition, at.voucher)).Val(); n != "3" {
		t.Fatalf("got stock %s in the copy, want 3", n)
	}
	for range 3 {
		g.wantClosed(at, 1)
		g.wantClosed(at, 4)
	}
	g.certified()
	g.wantHeld(at, orders, 1, 2, 3)
	if v := g.admits(at, 4, g.number(at)); v.code != outOfStock {
		t.Errorf("fourth user: got %+v, want out of stock", v)
	}
	g.checkSale(at, 3, 3)
}

func TestWindow07LateReplicaIsPromoted(t *testing.T) {
	first, second := startRedis(t), startRedis(t)
	var to atomic.Pointer[string]
	before, after := first.addr(), second.addr()
	to.Store(&before)
	on := first.on(t)
	on.Redis.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", *to.Load())
	}
	g := newStage(t, on)
	at := g.open(stagedSale{stock: 50})
	replica := second.client()
	port, cut := forward(t, first.addr())
	orders := g.sell(at, 1, 10, 10)
	if err := replica.Do(t.Context(), "REPLICAOF", "127.0.0.1", port).Err(); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, time.Minute, func() bool {
		return replica.HLen(t.Context(), g.admitter.keys.bucket(at.partition, at.voucher, 0)).Val() == 10
	})
	g.certified() // the first replica changes the replication id of its master
	cut()         // the replica falls behind
	tail := g.sell(at, 11, 15, 20)
	first.kill()
	to.Store(&after)

	g.wantClosed(at, 12) // a replica admits nothing
	if err := replica.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err(); err != nil {
		t.Fatal(err)
	}
	if n := replica.HLen(t.Context(), g.admitter.keys.bucket(at.partition, at.voucher, 0)).Val(); n != 10 {
		t.Fatalf("got %d buyers in the replica, want 10", n)
	}
	for user := int64(11); user <= 20; user++ {
		g.wantClosed(at, user)
	}
	g.certified()
	g.wantHeld(at, orders, 1, 10)
	g.wantHeld(at, tail, 11, 15)
	g.checkSale(at, 50, 15)
}

// forward forwards a port to an address until cut.
func forward(t *testing.T, addr string) (port string, cut func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := new(connSet)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", addr)
			if err != nil {
				_ = near.Close()
				continue
			}
			w.add(near, far)
			running.Go(func() { _, _ = io.Copy(near, far); _ = near.Close() })
			running.Go(func() { _, _ = io.Copy(far, near); _ = far.Close() })
		}
	})
	cut = sync.OnceFunc(func() {
		_ = l.Close()
		w.cut()
		running.Wait()
	})
	t.Cleanup(cut)
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port, cut
}

// connSet closes connections together.
type connSet struct {
	mu  sync.Mutex
	all []net.Conn
}

func (e *connSet) add(conns ...net.Conn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, conns...)
}

func (e *connSet) cut() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.all {
		_ = c.Close()
	}
}

// Deleted, evicted or flushed keys never mean "sold out", and they are rebuilt.
func TestWindow08MissingKeysAreNotSoldOut(t *testing.T) {
	tests := []struct {
		name  string
		keys  func(k keys, at location) []string // nil: all
		blind bool                               // admissions do not detect the loss
	}{
		{name: "stock", keys: func(k keys, at location) []string { return []string{k.stock(at.partition, at.voucher)} }},
		{name: "meta", keys: func(k keys, at location) []string { return []string{k.meta(at.partition, at.voucher)} }},
		{name: "marker", keys: func(k keys, at location) []string { return []string{k.open(at.partition)} }},
		{name: "all keys of the sale", keys: func(k keys, at location) []string { return k.ofSale(at) }},
		{name: "one bucket", keys: func(k keys, at location) []string { return k.ofSale(at)[3:4] }, blind: true},
		{name: "all keys"},
	}
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		g := newStage(t, on)
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				g.t = t
				at := g.open(stagedSale{stock: 12, buckets: 3})
				orders := g.sell(at, 1, 6, 9)
				if tt.keys == nil {
					g.deleteAll()
				} else {
					g.unlink(tt.keys(g.admitter.keys, at)...)
				}
				if !tt.blind {
					for user := int64(1); user <= 10; user += 3 { // one at a time
						g.wantClosedOrHeld(at, orders, user)
					}
				}
				g.certified()
				if err := g.rebuildIncomplete(t.Context()); err != nil {
					t.Fatal(err)
				}
				r := &reconciler{s: g.Service, suspect: map[int64]mismatch{}}
				for range 2 {
					if err := r.round(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				buyers, holders := 9, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9}
				if tt.keys == nil { // the queue is lost too
					buyers, holders = 6, holders[:6]
				}
				if tt.blind { // the reconciler would wait for an empty queue
					if err := g.compareSale(t.Context(), g.DB.FlashSale.GetX(t.Context(), at.voucher), queues{}); err != nil {
						t.Fatal(err)
					}
				}
				g.wantHeld(at, orders, holders...)
				g.checkSale(at, 12, buyers)
			})
		}
	})
}

// wantClosedOrHeld fails the test unless a request returns the user's order or no state.
func (g *stage) wantClosedOrHeld(at location, orders map[int64]int64, user int64) {
	g.t.Helper()
	v, err := g.admitter.admit(g.t.Context(), g.try(at, user, g.number(at)))
	if err != nil || v.code != noState && (v.code != held || v.order != orders[user]) {
		g.t.Errorf("user %d: got %+v, %v", user, v, err)
	}
}

// deleteAll deletes all keys, because the embedded Redis refuses a flush.
func (g *stage) deleteAll() {
	g.t.Helper()
	var names []string
	if err := (redisdb.KeyScan{}).Each(g.t.Context(), g.Redis, func(k redisdb.Key) { names = append(names, k.Name) }); err != nil {
		g.t.Fatal(err)
	}
	g.unlink(names...)
}

func TestNothingIsAdmittedWithoutACertificate(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		g := newStage(t, on)
		at := g.put(stagedSale{stock: 5})
		if err := g.Apply(t.Context(), at.voucher); err != nil {
			t.Fatal(err)
		}
		closed := func(user int64) {
			t.Helper()
			if _, err := g.admitter.admit(t.Context(), g.try(at, user, g.number(at))); !errors.Is(err, errUncertified) || !redisdb.NotSent(err) {
				t.Errorf("got %v, want %v, not sent", err, errUncertified)
			}
		}
		closed(1)
		g.certified()
		g.sell(at, 1, 1, 1)
		g.suspect(at.partition)
		closed(2)
		past := g.number(at)
		g.row(at, 2, past, order.StatusUNPAID) // not in Redis
		g.certified()
		g.wantHeld(at, map[int64]int64{2: past}, 2)
		g.checkSale(at, 5, 2)
	})
}

func TestSuspicionDuringComparisonIsNotLost(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		g := newStage(t, on)
		at := g.open(stagedSale{stock: 5})
		before := g.admitter.certs.snapshotSuspects()
		cert := g.admitter.certs.current.Load()
		g.suspect(at.partition)
		if g.admitter.certs.publish(before, cert) || g.admitter.expected(at.partition) != "" {
			t.Error("an older comparison certified the partition")
		}
		g.certified()
		if g.admitter.expected(at.partition) == "" {
			t.Error("a newer comparison did not certify the partition")
		}
	})
}

// While one partition fails its comparison, like on a cluster without a node, the others stay
// certified and are not compared again.
func TestSuspicionAffectsOnlyItsPartition(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		g := newStage(t, on)
		spoilt, valid := g.open(stagedSale{stock: 5}), g.open(stagedSale{stock: 5})
		for valid.partition == spoilt.partition {
			valid = g.open(stagedSale{stock: 5})
		}
		marker := g.admitter.expected(valid.partition)
		bucket := g.admitter.keys.bucket(spoilt.partition, spoilt.voucher, 0)
		g.set(bucket, 1) // of the wrong type: the comparison fails
		g.suspect(spoilt.partition)
		if g.admitter.expected(valid.partition) != marker {
			t.Error("another partition lost its certificate")
		}
		for range 3 {
			if _, err := g.certify(t.Context()); err == nil {
				t.Error("the broken partition was compared")
			}
			if a, b := g.admitter.expected(spoilt.partition), g.admitter.expected(valid.partition); a != "" || b != marker {
				t.Errorf("broken partition: got marker %q; other partition: got %q, want %q", a, b, marker)
			}
		}
		g.unlink(bucket)
		g.certified()
		g.sell(spoilt, 1, 1, 1)
		g.sell(valid, 1, 1, 1)
	})
}

func TestAnotherProcessCertifiesByTheMarker(t *testing.T) {
	on := storetest.Real(t)
	g := newStage(t, on)
	at := g.open(stagedSale{stock: 5})
	other := newStage(t, on)
	other.certified()
	if a, b := g.admitter.expected(at.partition), other.admitter.expected(at.partition); a != b || a == "" {
		t.Errorf("got markers %q and %q", a, b)
	}
	if got := metricValue(t, other, "tandian_sale_incarnations_total", ""); got != 0 {
		t.Errorf("second process: got %v comparisons, want 0", got)
	}
	if got := metricValue(t, g, "tandian_sale_incarnations_total", ""); got != manyPartitions {
		t.Errorf("first process: got %v comparisons, want %d", got, manyPartitions)
	}
	g.deleteAll()
	g.wantClosed(at, 1)
	g.certified()
	if v, err := other.admitter.admit(t.Context(), other.try(at, 1, other.number(at))); err == nil && v.code != noState {
		t.Errorf("old marker: got %+v", v)
	}
	other.certified()
	if v := other.admits(at, 1, other.number(at)); v.code != admitted {
		t.Errorf("new marker: got %+v", v)
	}
}

func TestEvictingRedisAdmitsNothing(t *testing.T) {
	for policy, sells := range map[string]bool{"allkeys-lru": false, "allkeys-lfu": false, "noeviction": true, "volatile-lru": true} {
		t.Run(policy, func(t *testing.T) {
			on := storetest.Real(t)
			on.Redis.URL = testkit.Redis(t, "--maxmemory-policy", policy)
			g := newStage(t, on)
			at := g.open(stagedSale{stock: 1})
			if open := g.admitter.expected(at.partition) != ""; open != sells {
				t.Errorf("certified: got %v, want %v", open, sells)
			}
			want := map[bool]float64{false: 1}[sells]
			if got := metricValue(t, g, "tandian_sale_evicting", ""); got != want {
				t.Errorf("evicting metric: got %v, want %v", got, want)
			}
			if got := metricValue(t, g, "tandian_sale_door_closed", "0"); got != want {
				t.Errorf("closed metric: got %v, want %v", got, want)
			}
		})
	}
}

func TestCertifyMaintainsTheCertificate(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		g := newStage(t, on)
		at := g.put(stagedSale{stock: 5})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- g.Certify(ctx) }()
		defer func() {
			stop()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}()
		if err := g.Apply(ctx, at.voucher); err != nil {
			t.Fatal(err)
		}
		number := g.number(at)
		got := func(want code) func() bool {
			return func() bool {
				v, err := g.admitter.admit(ctx, g.try(at, 1, number))
				return err == nil && v.code == want
			}
		}
		testkit.Eventually(t, 20*time.Second, got(admitted))
		g.row(at, 1, number, order.StatusUNPAID)
		number = g.number(at)
		g.deleteAll()
		testkit.Eventually(t, 20*time.Second, got(held))
	})
}

// metricValue returns the value of a metric, of the series with this label value if one is
// given.
func metricValue(t *testing.T, g *stage, name, label string) float64 {
	t.Helper()
	families, err := g.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() != name || label != "" && (len(m.GetLabel()) == 0 || m.GetLabel()[0].GetValue() != label) {
				continue
			}
			return m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	t.Fatalf("metric %s %s not found", name, label)
	return 0
}

// Existing connections stay valid when a probe fails.
func TestFailedProbeKeepsTheCertificate(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		var unavailable atomic.Bool
		dial := on.Redis.Dial
		on.Redis.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if unavailable.Load() {
				return nil, errors.New("injected Redis failure")
			}
			if dial == nil {
				return new(net.Dialer).DialContext(ctx, network, addr)
			}
			return dial(ctx, network, addr)
		}
		g := newStage(t, on)
		at := g.open(stagedSale{stock: 3})
		marker := g.admitter.expected(at.partition)
		g.sell(at, 9, 0, 9)
		_ = g.Redis.(*redis.Client).Close() // closes its connections
		unavailable.Store(true)
		if _, err := g.certify(t.Context()); err == nil {
			t.Error("got no error")
		}
		if got := g.admitter.expected(at.partition); got != marker {
			t.Errorf("after a failed probe: got marker %q, want %q", got, marker)
		}
		if v := g.admits(at, 1, g.number(at)); v.code != admitted {
			t.Errorf("existing connections: got %+v", v)
		}
	})
}

// A full state Redis keeps its data and answers OOM to writes.
func TestFullRedisLosesNoOrder(t *testing.T) {
	r := newRig(t, storetest.Real(t), rigOptions{})
	const stock = 30
	v := r.open(t, stock)
	r.runCertify(t)
	stop := r.run(t, r.Consume, r.WatchPending)
	if got := r.order(t, by(v, 1)); got.Result != sale.Stored {
		t.Fatalf("before: %+v", got)
	}
	r.awaitEmptyQueues(t)
	admin := testkit.AdminClient(t, r.Redis)
	limit := func(bytes string) {
		t.Helper()
		if err := admin.ConfigSet(t.Context(), "maxmemory", bytes).Err(); err != nil {
			t.Fatal(err)
		}
	}
	limit("1")
	if err := r.Redis.Set(t.Context(), "test:more", "x", 0).Err(); !redis.HasErrorPrefix(err, "OOM") {
		t.Fatalf("Redis is not full: got %v", err)
	}
	answers := map[int64]sale.Response{}
	for user := int64(2); user <= 11; user++ {
		got, err := r.Order(t.Context(), by(v, user))
		if err == nil {
			answers[user] = got
		}
		if err == nil && got.Result != sale.Stored && got.Result != sale.Queued {
			t.Errorf("user %d: %+v", user, got)
		}
	}
	t.Logf("%d of 10 users got an order from a full Redis", len(answers))
	limit("0")
	r.awaitCertificates(t)
	r.awaitEmptyQueues(t)
	for user, answer := range answers {
		testkit.Eventually(t, patience, func() bool {
			n, err := r.DB.Order.Query().Where(order.ID(answer.Order), order.StatusIn(order.StatusUNPAID, order.StatusPAID)).Count(t.Context())
			return err == nil && n == 1
		})
		if got := r.order(t, by(v, user)); got.Result != sale.Held {
			t.Errorf("user %d with order %d: got %+v", user, answer.Order, got)
		}
	}
	if got := r.order(t, by(v, 500)); got.Result != sale.Stored {
		t.Errorf("after: %+v", got)
	}
	r.awaitEmptyQueues(t)
	stop()
	r.checkSale(t, v, stock)
}
