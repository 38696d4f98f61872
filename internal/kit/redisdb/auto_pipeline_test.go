package redisdb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/testkit"
)

// A slowLine dials an embedded Redis. It counts writes, and blocks them while hold is locked.
type slowLine struct {
	dial   func(ctx context.Context, network, addr string) (net.Conn, error)
	writes atomic.Int64
	hold   sync.RWMutex
}

func (l *slowLine) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := l.dial(ctx, network, addr)
	return slowConn{conn, l}, err
}

type slowConn struct {
	net.Conn
	line *slowLine
}

func (c slowConn) Write(p []byte) (int, error) {
	c.line.writes.Add(1)
	c.line.hold.RLock()
	defer c.line.hold.RUnlock()
	return c.Conn.Write(p)
}

func openPipelined(t *testing.T, change func(*RedisConfig)) (redis.UniversalClient, *slowLine) {
	t.Helper()
	line := &slowLine{dial: embedded(t).Dial}
	cfg := RedisConfig{URL: "redis://embedded", Role: "state", Dial: line.Dial, AutoPipeline: true, Timeout: 5 * time.Second}
	if change != nil {
		change(&cfg)
	}
	client, err := OpenRedis(cfg, NewRedisMetrics(prometheus.NewRegistry()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client, line
}

// runTogether runs many callers at once: it holds the line until all of them wait.
func runTogether(t *testing.T, line *slowLine, callers int, call func(i int) error) {
	t.Helper()
	line.hold.Lock()
	errs := make([]error, callers)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() { errs[i] = call(i) })
	}
	time.Sleep(50 * time.Millisecond) // a late caller joins the next pipeline
	line.hold.Unlock()
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}

func TestConcurrentCallersShareAPipeline(t *testing.T) {
	client, line := openPipelined(t, nil)
	const callers = 300
	runTogether(t, line, callers, func(int) error { return client.Incr(t.Context(), "n").Err() })
	if writes := line.writes.Load(); writes > callers/5 {
		t.Errorf("got %[2]d writes of %[1]d concurrent callers", callers, writes)
	}
	runTogether(t, line, callers, func(i int) error {
		key, want := fmt.Sprint("k", i), fmt.Sprint("v", i)
		if i%3 == 0 { // a pipeline, of which one command fails
			pipe := client.Pipeline()
			pipe.Set(t.Context(), key, want, 0)
			wrong := pipe.LPush(t.Context(), key, "no list")
			got := pipe.Get(t.Context(), key)
			_, err := pipe.Exec(t.Context())
			if !redis.HasErrorPrefix(err, "WRONGTYPE") || !redis.HasErrorPrefix(wrong.Err(), "WRONGTYPE") || got.Val() != want {
				return fmt.Errorf("%d: %w, %w, %q", i, err, wrong.Err(), got.Val())
			}
			return nil
		}
		if err := client.Set(t.Context(), key, want, 0).Err(); err != nil {
			return err
		}
		if got, err := client.Get(t.Context(), key).Result(); err != nil || got != want {
			return fmt.Errorf("%d: %q, %w", i, got, err)
		}
		if err := client.Get(t.Context(), "none "+key).Err(); !errors.Is(err, redis.Nil) {
			return fmt.Errorf("%d: %w", i, err)
		}
		return nil
	})
}

// go-redis applies a client's hooks to its connections too.
func TestCommandsOfAConnectionStayOnIt(t *testing.T) {
	var connects atomic.Int64
	client, line := openPipelined(t, func(cfg *RedisConfig) {
		cfg.PoolSize, cfg.PoolTimeout = 20, 5*time.Second
		cfg.OnConnect = func(ctx context.Context, conn *redis.Conn) error {
			connects.Add(1)
			return conn.ClientSetName(ctx, "mine").Err()
		}
	})
	runTogether(t, line, 200, func(i int) error {
		return client.Watch(t.Context(), func(tx *redis.Tx) error { // a separate connection
			_, err := tx.Incr(t.Context(), "n").Result()
			return err
		}, "m")
	})
	runTogether(t, line, 200, func(int) error { return client.Incr(t.Context(), "n").Err() })
	if n, err := client.Get(t.Context(), "n").Int(); err != nil || n != 400 {
		t.Errorf("got n = %d, %v", n, err)
	}
	conn := client.(*redis.Client).Conn() //nolint:forcetypeassert // of one server
	defer func() { _ = conn.Close() }()
	if err := conn.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	line.hold.Lock()
	before := line.writes.Load()
	var others sync.WaitGroup
	for range 20 {
		others.Go(func() { _ = client.Get(t.Context(), "n").Err() })
	}
	testkit.Eventually(t, 4*time.Second, func() bool { return line.writes.Load() == before+maxPipelines })
	others.Go(func() { _ = conn.Get(t.Context(), "n").Err() }) // it does not wait for a pipeline
	testkit.Eventually(t, 4*time.Second, func() bool { return line.writes.Load() == before+maxPipelines+1 })
	line.hold.Unlock()
	others.Wait()
	if connects.Load() == 0 {
		t.Error("got no call of OnConnect")
	}
}

func TestTransactionsAreSentSeparately(t *testing.T) {
	client, line := openPipelined(t, nil)
	runTogether(t, line, 100, func(i int) error {
		if i%2 == 0 {
			return client.Incr(t.Context(), "n").Err()
		}
		var n *redis.IntCmd
		_, err := client.TxPipelined(t.Context(), func(p redis.Pipeliner) error {
			p.Incr(t.Context(), "n")
			n = p.Incr(t.Context(), "n")
			return nil
		})
		if err == nil && n.Val() < 2 {
			err = fmt.Errorf("n is %d", n.Val())
		}
		return err
	})
	if n, err := client.Get(t.Context(), "n").Int(); err != nil || n != 150 {
		t.Errorf("got n = %d, %v", n, err)
	}
}

func TestCommandsBeyondTheQueueAreSentSeparately(t *testing.T) {
	client, line := openPipelined(t, nil)
	const waiting, beyond = 2000, 8 // batch.Config.MaxWaiting
	line.hold.Lock()
	var all sync.WaitGroup
	errs := make([]error, maxPipelines+waiting+beyond)
	for i := range errs {
		all.Go(func() { errs[i] = client.Incr(t.Context(), "n").Err() })
	}
	testkit.Eventually(t, 4*time.Second, func() bool { return line.writes.Load() >= maxPipelines+beyond })
	line.hold.Unlock()
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	if n, err := client.Get(t.Context(), "n").Int(); err != nil || n != len(errs) {
		t.Errorf("got n = %d, %v", n, err)
	}
}

func TestCancelledCommandIsNotSent(t *testing.T) {
	client, _ := openPipelined(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := client.Incr(ctx, "n").Err(); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := client.Get(t.Context(), "n").Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("got %v, want it not sent", err)
	}
}

func TestShortDeadlinesDoNotWaitForPipelines(t *testing.T) {
	client, line := openPipelined(t, nil)
	if err := client.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	line.hold.Lock()
	var others sync.WaitGroup
	for range 20 {
		others.Go(func() { _ = client.Get(t.Context(), "k").Err() })
	}
	time.Sleep(20 * time.Millisecond)
	before := line.writes.Load()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	alone := make(chan error, 1)
	go func() { alone <- client.Get(ctx, "k").Err() }()
	time.Sleep(20 * time.Millisecond)
	if line.writes.Load() == before {
		t.Error("got a wait")
	}
	line.hold.Unlock()
	others.Wait()
	<-alone
}

// One timeout limits commands that were sent, and commands in the queue.
func TestSilentRedisDelaysCallersByOneTimeout(t *testing.T) {
	const timeout = time.Second
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	client, err := OpenRedis(RedisConfig{URL: "redis://" + silent.Addr().String(), Role: "state", AutoPipeline: true, Timeout: timeout}, NewRedisMetrics(prometheus.NewRegistry()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	begin := time.Now()
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if err := client.Get(t.Context(), "k").Err(); err == nil {
				t.Error("got a reply of a silent server")
			}
		})
	}
	all.Wait()
	if took := time.Since(begin); took >= 2*timeout {
		t.Errorf("took %v", took)
	}
}
