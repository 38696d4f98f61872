package lock_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/lib/pq" // the driver
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/tandian-dev/tandian/internal/kit/dblock"
	"github.com/tandian-dev/tandian/internal/kit/embedredis"
	"github.com/tandian-dev/tandian/internal/kit/lock"
	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestMain(m *testing.M) {
	redis.SetLogger(silentLogger{}) // it logs each connection that a test breaks
	// A pool that cannot dial retries each second, and only then notices its end.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

type silentLogger struct{}

func (silentLogger) Printf(context.Context, string, ...any) {}

// patience is the time limit for events, also on a busy machine.
const patience = 20 * time.Second

// A store is a lock store of one test, used by several processes.
type store interface {
	process(t *testing.T, o lock.Options) *lock.Locker
}

// eachStore runs a test on every kind of store.
func eachStore(t *testing.T, test func(*testing.T, store)) {
	for _, k := range []struct {
		name string
		open func(*testing.T) store
	}{
		{"embedded", func(t *testing.T) store { return &redisStore{dial: embedded(t), urls: []string{"redis://embedded"}} }},
		{"one node", func(t *testing.T) store { return onNodes(t, 1) }},
		{"three nodes", func(t *testing.T) store { return onNodes(t, 3) }},
		{"Postgres", func(t *testing.T) store { return postgres{testkit.Postgres(t)} }},
	} {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			test(t, k.open(t))
		})
	}
}

// redisStore is one Redis node or several.
type redisStore struct {
	urls []string
	dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// postgres is a database, with a pool of each process.
type postgres struct{ dsn string }

func (p postgres) process(t *testing.T, o lock.Options) *lock.Locker {
	t.Helper()
	db, err := sql.Open("postgres", p.dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	l, err := dblock.NewPostgres(db, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mustClose(t, l) })
	return l
}

func onNodes(t *testing.T, n int) *redisStore {
	h := new(redisStore)
	for range n {
		h.urls = append(h.urls, testkit.Redis(t))
	}
	return h
}

// eachRedis runs a test on one node and on three.
func eachRedis(t *testing.T, test func(*testing.T, *redisStore)) {
	for _, k := range []struct {
		name  string
		nodes int
	}{{"one node", 1}, {"three nodes", 3}} {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			test(t, onNodes(t, k.nodes))
		})
	}
}

func embedded(t *testing.T) func(context.Context, string, string) (net.Conn, error) {
	server, err := embedredis.Start(embedredis.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-done, server.Close()); err != nil {
			t.Error(err)
		}
	})
	return server.Dial
}

// client returns a client of node i. A busy machine does not reach its timeouts.
func (h *redisStore) client(t *testing.T, i int) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(h.urls[i])
	if err != nil {
		t.Fatal(err)
	}
	o.Dialer = h.dial
	o.ContextTimeoutEnabled, o.MaxRetries = true, -1
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = patience, patience, patience, patience
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (h *redisStore) process(t *testing.T, o lock.Options) *lock.Locker { return h.tapped(t, o) }

// tapped returns a process whose connections to the first nodes have taps.
func (h *redisStore) tapped(t *testing.T, o lock.Options, taps ...*tap) *lock.Locker {
	t.Helper()
	var clients []redis.UniversalClient
	n := new(attempts)
	for i := range h.urls {
		c := h.client(t, i)
		if i == 0 {
			c.AddHook(n)
		}
		if i < len(taps) && taps[i] != nil {
			c.AddHook(taps[i])
		}
		clients = append(clients, c)
	}
	if o.NodeTimeout == 0 {
		o.NodeTimeout = patience
	}
	if o.TTL == 0 { // a leftover lock does not expire during a test
		o.TTL, o.MaxHold = time.Hour, time.Hour
	}
	l, err := lock.NewRedis(clients, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mustClose(t, l) })
	attemptsOf.Store(l, n)
	return l
}

// attempts counts the attempts of a Locker at its first node.
type attempts struct{ made, refused atomic.Int64 }

// attemptsOf holds the attempts of each Locker on Redis.
var attemptsOf sync.Map

// countsOf returns the attempts of a Locker on Redis so far.
func countsOf(l *lock.Locker) (made, refused int64) {
	n, _ := attemptsOf.Load(l)
	return n.(*attempts).made.Load(), n.(*attempts).refused.Load() //nolint:forcetypeassert // the map has no other type
}

func (*attempts) DialHook(next redis.DialHook) redis.DialHook { return next }

func (*attempts) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (n *attempts) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if lock.StepOf(cmd) != "acquire" {
			return next(ctx, cmd)
		}
		n.made.Add(1)
		err := next(ctx, cmd)
		if b, ok := cmd.(*redis.BoolCmd); ok && err == nil && !b.Val() {
			n.refused.Add(1)
		}
		return err
	}
}

// mustClose closes a Locker, perhaps again.
func mustClose(t *testing.T, l *lock.Locker) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := l.Close(ctx); err != nil {
		t.Errorf("close: %v", err)
	}
}

// taps returns a tap for each node.
func (h *redisStore) taps() []*tap {
	taps := make([]*tap, len(h.urls))
	for i := range taps {
		taps[i] = new(tap)
	}
	return taps
}

// locks returns the lock keys of all nodes, each with its node.
func (h *redisStore) locks(t *testing.T) []string {
	t.Helper()
	var all []string
	for i := range h.urls {
		keys, _, err := h.client(t, i).Scan(t.Context(), 0, "*}", 10000).Result()
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			all = append(all, fmt.Sprintf("%d %s", i, key))
		}
	}
	slices.Sort(all)
	return all
}

// empty waits until no node has a lock.
func (h *redisStore) empty(t *testing.T) {
	t.Helper()
	var left []string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if left = h.locks(t); len(left) == 0 {
			return
		}
	}
	t.Errorf("got %v, want no locks", left)
}

// tap manipulates the commands of one client. Set its functions between commands, or use
// do.
type tap struct {
	mu     sync.Mutex
	before func(script string) error // replaces the command if it returns an error
	after  func(script string) error // replaces the answer if it returns an error
	dials  chan struct{}             // not nil: a new connection waits for it
}

func (p *tap) do(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

func (p *tap) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		var wait chan struct{}
		p.do(func() { wait = p.dials })
		if wait != nil {
			<-wait
		}
		return next(ctx, network, addr)
	}
}

func (p *tap) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		script := lock.StepOf(cmd)
		var before, after func(string) error
		p.do(func() {
			before, after = p.before, p.after
		})
		if before != nil {
			if err := before(script); err != nil {
				cmd.SetErr(err)
				return err
			}
		}
		err := next(ctx, cmd)
		if redis.HasErrorPrefix(err, "NOSCRIPT") {
			return err // the whole pipeline is sent again
		}
		if after != nil {
			if err := after(script); err != nil {
				cmd.SetErr(err)
				return err
			}
		}
		return err
	}
}

func (p *tap) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// gate blocks one command until it is opened.
type gate struct{ reached, open chan struct{} }

func newGate() gate { return gate{make(chan struct{}), make(chan struct{})} }

// only is a function for a tap: the first such script waits at the gate.
func (g gate) only(script string) func(string) error {
	var taken atomic.Bool
	return func(s string) error {
		if s == script && taken.CompareAndSwap(false, true) {
			close(g.reached)
			<-g.open
		}
		return nil
	}
}

// errBroken is the error of a lost connection.
var errBroken = &net.OpError{Op: "read", Err: errors.New("broken by the test")}

// receive waits for a value from another goroutine.
func receive[T any](t *testing.T, c <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		t.Fatalf("%s: got nothing within %v", what, patience)
	}
	return v
}

// mustAcquire takes a free lock. On several nodes the last one may still process the
// previous release.
func mustAcquire(t *testing.T, l *lock.Locker, name string, o ...lock.Option) *lock.Lease {
	t.Helper()
	h, err := l.Acquire(t.Context(), name, append(o, lock.WithWait(patience))...)
	if err != nil {
		t.Fatalf("acquire %q: %v", name, err)
	}
	return h
}

// acquireAsync starts to acquire a lock and returns the channel of its result.
func acquireAsync(ctx context.Context, l *lock.Locker, name string, o ...lock.Option) <-chan result {
	c := make(chan result, 1)
	go func() {
		h, err := l.Acquire(ctx, name, o...)
		c <- result{h, err}
	}()
	return c
}

type result struct {
	lease *lock.Lease
	err   error
}

// mustGet returns the lock of an acquireAsync.
func mustGet(t *testing.T, c <-chan result) *lock.Lease {
	t.Helper()
	r := receive(t, c, "a lock that is waited for")
	if r.err != nil {
		t.Fatalf("acquire: %v", r.err)
	}
	return r.lease
}

func mustRelease(t *testing.T, h *lock.Lease) {
	t.Helper()
	if err := h.Release(t.Context()); err != nil {
		t.Fatalf("release: %v", err)
	}
}

func isBusy(err error) bool {
	_, busy := errors.AsType[*lock.BusyError](err)
	return busy
}
