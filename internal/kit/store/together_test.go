package store

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
)

// slowLine is a line to an embedded Redis that counts what is written to it, and passes on
// nothing while it is held.
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

func openTogether(t *testing.T, change func(*RedisConfig)) (redis.UniversalClient, *slowLine) {
	t.Helper()
	line := &slowLine{dial: embedded(t).Dial}
	cfg := RedisConfig{URL: "redis://embedded", Role: "state", Dial: line.Dial, Together: true, Timeout: 5 * time.Second}
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

// crowd has many callers ask at one moment: the line is held until all of them are there.
func crowd(t *testing.T, line *slowLine, callers int, ask func(i int) error) {
	t.Helper()
	line.hold.Lock()
	errs := make([]error, callers)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() { errs[i] = ask(i) })
	}
	time.Sleep(50 * time.Millisecond) // whoever is late goes with the next
	line.hold.Unlock()
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}

func TestWhoAsksAtOneMomentGoesTogetherAndGetsHisOwnAnswer(t *testing.T) {
	client, line := openTogether(t, nil)
	const callers = 300
	crowd(t, line, callers, func(int) error { return client.Incr(t.Context(), "n").Err() })
	if writes := line.writes.Load(); writes > callers/5 {
		t.Errorf("%d callers at one moment wrote %d times", callers, writes)
	}
	crowd(t, line, callers, func(i int) error {
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

// go-redis gives a client's hooks to its connections too.
func TestWhatIsSaidOnAConnectionStaysThere(t *testing.T) {
	var told atomic.Int64
	client, line := openTogether(t, func(cfg *RedisConfig) {
		cfg.PoolSize = 50
		cfg.OnConnect = func(ctx context.Context, conn *redis.Conn) error {
			told.Add(1)
			return conn.ClientSetName(ctx, "mine").Err()
		}
	})
	crowd(t, line, 200, func(i int) error {
		return client.Watch(t.Context(), func(tx *redis.Tx) error { // a connection of its own
			_, err := tx.Incr(t.Context(), "n").Result()
			return err
		}, "m")
	})
	crowd(t, line, 200, func(int) error { return client.Incr(t.Context(), "n").Err() })
	if n, err := client.Get(t.Context(), "n").Int(); err != nil || n != 400 {
		t.Errorf("n is %d, %v", n, err)
	}
	if told.Load() == 0 {
		t.Error("no connection was asked about")
	}
}

func TestATransactionGoesAlone(t *testing.T) {
	client, line := openTogether(t, nil)
	crowd(t, line, 100, func(i int) error {
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
		t.Errorf("n is %d, %v", n, err)
	}
}

func TestWhoHasLittleTimeDoesNotWaitForOthers(t *testing.T) {
	client, line := openTogether(t, nil)
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
		t.Error("it waits")
	}
	line.hold.Unlock()
	others.Wait()
	<-alone
}

// Nobody waits longer than the client's timeout, whether his commands were sent or waited.
func TestNobodyWaitsForASilentRedisLongerThanTheTimeout(t *testing.T) {
	const timeout = 200 * time.Millisecond
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	client, err := OpenRedis(RedisConfig{URL: "redis://" + silent.Addr().String(), Role: "state", Together: true, Timeout: timeout}, NewRedisMetrics(prometheus.NewRegistry()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	begin := time.Now()
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if err := client.Get(t.Context(), "k").Err(); err == nil {
				t.Error("an answer of nobody")
			}
		})
	}
	all.Wait()
	if took := time.Since(begin); took > 10*timeout {
		t.Errorf("it took %v", took)
	}
}
