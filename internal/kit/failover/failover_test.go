package failover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/keytable"
	"github.com/tandian-dev/tandian/internal/testkit/redistest"
)

// A process runs a Detector.
type process struct {
	*Detector
	mu      sync.Mutex
	calls   []string // "recover" and "changed"
	found   []Loss
	fail    atomic.Int32  // number of recoveries that will fail
	entered atomic.Int32  // number of started recoveries
	hold    chan struct{} // each recovery receives one; nil: no wait
	stop    func()
}

func watch(t *testing.T, rdb redis.UniversalClient) *process {
	t.Helper()
	g := &process{Detector: NewDetector(rdb, DetectorOptions{Interval: 5 * time.Millisecond, Role: "state"})}
	g.run(t)
	return g
}

func (g *process) run(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx, g.recover, g.changed) }()
	g.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(g.stop)
}

func (g *process) recover(_ context.Context, l Loss) error {
	g.entered.Add(1)
	if g.hold != nil {
		<-g.hold
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls, g.found = append(g.calls, "recover"), append(g.found, l)
	if g.fail.Add(-1) >= 0 {
		return errors.New("a fault of this test")
	}
	return nil
}

func (g *process) changed(context.Context) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls = append(g.calls, "changed")
}

func (g *process) all() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.calls)
}

// last returns the latest recovered loss.
func (g *process) last() Loss {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.found[len(g.found)-1]
}

// await waits until exactly these calls were made.
func (g *process) await(t *testing.T, want ...string) {
	t.Helper()
	deadline := time.Now().Add(soon)
	for !slices.Equal(g.all(), want) {
		if time.Now().After(deadline) {
			t.Fatal(cmp.Diff(want, g.all()))
		}
		time.Sleep(time.Millisecond)
	}
}

// awaitCertified waits until the mark certifies the server, and this process has
// recovered.
func (g *process) awaitCertified(t *testing.T, admin *redis.Client) {
	t.Helper()
	g.await(t, "recover")
	testkit.Eventually(t, soon, func() bool {
		id, err := g.Incarnation(t.Context())
		return err == nil && strings.HasPrefix(admin.Get(t.Context(), "td:incarnation").Val(), id+" ")
	})
}

// aged writes a mark with a time d ago, so that tests need not wait.
func aged(t *testing.T, admin *redis.Client, d time.Duration) {
	t.Helper()
	parts := strings.Fields(admin.Get(t.Context(), "td:incarnation").Val())
	if len(parts) != 3 {
		t.Fatal(parts)
	}
	parts[2] = fmt.Sprint(time.Now().Add(-d).UnixMilli())
	redistest.Must(t, admin.Set(t.Context(), "td:incarnation", strings.Join(parts, " "), time.Hour))
}

func TestNewRedisIsRecoveredAndCertified(t *testing.T) {
	s := redistest.Start(t)
	g := watch(t, redistest.Open(t, s.URL()))
	g.awaitCertified(t, s.Admin)
	if diff := cmp.Diff(Loss{}, g.last()); diff != "" {
		t.Error(diff)
	}
	if ttl := s.Admin.PTTL(t.Context(), "td:incarnation").Val(); ttl < 29*24*time.Hour || ttl > markLife {
		t.Errorf("got TTL %v", ttl)
	}
	later := watch(t, redistest.Open(t, s.URL())) // a new process has nothing to do
	mark := s.Admin.Get(t.Context(), "td:incarnation").Val()
	testkit.Eventually(t, soon, func() bool { return s.Admin.Get(t.Context(), "td:incarnation").Val() != mark }) // renewed
	later.await(t)
	g.await(t, "recover")
	if n := testutil.ToFloat64(g.losses.WithLabelValues("false")); n != 1 {
		t.Errorf("got %v losses", n)
	}
	keytable.Check(t, redistest.Open(t, s.URL()), "td")
}

// Any process may recover; changed is called in every process that saw the Redis before.
func TestChangedRedisIsRecovered(t *testing.T) {
	tests := []struct {
		name  string
		lose  func(t *testing.T, s *redistest.Server) (where *redistest.Server)
		known bool
		least time.Duration
	}{
		{"everything was deleted", func(t *testing.T, s *redistest.Server) *redistest.Server {
			redistest.Must(t, s.Admin.FlushAll(t.Context()))
			return s
		}, false, 0},
		{"the mark is invalid", func(t *testing.T, s *redistest.Server) *redistest.Server {
			redistest.Must(t, s.Admin.Set(t.Context(), "td:incarnation", "garbage", 0))
			return s
		}, false, 0},
		{"restarted empty", func(_ *testing.T, s *redistest.Server) *redistest.Server { s.Crash(); s.Start(); return s }, false, 0},
		{"restarted with all data", func(t *testing.T, s *redistest.Server) *redistest.Server {
			redistest.Must(t, s.Admin.Save(t.Context()))
			s.Crash()
			s.Start()
			return s
		}, true, 0},
		{"restarted with an old snapshot", func(t *testing.T, s *redistest.Server) *redistest.Server {
			aged(t, s.Admin, time.Hour)
			redistest.Must(t, s.Admin.Save(t.Context()))
			s.Crash()
			s.Start()
			return s
		}, true, time.Hour},
		{"failed over to a replica that was behind", func(t *testing.T, s *redistest.Server) *redistest.Server {
			aged(t, s.Admin, time.Minute)
			r := s.Replicate()
			r.Promote()
			return r
		}, true, time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := redistest.Start(t)
			w := redistest.NewProxy(t, s.URL())
			g := watch(t, redistest.Open(t, w.URL()))
			g.awaitCertified(t, s.Admin)
			other := watch(t, redistest.Open(t, w.URL()))
			testkit.Eventually(t, soon, func() bool { return other.hasChecked() })
			w.Freeze()
			now := tt.lose(t, s)
			if now != s {
				w.Redirect(now.URL())
			}
			w.Thaw()
			seen := func(g *process, first int) bool {
				calls := g.all()
				return len(calls) > first && calls[len(calls)-1] == "changed"
			}
			testkit.Eventually(t, soon, func() bool { return seen(g, 1) && seen(other, 0) })
			recovered := slices.Concat(g.found[1:], other.found)
			if len(recovered) == 0 {
				t.Fatal("got no recovery")
			}
			for _, l := range recovered {
				if l.Known != tt.known || l.Age < tt.least || l.Age > tt.least+soon {
					t.Errorf("got %+v, want known: %v, at least %v", l, tt.known, tt.least)
				}
			}
			for _, g := range []*process{g, other} {
				if calls := g.all(); strings.Count(strings.Join(calls, " "), "changed") != 1 {
					t.Error("got", calls)
				}
			}
		})
	}
}

// hasChecked reports whether the process has made a check: it holds a connection.
func (g *process) hasChecked() bool {
	c, ok := g.rdb.(*redis.Client)
	return ok && c.PoolStats().Hits > 2
}

// A process that starts after the failover finds the mark of the old server.
func TestNewProcessKnowsAgeOfData(t *testing.T) {
	s := redistest.Start(t)
	g := watch(t, redistest.Open(t, s.URL()))
	g.awaitCertified(t, s.Admin)
	g.stop()
	aged(t, s.Admin, time.Hour)
	redistest.Must(t, s.Admin.Save(t.Context()))
	s.Crash()
	s.Start()
	g = watch(t, redistest.Open(t, s.URL()))
	g.awaitCertified(t, s.Admin)
	if l := g.last(); !l.Known || l.Age < time.Hour || l.Age > time.Hour+soon {
		t.Errorf("%+v", l)
	}
	g.await(t, "recover") // it has no cached data
}

func TestFailedRecoveryIsRetriedAndNotCertified(t *testing.T) {
	s := redistest.Start(t)
	g := &process{Detector: NewDetector(redistest.Open(t, s.URL()), DetectorOptions{Interval: time.Millisecond}), hold: make(chan struct{})}
	g.fail.Store(2)
	g.run(t)
	for i := range 3 {
		testkit.Eventually(t, soon, func() bool { return g.entered.Load() == int32(i)+1 })
		if n := s.Admin.Exists(t.Context(), "td:incarnation").Val(); n != 0 {
			t.Error("got a certified server before the recovery")
		}
		g.hold <- struct{}{}
	}
	g.await(t, "recover", "recover", "recover")
	testkit.Eventually(t, soon, func() bool { return s.Admin.Exists(t.Context(), "td:incarnation").Val() == 1 })
	if n := testutil.ToFloat64(g.errors.WithLabelValues("recover")); n != 2 {
		t.Errorf("got %v errors", n)
	}
	close(g.hold)
}

// Both recover, one certifies, and the other uses its mark. After that, changed is called
// in both for later losses.
func TestTwoProcessesMayRecoverAtOnce(t *testing.T) {
	s := redistest.Start(t)
	var guards []*process
	for range 2 {
		g := &process{Detector: NewDetector(redistest.Open(t, s.URL()), DetectorOptions{Interval: time.Millisecond}), hold: make(chan struct{})}
		g.run(t)
		guards = append(guards, g)
	}
	testkit.Eventually(t, soon, func() bool { return guards[0].entered.Load()+guards[1].entered.Load() == 2 })
	for _, g := range guards {
		close(g.hold)
		g.await(t, "recover")
		testkit.Eventually(t, soon, g.hasChecked)
	}
	redistest.Must(t, s.Admin.FlushAll(t.Context()))
	for _, g := range guards {
		testkit.Eventually(t, soon, func() bool { return slices.Contains(g.all(), "changed") })
	}
}

// A loss during the recovery from an earlier one must not be certified.
func TestLossDuringRecoveryIsRecovered(t *testing.T) {
	s := redistest.Start(t)
	first := watch(t, redistest.Open(t, s.URL()))
	first.awaitCertified(t, s.Admin)
	first.stop()
	aged(t, s.Admin, time.Minute)
	redistest.Must(t, s.Admin.Save(t.Context()))
	s.Crash()
	s.Start()
	g := &process{Detector: NewDetector(redistest.Open(t, s.URL()), DetectorOptions{Interval: time.Millisecond}), hold: make(chan struct{})}
	g.run(t)
	testkit.Eventually(t, soon, func() bool { return g.entered.Load() == 1 })
	redistest.Must(t, s.Admin.Del(t.Context(), "td:incarnation"))
	close(g.hold)
	g.await(t, "recover", "recover")
	if g.found[0].Known == g.last().Known {
		t.Errorf("%+v", g.found)
	}
}

func TestReplicaIsNotCertified(t *testing.T) {
	s := redistest.Start(t)
	r := s.Replicate()
	g := watch(t, redistest.Open(t, r.URL()))
	testkit.Eventually(t, soon, func() bool { return testutil.ToFloat64(g.errors.WithLabelValues("look")) >= 3 })
	if _, err := g.Incarnation(t.Context()); !errors.Is(err, errReplica) {
		t.Error(err)
	}
	g.await(t)
	r.Promote()
	g.awaitCertified(t, r.Admin)
}

func TestRedisWithoutIncarnationIsLoggedOnce(t *testing.T) {
	bare := miniredis.RunT(t)
	clients := map[string]redis.UniversalClient{
		"an embedded one": redistest.OpenEmbedded(t),
		"without INFO":    redistest.Open(t, "redis://"+bare.Addr()),
		"of another kind": redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}}),
	}
	for name, rdb := range clients {
		t.Run(name, func(t *testing.T) {
			defer func() { _ = rdb.Close() }()
			log := new(testkit.Log)
			g := &process{Detector: NewDetector(rdb, DetectorOptions{Interval: time.Millisecond, Log: log.Logger()})}
			if _, err := g.Incarnation(t.Context()); !errors.Is(err, ErrNoIncarnation) {
				t.Error(err)
			}
			g.run(t)
			testkit.Eventually(t, soon, func() bool { return log.Count("Redis failover detection is unavailable") == 1 })
			g.stop()
			if n := log.Count("\n"); n != 1 {
				t.Error(log.String())
			}
			g.await(t)
		})
	}
}

func TestIncarnationsDiffer(t *testing.T) {
	s := redistest.Start(t)
	w := NewDetector(redistest.Open(t, s.URL()), DetectorOptions{})
	name := func() (id string) {
		testkit.Eventually(t, soon, func() (ok bool) {
			var err error
			id, err = w.Incarnation(t.Context())
			return err == nil
		})
		return id
	}
	first := name()
	if again := name(); again != first {
		t.Errorf("got %s, and then %s", first, again)
	}
	r := s.Replicate()
	r.Promote()
	s.Crash()
	s.Start()
	restarted := name()
	w.rdb = redistest.Open(t, r.URL())
	promoted := name()
	if first == restarted || first == promoted || restarted == promoted {
		t.Error(first, restarted, promoted)
	}
}

func TestClusterIsCheckedAsAWhole(t *testing.T) {
	rdb := redistest.Open(t, testkit.RedisCluster(t))
	g := watch(t, rdb)
	g.await(t, "recover")
	testkit.Eventually(t, soon, func() bool { return rdb.Exists(t.Context(), "td:incarnation").Val() == 1 })
	mark := rdb.Get(t.Context(), "td:incarnation").Val()
	testkit.Eventually(t, soon, func() bool { return rdb.Get(t.Context(), "td:incarnation").Val() != mark }) // renewed
	// Like the mark of another master: the age of the data is unknown.
	redistest.Must(t, rdb.Set(t.Context(), "td:incarnation", "other id "+strings.Fields(mark)[2], time.Hour))
	g.await(t, "recover", "recover", "changed")
	if diff := cmp.Diff([]Loss{{}, {}}, g.found); diff != "" {
		t.Error(diff)
	}
}

func TestTwoDetectorsShareARegistry(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	rdb := redistest.Open(t, testkit.Redis(t))
	NewDetector(rdb, DetectorOptions{Role: "state", Registerer: reg})
	NewDetector(rdb, DetectorOptions{Role: "cache", Registerer: reg})
	for name, want := range map[string]int{"tandian_redis_losses_total": 4, "tandian_redis_watch_errors_total": 6} {
		if n, err := testutil.GatherAndCount(reg, name); n != want || err != nil {
			t.Errorf("%s: got %d, %v", name, n, err)
		}
	}
}
