package redisdb

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/testkit"
)

// gated returns a client with a running gate. repair is called when Redis takes writes again.
func gated(t *testing.T, url string, repair func(context.Context) error) (*WriteGate, redis.UniversalClient) {
	t.Helper()
	m := NewRedisMetrics(prometheus.NewRegistry())
	g := NewWriteGate("state", "td", m, slog.New(slog.DiscardHandler))
	open := func(role string, g *WriteGate) redis.UniversalClient {
		rdb, err := OpenRedis(RedisConfig{URL: url, Role: role, Gate: g, Timeout: 5 * time.Second}, m)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = rdb.Close() })
		return rdb
	}
	probes, rdb := open("state-watch", nil), open("state", g)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() {
		done <- g.Run(ctx, probes, func() {}, func(ctx context.Context, _ time.Time) error { return repair(ctx) })
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return g, rdb
}

func TestGateClosesWhenRedisRefusesWrites(t *testing.T) {
	noPermission := testkit.Refusal{
		Name: "NOPERM",
		Begin: func(ctx context.Context, admin *redis.Client) error {
			return admin.Do(ctx, "ACL", "SETUSER", "default", "-@write").Err()
		},
		End: func(ctx context.Context, admin *redis.Client) error {
			return admin.Do(ctx, "ACL", "SETUSER", "default", "+@write").Err()
		},
	}
	for _, state := range append(testkit.Refusals(), noPermission) {
		t.Run(state.Name, func(t *testing.T) {
			t.Parallel()
			url := testkit.RefusingRedis(t)
			var recoveries atomic.Int32
			g, rdb := gated(t, url, func(context.Context) error { recoveries.Add(1); return nil })
			admin := testkit.AdminClient(t, rdb).(*redis.Client)
			if err := rdb.Set(t.Context(), "td:x", "1", 0).Err(); err != nil {
				t.Fatal(err)
			}
			if err := state.Begin(t.Context(), admin); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			if state.Name == "OOM" { // deletions are possible
				err := rdb.Set(t.Context(), "td:y", "1", 0).Err()
				if !redis.HasErrorPrefix(err, "OOM") || rdb.Get(t.Context(), "td:x").Err() != nil || rdb.Del(t.Context(), "td:x").Err() != nil {
					t.Errorf("full Redis: got %v", err)
				}
				return
			}
			// The client does not write.
			testkit.Eventually(t, 10*time.Second, func() bool { return !g.Open() })
			t.Logf("closed after %v", time.Since(began))
			if err := rdb.Get(t.Context(), "td:x").Err(); !errors.Is(err, ErrBreakerOpen) || !NotSent(err) || !Unavailable(err) {
				t.Errorf("read through a closed gate: %v", err)
			}
			if _, err := rdb.Pipelined(t.Context(), func(p redis.Pipeliner) error { p.Get(t.Context(), "td:x"); return nil }); !errors.Is(err, ErrBreakerOpen) {
				t.Errorf("pipeline through a closed gate: %v", err)
			}
			if err := rdb.Get(IgnoreGate(t.Context()), "td:x").Err(); err != nil {
				t.Errorf("read that ignores the gate: %v", err)
			}
			if recoveries.Load() > 0 && state.Name != "NOPERM" {
				t.Error("recovered while Redis refuses writes")
			}
			if err := state.End(t.Context(), admin); err != nil {
				t.Fatal(err)
			}
			testkit.Eventually(t, 10*time.Second, g.Open)
			if recoveries.Load() == 0 {
				t.Error("opened without recovery")
			}
			if err := rdb.Get(t.Context(), "td:x").Err(); err != nil {
				t.Error(err)
			}
		})
	}
}

// One master of a cluster is enough: its keys cannot be invalidated.
func TestGateClosesWhenOneClusterMasterRefusesWrites(t *testing.T) {
	var recoveries atomic.Int32
	g, rdb := gated(t, testkit.RedisCluster(t), func(context.Context) error { recoveries.Add(1); return nil })
	cluster, ok := testkit.AdminClient(t, rdb).(*redis.ClusterClient)
	if !ok {
		t.Fatal("no cluster")
	}
	master, err := cluster.MasterForKey(t.Context(), "td:x")
	if err != nil {
		t.Fatal(err)
	}
	other := "" // a key of another master
	for i := 0; other == ""; i++ {
		key := "td:" + strconv.Itoa(i)
		if of, err := cluster.MasterForKey(t.Context(), key); err != nil {
			t.Fatal(err)
		} else if of.Options().Addr != master.Options().Addr {
			other = key
		}
	}
	refuse := func(replicas string) {
		t.Helper()
		if err := master.ConfigSet(t.Context(), "min-replicas-to-write", replicas).Err(); err != nil {
			t.Fatal(err)
		}
	}
	refuse("1")
	testkit.Eventually(t, 10*time.Second, func() bool { return !g.Open() })
	for range 20 { // the probes of the other masters succeed
		if err := rdb.Get(t.Context(), other).Err(); !errors.Is(err, ErrBreakerOpen) {
			t.Fatalf("read of another master through a closed gate: %v", err)
		}
		time.Sleep(gateEvery / 5)
	}
	if recoveries.Load() > 0 {
		t.Error("recovered while a master refuses writes")
	}
	refuse("0")
	testkit.Eventually(t, 10*time.Second, g.Open)
	if recoveries.Load() == 0 {
		t.Error("opened without recovery")
	}
}

// A refusal that a client receives closes the gate before the next probe.
func TestRefusedWriteClosesTheGateAtOnce(t *testing.T) {
	url := testkit.RefusingRedis(t)
	for name, write := range map[string]func(context.Context, redis.UniversalClient) error{
		"command": func(ctx context.Context, rdb redis.UniversalClient) error { return rdb.Set(ctx, "td:x", "1", 0).Err() },
		"pipeline": func(ctx context.Context, rdb redis.UniversalClient) error {
			_, err := rdb.Pipelined(ctx, func(p redis.Pipeliner) error { p.Get(ctx, "td:y"); p.Set(ctx, "td:x", "1", 0); return nil })
			return err
		},
		"script": func(ctx context.Context, rdb redis.UniversalClient) error {
			return redis.NewScript("return redis.call('SET', KEYS[1], '1')").Eval(ctx, rdb, []string{"td:x"}).Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := NewRedisMetrics(prometheus.NewRegistry())
			g := NewWriteGate("state", "td", m, slog.New(slog.DiscardHandler)) // it does not run
			rdb, err := OpenRedis(RedisConfig{URL: url, Role: "state", Gate: g, Timeout: 5 * time.Second}, m)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = rdb.Close() }()
			admin := testkit.AdminClient(t, rdb).(*redis.Client)
			readonly := testkit.Refusals()[0]
			if err := readonly.Begin(t.Context(), admin); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = readonly.End(context.WithoutCancel(t.Context()), admin) }()
			if err := write(t.Context(), rdb); err == nil {
				t.Fatal("got a successful write")
			}
			if g.Open() {
				t.Error("got an open gate")
			}
		})
	}
}

// A Redis that takes writes again is not used before the caller has recovered.
func TestGateStaysClosedUntilRecovery(t *testing.T) {
	url := testkit.RefusingRedis(t)
	var allowed atomic.Bool
	var repairs atomic.Int32
	g, rdb := gated(t, url, func(ctx context.Context) error {
		repairs.Add(1)
		if !allowed.Load() {
			return errors.New("not yet")
		}
		return nil
	})
	admin := testkit.AdminClient(t, rdb).(*redis.Client)
	readonly := testkit.Refusals()[0]
	if err := readonly.Begin(t.Context(), admin); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 10*time.Second, func() bool { return !g.Open() })
	if err := readonly.End(t.Context(), admin); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 10*time.Second, func() bool { return repairs.Load() >= 3 })
	if g.Open() {
		t.Error("opened before the recovery succeeded")
	}
	allowed.Store(true)
	testkit.Eventually(t, 10*time.Second, g.Open)
}

// A loading Redis refuses reads too. Package failover detects lost data after a restart.
func TestLoadingIsNoRefusal(t *testing.T) {
	url := testkit.Redis(t, "--enable-debug-command", "yes", "--key-load-delay", "1000", "--loading-process-events-interval-bytes", "1024")
	g, rdb := gated(t, url, func(context.Context) error { return nil })
	admin := testkit.AdminClient(t, rdb).(*redis.Client)
	for i := range 3000 {
		if err := admin.Set(t.Context(), "td:"+strconv.Itoa(i), "1", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	loaded := make(chan error, 1)
	go func() { loaded <- admin.Do(t.Context(), "DEBUG", "RELOAD").Err() }()
	testkit.Eventually(t, 10*time.Second, func() bool {
		return redis.HasErrorPrefix(rdb.Get(IgnoreGate(t.Context()), "td:0").Err(), "LOADING")
	})
	testkit.Eventually(t, 10*time.Second, func() bool { return !g.Open() })
	if g.Refused() {
		t.Error("LOADING counts as a refusal")
	}
	<-loaded // the client may time out
	testkit.Eventually(t, 10*time.Second, g.Open)
}

// The gate closes a second after the last write. It opens at the next write, before the repair is
// done.
func TestGateClosesASecondAfterTheLastWrite(t *testing.T) {
	url := testkit.RefusingRedis(t)
	hold, repairs := make(chan struct{}), make(chan struct{}, 100)
	g, rdb := gated(t, url, func(ctx context.Context) error {
		repairs <- struct{}{}
		select {
		case <-hold:
		case <-ctx.Done():
		}
		return nil
	})
	admin := testkit.AdminClient(t, rdb).(*redis.Client)
	testkit.Eventually(t, 10*time.Second, func() bool { return g.until.Load() != int64(1<<63-1) })
	if err := admin.Do(t.Context(), "CLIENT", "PAUSE", "60000", "WRITE").Err(); err != nil { // reads are answered
		t.Fatal(err)
	}
	began := time.Now()
	testkit.Eventually(t, 10*time.Second, func() bool { return !g.Open() })
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("closed after %v", took)
	}
	if err := admin.Do(t.Context(), "CLIENT", "UNPAUSE").Err(); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 10*time.Second, func() bool { return len(repairs) > 0 && g.Open() })
	close(hold)
}

func TestNilGateIsOpen(t *testing.T) {
	var g *WriteGate
	if !g.Open() {
		t.Error("closed")
	}
}
