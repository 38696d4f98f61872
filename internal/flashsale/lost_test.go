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

// A redisServer is a redis-server that a test kills and starts again.
type redisServer struct {
	t       *testing.T
	dir     string
	port    string
	options []string
	cmd     *exec.Cmd
	stdin   io.Closer // the server ends when it is closed, or when the test process dies
}

// startRedis starts a server that writes down every second what it did.
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

// kill ends it without a word.
func (m *redisServer) kill() {
	_ = m.stdin.Close()
	_ = m.cmd.Wait()
	for range 1000 { // its port is free again
		conn, err := net.Dial("tcp", m.addr())
		if err != nil {
			return
		}
		_ = conn.Close()
		time.Sleep(time.Millisecond)
	}
}

// log is the file to which it appends what it did.
func (m *redisServer) log() string {
	m.t.Helper()
	files, err := filepath.Glob(filepath.Join(m.dir, "appendonlydir", "*.incr.aof"))
	if err != nil || len(files) != 1 {
		m.t.Fatalf("the log of Redis is %v, %v", files, err)
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

// on is a database, and this server.
func (m *redisServer) on(t *testing.T) storetest.Stores {
	on := storetest.Real(t)
	on.Redis.URL = "redis://" + m.addr()
	on.Redis.Timeout = 2 * time.Second
	return on
}

// sell has users ordered: those up to stored have a row, the others are queued.
func (g *stage) sell(at location, from, stored, to int64) (orders map[int64]int64) {
	g.t.Helper()
	orders = map[int64]int64{}
	for user := from; user <= to; user++ {
		orders[user] = g.number(at)
		if v := g.admits(at, user, orders[user]); v.code != admitted {
			g.t.Fatalf("user %d: %+v", user, v)
		}
		if user <= stored {
			g.row(at, user, orders[user], order.StatusUNPAID)
		}
	}
	return orders
}

// refuses fails the test unless nothing is admitted, without a word of a piece.
func (g *stage) wantClosed(at location, user int64) {
	g.t.Helper()
	v, err := g.admitter.admit(g.t.Context(), g.try(at, user, g.number(at)))
	if err == nil && v.code != noState {
		g.t.Fatalf("before it was compared with the database it says %+v", v)
	}
}

// told fails the test unless holders hear of their orders.
func (g *stage) wantHeld(at location, orders map[int64]int64, users ...int64) {
	g.t.Helper()
	for _, user := range users {
		if v := g.admits(at, user, g.number(at)); v.code != held || v.order != orders[user] {
			g.t.Errorf("user %d, who has order %d, hears %+v", user, orders[user], v)
		}
	}
}

// whole fails the test unless stock and buyers make the initial stock.
func (g *stage) checkSale(at location, initial, buyers int) {
	g.t.Helper()
	if got := g.tally(at); !got.complete || got.stock+got.buyers != initial || got.initial != initial || got.buyers != buyers {
		g.t.Errorf("Redis has %+v, want %d buyers of %d", got, buyers, initial)
	}
}

func TestWindow06PowerCutLosesTailOfWholeSale(t *testing.T) {
	m := startRedis(t)
	g := newStage(t, m.on(t))
	at := g.open(stagedSale{stock: 50})
	orders := g.sell(at, 1, 10, 10)
	kept := m.size()
	tail := g.sell(at, 11, 15, 20)
	m.kill()
	if err := os.Truncate(m.log(), kept); err != nil {
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
		t.Errorf("whose queued order was lost hears %+v", v)
	}
	for user := int64(16); user <= 20; user++ {
		if e, err := g.entry(tail[user]); e != nil || err != nil {
			t.Errorf("Redis still has the lost order of user %d: %+v, %v", user, e, err)
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
		t.Fatalf("%+v", v)
	}
	m.kill()
	if err := os.WriteFile(m.log(), older, 0o600); err != nil {
		t.Fatal(err)
	}
	m.start()
	// The older copy has its marker, and three pieces to sell.
	if n := m.client().Get(t.Context(), g.admitter.keys.stock(at.partition, at.voucher)).Val(); n != "3" {
		t.Fatalf("the copy has %s pieces, want 3", n)
	}
	for range 3 {
		g.wantClosed(at, 1)
		g.wantClosed(at, 4)
	}
	g.certified()
	g.wantHeld(at, orders, 1, 2, 3)
	if v := g.admits(at, 4, g.number(at)); v.code != outOfStock {
		t.Errorf("the fourth of three hears %+v", v)
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
	g.certified() // a master's first replica gives it a new name
	cut()         // it falls behind
	tail := g.sell(at, 11, 15, 20)
	first.kill()
	to.Store(&after)

	g.wantClosed(at, 12) // a replica takes no orders
	if err := replica.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err(); err != nil {
		t.Fatal(err)
	}
	if n := replica.HLen(t.Context(), g.admitter.keys.bucket(at.partition, at.voucher, 0)).Val(); n != 10 {
		t.Fatalf("the replica has %d buyers, want the first 10", n)
	}
	for user := int64(11); user <= 20; user++ {
		g.wantClosed(at, user)
	}
	g.certified()
	g.wantHeld(at, orders, 1, 10)
	g.wantHeld(at, tail, 11, 15)
	g.checkSale(at, 50, 15)
}

// forward has a port lead to an address, until it is cut.
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

// connSet is connections that are closed together.
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

// What is deleted by hand, evicted or flushed is never "sold out", and comes back.
func TestWindow08MissingKeysAreNotSoldOut(t *testing.T) {
	tests := []struct {
		name  string
		keys  func(k keys, at location) []string // nil: all
		blind bool                               // admissions cannot see that it is gone
	}{
		{name: "stock", keys: func(k keys, at location) []string { return []string{k.stock(at.partition, at.voucher)} }},
		{name: "meta", keys: func(k keys, at location) []string { return []string{k.meta(at.partition, at.voucher)} }},
		{name: "marker", keys: func(k keys, at location) []string { return []string{k.open(at.partition)} }},
		{name: "the whole sale", keys: func(k keys, at location) []string { return k.ofSale(at) }},
		{name: "one bucket", keys: func(k keys, at location) []string { return k.ofSale(at)[3:4] }, blind: true},
		{name: "all there is"},
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
					for user := int64(1); user <= 10; user += 3 { // one after the other tells its own
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
				if tt.keys == nil { // the queue is gone too
					buyers, holders = 6, holders[:6]
				}
				if tt.blind { // a deep comparison waits until nothing is queued
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

// wantClosedOrHeld fails the test unless a user hears of his own order, or nothing.
func (g *stage) wantClosedOrHeld(at location, orders map[int64]int64, user int64) {
	g.t.Helper()
	v, err := g.admitter.admit(g.t.Context(), g.try(at, user, g.number(at)))
	if err != nil || v.code != noState && (v.code != held || v.order != orders[user]) {
		g.t.Errorf("user %d hears %+v, %v", user, v, err)
	}
}

// deleteAll is a flush, which the embedded Redis refuses.
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
				t.Errorf("got %v, want %v, which nothing saw", err, errUncertified)
			}
		}
		closed(1)
		g.certified()
		g.sell(at, 1, 1, 1)
		g.suspect(at.partition)
		closed(2)
		past := g.number(at)
		g.row(at, 2, past, order.StatusUNPAID) // without Redis
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
			t.Error("what was begun before the suspicion opened the door")
		}
		g.certified()
		if g.admitter.expected(at.partition) == "" {
			t.Error("a comparison after it did not open the door")
		}
	})
}

// Where one partition cannot be compared, as on a cluster that lost a node, the doors of
// the others stay open, and nobody compares them again and again.
func TestSuspicionAffectsOnlyItsPartition(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		g := newStage(t, on)
		spoilt, valid := g.open(stagedSale{stock: 5}), g.open(stagedSale{stock: 5})
		for valid.partition == spoilt.partition {
			valid = g.open(stagedSale{stock: 5})
		}
		marker := g.admitter.expected(valid.partition)
		bucket := g.admitter.keys.bucket(spoilt.partition, spoilt.voucher, 0)
		g.set(bucket, 1) // of the wrong type: it cannot be compared
		g.suspect(spoilt.partition)
		if g.admitter.expected(valid.partition) != marker {
			t.Error("the door of another partition closed")
		}
		for range 3 {
			if _, err := g.certify(t.Context()); err == nil {
				t.Error("what cannot be compared was")
			}
			if a, b := g.admitter.expected(spoilt.partition), g.admitter.expected(valid.partition); a != "" || b != marker {
				t.Errorf("the partition that cannot be compared is marked %q, the other %q, was %q", a, b, marker)
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
		t.Errorf("they expect %q and %q", a, b)
	}
	if got := metricValue(t, other, "tandian_sale_incarnations_total", ""); got != 0 {
		t.Errorf("it compared %v partitions itself", got)
	}
	if got := metricValue(t, g, "tandian_sale_incarnations_total", ""); got != manyPartitions {
		t.Errorf("the first compared %v partitions, want %d", got, manyPartitions)
	}
	g.deleteAll()
	g.wantClosed(at, 1)
	g.certified()
	if v, err := other.admitter.admit(t.Context(), other.try(at, 1, other.number(at))); err == nil && v.code != noState {
		t.Errorf("with the old marker: %+v", v)
	}
	other.certified()
	if v := other.admits(at, 1, other.number(at)); v.code != admitted {
		t.Errorf("with the new one: %+v", v)
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
				t.Errorf("the door is open: %v, want %v", open, sells)
			}
			want := map[bool]float64{false: 1}[sells]
			if got := metricValue(t, g, "tandian_sale_evicting", ""); got != want {
				t.Errorf("the metric is %v, want %v", got, want)
			}
			if got := metricValue(t, g, "tandian_sale_door_closed", "0"); got != want {
				t.Errorf("the metric of the door is %v, want %v", got, want)
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

// counted is the value of a metric, of the series with this label value if one is given.
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
	t.Fatalf("there is no metric %s %s", name, label)
	return 0
}

// Connections that were allowed stay good, whoever cannot look any more.
func TestFailedProbeKeepsTheCertificate(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		var away atomic.Bool
		dial := on.Redis.Dial
		on.Redis.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if away.Load() {
				return nil, errors.New("the wire is cut")
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
		_ = g.Redis.(*redis.Client).Close() // its connections
		away.Store(true)
		if _, err := g.certify(t.Context()); err == nil {
			t.Error("nothing was wrong")
		}
		if got := g.admitter.expected(at.partition); got != marker {
			t.Errorf("a look that saw nothing made the marker %q, want %q", got, marker)
		}
		if v := g.admits(at, 1, g.number(at)); v.code != admitted {
			t.Errorf("on connections that were there: %+v", v)
		}
	})
}

// A state Redis that is full keeps what it has and takes nothing more: it answers OOM.
func TestFullRedisLosesNoOrder(t *testing.T) {
	r := newRig(t, storetest.Real(t), rigOptions{})
	const pieces = 30
	v := r.open(t, pieces)
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
		t.Fatalf("it is not full: %v", err)
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
	t.Logf("%d of 10 had an order although Redis was full", len(answers))
	limit("0")
	r.awaitCertificates(t)
	r.awaitEmptyQueues(t)
	for user, answer := range answers {
		testkit.Eventually(t, patience, func() bool {
			n, err := r.DB.Order.Query().Where(order.ID(answer.Order), order.StatusIn(order.StatusUNPAID, order.StatusPAID)).Count(t.Context())
			return err == nil && n == 1
		})
		if got := r.order(t, by(v, user)); got.Result != sale.Held {
			t.Errorf("user %d, who was told of order %d: %+v", user, answer.Order, got)
		}
	}
	if got := r.order(t, by(v, 500)); got.Result != sale.Stored {
		t.Errorf("after: %+v", got)
	}
	r.awaitEmptyQueues(t)
	stop()
	r.checkSale(t, v, pieces)
}
