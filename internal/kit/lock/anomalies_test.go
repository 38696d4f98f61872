package lock_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/lock"
	"github.com/tandian-dev/tandian/internal/testkit"
)

// L1 and L18: the lock is granted, and the caller leaves before the answer arrives. The
// numbers L1 to L19 are those of docs/guide/locks.md.
func TestCancelledAttemptLeavesNoLock(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		take func(l *lock.Locker, ctx context.Context) (*lock.Lease, error)
	}{
		{"try", func(l *lock.Locker, ctx context.Context) (*lock.Lease, error) { return l.Try(ctx, "shop 1") }},
		{"acquire", func(l *lock.Locker, ctx context.Context) (*lock.Lease, error) { return l.Acquire(ctx, "shop 1") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachRedis(t, func(t *testing.T, h *redisStore) {
				taps, gates := h.taps(), make([]gate, len(h.urls))
				for i := range taps {
					gates[i] = newGate()
					taps[i].after = gates[i].only("acquire")
				}
				l := h.tapped(t, lock.Options{}, taps...)
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				_, err := tt.take(l, ctx)
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v", err)
				}
				for _, g := range gates {
					receive(t, g.reached, "the attempt")
				}
				if got := h.locks(t); len(got) != len(h.urls) {
					t.Fatalf("invalid test setup: got %v", got)
				}
				for _, g := range gates {
					close(g.open)
				}
				h.empty(t)
			})
		})
	}
}

// L18: the caller is cancelled without a deadline. The answer is awaited, and the lock
// released.
func TestCancelledCallerGetsNoLock(t *testing.T) {
	t.Parallel()
	eachRedis(t, func(t *testing.T, h *redisStore) {
		taps := h.taps()
		gates := make([]gate, len(taps))
		for i := range taps {
			gates[i] = newGate()
			taps[i].after = gates[i].only("acquire")
		}
		l := h.tapped(t, lock.Options{}, taps...)
		ctx, cancel := context.WithCancel(t.Context())
		wait := acquireAsync(ctx, l, "shop 1")
		for _, g := range gates {
			receive(t, g.reached, "the attempt")
		}
		cancel()
		for _, g := range gates {
			close(g.open)
		}
		if r := receive(t, wait, "the attempt"); r.lease != nil || !errors.Is(r.err, context.Canceled) {
			t.Errorf("got %v, %v", r.lease, r.err)
		}
		h.empty(t)
	})
}

// The lock is granted, and the connection is lost before the answer arrives.
func TestLostAnswerLeavesNoLock(t *testing.T) {
	t.Parallel()
	eachRedis(t, func(t *testing.T, h *redisStore) {
		taps := h.taps()
		for _, p := range taps {
			p.after = func(script string) error {
				if script == "acquire" {
					return errBroken
				}
				return nil
			}
		}
		l := h.tapped(t, lock.Options{}, taps...)
		if _, err := l.Try(t.Context(), "shop 1"); !errors.Is(err, errBroken) {
			t.Errorf("got %v", err)
		}
		h.empty(t)
	})
}

// L2: an attempt reaches a node after its release.
func TestSlowNodeLeavesNoLock(t *testing.T) {
	t.Parallel()
	h := onNodes(t, 3)
	taps, late := h.taps(), newGate()
	taps[2].before = late.only("acquire")
	executed := make(chan struct{}, 2)
	taps[2].after = func(script string) error {
		if script == "acquire" {
			executed <- struct{}{}
		}
		return nil
	}
	l := h.tapped(t, lock.Options{}, taps...)
	lease := mustAcquire(t, l, "shop 1")
	receive(t, late.reached, "the third node's attempt")
	mustRelease(t, lease)
	if got := h.locks(t); len(got) != 0 {
		t.Fatalf("invalid test setup: got %v", got)
	}
	close(late.open)
	receive(t, executed, "the third node's attempt")
	h.empty(t)
	mustClose(t, l)
	if got := h.locks(t); len(got) != 0 {
		t.Errorf("got %v, want no locks", got)
	}
}

// The node that answers after the majority grants the lock too.
func TestMajorityDoesNotCancelOtherNodes(t *testing.T) {
	t.Parallel()
	h := onNodes(t, 3)
	taps, late := h.taps(), newGate()
	taps[2].before = late.only("acquire")
	l := h.tapped(t, lock.Options{NodeTimeout: patience}, taps...)
	lease := mustAcquire(t, l, "shop 1", lock.WithTTL(time.Hour))
	receive(t, late.reached, "the third node's attempt")
	close(late.open)
	testkit.Eventually(t, patience, func() bool { return len(h.locks(t)) == 3 })
	mustRelease(t, lease)
	h.empty(t)
}

// L3.
func TestHungNodeDoesNotDelayCallers(t *testing.T) {
	t.Parallel()
	h := onNodes(t, 3)
	stopped := h.client(t, 2)
	pid := pidOf(t, stopped)
	l, other := h.process(t, lock.Options{NodeTimeout: patience}), h.process(t, lock.Options{NodeTimeout: patience})
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	began := time.Now()
	lease := mustAcquire(t, l, "shop 1", lock.WithTTL(time.Hour))
	wait := acquireAsync(t.Context(), other, "shop 1")
	// Wait for silence: during the release an attempt would find one node taken and wait for
	// the hung one.
	testkit.Eventually(t, patience, func() bool {
		_, before := countsOf(other)
		time.Sleep(200 * time.Millisecond)
		_, refused := countsOf(other)
		return refused > 1 && refused == before
	})
	mustRelease(t, lease)
	mustRelease(t, mustGet(t, wait))
	if took := time.Since(began); took >= patience {
		t.Errorf("it took %v", took)
	}
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	h.empty(t)
}

func pidOf(t *testing.T, c *redis.Client) int {
	t.Helper()
	info, err := c.Info(t.Context(), "server").Result()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(info, "process_id:")
	text, _, _ := strings.Cut(rest, "\r")
	pid, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// L4, L5, L10 and L19.
func TestLossEndsContextOfHolder(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		after func(t *testing.T, h *redisStore) // the key was deleted
	}{
		{"without another holder (L4)", func(*testing.T, *redisStore) {}},
		{"with another holder (L4)", func(t *testing.T, h *redisStore) {
			mustAcquire(t, h.process(t, lock.Options{}), "shop 1")
		}},
		{"after another holder (L5)", func(t *testing.T, h *redisStore) {
			mustRelease(t, mustAcquire(t, h.process(t, lock.Options{}), "shop 1"))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachRedis(t, func(t *testing.T, h *redisStore) {
				l := h.process(t, lock.Options{TTL: 3 * time.Second})
				lease := mustAcquire(t, l, "shop 1")
				ended := make(chan time.Time, 1)
				context.AfterFunc(lease.Context(), func() { ended <- time.Now() })
				until := lease.Until()
				for i := range h.urls {
					if err := h.client(t, i).Unlink(t.Context(), "lock:{shop 1}").Err(); err != nil {
						t.Fatal(err)
					}
				}
				tt.after(t, h)
				if at := receive(t, ended, "the end of the work"); !at.Before(until) {
					t.Errorf("context ended %v after the lock", at.Sub(until))
				}
				if got := context.Cause(lease.Context()); !errors.Is(got, lock.ErrLost) {
					t.Errorf("got cause %v", got)
				}
				for range 2 { // L19
					if err := lease.Release(t.Context()); !errors.Is(err, lock.ErrLost) {
						t.Errorf("release: %v", err)
					}
				}
				if diff := cmp.Diff(int64(1), l.Stats().Lost); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// L19: also if the lock has another holder.
func TestReleaseReportsLoss(t *testing.T) {
	t.Parallel()
	eachRedis(t, func(t *testing.T, h *redisStore) {
		l := h.process(t, lock.Options{})
		lose := func(name string) *lock.Lease {
			lease := mustAcquire(t, l, name)
			for i := range h.urls {
				if err := h.client(t, i).Unlink(t.Context(), "lock:{"+name+"}").Err(); err != nil {
					t.Fatal(err)
				}
			}
			return lease
		}
		lost, taken := lose("shop 1"), lose("shop 2")
		defer mustRelease(t, mustAcquire(t, h.process(t, lock.Options{}), "shop 2"))
		for _, lease := range []*lock.Lease{lost, taken, lost, taken} {
			if err := lease.Release(t.Context()); !errors.Is(err, lock.ErrLost) {
				t.Errorf("%s: %v", lease.Name(), err)
			}
		}
		lease := mustAcquire(t, l, "shop 3")
		mustRelease(t, lease)
		mustRelease(t, lease) // the second release returns the same
	})
}

// L19: the lock is released, and the connection is lost before the answer arrives.
func TestUnansweredReleaseIsRetried(t *testing.T) {
	t.Parallel()
	eachRedis(t, func(t *testing.T, h *redisStore) {
		taps := h.taps()
		l := h.tapped(t, lock.Options{}, taps...)
		lease := mustAcquire(t, l, "shop 1")
		for _, p := range taps {
			p.do(func() {
				var once sync.Once
				p.after = func(script string) (err error) {
					if script == "release" {
						once.Do(func() { err = errBroken })
					}
					return err
				}
			})
		}
		if err := lease.Release(t.Context()); !errors.Is(err, errBroken) {
			t.Errorf("release: %v", err)
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Errorf("release again: %v", err)
		}
		h.empty(t)
	})
}

// The caller does not repeat the release, and the lock is free long before its expiry.
func TestLostReleaseIsRetriedInBackground(t *testing.T) {
	t.Parallel()
	eachRedis(t, func(t *testing.T, h *redisStore) {
		taps := h.taps()
		l := h.tapped(t, lock.Options{}, taps...)
		lease := mustAcquire(t, l, "shop 1", lock.WithTTL(time.Hour))
		wait := acquireAsync(t.Context(), h.process(t, lock.Options{}), "shop 1")
		for _, p := range taps {
			p.do(func() {
				var once sync.Once
				p.before = func(script string) (err error) {
					if script == "release" {
						once.Do(func() { err = errBroken })
					}
					return err
				}
			})
		}
		if err := lease.Release(t.Context()); !errors.Is(err, errBroken) {
			t.Errorf("release: %v", err)
		}
		mustRelease(t, mustGet(t, wait))
	})
}

// L17.
func TestWallClockJumpsAreIgnored(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	h := &redisStore{urls: []string{"redis://" + server.Addr()}}
	l := h.process(t, lock.Options{TTL: time.Minute})
	for _, clock := range []time.Time{time.Now(), time.Now().Add(24 * time.Hour), time.Now().Add(-24 * time.Hour)} {
		server.SetTime(clock)
		lease := mustAcquire(t, l, "shop 1")
		if left := time.Until(lease.Until()); left < 50*time.Second || left > time.Minute {
			t.Errorf("the lease is valid for %v", left)
		}
		if left := server.TTL("lock:{shop 1}"); left != time.Minute {
			t.Errorf("the key has a TTL of %v", left)
		}
		mustRelease(t, lease)
	}
}

// L11: the renewal does not return.
func TestContextEndsBeforeLockIfRedisHangs(t *testing.T) {
	t.Parallel()
	eachRedis(t, func(t *testing.T, h *redisStore) {
		taps, hang := h.taps(), make(chan struct{})
		for _, p := range taps {
			p.before = func(script string) error {
				if script == "extend" {
					<-hang
				}
				return nil
			}
		}
		l := h.tapped(t, lock.Options{TTL: 5 * time.Second}, taps...)
		lease := mustAcquire(t, l, "shop 1")
		until := lease.Until()
		ended := make(chan time.Time, 1)
		context.AfterFunc(lease.Context(), func() { ended <- time.Now() })
		if at := receive(t, ended, "the end of the work"); !at.Before(until) {
			t.Errorf("context ended %v after the lock", at.Sub(until))
		}
		if got := context.Cause(lease.Context()); !errors.Is(got, lock.ErrLost) {
			t.Errorf("got cause %v", got)
		}
		close(hang)
		if err := lease.Release(t.Context()); !errors.Is(err, lock.ErrLost) {
			t.Errorf("release: %v", err)
		}
	})
}

// An error is no loss.
func TestFailedRenewalIsRetried(t *testing.T) {
	t.Parallel()
	eachRedis(t, func(t *testing.T, h *redisStore) {
		taps := h.taps()
		for _, p := range taps {
			failures := 2
			p.before = func(script string) error {
				if script == "extend" && failures > 0 {
					failures--
					return errBroken
				}
				return nil
			}
		}
		l := h.tapped(t, lock.Options{TTL: 3 * time.Second}, taps...)
		lease := mustAcquire(t, l, "shop 1")
		first := lease.Until()
		testkit.Eventually(t, patience, func() bool { return lease.Until().After(first) })
		if err := lease.Context().Err(); err != nil {
			t.Errorf("got cause %v, want none", context.Cause(lease.Context()))
		}
		mustRelease(t, lease)
	})
}

// L12.
func TestWaitSendsNoCommands(t *testing.T) {
	t.Parallel()
	eachRedis(t, func(t *testing.T, h *redisStore) {
		lease := mustAcquire(t, h.process(t, lock.Options{}), "shop 1", lock.WithTTL(time.Hour))
		taps := h.taps()
		l := h.tapped(t, lock.Options{}, taps...)
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				if err := l.Do(t.Context(), "shop 1", func(context.Context, *lock.Lease) error { return nil }); err != nil {
					t.Error(err)
				}
			})
		}
		var before []int
		quiet := func() (n []int) {
			for i := range h.urls {
				n = append(n, served(t, h.client(t, i)))
			}
			return n
		}
		// It waits after its subscription and a second attempt: nothing happens for a while.
		testkit.Eventually(t, patience, func() bool {
			if _, refused := countsOf(l); refused == 0 {
				return false
			}
			before = quiet()
			time.Sleep(200 * time.Millisecond)
			return l.Waiting("shop 1") == 2 && cmp.Equal(before, quiet())
		})
		made, _ := countsOf(l)
		time.Sleep(time.Second)
		if diff := cmp.Diff(before, quiet()); diff != "" {
			t.Errorf("commands of nodes during one second of waiting: %s", diff)
		}
		if got, _ := countsOf(l); got != made {
			t.Errorf("got %d attempts during the wait, want none", got-made)
		}
		mustRelease(t, lease)
		all.Wait()
	})
}

// served returns the number of commands of a node, without those that read it.
func served(t *testing.T, c *redis.Client) (n int) {
	t.Helper()
	text, err := c.Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		name, rest, ok := strings.Cut(line, ":calls=")
		if !ok || name == "cmdstat_info" || strings.HasPrefix(name, "cmdstat_hello") || strings.HasPrefix(name, "cmdstat_client") || name == "cmdstat_ping" {
			continue // connection setup of this client, and pings of the subscriber
		}
		calls, _, _ := strings.Cut(rest, ",")
		k, err := strconv.Atoi(calls)
		if err != nil {
			t.Fatal(err)
		}
		n += k
	}
	return n
}

// L13.
func TestNoReleaseIsMissed(t *testing.T) {
	t.Parallel()
	t.Run("between the refusal and the subscription", func(t *testing.T) {
		t.Parallel()
		eachRedis(t, func(t *testing.T, h *redisStore) {
			lease := mustAcquire(t, h.process(t, lock.Options{}), "shop 1", lock.WithTTL(time.Hour))
			taps, gates := h.taps(), make([]gate, len(h.urls))
			for i := range taps {
				gates[i] = newGate()
				taps[i].after = gates[i].only("acquire")
			}
			wait := acquireAsync(t.Context(), h.tapped(t, lock.Options{}, taps...), "shop 1")
			for _, g := range gates {
				receive(t, g.reached, "the attempt")
			}
			mustRelease(t, lease)
			for _, g := range gates {
				close(g.open)
			}
			mustRelease(t, mustGet(t, wait))
		})
	})
	t.Run("while the subscription is cut", func(t *testing.T) {
		t.Parallel()
		eachRedis(t, func(t *testing.T, h *redisStore) {
			lease := mustAcquire(t, h.process(t, lock.Options{}), "shop 1", lock.WithTTL(time.Hour))
			taps, dials := h.taps(), make(chan struct{})
			l := h.tapped(t, lock.Options{}, taps...)
			wait := acquireAsync(t.Context(), l, "shop 1")
			subscribed := func(want int64) bool {
				for i := range h.urls {
					if testkit.AdminClient(t, h.client(t, i)).PubSubNumSub(t.Context(), "lock:released").Val()["lock:released"] != want {
						return false
					}
				}
				return true
			}
			testkit.Eventually(t, patience, func() bool { return subscribed(1) })
			attempts, _ := countsOf(l)
			testkit.Eventually(t, patience, func() bool { // it retries after the acknowledgement
				again, _ := countsOf(l)
				defer func() { attempts = again }()
				time.Sleep(100 * time.Millisecond)
				return again == attempts
			})
			for i, p := range taps {
				p.do(func() { p.dials = dials })
				if err := testkit.AdminClient(t, h.client(t, i)).ClientKillByFilter(t.Context(), "TYPE", "pubsub").Err(); err != nil {
					t.Fatal(err)
				}
			}
			testkit.Eventually(t, patience, func() bool { return subscribed(0) })
			mustRelease(t, lease)
			if got := h.locks(t); len(got) != 0 {
				t.Fatalf("invalid test setup: got %v", got)
			}
			close(dials)
			mustRelease(t, mustGet(t, wait))
		})
	})
	t.Run("of a dead holder, without a subscription", func(t *testing.T) {
		t.Parallel()
		eachRedis(t, func(t *testing.T, h *redisStore) {
			// Its process is dead: no renewal and no release.
			mustAcquire(t, h.process(t, lock.Options{}), "shop 1", lock.WithTTL(2*time.Second))
			taps, never := h.taps(), make(chan struct{})
			l := h.tapped(t, lock.Options{NodeTimeout: time.Second}, taps...)
			var all sync.WaitGroup
			for i := range 8 { // opens connections for commands
				all.Go(func() {
					if err := l.Do(t.Context(), fmt.Sprint("another ", i), func(context.Context, *lock.Lease) error { return nil }); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			for _, p := range taps {
				p.do(func() { p.dials = never })
			}
			t.Cleanup(func() { close(never) })
			mustRelease(t, mustGet(t, acquireAsync(t.Context(), l, "shop 1")))
		})
	})
}

// L14.
func TestReleaseCausesOneAttemptPerProcess(t *testing.T) {
	t.Parallel()
	eachRedis(t, func(t *testing.T, h *redisStore) {
		const processes, waiters = 3, 66
		first := mustAcquire(t, h.process(t, lock.Options{}), "shop 1", lock.WithTTL(time.Hour))
		var all sync.WaitGroup
		var lockers []*lock.Locker
		for range processes {
			l := h.process(t, lock.Options{})
			lockers = append(lockers, l)
			for range waiters {
				all.Go(func() {
					if err := l.Do(t.Context(), "shop 1", func(context.Context, *lock.Lease) error { return nil }); err != nil {
						t.Error(err)
					}
				})
			}
			testkit.Eventually(t, patience, func() bool {
				made, _ := countsOf(l)
				return l.Waiting("shop 1") == waiters && made >= 2
			})
		}
		var before []int64
		for _, l := range lockers {
			made, _ := countsOf(l)
			before = append(before, made)
		}
		mustRelease(t, first)
		all.Wait()
		for i, l := range lockers {
			// The acknowledgement of the subscription at another node may come late. A herd
			// would make 66 attempts at each.
			made, _ := countsOf(l)
			if got, most := made-before[i], int64(2*processes*waiters+len(h.urls)); got > most {
				t.Errorf("process %d made %d attempts at %d releases", i, got, processes*waiters)
			}
		}
	})
}

// One node of three has another holder, or is unavailable.
func TestMinorityLocksAreReleased(t *testing.T) {
	t.Parallel()
	h := onNodes(t, 3)
	foreign := func(i int) {
		if err := h.client(t, i).Set(t.Context(), "lock:{shop 1}", "another", time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
	}
	foreign(0)
	most := h.process(t, lock.Options{})
	mustRelease(t, mustAcquire(t, most, "shop 1"))
	foreign(1)
	if _, err := most.Try(t.Context(), "shop 1"); !isBusy(err) {
		t.Errorf("a majority: %v", err)
	}
	testkit.Eventually(t, patience, func() bool { return len(h.locks(t)) == 2 })
}

func TestQuorumWithUnavailableNodes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		away int
		ok   bool
	}{{0, true}, {1, true}, {2, false}} {
		t.Run(fmt.Sprintf("%d away", tt.away), func(t *testing.T) {
			t.Parallel()
			h := onNodes(t, 3)
			taps := h.taps()
			for _, p := range taps[:tt.away] {
				p.before = func(string) error { return errBroken }
			}
			lease, err := h.tapped(t, lock.Options{}, taps...).Acquire(t.Context(), "shop 1")
			if tt.ok {
				if err != nil {
					t.Fatal(err)
				}
				mustRelease(t, lease)
			} else if !errors.Is(err, errBroken) {
				t.Errorf("got %v", err)
			}
			for _, p := range taps {
				p.do(func() { p.before = nil })
			}
			h.empty(t)
		})
	}
}
