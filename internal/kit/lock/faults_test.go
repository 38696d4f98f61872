package lock_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/lock"
	"github.com/tandian-dev/tandian/internal/testkit"
)

// Attempts collide on the two other nodes.
func TestContentionWithUnavailableNodeIsNoError(t *testing.T) {
	t.Parallel()
	h := onNodes(t, 3)
	away := func(string) error { return &net.OpError{Op: "dial", Err: errors.New("refused")} }
	inside := 0
	var all sync.WaitGroup
	for range 3 {
		l := h.tapped(t, lock.Options{}, &tap{before: away})
		for range 20 {
			all.Go(func() {
				err := l.Do(t.Context(), "shop 1", func(context.Context, *lock.Lease) error {
					if inside++; inside != 1 {
						t.Errorf("%d holders", inside)
					}
					inside--
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
}

// An attempt does not wait for the dial timeout of the client.
func TestUnreachableNodeCostsNodeTimeout(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	hangs := func(context.Context, string, string) (net.Conn, error) {
		<-over
		return nil, errors.New("nowhere")
	}
	h := &redisStore{urls: []string{"redis://nowhere"}, dial: hangs}
	l := h.process(t, lock.Options{NodeTimeout: 50 * time.Millisecond})
	t.Cleanup(func() { close(over) }) // the client continues to dial without a caller
	began := time.Now()
	if _, err := l.Try(t.Context(), "shop 1"); err == nil || isBusy(err) {
		t.Errorf("got %v", err)
	}
	if _, err := l.Acquire(t.Context(), "shop 1", lock.WithWait(20*time.Millisecond)); err == nil || isBusy(err) {
		t.Errorf("got %v, want no BusyError from a silent store", err)
	}
	if took := time.Since(began); took > patience/2 {
		t.Errorf("it took %v", took)
	}
}

// The waiters do not time out one after the other.
func TestWaitersOfHungStoreFailTogether(t *testing.T) {
	t.Parallel()
	h, p := onNodes(t, 1), new(tap)
	var attempts atomic.Int32
	hung := make(chan struct{})
	p.before = func(script string) error {
		if script == "acquire" {
			attempts.Add(1)
			<-hung
			return errBroken
		}
		return nil
	}
	l := h.tapped(t, lock.Options{}, p)
	var waits []<-chan result
	for range 50 {
		waits = append(waits, acquireAsync(t.Context(), l, "shop 1"))
	}
	testkit.Eventually(t, patience, func() bool { return l.Waiting("shop 1") == 50 && attempts.Load() == 1 })
	close(hung)
	for _, w := range waits {
		if r := receive(t, w, "a wait"); !errors.Is(r.err, errBroken) {
			t.Errorf("got %v", r.err)
		}
	}
	// A caller may have joined the queue without reading the clock yet.
	if got := attempts.Load(); got > 25 {
		t.Errorf("%d attempts", got)
	}
}

// delayedAttempt delays an attempt until its caller has got an error.
type delayedAttempt struct {
	by  time.Duration
	raw *redis.Client
	got chan<- any
}

func (delayedAttempt) DialHook(next redis.DialHook) redis.DialHook { return next }
func (delayedAttempt) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h delayedAttempt) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if lock.StepOf(cmd) != "acquire" {
			return next(ctx, cmd)
		}
		args := cmd.Args()
		time.AfterFunc(h.by, func() { h.got <- h.raw.Do(context.Background(), args...).Val() }) //nolint:contextcheck // it arrives after its sender has left
		cmd.SetErr(errBroken)
		return errBroken
	}
}

// L2: the network delays the attempt, not its answer.
func TestLateAttemptLeavesNoLock(t *testing.T) {
	t.Parallel()
	h := onNodes(t, 1)
	executed := make(chan any, 1)
	c := h.client(t, 0)
	c.AddHook(delayedAttempt{500 * time.Millisecond, h.client(t, 0), executed})
	l, err := lock.NewRedis([]redis.UniversalClient{c}, lock.Options{TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, l)
	if _, err := l.Try(t.Context(), "shop 1"); !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
	if got := receive(t, executed, "the late attempt"); got != "OK" {
		t.Fatalf("invalid test setup: got %v", got)
	}
	h.empty(t)
}

func TestNestedLeaseHasItsOwnContext(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, h store) {
		l := h.process(t, lock.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		nothing := func(context.Context, *lock.Lease) error { return nil }
		do := func(name string, f func(context.Context, *lock.Lease) error) func(context.Context, *lock.Lease) error {
			return func(ctx context.Context, _ *lock.Lease) error { return l.Do(ctx, name, f) }
		}
		if err := do("a", do("b", do("a", do("b", nothing))))(ctx, nil); err != nil {
			t.Errorf("in turns: %v", err)
		}
		outer := mustAcquire(t, l, "a")
		short, stop := context.WithCancel(outer.Context())
		inner, err := l.Try(short, "a")
		if err != nil {
			t.Fatal(err)
		}
		apart, err := l.Try(context.WithoutCancel(outer.Context()), "a")
		if err != nil {
			t.Fatal(err)
		}
		stop()
		if inner.Context().Err() == nil || outer.Context().Err() != nil || apart.Context().Err() != nil {
			t.Error("the end of the inner context ended the wrong lease")
		}
		mustRelease(t, inner)
		mustRelease(t, apart)
		mustRelease(t, outer)
	})
}

// The order of the releases does not matter.
func TestLossEndsNestedContext(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, h store) {
		l := h.process(t, lock.Options{})
		outer := mustAcquire(t, l, "a", lock.WithTTL(2*time.Second))
		apart, err := l.Try(context.WithoutCancel(outer.Context()), "a")
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		context.AfterFunc(apart.Context(), func() { close(ended) })
		receive(t, ended, "the end of the nested work")
		for _, lease := range []*lock.Lease{apart, outer} {
			if err := lease.Release(t.Context()); !errors.Is(err, lock.ErrMaxHold) {
				t.Errorf("release: %v", err)
			}
		}
	})
}

// silentConn is a connection that silently stops carrying data, if it has a subscription.
type silentConn struct {
	net.Conn
	from   <-chan struct{}
	listen atomic.Bool
}

func (d *silentConn) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("subscribe")) {
		d.listen.Store(true)
	}
	return d.Conn.Write(b)
}

func (d *silentConn) Read(b []byte) (int, error) {
	for {
		n, err := d.Conn.Read(b)
		select {
		case <-d.from:
			if err != nil || !d.listen.Load() {
				return n, err
			}
		default:
			return n, err
		}
	}
}

// L13: the other end of the connection is silently gone.
func TestSilentSubscriptionIsReplaced(t *testing.T) {
	t.Parallel()
	h := onNodes(t, 1)
	lease := mustAcquire(t, h.process(t, lock.Options{}), "shop 1", lock.WithTTL(time.Hour))
	from := make(chan struct{})
	var is atomic.Bool
	is.Store(true)
	var dialer net.Dialer
	away := &redisStore{urls: h.urls, dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dialer.DialContext(ctx, network, addr)
		if err == nil && is.Load() {
			return &silentConn{Conn: c, from: from}, nil
		}
		return c, err
	}}
	l := away.process(t, lock.Options{})
	wait := acquireAsync(t.Context(), l, "shop 1")
	testkit.Eventually(t, patience, func() bool { _, refused := countsOf(l); return refused >= 2 }) // the second comes after the acknowledgement
	is.Store(false)
	close(from)
	mustRelease(t, lease)
	mustRelease(t, mustGet(t, wait))
}

// Earlier messages do not cause attempts.
func TestRefusedAttemptIsNotRepeated(t *testing.T) {
	t.Parallel()
	eachRedis(t, func(t *testing.T, h *redisStore) {
		other, l := h.process(t, lock.Options{}), h.process(t, lock.Options{})
		first := mustAcquire(t, other, "shop 1", lock.WithTTL(time.Hour))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		waits := []<-chan result{acquireAsync(ctx, l, "shop 1"), acquireAsync(ctx, l, "shop 1")}
		testkit.Eventually(t, patience, func() bool { _, refused := countsOf(l); return refused >= 2 })
		mustRelease(t, first) // l has it now, one of its callers still waits
		testkit.Eventually(t, patience, func() bool { return l.Waiting("shop 1") == 1 })
		for i := range h.urls {
			if err := h.client(t, i).Publish(ctx, "lock:released", "some-value shop 1").Err(); err != nil {
				t.Fatal(err)
			}
		}
		before, _ := countsOf(l)
		time.Sleep(500 * time.Millisecond)
		if made, _ := countsOf(l); made-before > int64(2*len(h.urls)) {
			t.Errorf("got %d attempts in half a second without a release, want none", made-before)
		}
		cancel()
		for _, w := range waits {
			if r := receive(t, w, "a wait"); r.err == nil {
				mustRelease(t, r.lease)
			}
		}
	})
}

// One node has the key of a dead holder. With another node unavailable, no caller gets a
// majority.
func TestWaitForRemainsOfHolderDoesNotPoll(t *testing.T) {
	t.Parallel()
	h := onNodes(t, 3)
	if err := h.client(t, 1).Set(t.Context(), "lock:{shop 1}", "another", time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	taps := h.taps()
	taps[2].before = func(string) error { return &net.OpError{Op: "dial", Err: errors.New("refused")} }
	l := h.tapped(t, lock.Options{}, taps...)
	if _, err := l.Acquire(t.Context(), "shop 1", lock.WithWait(2*time.Second)); !isBusy(err) {
		t.Errorf("got %v", err)
	}
	if made, _ := countsOf(l); made > 8 {
		t.Errorf("got %d attempts in two seconds without an event", made)
	}
}

func TestClosingLockerGivesNoLocks(t *testing.T) {
	t.Parallel()
	h, p, g := onNodes(t, 1), new(tap), newGate()
	p.after = g.only("acquire")
	l := h.tapped(t, lock.Options{}, p)
	wait := acquireAsync(t.Context(), l, "shop 1")
	receive(t, g.reached, "the attempt")
	ended := make(chan error, 1)
	go func() { ended <- l.Close(context.Background()) }()
	testkit.Eventually(t, patience, func() bool {
		lease, err := l.Try(t.Context(), "shop 2")
		if err == nil {
			mustRelease(t, lease)
		}
		return errors.Is(err, lock.ErrClosed)
	})
	close(g.open)
	if r := receive(t, wait, "the attempt"); r.err == nil {
		mustRelease(t, r.lease)
	}
	if err := receive(t, ended, "the close"); err != nil {
		t.Error(err)
	}
}
