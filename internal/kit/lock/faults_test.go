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

// TestContentionWithANodeAwayIsNoError: attempts meet on the two that are left.
func TestContentionWithANodeAwayIsNoError(t *testing.T) {
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

// TestANodeThatCannotBeReachedCostsItsTimeOut: not that of the client's dials.
func TestANodeThatCannotBeReachedCostsItsTimeOut(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	hangs := func(context.Context, string, string) (net.Conn, error) {
		<-over
		return nil, errors.New("nowhere")
	}
	h := &redisHouse{urls: []string{"redis://nowhere"}, dial: hangs}
	l := h.process(t, lock.Options{NodeTimeout: 50 * time.Millisecond})
	t.Cleanup(func() { close(over) }) // the client dials on when nobody waits for it
	began := time.Now()
	if _, err := l.Try(t.Context(), "shop 1"); err == nil || isBusy(err) {
		t.Errorf("got %v", err)
	}
	if _, err := l.Acquire(t.Context(), "shop 1", lock.WithWait(20*time.Millisecond)); err == nil || isBusy(err) {
		t.Errorf("a store that says nothing has no holder: %v", err)
	}
	if took := time.Since(began); took > patience/2 {
		t.Errorf("it took %v", took)
	}
}

// TestThoseWhoWaitForAStoreThatHangsAreToldTogether: not each after the other's
// time-out.
func TestThoseWhoWaitForAStoreThatHangsAreToldTogether(t *testing.T) {
	t.Parallel()
	h, p := onNodes(t, 1), new(tap)
	var attempts atomic.Int32
	hung := make(chan struct{})
	p.before = func(script string) error {
		if script == "acquire" {
			attempts.Add(1)
			<-hung
			return broken
		}
		return nil
	}
	l := h.tapped(t, lock.Options{}, p)
	var waits []<-chan result
	for range 50 {
		waits = append(waits, wants(t.Context(), l, "shop 1"))
	}
	testkit.Eventually(t, patience, func() bool { return l.Waiting("shop 1") == 50 && attempts.Load() == 1 })
	close(hung)
	for _, w := range waits {
		if r := answered(t, w, "a wait"); !errors.Is(r.err, broken) {
			t.Errorf("got %v", r.err)
		}
	}
	// One who joined the queue and had not looked at the clock yet is no error.
	if got := attempts.Load(); got > 25 {
		t.Errorf("%d attempts", got)
	}
}

// late has an attempt reach its node when the caller has long been told that it
// did not.
type late struct {
	by  time.Duration
	raw *redis.Client
	got chan<- any
}

func (late) DialHook(next redis.DialHook) redis.DialHook { return next }
func (late) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h late) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if lock.StepOf(cmd) != "acquire" {
			return next(ctx, cmd)
		}
		args := cmd.Args()
		time.AfterFunc(h.by, func() { h.got <- h.raw.Do(context.Background(), args...).Val() }) //nolint:contextcheck // it arrives when its sender has gone
		cmd.SetErr(broken)
		return broken
	}
}

// TestAnAttemptThatArrivesLateLeavesNothing is L2 with a network that held the
// attempt back, and not its answer.
func TestAnAttemptThatArrivesLateLeavesNothing(t *testing.T) {
	t.Parallel()
	h := onNodes(t, 1)
	executed := make(chan any, 1)
	c := h.client(t, 0)
	c.AddHook(late{500 * time.Millisecond, h.client(t, 0), executed})
	l, err := lock.NewRedis([]redis.UniversalClient{c}, lock.Options{TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, l)
	if _, err := l.Try(t.Context(), "shop 1"); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if got := answered(t, executed, "the late attempt"); got != "OK" {
		t.Fatalf("the test is not about what it should be: %v", got)
	}
	h.empty(t)
}

func TestNestedWorkHasItsOwnContext(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h house) {
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
		outer := held(t, l, "a")
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
			t.Error("the end of the inner work's context ends the wrong work")
		}
		free(t, inner)
		free(t, apart)
		free(t, outer)
	})
}

// TestNestedWorkIsToldOfALoss: whoever releases first.
func TestNestedWorkIsToldOfALoss(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h house) {
		l := h.process(t, lock.Options{})
		outer := held(t, l, "a", lock.WithTTL(2*time.Second))
		apart, err := l.Try(context.WithoutCancel(outer.Context()), "a")
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		context.AfterFunc(apart.Context(), func() { close(ended) })
		answered(t, ended, "the end of the nested work")
		for _, lease := range []*lock.Lease{apart, outer} {
			if err := lease.Release(t.Context()); !errors.Is(err, lock.ErrMaxHold) {
				t.Errorf("release: %v", err)
			}
		}
	})
}

// deaf is a connection that carries nothing any more from some moment on, and does
// not say so, if it is one for subscriptions.
type deaf struct {
	net.Conn
	from   <-chan struct{}
	listen atomic.Bool
}

func (d *deaf) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("subscribe")) {
		d.listen.Store(true)
	}
	return d.Conn.Write(b)
}

func (d *deaf) Read(b []byte) (int, error) {
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

// TestASubscriptionThatHearsNothingIsReplaced is L13 with a connection whose other
// end is gone without a word.
func TestASubscriptionThatHearsNothingIsReplaced(t *testing.T) {
	t.Parallel()
	h := onNodes(t, 1)
	lease := held(t, h.process(t, lock.Options{}), "shop 1", lock.WithTTL(time.Hour))
	from := make(chan struct{})
	var is atomic.Bool
	is.Store(true)
	var dialer net.Dialer
	away := &redisHouse{urls: h.urls, dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dialer.DialContext(ctx, network, addr)
		if err == nil && is.Load() {
			return &deaf{Conn: c, from: from}, nil
		}
		return c, err
	}}
	l := away.process(t, lock.Options{})
	wait := wants(t.Context(), l, "shop 1")
	testkit.Eventually(t, patience, func() bool { _, refused := countsOf(l); return refused >= 2 }) // the second is after the acknowledgement
	is.Store(false)
	close(from)
	free(t, lease)
	free(t, got(t, wait))
}

// TestARefusalIsNotFollowedByOthers: whatever was heard before.
func TestARefusalIsNotFollowedByOthers(t *testing.T) {
	t.Parallel()
	eachRedis(t, func(t *testing.T, h *redisHouse) {
		other, l := h.process(t, lock.Options{}), h.process(t, lock.Options{})
		first := held(t, other, "shop 1", lock.WithTTL(time.Hour))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		waits := []<-chan result{wants(ctx, l, "shop 1"), wants(ctx, l, "shop 1")}
		testkit.Eventually(t, patience, func() bool { _, refused := countsOf(l); return refused >= 2 })
		free(t, first) // l has it now, one of its callers waits on
		testkit.Eventually(t, patience, func() bool { return l.Waiting("shop 1") == 1 })
		for i := range h.urls {
			if err := h.client(t, i).Publish(ctx, "lock:released", "some-value shop 1").Err(); err != nil {
				t.Fatal(err)
			}
		}
		before, _ := countsOf(l)
		time.Sleep(500 * time.Millisecond)
		if made, _ := countsOf(l); made-before > int64(2*len(h.urls)) {
			t.Errorf("%d attempts in half a second in which nothing was released", made-before)
		}
		cancel()
		for _, w := range waits {
			if r := answered(t, w, "a wait"); r.err == nil {
				free(t, r.lease)
			}
		}
	})
}

// TestWhatRemainsOfAHolderIsWaitedForInQuiet: one node has the key of a holder who is
// gone, and with another node away that is enough to keep all others out.
func TestWhatRemainsOfAHolderIsWaitedForInQuiet(t *testing.T) {
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
		t.Errorf("%d attempts in two seconds in which nothing happened", made)
	}
}

func TestALockerThatIsBeingClosedGivesNoLocks(t *testing.T) {
	t.Parallel()
	h, p, g := onNodes(t, 1), new(tap), newGate()
	p.after = g.only("acquire")
	l := h.tapped(t, lock.Options{}, p)
	wait := wants(t.Context(), l, "shop 1")
	answered(t, g.reached, "the attempt")
	ended := make(chan error, 1)
	go func() { ended <- l.Close(context.Background()) }()
	testkit.Eventually(t, patience, func() bool {
		lease, err := l.Try(t.Context(), "shop 2")
		if err == nil {
			free(t, lease)
		}
		return errors.Is(err, lock.ErrClosed)
	})
	close(g.open)
	if r := answered(t, wait, "the attempt"); r.err == nil {
		free(t, r.lease)
	}
	if err := answered(t, ended, "the close"); err != nil {
		t.Error(err)
	}
}
