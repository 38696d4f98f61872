package cache_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/cachetest"
)

// isProcess, in the environment, makes the test program a process of a fleet.
const isProcess = "TANDIAN_CACHE_TEST_PROCESS"

func TestMain(m *testing.M) {
	redis.SetLogger(silent{}) // it logs each dial of a server that is not ready yet
	if os.Getenv(isProcess) != "" {
		if err := cachetest.Serve(context.Background(), os.Stdin, os.Stdout, openPatient); err != nil {
			fmt.Fprintln(os.Stderr, "process of a fleet:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// A pool that could not dial retries each second, and notices only then that it was closed.
	goleak.VerifyTestMain(closeExamples{m}, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// openPatient opens a Redis with timeouts that a busy machine does not reach; other tests
// cover timeouts.
func openPatient(url string) (redis.UniversalClient, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	o.ContextTimeoutEnabled, o.MaxRetries = true, -1
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = patience, patience, patience, patience
	return redis.NewClient(o), nil
}

const patience = 30 * time.Second

// startThree starts three processes with a cache of this policy on their own Redis.
func startThree(t *testing.T, p cache.Policy, localBytes int64) (*cachetest.Fleet, redis.UniversalClient) {
	t.Helper()
	url := testkit.Redis(t)
	p.Name = "row"
	f, err := cachetest.Start(3, cachetest.Setting{
		URL: url, Prefix: "t", Policy: p, LocalBytes: localBytes, RedisTimeout: patience,
	}, fleetProcess)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	rdb, err := openPatient(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rdb.Close() })
	return f, rdb
}

// fleetProcess returns this program as a process of a fleet.
func fleetProcess() *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), isProcess+"=1"), os.Stderr
	return cmd
}

// within returns the context of a test that would hang if it failed.
func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// TestThreeProcessesLoadAHotKeyOncePerExpiry is A4. No reader waits at an expiry: exactly one
// process reloads the value while all return it.
func TestThreeProcessesLoadAHotKeyOncePerExpiry(t *testing.T) {
	const fresh = 200 * time.Millisecond
	tests := []struct {
		name    string
		beta    float64
		load    time.Duration
		slow    time.Duration // a read of this duration waited for a load
		reading time.Duration
		apart   time.Duration // minimum time between loads of different expiries
		atLeast int64         // minimum expiries
	}{
		{name: "after TTL", load: 30 * time.Millisecond, slow: patience, reading: 3 * time.Second, apart: fresh - 2*time.Millisecond, atLeast: 6},
		{name: "shortly before TTL (XFetch)", beta: 1, load: 30 * time.Millisecond, slow: patience, reading: 2 * time.Second, atLeast: 6},
		{name: "without waiting", beta: 1, load: 1500 * time.Millisecond, slow: 1400 * time.Millisecond, reading: 4 * time.Second, atLeast: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // they mostly wait
			f, _ := startThree(t, cache.Policy{
				TTL: fresh, StaleTTL: time.Minute, Jitter: -1, Beta: tt.beta, LoadTimeout: patience, LeaseTTL: patience,
			}, 0)
			truth := f.Truth()
			truth.Version[7].Store(1)
			ctx := within(t, 2*time.Minute)
			if _, err := f.Call(ctx, 0, cachetest.Command{Do: cachetest.Get, Key: 7}); err != nil {
				t.Fatal(err)
			}
			truth.Delay.Store(int64(tt.load))
			truth.MinLoadGap.Store(int64(tt.apart))
			answers, err := f.All(ctx, cachetest.Command{
				Do: cachetest.ReadHot, Key: 7, Readers: 8, For: tt.reading, Pause: time.Millisecond, Slow: tt.slow,
			})
			if err != nil {
				t.Fatal(err)
			}
			expiries := truth.Loads[7].Load() - 1
			var reads, slow, refused int64
			for _, a := range answers {
				reads, slow, refused = reads+a.Reads, slow+a.Slow, refused+a.Stats.StoresRefused
			}
			t.Logf("%d reads, %d expiries", reads, expiries)
			if n := truth.Early.Load(); n > 0 {
				t.Errorf("%d of %d loads were duplicates for one expiry", n, expiries)
			}
			if n := truth.Overlapping.Load(); n > 0 || refused > 0 {
				t.Errorf("of %d loads, %d overlapped another and %d were refused", expiries, n, refused)
			}
			if slow > 0 {
				t.Errorf("%d of %d reads waited for a load", slow, reads)
			}
			if expiries < tt.atLeast || reads < 100*tt.atLeast {
				t.Errorf("%d expiries, %d reads: inconclusive", expiries, reads)
			}
		})
	}
}

// TestKilledLoaderCostsOneMoreLoad is A7: the lease expires, then exactly one other process
// loads.
func TestKilledLoaderCostsOneMoreLoad(t *testing.T) {
	const lease = 2 * time.Second
	f, rdb := startThree(t, cache.Policy{LeaseTTL: lease, LoadTimeout: patience}, 0)
	truth, ctx := f.Truth(), within(t, time.Minute)
	truth.Version[7].Store(1)
	truth.Delay.Store(int64(time.Hour))
	lost := make(chan error, 1)
	go func() {
		_, err := f.Call(ctx, 0, cachetest.Command{Do: cachetest.Get, Key: 7})
		lost <- err
	}()
	testkit.Eventually(t, patience, func() bool { return truth.Loading[0].Load() == 1 })
	truth.Delay.Store(0) // the next load's

	if life := rdb.PTTL(ctx, "t:cache:row:{7}:l").Val(); life <= 0 || life > lease {
		t.Errorf("got lease TTL %v, want at most %v", life, lease)
	}
	if loads := f.Kill(0); loads != 1 {
		t.Fatalf("got %d running loads in the killed process, want 1", loads)
	}
	if err := <-lost; err == nil {
		t.Error("a killed process replied")
	}
	if err := f.Restart(0); err != nil {
		t.Fatal(err)
	}
	answers, err := f.All(ctx, cachetest.Command{Do: cachetest.Get, Key: 7})
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range answers {
		if a.Version != 1 || a.Took > lease+time.Second { // one second for a busy machine; without the expiry it would be 30
			t.Errorf("process %d: got version %d after %v, want version 1 after at most %v", i, a.Version, a.Took, lease)
		}
	}
	if n := truth.Loads[7].Load(); n != 2 {
		t.Errorf("got %d loads, want the lost one and one more", n)
	}
}

// TestNewestPutOfThreeProcessesWins is A25.
func TestNewestPutOfThreeProcessesWins(t *testing.T) {
	const newest = 12
	f, _ := startThree(t, cache.Policy{LoadTimeout: patience}, 0)
	truth, ctx := f.Truth(), within(t, time.Minute)
	draw := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	for key := range cachetest.Keys {
		truth.Version[key].Store(1)
		if _, err := f.Call(ctx, 0, cachetest.Command{Do: cachetest.Get, Key: key}); err != nil {
			t.Fatal(err)
		}
		atOnce := key%2 == 0
		if err := putAll(ctx, f, key, newest, atOnce, draw); err != nil {
			t.Fatal(err)
		}
		answers, err := f.All(ctx, cachetest.Command{Do: cachetest.Get, Key: key})
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range answers {
			if a.Version != newest {
				t.Errorf("key %d, process %d: got version %d, want %d", key, i, a.Version, newest)
			}
		}
		if n := truth.Loads[key].Load(); n != 1 {
			t.Errorf("key %d: got %d loads, want only the first: each Put has a version to compare with", key, n)
		}
	}
}

// putAll puts the versions 2 to newest in random order from random processes.
func putAll(ctx context.Context, f *cachetest.Fleet, key int, newest int64, atOnce bool, draw *rand.Rand) error {
	var puts []<-chan error
	for _, i := range draw.Perm(int(newest - 1)) {
		process, done := draw.IntN(3), make(chan error, 1)
		put := func() {
			_, err := f.Call(ctx, process, cachetest.Command{Do: cachetest.Put, Key: key, Version: int64(i + 2)})
			done <- err
		}
		if atOnce {
			go put()
		} else {
			put()
		}
		puts = append(puts, done)
	}
	for _, done := range puts {
		if err := <-done; err != nil {
			return err
		}
	}
	return nil
}

// TestNoReadIsStaleWhileProcessesAreKilled reads and writes at random in three processes that
// are killed in turn. A read is stale if its version is older than one whose Invalidate or Put
// had returned, in any process, before the read began. Writes of killed processes count too.
func TestNoReadIsStaleWhileProcessesAreKilled(t *testing.T) {
	short := cache.Policy{
		TTL: 50 * time.Millisecond, StaleTTL: 50 * time.Millisecond, Beta: 1, NegativeTTL: 50 * time.Millisecond,
		LeaseTTL: 100 * time.Millisecond, LoadTimeout: patience, // leases of killed processes expire soon
	}
	local := short
	local.Local = cache.Local{Share: 1, Criteria: cache.Hot | cache.RarelyChanged | cache.Small | cache.MayBeStale}
	tests := []struct {
		name   string
		policy cache.Policy
		local  int64
	}{
		{name: "without local caches", policy: short},
		{name: "with SkipLocal", policy: local, local: 1 << 20},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, _ := startThree(t, tt.policy, tt.local)
			truth := f.Truth()
			truth.Spread.Store(int64(5 * time.Millisecond)) // between the database's snapshot and its answer
			seed := testkit.Seed(t)
			const during = 2500 * time.Millisecond
			end := time.Now().Add(during)
			killed, err := f.Race(within(t, 2*time.Minute), cachetest.RaceOptions{
				Seed: seed, Readers: 4,
				Enough: func() bool {
					return time.Now().After(end) && truth.Reads.Load() > 2000 && truth.Writes.Load() > 100
				},
				KillPause: func(draw *rand.Rand) time.Duration {
					return 50*time.Millisecond + time.Duration(draw.Int64N(int64(200*time.Millisecond)))
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			var loads int64
			for key := range truth.Loads {
				loads += truth.Loads[key].Load()
			}
			t.Logf("%d reads, %d writes, %d loads, %d processes killed, %d of them in a load",
				truth.Reads.Load(), truth.Writes.Load(), loads, killed.All, killed.Loading)
			if n := truth.Stale.Load(); n > 0 {
				t.Errorf("%d of %d reads were stale, the last one of key %d by %d versions; seed %d", n, truth.Reads.Load(),
					truth.StaleKey.Load(), truth.StaleBy.Load(), seed)
			}
			if n := truth.Errors.Load(); n > 0 {
				t.Errorf("%d reads and writes failed", n)
			}
			if killed.Loading == 0 || loads < 100 {
				t.Errorf("%d processes killed in a load, %d loads: inconclusive", killed.Loading, loads)
			}
		})
	}
}
