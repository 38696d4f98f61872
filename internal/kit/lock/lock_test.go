package lock_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/lock"
	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestLockHasOneHolder(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, h store) {
		const processes, workers, rounds = 3, 20, 3
		var inside int64 // without a mutex: the lock is one
		var all sync.WaitGroup
		for range processes {
			l := h.process(t, lock.Options{})
			for range workers {
				all.Go(func() {
					for range rounds {
						err := l.Do(t.Context(), "shop 1", func(context.Context, *lock.Lease) error {
							inside++
							defer func() { inside-- }()
							if inside != 1 {
								t.Errorf("%d holders", inside)
							}
							return nil
						})
						if err != nil {
							t.Error(err)
						}
					}
				})
			}
		}
		all.Wait()
	})
}

// Holders and waiters time out, use fixed TTLs, nest and are cancelled at random.
func TestLockHasOneHolderUnderRandomCalls(t *testing.T) {
	t.Parallel()
	seed := testkit.Seed(t)
	eachStore(t, func(t *testing.T, h store) {
		const processes, workers, rounds = 3, 8, 25
		var mu sync.Mutex
		inside := make(map[string]int)
		enter := func(name string, by int) {
			mu.Lock()
			defer mu.Unlock()
			if inside[name] += by; inside[name] > 1 {
				t.Errorf("%s: %d holders", name, inside[name])
			}
		}
		var all sync.WaitGroup
		for p := range processes {
			l := h.process(t, lock.Options{})
			for w := range workers {
				all.Go(func() {
					draw := rand.New(rand.NewPCG(seed, uint64(p*workers+w)))
					for range rounds {
						name := fmt.Sprintf("shop %d", draw.IntN(2))
						ctx, cancel := context.WithCancel(t.Context())
						if draw.IntN(2) == 0 {
							ctx, cancel = context.WithTimeout(ctx, time.Duration(draw.Int64N(int64(20*time.Millisecond))))
						} else if draw.IntN(2) == 0 {
							time.AfterFunc(time.Duration(draw.Int64N(int64(20*time.Millisecond))), cancel)
						}
						take := l.Acquire
						if draw.IntN(3) == 0 {
							take = l.Try
						}
						var o []lock.Option
						if draw.IntN(3) == 0 {
							o = append(o, lock.WithTTL(patience))
						}
						lease, err := take(ctx, name, o...)
						switch {
						case err == nil:
							enter(name, 1)
							if draw.IntN(2) == 0 {
								time.Sleep(time.Duration(draw.Int64N(int64(2 * time.Millisecond))))
							}
							enter(name, -1)
							if err := lease.Release(ctx); err != nil {
								t.Errorf("release: %v", err)
							}
						case !isBusy(err) && ctx.Err() == nil:
							t.Errorf("acquire: %v", err)
						}
						cancel()
					}
				})
			}
		}
		all.Wait()
		if r, ok := h.(*redisStore); ok && !t.Failed() {
			r.empty(t)
		}
	})
}

func TestBusyErrorHasTheName(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, h store) {
		defer mustRelease(t, mustAcquire(t, h.process(t, lock.Options{}), "shop 1", lock.WithTTL(time.Hour)))
		_, err := h.process(t, lock.Options{}).Try(t.Context(), "shop 1")
		if busy, ok := errors.AsType[*lock.BusyError](err); !ok || busy.Name != "shop 1" {
			t.Errorf("got %v (%+v)", err, busy)
		}
	})
}

func TestCallersOfAProcessWaitInOrder(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, h store) {
		l := h.process(t, lock.Options{})
		first := mustAcquire(t, l, "shop 1")
		var all sync.WaitGroup
		var order []int
		for i := range 10 {
			all.Go(func() {
				err := l.Do(t.Context(), "shop 1", func(context.Context, *lock.Lease) error {
					order = append(order, i)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
			testkit.Eventually(t, patience, func() bool { return l.Waiting("shop 1") == i+1 })
			time.Sleep(20 * time.Millisecond) // it is counted; now wait until it has joined the queue
		}
		mustRelease(t, first)
		all.Wait()
		if diff := cmp.Diff([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, order); diff != "" {
			t.Error(diff)
		}
	})
}

// L16: code that locks calls code that locks.
func TestNestedLockSharesTheLock(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, h store) {
		l, other := h.process(t, lock.Options{}), h.process(t, lock.Options{})
		busy := func(when string) {
			t.Helper()
			if _, err := other.Try(t.Context(), "shop 1"); !isBusy(err) {
				t.Errorf("%s: another process got the lock: %v", when, err)
			}
		}
		outer := mustAcquire(t, l, "shop 1")
		inner, err := l.Acquire(outer.Context(), "shop 1", lock.WithTTL(time.Second))
		if err != nil {
			t.Fatal(err)
		}
		mustRelease(t, inner)
		mustRelease(t, inner)
		if got := context.Cause(inner.Context()); !errors.Is(got, lock.ErrReleased) || outer.Context().Err() != nil {
			t.Errorf("got inner cause %v, outer cause %v", got, context.Cause(outer.Context()))
		}
		busy("when the inner lease was released, twice")
		again, err := l.Try(outer.Context(), "shop 1")
		if err != nil {
			t.Fatal(err)
		}
		mustRelease(t, outer)
		busy("when the outer lease was released first")
		if err := again.Context().Err(); err != nil {
			t.Errorf("inner context ended: %v", err)
		}
		mustRelease(t, again)
		next := mustAcquire(t, other, "shop 1")
		if _, err := l.Try(context.WithoutCancel(outer.Context()), "shop 1"); !isBusy(err) {
			t.Errorf("got %v with a context of a released lock, want busy", err)
		}
		if _, err := l.Try(outer.Context(), "shop 1"); !errors.Is(err, lock.ErrReleased) {
			t.Errorf("context of a released lock has not ended: %v", err)
		}
		other2 := mustAcquire(t, l, "shop 2")
		if _, err := other.Try(other2.Context(), "shop 2"); !isBusy(err) {
			t.Errorf("got %v in another process with this context, want busy", err)
		}
		mustRelease(t, other2)
		mustRelease(t, next)
	})
}

func TestHeldLockIsRenewed(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, h store) {
		o := lock.Options{TTL: 3 * time.Second}
		l, other := h.process(t, o), h.process(t, o)
		lease := mustAcquire(t, l, "shop 1")
		first := lease.Until()
		for time.Now().Before(first.Add(time.Second)) {
			if _, err := other.Try(t.Context(), "shop 1"); !isBusy(err) {
				t.Fatalf("another process got the lock: %v", err)
			}
			time.Sleep(20 * time.Millisecond)
		}
		if err := lease.Context().Err(); err != nil {
			t.Errorf("context ended: %v", context.Cause(lease.Context()))
		}
		mustRelease(t, lease)
	})
}

func TestFixedTTLEndsTheLease(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, h store) {
		l, other := h.process(t, lock.Options{TTL: time.Hour, MaxHold: time.Hour}), h.process(t, lock.Options{})
		lease := mustAcquire(t, l, "shop 1", lock.WithTTL(4*time.Second)) // long enough for the margin on a busy machine
		ended := make(chan time.Time, 1)
		context.AfterFunc(lease.Context(), func() { ended <- time.Now() })
		next := mustGet(t, acquireAsync(t.Context(), other, "shop 1"))
		if at := receive(t, ended, "the end of the work"); !at.Before(lease.Until()) {
			t.Errorf("context ended %v after the lock", at.Sub(lease.Until()))
		}
		if got := context.Cause(lease.Context()); !errors.Is(got, lock.ErrMaxHold) {
			t.Errorf("got cause %v", got)
		}
		for range 2 {
			if err := lease.Release(t.Context()); !errors.Is(err, lock.ErrMaxHold) {
				t.Errorf("release: %v", err)
			}
		}
		if err := next.Context().Err(); err != nil {
			t.Error("the next holder lost the lock")
		}
		mustRelease(t, next)
	})
}

// L9: the process renews, but the holder hangs.
func TestMaxHoldEndsHungHolder(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, h store) {
		var log testkit.Log
		o := lock.Options{TTL: 3 * time.Second, MaxHold: 3 * time.Second, Log: slog.New(slog.NewTextHandler(&log, nil))}
		l, other := h.process(t, o), h.process(t, o)
		lease := mustAcquire(t, l, "shop 1")
		began := time.Now()
		next := mustGet(t, acquireAsync(t.Context(), other, "shop 1"))
		if took := time.Since(began); took < 2*time.Second {
			t.Errorf("another process got the lock after %v, before MaxHold", took)
		}
		if got := context.Cause(lease.Context()); !errors.Is(got, lock.ErrMaxHold) {
			t.Errorf("got cause %v", got)
		}
		if got := log.String(); !strings.Contains(got, "lock ended before its release") || !strings.Contains(got, `lock="shop 1"`) {
			t.Errorf("got log %q", got)
		}
		if diff := cmp.Diff(int64(1), l.Stats().MaxHold); diff != "" {
			t.Error(diff)
		}
		mustRelease(t, next)
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, h store) {
		l, other := h.process(t, lock.Options{}), h.process(t, lock.Options{})
		lease := mustAcquire(t, other, "shop 1")
		ctx, cancel := context.WithCancelCause(t.Context())
		waits := []<-chan result{acquireAsync(ctx, l, "shop 1"), acquireAsync(ctx, l, "shop 1")}
		testkit.Eventually(t, patience, func() bool { return l.Waiting("shop 1") == 2 && l.Stats().Waited > 0 })
		reason := errors.New("user left")
		cancel(reason)
		for _, w := range waits {
			if r := receive(t, w, "the wait"); !errors.Is(r.err, reason) {
				t.Errorf("the wait ended with %v", r.err)
			}
		}
		if _, err := l.Try(ctx, "shop 2"); !errors.Is(err, reason) {
			t.Errorf("a context that has ended: %v", err)
		}
		mustRelease(t, lease)
		mustRelease(t, mustGet(t, acquireAsync(t.Context(), l, "shop 1"))) // an attempt may have been running
	})
}

func TestWithWaitDoesNotLimitTheLease(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, h store) {
		l, other := h.process(t, lock.Options{}), h.process(t, lock.Options{})
		lease := mustAcquire(t, other, "shop 1")
		if _, err := l.Acquire(t.Context(), "shop 1", lock.WithWait(2*time.Second)); !isBusy(err) {
			t.Errorf("got %v", err)
		}
		mustRelease(t, lease)
		lease, err := l.Acquire(t.Context(), "shop 1", lock.WithWait(patience))
		if err != nil {
			t.Fatal(err)
		}
		if _, bounded := lease.Context().Deadline(); bounded {
			t.Error("the lease has the deadline of the wait")
		}
		mustRelease(t, lease)
	})
}

func TestCloseEndsWaits(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, h store) {
		l, other := h.process(t, lock.Options{}), h.process(t, lock.Options{})
		lease := mustAcquire(t, other, "shop 1")
		wait := acquireAsync(t.Context(), l, "shop 1")
		testkit.Eventually(t, patience, func() bool { return l.Stats().Waited > 0 })
		mustClose(t, l)
		if r := receive(t, wait, "the wait"); !errors.Is(r.err, lock.ErrClosed) {
			t.Errorf("the wait ended with %v", r.err)
		}
		if _, err := l.Try(t.Context(), "shop 2"); !errors.Is(err, lock.ErrClosed) {
			t.Errorf("a closed locker: %v", err)
		}
		mustRelease(t, lease)
	})
}

func TestDo(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, h store) {
		l := h.process(t, lock.Options{})
		reason := errors.New("no")
		var lease *lock.Lease
		err := l.Do(t.Context(), "shop 1", func(ctx context.Context, got *lock.Lease) error {
			lease = got
			if ctx.Err() != nil || got.Name() != "shop 1" {
				t.Errorf("function of %q begins with %v", got.Name(), ctx.Err())
			}
			return reason
		})
		if !errors.Is(err, reason) || !errors.Is(context.Cause(lease.Context()), lock.ErrReleased) {
			t.Errorf("got %v, cause %v", err, context.Cause(lease.Context()))
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a panic was swallowed")
				}
			}()
			_ = l.Do(t.Context(), "shop 1", func(context.Context, *lock.Lease) error { panic("bug") })
		}()
		mustRelease(t, mustAcquire(t, l, "shop 1"))
		err = l.Do(t.Context(), "shop 1", func(ctx context.Context, _ *lock.Lease) error {
			<-ctx.Done()
			return nil
		}, lock.WithTTL(2*time.Second))
		if !errors.Is(err, lock.ErrMaxHold) {
			t.Errorf("got %v after the end of the lease", err)
		}
	})
}

func TestInvalidOptionsAreRejected(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1})
	defer func() { _ = rdb.Close() }()
	one := []redis.UniversalClient{rdb}
	for _, tt := range []struct {
		name  string
		nodes []redis.UniversalClient
		o     lock.Options
		want  string
	}{
		{"no node", nil, lock.Options{}, "is not odd"},
		{"two nodes", append(one, rdb), lock.Options{}, "is not odd"},
		{"a short life", one, lock.Options{TTL: time.Millisecond}, "at least 200ms"},
		{"a hold shorter than the life", one, lock.Options{MaxHold: time.Second}, "MaxHold"},
		{"a negative time-out", one, lock.Options{NodeTimeout: -1}, "NodeTimeout"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := lock.NewRedis(tt.nodes, tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	l, err := lock.NewRedis(one, lock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, l)
	for _, tt := range []struct {
		name, lock string
		o          lock.Option
		want       string
	}{
		{"no name", "", lock.WithTTL(time.Second), "must have 1 to 200"},
		{"a long name", strings.Repeat("x", 201), lock.WithTTL(time.Second), "must have 1 to 200"},
		{"a name without a hash tag", "}x", lock.WithTTL(time.Second), "brace"},
		{"a short lease", "x", lock.WithTTL(time.Millisecond), "at least 200ms"},
		{"a negative lease", "x", lock.WithTTL(-1), "at least 200ms"},
		{"a negative wait", "x", lock.WithWait(-1), "invalid wait -1ns"},
		{"an unreachable Redis", "x", lock.WithTTL(time.Second), "connection refused"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := l.Acquire(t.Context(), tt.lock, tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}
