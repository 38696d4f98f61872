package redisdb

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/embedredis"
	"github.com/tandian-dev/tandian/internal/testkit"
)

// A line is a connection to an embedded Redis that can fail.
type line struct {
	server *embedredis.Server

	mu    sync.Mutex
	state lineState
	conns []net.Conn
	dials int
	gets  int // GETs sent without a reader
}

type lineState string

const (
	up       lineState = "up"
	silent   lineState = "silent"   // sent data is lost, on new connections too
	lost     lineState = "lost"     // sent data is lost, and dialing hangs
	refusing lineState = "refusing" // connections are closed, and new ones refused
)

func (l *line) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	l.mu.Lock()
	l.dials++
	state := l.state
	l.mu.Unlock()
	switch state {
	case refusing:
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	case lost:
		<-ctx.Done()
		return nil, ctx.Err()
	case up, silent:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	conn, err := l.server.Dial(ctx, network, addr)
	l.conns = append(l.conns, conn)
	return lineConn{conn, l}, err
}

// turn changes the state. It returns the numbers of dials and of lost GETs so far.
func (l *line) turn(to lineState) (dials, gets int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = to
	if to == refusing {
		for _, c := range l.conns {
			_ = c.Close()
		}
	}
	return l.dials, l.gets
}

type lineConn struct {
	net.Conn
	line *line
}

func (c lineConn) Write(p []byte) (int, error) {
	c.line.mu.Lock()
	drop := c.line.state == silent || c.line.state == lost
	if drop {
		c.line.gets += bytes.Count(p, []byte("\r\nget\r\n"))
	}
	c.line.mu.Unlock()
	if drop {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// A logBuffer collects log lines.
type logBuffer struct{ testkit.Log }

func (b *logBuffer) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "after" {
			return slog.Attr{}
		}
		return a
	}}))
}

// get reads k once per pause, each time in a goroutine, until stop is called. stop waits for them.
func get(ctx context.Context, client redis.UniversalClient, pause time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() {
		tick := time.NewTicker(pause)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				all.Go(func() { _ = client.Get(context.WithoutCancel(ctx), "k").Err() })
			case <-ctx.Done():
				return
			}
		}
	})
	return func() { cancel(); all.Wait() }
}

// The clock of synctest makes these times exact, however busy the machine is.
func TestBreakerOpensAndCloses(t *testing.T) {
	const open, closed = 1, 0
	tests := []struct {
		name  string
		fails lineState
		pause time.Duration // between two callers; 0: sequential
		within,
		returns time.Duration // maximum time until it opens, and until it closes
	}{
		{"silent under 200 requests a second", silent, 5 * time.Millisecond, readTimeout + 3*5*time.Millisecond + readTimeout, probePause + readTimeout},
		{"silent under one caller", silent, 0, 3*readTimeout + readTimeout + 4*time.Millisecond, probePause + readTimeout},
		{"lost under 200 requests a second", lost, 5 * time.Millisecond, dialTimeout + 3*5*time.Millisecond + dialTimeout, probePause + dialTimeout},
		{"refusing under 200 requests a second", refusing, 5 * time.Millisecond, 4 * 5 * time.Millisecond, probePause},
		{"refusing under one caller", refusing, 0, 3 * time.Millisecond, probePause},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, reg, logs := &line{server: embedded(t)}, prometheus.NewRegistry(), &logBuffer{}
				client := openRedis(t, reg, RedisConfig{
					URL: "redis://host", Role: "state", Dial: l.dial, Log: logs.logger(), PoolSize: 200, // see closeAndWait
				})
				defer closeAndWait(t, client)
				state := func() float64 {
					return testkit.MetricSum(t, reg, "tandian_redis_breaker_open", map[string]string{"role": "state"})
				}
				if err := client.Set(t.Context(), "k", "v", 0).Err(); err != nil {
					t.Fatal(err)
				}
				l.turn(tt.fails)
				begin, stop := time.Now(), func() {}
				if tt.pause > 0 {
					stop = get(t.Context(), client, tt.pause)
					defer stop()
				}
				for state() != open && time.Since(begin) < 2*time.Second {
					if tt.pause == 0 && client.Get(t.Context(), "k").Err() == nil {
						t.Fatal("got a reply to a lost command")
					}
					time.Sleep(time.Millisecond)
					synctest.Wait()
				}
				if took := time.Since(begin); state() != open || took > tt.within || took > time.Second {
					t.Errorf("got open %v after %v, want 1 within %v", state(), took, tt.within)
				}
				stop()

				_, sent := l.turn(tt.fails)
				begin = time.Now()
				for range 1000 {
					if err := client.Get(t.Context(), "k").Err(); !errors.Is(err, ErrBreakerOpen) {
						t.Fatalf("got %v, want %v", err, ErrBreakerOpen)
					}
				}
				if took := time.Since(begin); took != 0 {
					t.Errorf("1000 commands while open took %v", took)
				}
				probed, _ := l.turn(tt.fails)
				for range 1000 { // for 10 seconds
					if err := client.Get(t.Context(), "k").Err(); !errors.Is(err, ErrBreakerOpen) {
						t.Fatalf("got %v, want %v", err, ErrBreakerOpen)
					}
					time.Sleep(10 * time.Millisecond)
				}
				dials, after := l.turn(tt.fails)
				if n, maxProbes := dials-probed, int(10*time.Second/probePause)+1; n < maxProbes/3 || n > maxProbes {
					t.Errorf("got %d probes in ten seconds, want at most %d", n, maxProbes)
				}
				if after != sent {
					t.Errorf("got %d live commands while open", after-sent)
				}

				l.turn(up)
				begin = time.Now()
				for state() != closed && time.Since(begin) < 2*time.Second {
					time.Sleep(time.Millisecond)
					synctest.Wait()
				}
				if took := time.Since(begin); state() != closed || took > tt.returns+2*time.Millisecond {
					t.Errorf("got open %v after %v, want 0 within %v", state(), took, tt.returns)
				}
				if err := client.Get(t.Context(), "k").Err(); err != nil {
					t.Errorf("after closing: %v", err)
				}
				text := map[lineState]string{silent: "i/o timeout", refusing: "dial tcp: connection refused", lost: "context deadline exceeded"}[tt.fails]
				want := `level=WARN msg="Redis circuit breaker opened" role=state node=host:6379 err="` + text + `"` + "\n" +
					`level=INFO msg="Redis circuit breaker closed" role=state node=host:6379` + "\n"
				if d := cmp.Diff(want, logs.String()); d != "" {
					t.Errorf("log (-want +got)\n%s", d)
				}
			})
		})
	}
}

func TestBreakerEndsWithItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, reg := &line{server: embedded(t)}, prometheus.NewRegistry()
		client := openRedis(t, reg, RedisConfig{URL: "redis://host", Role: "state", Dial: l.dial})
		defer closeAndWait(t, client)
		l.turn(silent)
		for range 4 {
			if client.Ping(t.Context()).Err() == nil {
				t.Fatal("got a reply to a lost command")
			}
		}
		if err := client.Ping(t.Context()).Err(); !errors.Is(err, ErrBreakerOpen) {
			t.Fatalf("got %v, want %v", err, ErrBreakerOpen)
		}
		if err := client.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(probePause + probeTimeout)
		synctest.Wait()
		before, _ := l.turn(silent)
		time.Sleep(time.Minute)
		if after, _ := l.turn(silent); after != before {
			t.Errorf("got %d probes after the client was closed", after-before)
		}
		if got := testkit.MetricSum(t, reg, "tandian_redis_breaker_open", nil); got != 0 {
			t.Errorf("got %v open breakers after the client was closed", got)
		}
		if err := client.Ping(t.Context()).Err(); !errors.Is(err, redis.ErrClosed) {
			t.Errorf("got %v, want %v", err, redis.ErrClosed)
		}
	})
}

func TestAwaitRedisDetectsALateStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{server: embedded(t), state: refusing}
		client := openRedis(t, prometheus.NewRegistry(), RedisConfig{URL: "redis://host", Role: "state", Dial: l.dial})
		defer closeAndWait(t, client)
		time.AfterFunc(10*time.Second, func() { l.turn(up) })
		begin, refused := time.Now(), 0
		if err := Await(t.Context(), "Redis", client, func(err error) {
			if errors.Is(err, ErrBreakerOpen) {
				refused++
				if !strings.Contains(err.Error(), "connection refused") {
					t.Errorf("the error lacks the cause: %v", err)
				}
			}
		}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took > 12*time.Second+probePause || refused == 0 {
			t.Errorf("took %v, want at most 12 s; %d tries met an open breaker", took, refused)
		}
	})
}

// Probes use Sentinel too: they find the current master.
func TestBreakerFollowsSentinelMaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := &line{server: embedded(t)}, &line{server: embedded(t)}
		var master atomic.Value
		master.Store("first")
		reg := prometheus.NewRegistry()
		client := openRedis(t, reg, RedisConfig{
			URL: "redis+sentinel://sentinel?master_name=m", Role: "state",
			Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
				switch host, _, _ := net.SplitHostPort(addr); host {
				case "first":
					return first.dial(ctx, network, addr)
				case "second":
					return second.dial(ctx, network, addr)
				}
				ours, theirs := net.Pipe()
				go sentinel(theirs, func() string { return master.Load().(string) })
				return ours, nil
			},
		})
		defer closeAndWait(t, client)
		if err := client.Set(t.Context(), "k", "v", 0).Err(); err != nil {
			t.Fatal(err)
		}
		first.turn(silent)
		for range 4 {
			if client.Get(t.Context(), "k").Err() == nil {
				t.Fatal("got a reply to a lost command")
			}
		}
		if err := client.Get(t.Context(), "k").Err(); !errors.Is(err, ErrBreakerOpen) {
			t.Fatalf("got %v, want %v", err, ErrBreakerOpen)
		}
		master.Store("second")
		time.Sleep(2 * (probePause + readTimeout))
		if err := client.Set(t.Context(), "k", "v", 0).Err(); err != nil {
			t.Errorf("after a failover: %v", err)
		}
		if err := second.server.Close(); err != nil || client.Get(t.Context(), "k").Err() == nil {
			t.Errorf("got a reply of another master (%v)", err)
		}
	})
}

// sentinel answers the commands of a Sentinel client.
func sentinel(conn net.Conn, master func() string) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	for {
		cmd, err := command(r)
		if err != nil {
			return
		}
		reply := "+OK\r\n"
		switch strings.ToLower(cmd[0]) {
		case "hello":
			reply = "-ERR unknown command\r\n"
		case "sentinel":
			reply = "*0\r\n"
			if strings.EqualFold(cmd[1], "get-master-addr-by-name") {
				reply = fmt.Sprintf("*2\r\n$%d\r\n%s\r\n$4\r\n6379\r\n", len(master()), master())
			}
		case "subscribe":
			reply = ""
			for i, channel := range cmd[1:] {
				reply += fmt.Sprintf("*3\r\n$9\r\nsubscribe\r\n$%d\r\n%s\r\n:%d\r\n", len(channel), channel, i+1)
			}
		}
		if _, err := io.WriteString(conn, reply); err != nil {
			return
		}
	}
}

// command reads one command of the Redis protocol.
func command(r *bufio.Reader) ([]string, error) {
	number := func() (int, error) {
		text, err := r.ReadString('\n')
		if err != nil {
			return 0, err
		}
		return strconv.Atoi(strings.TrimSpace(text[1:]))
	}
	n, err := number()
	cmd := make([]string, n)
	for i := range cmd {
		size, err := number()
		if err != nil {
			return nil, err
		}
		text := make([]byte, size+len("\r\n"))
		if _, err := io.ReadFull(r, text); err != nil {
			return nil, err
		}
		cmd[i] = string(text[:size])
	}
	return cmd, err
}

func TestBreakerProbesAfterThreeFailures(t *testing.T) {
	tests := []struct {
		ends string // of round trips: F failed, A answered, U unknown
		want bool
	}{
		{"F", false},
		{"FF", false},
		{"FFF", true},
		{"FFAFF", false},
		{"FFAFFF", true},
		{"FUFUF", true},
		{"UUUUUU", false},
	}
	for _, tt := range tests {
		t.Run(tt.ends, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, err := newClient(RedisConfig{URL: "redis://host", Role: "cache", Dial: embedded(t).Dial})
				if err != nil {
					t.Fatal(err)
				}
				defer closeAndWait(t, client)
				b := newBreaker(client.(*redis.Client), "cache", NewRedisMetrics(prometheus.NewRegistry()), slog.New(slog.DiscardHandler))
				for _, end := range tt.ends {
					b.report(map[rune]error{'F': io.EOF, 'A': redis.Nil, 'U': context.Canceled}[end])
				}
				if got := b.watched.Load(); got != tt.want {
					t.Errorf("got probe %v, want %v", got, tt.want)
				}
				time.Sleep(2 * probePause)
				if b.watched.Load() || b.failures.Load() >= failuresBeforeProbe || b.refusal.Load() != nil {
					t.Error("got a probe after a success")
				}
			})
		})
	}
}

// closeAndWait closes client and waits until the goroutines of go-redis and of the breaker have
// ended. It is for synctest bubbles.
//
// No call in a bubble may wait for a connection of the pool. go-redis reuses the timers of such
// waits in all clients of the process. A timer from outside the bubble never fires in it, and one
// from another bubble is a fatal error.
func closeAndWait(t *testing.T, client redis.UniversalClient) {
	t.Helper()
	if n := client.PoolStats().WaitCount; n != 0 {
		t.Errorf("got %d waits for a connection, want 0 in a bubble", n)
	}
	_ = client.Close()
	time.Sleep(time.Minute)
}

func TestClientErrorsOpenNoBreaker(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	tests := []struct {
		name      string
		do        func(ctx context.Context, c *redis.Client) error
		want      error // of do, or nil for any error reply
		suspected bool  // the breaker probes Redis
	}{
		{name: "a missing key", want: redis.Nil, do: func(ctx context.Context, c *redis.Client) error {
			return c.Get(ctx, "none").Err()
		}},
		{name: "an error reply", do: func(ctx context.Context, c *redis.Client) error {
			return c.Incr(ctx, "text").Err()
		}},
		{name: "a missing script", do: func(ctx context.Context, c *redis.Client) error {
			return c.EvalSha(ctx, "0", nil).Err()
		}},
		{name: "an error reply in a pipeline", do: func(ctx context.Context, c *redis.Client) error {
			_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
				p.Incr(ctx, "text")
				p.Get(ctx, "none")
				return nil
			})
			return err
		}},
		{name: "an error reply in a transaction", do: func(ctx context.Context, c *redis.Client) error {
			_, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error { p.Incr(ctx, "text"); return nil })
			return err
		}},
		{name: "a cancelled caller", want: context.Canceled, do: func(_ context.Context, c *redis.Client) error {
			return c.Get(ended, "text").Err()
		}},
		{name: "no free connection", want: redis.ErrPoolTimeout, do: func(ctx context.Context, c *redis.Client) error {
			return c.Watch(ctx, func(tx *redis.Tx) error {
				return errors.Join(tx.Get(ctx, "none").Err(), c.Get(ctx, "text").Err())
			})
		}},
		{name: "an expired deadline", want: context.DeadlineExceeded, suspected: true, do: func(_ context.Context, c *redis.Client) error {
			return c.Get(late, "text").Err()
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bare, err := newClient(RedisConfig{URL: testkit.Redis(t), Role: "cache", PoolSize: 1, PoolTimeout: time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = bare.Close() })
			reg, client := prometheus.NewRegistry(), bare.(*redis.Client)
			testkit.Eventually(t, 10*time.Second, func() bool { return client.Set(t.Context(), "text", "x", 0).Err() == nil })
			b := newBreaker(client, "cache", NewRedisMetrics(reg), slog.New(slog.DiscardHandler))
			client.AddHook(b)
			suspected := false
			for range 20 {
				err := tt.do(t.Context(), client)
				if _, reply := errors.AsType[redis.Error](err); tt.want == nil && !reply {
					t.Fatalf("got %v, want an error reply", err)
				} else if tt.want != nil && !errors.Is(err, tt.want) {
					t.Fatalf("got %v, want %v", err, tt.want)
				}
				suspected = suspected || b.watched.Load()
			}
			if suspected != tt.suspected {
				t.Errorf("got probe %v, want %v", suspected, tt.suspected)
			}
			testkit.Eventually(t, 10*time.Second, func() bool { return !b.watched.Load() })
			if err := client.Get(t.Context(), "text").Err(); err != nil {
				t.Errorf("afterwards: %v", err)
			}
			if got := max(0, testkit.MetricSum(t, reg, "tandian_redis_breaker_opened_total", nil)); got != 0 {
				t.Errorf("got %v openings", got)
			}
		})
	}
}

// pause stops the process of a Redis until resume is called or the test ends.
func pause(t *testing.T, client *redis.Client) (resume func()) {
	t.Helper()
	info, err := client.Info(t.Context(), "server").Result()
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`process_id:(\d+)`).FindStringSubmatch(info)
	if found == nil {
		t.Fatalf("no process in %q", info)
	}
	pid, _ := strconv.Atoi(found[1])
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	resume = func() { _ = syscall.Kill(pid, syscall.SIGCONT) }
	t.Cleanup(resume)
	return resume
}

// This test runs on a real server; the synctest tests above check exact times.
func TestBreakerOnRealRedis(t *testing.T) {
	tests := []struct {
		name string
		stop func(t *testing.T, url string, other *redis.Client) (back func())
	}{
		{"hang", func(t *testing.T, _ string, other *redis.Client) func() { return pause(t, other) }},
		{"refuse", func(t *testing.T, url string, other *redis.Client) func() {
			socket := strings.TrimPrefix(url, "unix://")
			admin := testkit.AdminClient(t, other)
			if err := admin.Ping(t.Context()).Err(); err != nil { // while it can connect
				t.Fatal(err)
			}
			if err := os.Rename(socket, socket+".away"); err != nil {
				t.Fatal(err)
			}
			if err := admin.ClientKillByFilter(t.Context(), "TYPE", "normal", "SKIPME", "yes").Err(); err != nil {
				t.Fatal(err)
			}
			return func() {
				if err := os.Rename(socket+".away", socket); err != nil {
					t.Error(err)
				}
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			reg, url := prometheus.NewRegistry(), testkit.Redis(t)
			labels := map[string]string{"role": "cache"}
			client := openRedis(t, reg, RedisConfig{URL: url, Role: "cache"})
			other := openRedis(t, prometheus.NewRegistry(), RedisConfig{URL: url, Role: "state"}).(*redis.Client)
			if err := errors.Join(client.Set(t.Context(), "k", "v", 0).Err(), other.Ping(t.Context()).Err()); err != nil {
				t.Fatal(err)
			}
			back := tt.stop(t, url, other)
			stop := get(t.Context(), client, 5*time.Millisecond)
			testkit.Eventually(t, 10*time.Second, func() bool {
				return testkit.MetricSum(t, reg, "tandian_redis_breaker_open", labels) == 1
			})
			stop()
			trips := testkit.MetricSum(t, reg, "tandian_redis_round_trip_seconds", labels)
			refused := testkit.MetricSum(t, reg, "tandian_redis_breaker_refused_total", labels)
			begin := time.Now()
			for range 100 {
				if err := client.Get(t.Context(), "k").Err(); !errors.Is(err, ErrBreakerOpen) {
					t.Fatalf("got %v, want %v", err, ErrBreakerOpen)
				}
				if _, err := client.Pipelined(t.Context(), func(p redis.Pipeliner) error { p.Get(t.Context(), "k"); return nil }); !errors.Is(err, ErrBreakerOpen) {
					t.Fatalf("got %v, want %v", err, ErrBreakerOpen)
				}
			}
			if took := time.Since(begin); took > 200*10*time.Millisecond {
				t.Errorf("200 commands while open took %v", took)
			}
			if n := testkit.MetricSum(t, reg, "tandian_redis_breaker_refused_total", labels) - refused; n != 200 {
				t.Errorf("got %v rejected commands, want 200", n)
			}
			if n := testkit.MetricSum(t, reg, "tandian_redis_round_trip_seconds", labels) - trips; n != 0 {
				t.Errorf("got %v round trips while open", n)
			}
			back()
			testkit.Eventually(t, 10*time.Second, func() bool { return client.Get(t.Context(), "k").Val() == "v" })
			if open, opened := testkit.MetricSum(t, reg, "tandian_redis_breaker_open", labels), testkit.MetricSum(t, reg, "tandian_redis_breaker_opened_total", labels); open != 0 || opened != 1 {
				t.Errorf("got open %v, opened %v times, want 0 and 1", open, opened)
			}
		})
	}
}

func TestBreakerOpensForOneNodeOnly(t *testing.T) {
	reg := prometheus.NewRegistry()
	client := openRedis(t, reg, RedisConfig{URL: testkit.RedisCluster(t), Role: "state"}).(*redis.ClusterClient)
	keys := map[string]string{} // one per node
	for i := 0; len(keys) < 3; i++ {
		key := fmt.Sprintf("k%d", i)
		node, err := client.MasterForKey(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		keys[node.Options().Addr] = key
		if err := client.Set(t.Context(), key, "v", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	var hung string
	var node *redis.Client
	for addr, key := range keys {
		hung = key
		var err error
		if node, err = client.MasterForKey(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		delete(keys, addr)
		break
	}
	resume := pause(t, node)
	testkit.Eventually(t, 10*time.Second, func() bool { return errors.Is(client.Get(t.Context(), hung).Err(), ErrBreakerOpen) })

	type call func(ctx context.Context, key string) error
	pipe := func(run func(context.Context, func(redis.Pipeliner) error) ([]redis.Cmder, error)) call {
		return func(ctx context.Context, key string) error {
			cmds, err := run(ctx, func(p redis.Pipeliner) error { p.Get(ctx, key); p.Get(ctx, key); return nil })
			return errors.Join(err, cmds[1].Err())
		}
	}
	calls := map[string]call{
		"a command":     func(ctx context.Context, key string) error { return client.Get(ctx, key).Err() },
		"a pipeline":    pipe(client.Pipelined),
		"a transaction": pipe(client.TxPipelined),
	}
	for name, do := range calls {
		best := time.Hour
		for range 20 {
			begin := time.Now()
			if err := do(t.Context(), hung); !errors.Is(err, ErrBreakerOpen) {
				t.Fatalf("%s on the hanging node: got %v, want %v", name, err, ErrBreakerOpen)
			}
			best = min(best, time.Since(begin))
			for _, key := range keys {
				if err := do(t.Context(), key); err != nil {
					t.Errorf("%s on another node: %v", name, err)
				}
			}
		}
		if best > 10*time.Millisecond {
			t.Errorf("%s on the hanging node takes at least %v", name, best)
		}
	}
	if got := testkit.MetricSum(t, reg, "tandian_redis_breaker_open", nil); got != 1 {
		t.Errorf("got %v open breakers, want 1", got)
	}
	resume()
	testkit.Eventually(t, 20*time.Second, func() bool { return client.Get(t.Context(), hung).Err() == nil })
}

// refusal is the reason why OnConnect rejects a connection.
type refusal struct{}

func (refusal) Error() string { return "this server is not to be used" }
func (refusal) Unsent() bool  { return true }

func TestOnConnectRejectionOpensNoBreaker(t *testing.T) {
	var refuses atomic.Bool
	refuses.Store(true)
	reg := prometheus.NewRegistry()
	client := openRedis(t, reg, RedisConfig{
		URL: "redis://host", Role: "sale", Dial: embedded(t).Dial,
		OnConnect: func(context.Context, *redis.Conn) error {
			if refuses.Load() {
				return refusal{}
			}
			return nil
		},
	})
	for range 5 * failuresBeforeProbe {
		if err := client.Ping(t.Context()).Err(); !errors.Is(err, refusal{}) {
			t.Fatalf("got %v, want the refusal", err)
		}
	}
	if got := testkit.MetricSum(t, reg, "tandian_redis_breaker_opened_total", map[string]string{"role": "sale"}); got != 0 {
		t.Errorf("got %v openings", got)
	}
	refuses.Store(false)
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Errorf("when allowed: %v", err)
	}
}

func TestRetriesRepeatLostCommands(t *testing.T) {
	for retries, want := range []int{0: 1, 1: 2} {
		server := embedded(t)
		var lost atomic.Bool
		client := openRedis(t, prometheus.NewRegistry(), RedisConfig{
			URL: "redis://host", Role: "sale", Retries: retries,
			Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := server.Dial(ctx, network, addr)
				return losingConn{conn, &lost}, err
			},
		})
		if err := client.Set(t.Context(), "n", 0, 0).Err(); err != nil {
			t.Fatal(err)
		}
		lost.Store(true)
		if err := client.Incr(t.Context(), "n").Err(); (err == nil) != (retries == 1) {
			t.Errorf("%d retries: %v", retries, err)
		}
		testkit.Eventually(t, 10*time.Second, func() bool { n, err := client.Get(t.Context(), "n").Int(); return err == nil && n == want })
	}
}

// A losingConn closes instead of reading the next reply.
type losingConn struct {
	net.Conn
	next *atomic.Bool
}

func (c losingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err == nil && c.next.CompareAndSwap(true, false) {
		return 0, io.EOF
	}
	return n, err
}
