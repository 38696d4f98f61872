package embedredis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"
)

// patience is the maximum wait for an event that should happen at once.
const patience = 20 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestKeysExpireWithinOneTick(t *testing.T) {
	for _, ttl := range []time.Duration{300 * time.Millisecond, time.Second, 1900 * time.Millisecond, time.Minute} {
		for _, phase := range []time.Duration{0, time.Millisecond, 100 * time.Millisecond, 249 * time.Millisecond} {
			t.Run(fmt.Sprintf("%v set %v after a tick", ttl, phase), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := start(t, Options{})
					tickIn(t, s)
					time.Sleep(time.Second + phase)
					set(t, s, "k", ttl)
					time.Sleep(ttl - tick - 1)
					if !exists(s, "k") {
						t.Errorf("expired more than %v early", tick)
					}
					time.Sleep(2*tick + 1)
					synctest.Wait()
					if exists(s, "k") {
						t.Errorf("still exists %v after its expiry", tick)
					}
				})
			})
		}
	}
}

func TestNothingExpiresWithoutTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{})
		set(t, s, "k", time.Second)
		time.Sleep(time.Hour)
		if !exists(s, "k") {
			t.Error("the key expired without Run")
		}
		tickIn(t, s)
		time.Sleep(500 * time.Millisecond)
		if !exists(s, "k") {
			t.Error("the time before Run counted")
		}
		time.Sleep(time.Second)
		if exists(s, "k") {
			t.Error("the key did not expire")
		}
	})
}

func TestClockUsesElapsedTime(t *testing.T) {
	tests := []struct {
		name  string
		late  time.Duration // delay after the last tick
		pass  time.Duration // duration of each pass
		left  int           // remaining milliseconds of 10 s
		pause time.Duration
	}{
		{name: "on time", late: tick, left: 9750, pause: tick},
		{name: "late after a machine pause", late: 9 * time.Second, left: 1000, pause: tick},
		{name: "a pass of 12 ms changes nothing", late: tick, pass: 12 * time.Millisecond, left: 9738, pause: tick},
		{name: "a pass of 37 ms stretches the tick", late: tick, pass: 37 * time.Millisecond, left: 9713, pause: 740 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := &fakeClock{step: tt.pass, now: time.Unix(0, 0), pauses: make(chan time.Duration, 8), fire: make(chan time.Time)}
			s := start(t, Options{Now: c.Now, After: c.After})
			set(t, s, "k", 10*time.Second)
			tickIn(t, s)
			if diff := cmp.Diff(tick, <-c.pauses); diff != "" {
				t.Errorf("first pause (-want +got):\n%s", diff)
			}
			c.add(tt.late)
			c.fire <- time.Time{}
			if diff := cmp.Diff(tt.pause, <-c.pauses); diff != "" {
				t.Errorf("next pause (-want +got):\n%s", diff)
			}
			left, err := s.do("PTTL", "k")
			if diff := cmp.Diff(tt.left, left); diff != "" || err != nil {
				t.Errorf("milliseconds left, error %v (-want +got):\n%s", err, diff)
			}
			if diff := cmp.Diff(tt.pass, s.Stats().ExpiryPass); diff != "" {
				t.Errorf("pass (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRunRejectsASecondCall(t *testing.T) {
	c := &fakeClock{pauses: make(chan time.Duration, 8), fire: make(chan time.Time)}
	s := start(t, Options{Now: c.Now, After: c.After})
	tickIn(t, s)
	<-c.pauses
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Run(ended); err == nil {
		t.Error("a second Run returned no error")
	}
}

func TestLongPipelinesComplete(t *testing.T) {
	const n = 50_000
	rdb := client(t, start(t, Options{}))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmds, err := rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range n / 2 {
			p.Set(ctx, "k"+strconv.Itoa(i), i, 0)
		}
		for i := range n / 2 {
			p.Get(ctx, "k"+strconv.Itoa(i))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range cmds[n/2:] {
		if got, want := c.(*redis.StringCmd).Val(), strconv.Itoa(i); got != want {
			t.Fatalf("reply %d: got %q, want %q", i, got, want)
		}
	}
}

func TestStalledSubscriberBlocksNoOtherClient(t *testing.T) {
	const message = 100_000
	s := start(t, Options{OutputLimit: 50 * message})
	stalled := subscribe(t, s, "news")
	healthy, publisher, other := client(t, s), client(t, s), client(t, s)
	sub := healthy.Subscribe(t.Context(), "news")
	defer sub.Close()
	if _, err := sub.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	publish := func(n int) {
		t.Helper()
		for range n {
			if err := publisher.Publish(ctx, "news", strings.Repeat("x", message)).Err(); err != nil {
				t.Fatalf("publish: %v", err)
			}
			if _, err := sub.ReceiveMessage(ctx); err != nil {
				t.Fatalf("active subscriber: %v", err)
			}
			if err := other.Incr(ctx, "n").Err(); err != nil {
				t.Fatalf("other client: %v", err)
			}
		}
	}
	publish(40)
	if diff := cmp.Diff(int64(0), s.Stats().Disconnected); diff != "" {
		t.Errorf("disconnects before the limit (-want +got):\n%s", diff)
	}
	publish(40)
	until(t, "the subscriber is cut off", func() bool { return s.Stats().Disconnected == 1 })
	if err := read(stalled); err == nil {
		t.Error("got no error from a read of the stalled subscriber")
	}
	until(t, "only the healthy subscriber is left", func() bool {
		return publisher.PubSubNumSub(ctx, "news").Val()["news"] == 1
	})
}

func TestConcurrentClientsLoseNoWrites(t *testing.T) {
	const clients, rounds = 20, 200
	s := start(t, Options{})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var g errgroup.Group
	for i := range clients {
		rdb, mine := client(t, s), "mine"+strconv.Itoa(i)
		g.Go(func() error {
			for n := range rounds {
				if err := rdb.Incr(ctx, "all").Err(); err != nil {
					return err
				}
				if err := rdb.Set(ctx, mine, n, 0).Err(); err != nil {
					return err
				}
				if got, err := rdb.Get(ctx, mine).Int(); err != nil || got != n {
					return fmt.Errorf("%s = %d, want %d (%w)", mine, got, n, err)
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strconv.Itoa(clients*rounds), client(t, s).Get(ctx, "all").Val()); diff != "" {
		t.Errorf("counted (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(clients+1, s.Stats().Keys); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

func TestBlockedReadEndsWithItsContext(t *testing.T) {
	s := start(t, Options{})
	tickIn(t, s)
	rdb := client(t, s)
	if err := rdb.XGroupCreateMkStream(t.Context(), "orders", "g", "0").Err(); err != nil {
		t.Fatal(err)
	}
	// The connection of Start ends by itself.
	until(t, "only one client is left", func() bool { return s.proto.ClientsLen() == 1 })

	impatient := client(t, s)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := impatient.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: "g", Consumer: "gone", Streams: []string{"orders", ">"}, Block: time.Hour,
	}).Err()
	if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("error = %v, want a deadline", err)
	}
	// Stats would run a command, and every command wakes blocked clients.
	until(t, "the server disconnects the dead consumer", func() bool { return s.proto.ClientsLen() == 1 })

	if err := rdb.XAdd(t.Context(), &redis.XAddArgs{Stream: "orders", Values: []string{"n", "1"}}).Err(); err != nil {
		t.Fatal(err)
	}
	got, err := rdb.XReadGroup(t.Context(), &redis.XReadGroupArgs{
		Group: "g", Consumer: "alive", Streams: []string{"orders", ">"}, Block: time.Second,
	}).Result()
	if err != nil || len(got) != 1 || len(got[0].Messages) != 1 {
		t.Errorf("message lost to the dead consumer: got %v, %v", got, err)
	}
}

func TestCloseDisconnectsBusyClients(t *testing.T) {
	s := start(t, Options{})
	ctx := t.Context()
	var g errgroup.Group
	busy := func(name string, call func(*redis.Client) error) {
		rdb := client(t, s)
		g.Go(func() error {
			for {
				if err := call(rdb); err != nil && !errors.Is(err, redis.Nil) {
					return nil // the expected end of every client
				}
				if ctx.Err() != nil {
					return fmt.Errorf("%s never ended", name)
				}
			}
		})
	}
	admin := client(t, s)
	admin.XGroupCreateMkStream(ctx, "orders", "g", "0")
	for range 5 {
		busy("reader of a stream", func(c *redis.Client) error {
			return c.XReadGroup(ctx, &redis.XReadGroupArgs{Group: "g", Consumer: "c", Streams: []string{"orders", ">"}, Block: time.Hour}).Err()
		})
		busy("reader of a list", func(c *redis.Client) error { return c.BLPop(ctx, 0, "list").Err() })
		busy("script", func(c *redis.Client) error {
			return c.Eval(ctx, "for i = 1, 50 do redis.call('INCR', KEYS[1]) end return 1", []string{"n"}).Err()
		})
		busy("subscriber", func(c *redis.Client) error {
			sub := c.Subscribe(ctx, "news")
			defer sub.Close()
			for {
				if _, err := sub.Receive(ctx); err != nil {
					return err
				}
			}
		})
	}
	until(t, "all clients are busy", func() bool {
		n, _ := s.do("GET", "n")
		waiting, _ := s.do("PUBSUB", "NUMSUB", "news")
		return n != nil && cmp.Equal(waiting, []any{"news", 5}) && s.Stats().Clients >= 21
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(0, s.Stats().Clients); diff != "" {
		t.Errorf("clients left (-want +got):\n%s", diff)
	}
	if _, err := s.Dial(ctx, "", ""); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Dial after Close = %v, want net.ErrClosed", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestSubscriptionsDoNotLeakGoroutines(t *testing.T) {
	s := start(t, Options{})
	rdb := client(t, s)
	if err := rdb.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	until(t, "only that client is connected", func() bool { return s.Stats().Clients == 1 })
	known := goleak.IgnoreCurrent()
	for range 200 {
		sub := rdb.Subscribe(t.Context(), "news")
		if _, err := sub.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := sub.Close(); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "the subscribers are disconnected", func() bool { return s.Stats().Clients == 1 })
	goleak.VerifyNone(t, known)
}

func TestDialHonoursItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := start(t, Options{}).Dial(ctx, "", ""); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want context.Canceled", err)
	}
}

func TestEveryStartHasANewRunID(t *testing.T) {
	a, b := start(t, Options{}), start(t, Options{})
	if len(a.RunID()) != 40 || a.RunID() == b.RunID() {
		t.Errorf("run ids %q and %q", a.RunID(), b.RunID())
	}
	info := client(t, a).Info(t.Context(), "server").Val()
	if !strings.Contains(info, "run_id:"+a.RunID()+"\r\n") {
		t.Errorf("INFO server lacks the run id:\n%s", info)
	}
	if strings.Contains(info, "role:") {
		t.Errorf("INFO server contains other sections:\n%s", info)
	}
	if all := client(t, a).Info(t.Context()).Val(); !strings.Contains(all, "maxmemory_policy:noeviction\r\n") {
		t.Errorf("INFO lacks the policy:\n%s", all)
	}
}

// start returns a server that ends with the test.
func start(t testing.TB, o Options) *Server {
	t.Helper()
	s, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// client returns a client with the options of the package comment.
func client(t testing.TB, s *Server) *redis.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{
		Addr:                     "embedded",
		Dialer:                   s.Dial,
		Protocol:                 3,
		ContextTimeoutEnabled:    true,
		MaxRetries:               -1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	t.Cleanup(func() { rdb.Close() })
	return rdb
}

// subscribe returns a bare connection with a subscription that is never read.
func subscribe(t *testing.T, s *Server, channel string) net.Conn {
	t.Helper()
	c, err := s.Dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	fmt.Fprintf(c, "*2\r\n$9\r\nSUBSCRIBE\r\n$%d\r\n%s\r\n", len(channel), channel)
	until(t, "the subscription is active", func() bool {
		n, _ := s.do("PUBSUB", "NUMSUB", channel)
		return cmp.Equal(n, []any{channel, 1})
	})
	return c
}

// tickIn runs the clock until the test ends.
func tickIn(t *testing.T, s *Server) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func set(t *testing.T, s *Server, key string, ttl time.Duration) {
	t.Helper()
	if _, err := s.do("SET", key, "v", "PX", strconv.FormatInt(ttl.Milliseconds(), 10)); err != nil {
		t.Fatal(err)
	}
}

func exists(s *Server, key string) bool {
	n, _ := s.do("EXISTS", key)
	return n == 1
}

// until waits for a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timeout after %v: %s", patience, what)
		}
	}
}

// A fakeClock advances by step at every call of Now, and by add. It ticks when the test sends to fire.
type fakeClock struct {
	mu     sync.Mutex
	now    time.Time
	step   time.Duration
	pauses chan time.Duration
	fire   chan time.Time
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now
	c.now = now.Add(c.step)
	return now
}

func (c *fakeClock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// After passes its pause to the test.
func (c *fakeClock) After(d time.Duration) <-chan time.Time {
	c.pauses <- d
	return c.fire
}
