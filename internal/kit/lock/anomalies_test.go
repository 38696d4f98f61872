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

// The numbers L1 to L19 are those of DESIGN.md.

// TestACancelledAttemptLeavesNothing is L1 and L18: the lock is granted, and the
// caller has gone before the answer is there.
func TestACancelledAttemptLeavesNothing(t *testing.T) {
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
			eachRedis(t, func(t *testing.T, h *redisHouse) {
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
					answered(t, g.reached, "the attempt")
				}
				if got := h.locks(t); len(got) != len(h.urls) {
					t.Fatalf("the test is not about what it should be: %v", got)
				}
				for _, g := range gates {
					close(g.open)
				}
				h.empty(t)
			})
		})
	}
}

// TestACallerWhoHasGoneIsNotGivenTheLock is L18 with a caller who is cut off and
// had no deadline: the answer is waited for, and the lock given up.
func TestACallerWhoHasGoneIsNotGivenTheLock(t *testing.T) {
	t.Parallel()
	eachRedis(t, func(t *testing.T, h *redisHouse) {
		taps := h.taps()
		gates := make([]gate, len(taps))
		for i := range taps {
			gates[i] = newGate()
			taps[i].after = gates[i].only("acquire")
		}
		l := h.tapped(t, lock.Options{}, taps...)
		ctx, cancel := context.WithCancel(t.Context())
		wait := wants(ctx, l, "shop 1")
		for _, g := range gates {
			answered(t, g.reached, "the attempt")
		}
		cancel()
		for _, g := range gates {
			close(g.open)
		}
		if r := answered(t, wait, "the attempt"); r.lease != nil || !errors.Is(r.err, context.Canceled) {
			t.Errorf("got %v, %v", r.lease, r.err)
		}
		h.empty(t)
	})
}

// TestAnAnswerThatIsLostLeavesNothing: the lock is granted, and the connection
// lost before that is known.
func TestAnAnswerThatIsLostLeavesNothing(t *testing.T) {
	t.Parallel()
	eachRedis(t, func(t *testing.T, h *redisHouse) {
		taps := h.taps()
		for _, p := range taps {
			p.after = func(script string) error {
				if script == "acquire" {
					return broken
				}
				return nil
			}
		}
		l := h.tapped(t, lock.Options{}, taps...)
		if _, err := l.Try(t.Context(), "shop 1"); !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
		h.empty(t)
	})
}

// TestAStragglerLeavesNothing is L2: a node is asked for the lock when it has been
// given up already.
func TestAStragglerLeavesNothing(t *testing.T) {
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
	lease := held(t, l, "shop 1")
	answered(t, late.reached, "the third node's attempt")
	free(t, lease)
	if got := h.locks(t); len(got) != 0 {
		t.Fatalf("the test is not about what it should be: %v", got)
	}
	close(late.open)
	answered(t, executed, "the third node's attempt")
	h.empty(t)
	closed(t, l)
	if got := h.locks(t); len(got) != 0 {
		t.Errorf("left for ever: %v", got)
	}
}

// A majority decides, and the node that answers after it grants the lock too.
func TestAMajorityDoesNotCancelTheOtherNodes(t *testing.T) {
	t.Parallel()
	h := onNodes(t, 3)
	taps, late := h.taps(), newGate()
	taps[2].before = late.only("acquire")
	l := h.tapped(t, lock.Options{NodeTimeout: patience}, taps...)
	lease := held(t, l, "shop 1", lock.WithTTL(time.Hour))
	answered(t, late.reached, "the third node's attempt")
	close(late.open)
	testkit.Eventually(t, patience, func() bool { return len(h.locks(t)) == 3 })
	free(t, lease)
	h.empty(t)
}

// TestANodeThatHangsHoldsNobodyUp is L3.
func TestANodeThatHangsHoldsNobodyUp(t *testing.T) {
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
	lease := held(t, l, "shop 1", lock.WithTTL(time.Hour))
	wait := wants(t.Context(), other, "shop 1")
	// It waits in quiet: an attempt in the middle of the release would find one node taken
	// and have to wait for the one that hangs.
	testkit.Eventually(t, patience, func() bool {
		_, before := countsOf(other)
		time.Sleep(200 * time.Millisecond)
		_, refused := countsOf(other)
		return refused > 1 && refused == before
	})
	free(t, lease)
	free(t, got(t, wait))
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

// TestAHolderIsToldThatItLostTheLock is L4, L5, L10 and L19.
func TestAHolderIsToldThatItLostTheLock(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		after func(t *testing.T, h *redisHouse) // the key was deleted
	}{
		{"and nobody has it (L4)", func(*testing.T, *redisHouse) {}},
		{"and another has it (L4)", func(t *testing.T, h *redisHouse) {
			held(t, h.process(t, lock.Options{}), "shop 1")
		}},
		{"and another had it (L5)", func(t *testing.T, h *redisHouse) {
			free(t, held(t, h.process(t, lock.Options{}), "shop 1"))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachRedis(t, func(t *testing.T, h *redisHouse) {
				l := h.process(t, lock.Options{TTL: 3 * time.Second})
				lease := held(t, l, "shop 1")
				ended := make(chan time.Time, 1)
				context.AfterFunc(lease.Context(), func() { ended <- time.Now() })
				until := lease.Until()
				for i := range h.urls {
					if err := h.client(t, i).Unlink(t.Context(), "lock:{shop 1}").Err(); err != nil {
						t.Fatal(err)
					}
				}
				tt.after(t, h)
				if at := answered(t, ended, "the end of the work"); !at.Before(until) {
					t.Errorf("it was told %v after the lock's end", at.Sub(until))
				}
				if got := context.Cause(lease.Context()); !errors.Is(got, lock.ErrLost) {
					t.Errorf("it was stopped because %v", got)
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

// TestAReleaseSaysWhetherTheLockWasThere is L19: as soon as it is released, and
// whoever has it then.
func TestAReleaseSaysWhetherTheLockWasThere(t *testing.T) {
	t.Parallel()
	eachRedis(t, func(t *testing.T, h *redisHouse) {
		l := h.process(t, lock.Options{})
		lose := func(name string) *lock.Lease {
			lease := held(t, l, name)
			for i := range h.urls {
				if err := h.client(t, i).Unlink(t.Context(), "lock:{"+name+"}").Err(); err != nil {
					t.Fatal(err)
				}
			}
			return lease
		}
		nobody, another := lose("shop 1"), lose("shop 2")
		defer free(t, held(t, h.process(t, lock.Options{}), "shop 2"))
		for _, lease := range []*lock.Lease{nobody, another, nobody, another} {
			if err := lease.Release(t.Context()); !errors.Is(err, lock.ErrLost) {
				t.Errorf("%s: %v", lease.Name(), err)
			}
		}
		lease := held(t, l, "shop 3")
		free(t, lease)
		free(t, lease) // and again it says the same
	})
}

// TestAReleaseThatWasNotAnsweredIsRepeated is L19: the lock was given up, and the
// connection lost before that was known.
func TestAReleaseThatWasNotAnsweredIsRepeated(t *testing.T) {
	t.Parallel()
	eachRedis(t, func(t *testing.T, h *redisHouse) {
		taps := h.taps()
		l := h.tapped(t, lock.Options{}, taps...)
		lease := held(t, l, "shop 1")
		for _, p := range taps {
			p.do(func() {
				var once sync.Once
				p.after = func(script string) (err error) {
					if script == "release" {
						once.Do(func() { err = broken })
					}
					return err
				}
			})
		}
		if err := lease.Release(t.Context()); !errors.Is(err, broken) {
			t.Errorf("release: %v", err)
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Errorf("release again: %v", err)
		}
		h.empty(t)
	})
}

// TestAReleaseThatDidNotArriveIsMadeUpFor: nobody repeats it, and the lock is
// free long before it would end by itself.
func TestAReleaseThatDidNotArriveIsMadeUpFor(t *testing.T) {
	t.Parallel()
	eachRedis(t, func(t *testing.T, h *redisHouse) {
		taps := h.taps()
		l := h.tapped(t, lock.Options{}, taps...)
		lease := held(t, l, "shop 1", lock.WithTTL(time.Hour))
		wait := wants(t.Context(), h.process(t, lock.Options{}), "shop 1")
		for _, p := range taps {
			p.do(func() {
				var once sync.Once
				p.before = func(script string) (err error) {
					if script == "release" {
						once.Do(func() { err = broken })
					}
					return err
				}
			})
		}
		if err := lease.Release(t.Context()); !errors.Is(err, broken) {
			t.Errorf("release: %v", err)
		}
		free(t, got(t, wait))
	})
}

// TestAWallClockThatJumpsChangesNothing is L17.
func TestAWallClockThatJumpsChangesNothing(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	h := &redisHouse{urls: []string{"redis://" + server.Addr()}}
	l := h.process(t, lock.Options{TTL: time.Minute})
	for _, clock := range []time.Time{time.Now(), time.Now().Add(24 * time.Hour), time.Now().Add(-24 * time.Hour)} {
		server.SetTime(clock)
		lease := held(t, l, "shop 1")
		if left := time.Until(lease.Until()); left < 50*time.Second || left > time.Minute {
			t.Errorf("it is valid for %v", left)
		}
		if left := server.TTL("lock:{shop 1}"); left != time.Minute {
			t.Errorf("it has a life of %v", left)
		}
		free(t, lease)
	}
}

// TestTheWorkEndsBeforeTheLockIfRedisHangs is L11: the renewal does not return.
func TestTheWorkEndsBeforeTheLockIfRedisHangs(t *testing.T) {
	t.Parallel()
	eachRedis(t, func(t *testing.T, h *redisHouse) {
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
		lease := held(t, l, "shop 1")
		until := lease.Until()
		ended := make(chan time.Time, 1)
		context.AfterFunc(lease.Context(), func() { ended <- time.Now() })
		if at := answered(t, ended, "the end of the work"); !at.Before(until) {
			t.Errorf("the work was stopped %v after the lock had ended", at.Sub(until))
		}
		if got := context.Cause(lease.Context()); !errors.Is(got, lock.ErrLost) {
			t.Errorf("it was stopped because %v", got)
		}
		close(hang)
		if err := lease.Release(t.Context()); !errors.Is(err, lock.ErrLost) {
			t.Errorf("release: %v", err)
		}
	})
}

// TestARenewalThatFailsIsRepeated: an error is no loss.
func TestARenewalThatFailsIsRepeated(t *testing.T) {
	t.Parallel()
	eachRedis(t, func(t *testing.T, h *redisHouse) {
		taps := h.taps()
		for _, p := range taps {
			failures := 2
			p.before = func(script string) error {
				if script == "extend" && failures > 0 {
					failures--
					return broken
				}
				return nil
			}
		}
		l := h.tapped(t, lock.Options{TTL: 3 * time.Second}, taps...)
		lease := held(t, l, "shop 1")
		first := lease.Until()
		testkit.Eventually(t, patience, func() bool { return lease.Until().After(first) })
		if err := lease.Context().Err(); err != nil {
			t.Errorf("the work was stopped: %v", context.Cause(lease.Context()))
		}
		free(t, lease)
	})
}

// TestAWaitSendsNothing is L12.
func TestAWaitSendsNothing(t *testing.T) {
	t.Parallel()
	eachRedis(t, func(t *testing.T, h *redisHouse) {
		lease := held(t, h.process(t, lock.Options{}), "shop 1", lock.WithTTL(time.Hour))
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
		// It waits when it listens and has tried once more: nothing happens for a while.
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
			t.Errorf("commands of nodes while somebody waited for a second: %s", diff)
		}
		if got, _ := countsOf(l); got != made {
			t.Errorf("%d attempts while it waited", got-made)
		}
		free(t, lease)
		all.Wait()
	})
}

// served is how many commands a node was sent but for those that ask this.
func served(t *testing.T, c *redis.Client) (n int) {
	t.Helper()
	text, err := c.Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		name, rest, ok := strings.Cut(line, ":calls=")
		if !ok || name == "cmdstat_info" || strings.HasPrefix(name, "cmdstat_hello") || strings.HasPrefix(name, "cmdstat_client") || name == "cmdstat_ping" {
			continue // a client that asks this introduces itself, and one that listens says that it is there
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

// TestNoReleaseIsMissed is L13.
func TestNoReleaseIsMissed(t *testing.T) {
	t.Parallel()
	t.Run("between the refusal and the subscription", func(t *testing.T) {
		t.Parallel()
		eachRedis(t, func(t *testing.T, h *redisHouse) {
			lease := held(t, h.process(t, lock.Options{}), "shop 1", lock.WithTTL(time.Hour))
			taps, gates := h.taps(), make([]gate, len(h.urls))
			for i := range taps {
				gates[i] = newGate()
				taps[i].after = gates[i].only("acquire")
			}
			wait := wants(t.Context(), h.tapped(t, lock.Options{}, taps...), "shop 1")
			for _, g := range gates {
				answered(t, g.reached, "the attempt")
			}
			free(t, lease)
			for _, g := range gates {
				close(g.open)
			}
			free(t, got(t, wait))
		})
	})
	t.Run("while the subscription is cut", func(t *testing.T) {
		t.Parallel()
		eachRedis(t, func(t *testing.T, h *redisHouse) {
			lease := held(t, h.process(t, lock.Options{}), "shop 1", lock.WithTTL(time.Hour))
			taps, dials := h.taps(), make(chan struct{})
			l := h.tapped(t, lock.Options{}, taps...)
			wait := wants(t.Context(), l, "shop 1")
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
			testkit.Eventually(t, patience, func() bool { // after the acknowledgement it tries again
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
			free(t, lease)
			if got := h.locks(t); len(got) != 0 {
				t.Fatalf("the test is not about what it should be: %v", got)
			}
			close(dials)
			free(t, got(t, wait))
		})
	})
	t.Run("of a holder that died, with no subscription at all", func(t *testing.T) {
		t.Parallel()
		eachRedis(t, func(t *testing.T, h *redisHouse) {
			// Its process is gone: nobody renews, nobody releases.
			held(t, h.process(t, lock.Options{}), "shop 1", lock.WithTTL(2*time.Second))
			taps, never := h.taps(), make(chan struct{})
			l := h.tapped(t, lock.Options{NodeTimeout: time.Second}, taps...)
			var all sync.WaitGroup
			for i := range 8 { // so that it has connections for commands
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
			free(t, got(t, wants(t.Context(), l, "shop 1")))
		})
	})
}

// TestAReleaseBringsOneAttemptOfEachProcess is L14.
func TestAReleaseBringsOneAttemptOfEachProcess(t *testing.T) {
	t.Parallel()
	eachRedis(t, func(t *testing.T, h *redisHouse) {
		const processes, waiters = 3, 66
		first := held(t, h.process(t, lock.Options{}), "shop 1", lock.WithTTL(time.Hour))
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
		free(t, first)
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

// TestWhatWasTakenIsGivenBack: one node of three is another's, or away.
func TestWhatWasTakenIsGivenBack(t *testing.T) {
	t.Parallel()
	h := onNodes(t, 3)
	foreign := func(i int) {
		if err := h.client(t, i).Set(t.Context(), "lock:{shop 1}", "another", time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
	}
	foreign(0)
	most := h.process(t, lock.Options{})
	free(t, held(t, most, "shop 1"))
	foreign(1)
	if _, err := most.Try(t.Context(), "shop 1"); !isBusy(err) {
		t.Errorf("a majority: %v", err)
	}
	testkit.Eventually(t, patience, func() bool { return len(h.locks(t)) == 2 })
}

func TestNodesThatAreAwayAreMoreOrLessThanAQuorum(t *testing.T) {
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
				p.before = func(string) error { return broken }
			}
			lease, err := h.tapped(t, lock.Options{}, taps...).Acquire(t.Context(), "shop 1")
			if tt.ok {
				if err != nil {
					t.Fatal(err)
				}
				free(t, lease)
			} else if !errors.Is(err, broken) {
				t.Errorf("got %v", err)
			}
			for _, p := range taps {
				p.do(func() { p.before = nil })
			}
			h.empty(t)
		})
	}
}
