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

// A guard is a process that watches a Redis.
type guard struct {
	*Detector
	mu      sync.Mutex
	told    []string // "recover" and "changed"
	found   []Loss
	fail    atomic.Int32  // how often recover will fail
	entered atomic.Int32  // how often it was called
	hold    chan struct{} // each call of recover takes one; nil for none
	stop    func()
}

func watch(t *testing.T, rdb redis.UniversalClient) *guard {
	t.Helper()
	g := &guard{Detector: NewDetector(rdb, DetectorOptions{Interval: 5 * time.Millisecond, Role: "state"})}
	g.run(t)
	return g
}

func (g *guard) run(t *testing.T) {
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

func (g *guard) recover(_ context.Context, l Loss) error {
	g.entered.Add(1)
	if g.hold != nil {
		<-g.hold
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.told, g.found = append(g.told, "recover"), append(g.found, l)
	if g.fail.Add(-1) >= 0 {
		return errors.New("a fault of this test")
	}
	return nil
}

func (g *guard) changed(context.Context) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.told = append(g.told, "changed")
}

func (g *guard) all() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.told)
}

// last is the loss that was recovered last.
func (g *guard) last() Loss {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.found[len(g.found)-1]
}

// await waits until the process was told all this.
func (g *guard) await(t *testing.T, want ...string) {
	t.Helper()
	deadline := time.Now().Add(soon)
	for !slices.Equal(g.all(), want) {
		if time.Now().After(deadline) {
			t.Fatal(cmp.Diff(want, g.all()))
		}
		time.Sleep(time.Millisecond)
	}
}

// settle waits until the mark certifies the server, and this process has seen it.
func (g *guard) settle(t *testing.T, admin *redis.Client) {
	t.Helper()
	g.await(t, "recover")
	testkit.Eventually(t, soon, func() bool {
		is, err := g.Incarnation(t.Context())
		return err == nil && strings.HasPrefix(admin.Get(t.Context(), "td:incarnation").Val(), is+" ")
	})
}

// aged writes back a mark whose time is d ago, so that tests need not wait.
func aged(t *testing.T, admin *redis.Client, d time.Duration) {
	t.Helper()
	parts := strings.Fields(admin.Get(t.Context(), "td:incarnation").Val())
	if len(parts) != 3 {
		t.Fatal(parts)
	}
	parts[2] = fmt.Sprint(time.Now().Add(-d).UnixMilli())
	must(t, admin.Set(t.Context(), "td:incarnation", strings.Join(parts, " "), time.Hour))
}

func TestARedisThatWasNeverSeenIsRecoveredAndCertified(t *testing.T) {
	s := redistest.Start(t)
	g := watch(t, open(t, s.URL()))
	g.settle(t, s.Admin)
	if diff := cmp.Diff(Loss{}, g.last()); diff != "" {
		t.Error(diff)
	}
	if ttl := s.Admin.PTTL(t.Context(), "td:incarnation").Val(); ttl < 29*24*time.Hour || ttl > markLife {
		t.Errorf("the mark lives for %v", ttl)
	}
	later := watch(t, open(t, s.URL())) // a process that starts now has nothing to do
	mark := s.Admin.Get(t.Context(), "td:incarnation").Val()
	testkit.Eventually(t, soon, func() bool { return s.Admin.Get(t.Context(), "td:incarnation").Val() != mark }) // a renewal
	later.await(t)
	g.await(t, "recover")
	if n := testutil.ToFloat64(g.losses.WithLabelValues("false")); n != 1 {
		t.Errorf("%v losses are counted", n)
	}
	keytable.Check(t, open(t, s.URL()), "td")
}

// Whoever finds it first recovers; every process that saw the Redis before is told.
func TestARedisThatIsAnotherThanBeforeIsRecovered(t *testing.T) {
	tests := []struct {
		name  string
		lose  func(t *testing.T, s *redistest.Server) (where *redistest.Server)
		known bool
		least time.Duration
	}{
		{"everything was deleted", func(t *testing.T, s *redistest.Server) *redistest.Server {
			must(t, s.Admin.FlushAll(t.Context()))
			return s
		}, false, 0},
		{"the mark is none of ours", func(t *testing.T, s *redistest.Server) *redistest.Server {
			must(t, s.Admin.Set(t.Context(), "td:incarnation", "garbage", 0))
			return s
		}, false, 0},
		{"restarted empty", func(_ *testing.T, s *redistest.Server) *redistest.Server { s.Crash(); s.Start(); return s }, false, 0},
		{"restarted with what it had", func(t *testing.T, s *redistest.Server) *redistest.Server {
			must(t, s.Admin.Save(t.Context()))
			s.Crash()
			s.Start()
			return s
		}, true, 0},
		{"restarted with an old snapshot", func(t *testing.T, s *redistest.Server) *redistest.Server {
			aged(t, s.Admin, time.Hour)
			must(t, s.Admin.Save(t.Context()))
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
			g := watch(t, open(t, w.URL()))
			g.settle(t, s.Admin)
			other := watch(t, open(t, w.URL()))
			testkit.Eventually(t, soon, func() bool { return other.sees() })
			w.Freeze()
			now := tt.lose(t, s)
			if now != s {
				w.Redirect(now.URL())
			}
			w.Thaw()
			seen := func(g *guard, first int) bool {
				told := g.all()
				return len(told) > first && told[len(told)-1] == "changed"
			}
			testkit.Eventually(t, soon, func() bool { return seen(g, 1) && seen(other, 0) })
			recovered := slices.Concat(g.found[1:], other.found)
			if len(recovered) == 0 {
				t.Fatal("nobody recovered")
			}
			for _, l := range recovered {
				if l.Known != tt.known || l.Age < tt.least || l.Age > tt.least+soon {
					t.Errorf("%+v, want known: %v, at least %v", l, tt.known, tt.least)
				}
			}
			for _, g := range []*guard{g, other} {
				if told := g.all(); strings.Count(strings.Join(told, " "), "changed") != 1 {
					t.Error("told", told)
				}
			}
		})
	}
}

// sees reports whether a watch has looked at least once: it holds a connection.
func (g *guard) sees() bool {
	c, ok := g.rdb.(*redis.Client)
	return ok && c.PoolStats().Hits > 2
}

// A process that starts after the failover finds the mark of the old server.
func TestAProcessThatHasJustStartedKnowsTheAgeOfTheData(t *testing.T) {
	s := redistest.Start(t)
	g := watch(t, open(t, s.URL()))
	g.settle(t, s.Admin)
	g.stop()
	aged(t, s.Admin, time.Hour)
	must(t, s.Admin.Save(t.Context()))
	s.Crash()
	s.Start()
	g = watch(t, open(t, s.URL()))
	g.settle(t, s.Admin)
	if l := g.last(); !l.Known || l.Age < time.Hour || l.Age > time.Hour+soon {
		t.Errorf("%+v", l)
	}
	g.await(t, "recover") // it held nothing that it should forget
}

func TestARecoveryThatFailsIsTriedAgainAndCertifiesNothing(t *testing.T) {
	s := redistest.Start(t)
	g := &guard{Detector: NewDetector(open(t, s.URL()), DetectorOptions{Interval: time.Millisecond}), hold: make(chan struct{})}
	g.fail.Store(2)
	g.run(t)
	for i := range 3 {
		testkit.Eventually(t, soon, func() bool { return g.entered.Load() == int32(i)+1 })
		if n := s.Admin.Exists(t.Context(), "td:incarnation").Val(); n != 0 {
			t.Error("the server was certified before the recovery")
		}
		g.hold <- struct{}{}
	}
	g.await(t, "recover", "recover", "recover")
	testkit.Eventually(t, soon, func() bool { return s.Admin.Exists(t.Context(), "td:incarnation").Val() == 1 })
	if n := testutil.ToFloat64(g.errors.WithLabelValues("recover")); n != 2 {
		t.Errorf("%v errors are counted", n)
	}
	close(g.hold)
}

// Two find it at the same time: both recover, one certifies, and the other is
// content with its mark. From then on either is told of what the other finds.
func TestTwoProcessesMayRecoverAtOnce(t *testing.T) {
	s := redistest.Start(t)
	var guards []*guard
	for range 2 {
		g := &guard{Detector: NewDetector(open(t, s.URL()), DetectorOptions{Interval: time.Millisecond}), hold: make(chan struct{})}
		g.run(t)
		guards = append(guards, g)
	}
	testkit.Eventually(t, soon, func() bool { return guards[0].entered.Load()+guards[1].entered.Load() == 2 })
	for _, g := range guards {
		close(g.hold)
		g.await(t, "recover")
		testkit.Eventually(t, soon, g.sees)
	}
	must(t, s.Admin.FlushAll(t.Context()))
	for _, g := range guards {
		testkit.Eventually(t, soon, func() bool { return slices.Contains(g.all(), "changed") })
	}
}

// A loss while somebody recovers from an earlier one is not certified away.
func TestALossDuringARecoveryIsRecoveredToo(t *testing.T) {
	s := redistest.Start(t)
	first := watch(t, open(t, s.URL()))
	first.settle(t, s.Admin)
	first.stop()
	aged(t, s.Admin, time.Minute)
	must(t, s.Admin.Save(t.Context()))
	s.Crash()
	s.Start()
	g := &guard{Detector: NewDetector(open(t, s.URL()), DetectorOptions{Interval: time.Millisecond}), hold: make(chan struct{})}
	g.run(t)
	testkit.Eventually(t, soon, func() bool { return g.entered.Load() == 1 })
	must(t, s.Admin.Del(t.Context(), "td:incarnation"))
	close(g.hold)
	g.await(t, "recover", "recover")
	if g.found[0].Known == g.last().Known {
		t.Errorf("%+v", g.found)
	}
}

func TestAReplicaIsNotCertified(t *testing.T) {
	s := redistest.Start(t)
	r := s.Replicate()
	g := watch(t, open(t, r.URL()))
	testkit.Eventually(t, soon, func() bool { return testutil.ToFloat64(g.errors.WithLabelValues("look")) >= 3 })
	if _, err := g.Incarnation(t.Context()); !errors.Is(err, errReplica) {
		t.Error(err)
	}
	g.await(t)
	r.Promote()
	g.settle(t, r.Admin)
}

func TestARedisThatDoesNotSayWhoItIsIsNotWatchedAndThatIsSaidOnce(t *testing.T) {
	bare := miniredis.RunT(t)
	clients := map[string]redis.UniversalClient{
		"an embedded one": embedded(t),
		"without INFO":    open(t, "redis://"+bare.Addr()),
		"of another kind": redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}}),
	}
	for name, rdb := range clients {
		t.Run(name, func(t *testing.T) {
			defer func() { _ = rdb.Close() }()
			log := new(testkit.Log)
			g := &guard{Detector: NewDetector(rdb, DetectorOptions{Interval: time.Millisecond, Log: log.Logger()})}
			if _, err := g.Incarnation(t.Context()); !errors.Is(err, ErrNoIncarnation) {
				t.Error(err)
			}
			g.run(t)
			testkit.Eventually(t, soon, func() bool { return log.Count("nobody watches") == 1 })
			g.stop()
			if n := log.Count("\n"); n != 1 {
				t.Error(log.String())
			}
			g.await(t)
		})
	}
}

func TestEachIncarnationHasItsOwnName(t *testing.T) {
	s := redistest.Start(t)
	w := NewDetector(open(t, s.URL()), DetectorOptions{})
	name := func() (is string) {
		testkit.Eventually(t, soon, func() (ok bool) {
			var err error
			is, err = w.Incarnation(t.Context())
			return err == nil
		})
		return is
	}
	first := name()
	if again := name(); again != first {
		t.Errorf("%s, and then %s", first, again)
	}
	r := s.Replicate()
	r.Promote()
	s.Crash()
	s.Start()
	restarted := name()
	w.rdb = open(t, r.URL())
	promoted := name()
	if first == restarted || first == promoted || restarted == promoted {
		t.Error(first, restarted, promoted)
	}
}

func TestAClusterIsWatchedAsAWhole(t *testing.T) {
	rdb := open(t, testkit.RedisCluster(t))
	g := watch(t, rdb)
	g.await(t, "recover")
	testkit.Eventually(t, soon, func() bool { return rdb.Exists(t.Context(), "td:incarnation").Val() == 1 })
	mark := rdb.Get(t.Context(), "td:incarnation").Val()
	testkit.Eventually(t, soon, func() bool { return rdb.Get(t.Context(), "td:incarnation").Val() != mark }) // renewed
	// As another master would have it: this one's data may be any age.
	must(t, rdb.Set(t.Context(), "td:incarnation", "other id "+strings.Fields(mark)[2], time.Hour))
	g.await(t, "recover", "recover", "changed")
	if diff := cmp.Diff([]Loss{{}, {}}, g.found); diff != "" {
		t.Error(diff)
	}
}

func TestTwoRedisAreWatchedUnderOneRegistry(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	rdb := open(t, testkit.Redis(t))
	NewDetector(rdb, DetectorOptions{Role: "state", Registerer: reg})
	NewDetector(rdb, DetectorOptions{Role: "cache", Registerer: reg})
	for name, want := range map[string]int{"tandian_redis_losses_total": 4, "tandian_redis_watch_errors_total": 6} {
		if n, err := testutil.GatherAndCount(reg, name); n != want || err != nil {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
}
