package flashsale

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/store"
	"github.com/tandian-dev/tandian/internal/testkit"
)

// answerAll gives each admission its own order back.
func answerAll(all []*asked) {
	for _, a := range all {
		a.cmd = redis.NewCmdResult(a.args[0], nil)
	}
}

func TestCallersOfAMomentShareARoundTrip(t *testing.T) {
	const callers = 1000
	release := make(chan struct{})
	var trips, under, most, sent atomic.Int32
	g := newTogether(func(_ context.Context, all []*asked) {
		trips.Add(1)
		sent.Add(int32(len(all)))
		n := under.Add(1)
		defer under.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		if len(all) > mostAsk {
			t.Errorf("%d in one", len(all))
		}
		<-release
		answerAll(all)
	})
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			a := &asked{args: []any{i}}
			if err := g.do(t.Context(), a); err != nil || a.cmd.Val() != i {
				t.Errorf("caller %d was answered %v, %v", i, a.cmd.Val(), err)
			}
		})
	}
	testkit.Eventually(t, patience, func() bool { // all of them are here: who comes later shares with nobody
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.trips == mostTrips && len(g.waiting)+int(sent.Load()) == callers
	})
	close(release)
	all.Wait()
	g.wait()
	if n := trips.Load(); n > callers/10 || n < callers/mostAsk {
		t.Errorf("%d round trips", n)
	}
	if n := most.Load(); n > mostTrips {
		t.Errorf("%d at a time", n)
	}
}

// A caller alone does not wait, and one who leaves does not take others along.
func TestACallerWhoLeavesARoundTripIsAskedForAllTheSame(t *testing.T) {
	release, entered := make(chan struct{}), make(chan []*asked, 2)
	g := newTogether(func(ctx context.Context, all []*asked) {
		entered <- all
		<-release
		answerAll(all)
		if ctx.Err() != nil {
			t.Error("the trip ended with its caller")
		}
	})
	leaver, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() { left <- g.do(leaver, &asked{args: []any{1}}) }()
	if n := len(<-entered); n != 1 {
		t.Fatalf("%d in the trip of one", n)
	}
	stays := make(chan error, 1)
	other := &asked{args: []any{2}}
	go func() { stays <- g.do(t.Context(), other) }()
	testkit.Eventually(t, patience, func() bool { g.mu.Lock(); defer g.mu.Unlock(); return len(g.waiting) == 1 })
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("who left heard %v", err)
	}
	close(release)
	if err := <-stays; err != nil || other.cmd.Val() != 2 {
		t.Errorf("who stayed heard %v, %v", other.cmd.Val(), err)
	}
	g.wait()
}

// Who leaves before anybody asked for him is not asked for, and a crowd is sent away.
func TestWhoWaitsForARoundTripMayLeaveOrFindACrowd(t *testing.T) {
	release, sent := make(chan struct{}), atomic.Int32{}
	g := newTogether(func(_ context.Context, all []*asked) {
		sent.Add(int32(len(all))) //nolint:gosec // a few
		<-release
		answerAll(all)
	})
	var all sync.WaitGroup
	ask := func(ctx context.Context) <-chan error {
		said := make(chan error, 1)
		all.Go(func() { said <- g.do(ctx, &asked{args: []any{1}}) })
		return said
	}
	waits := func(trips, n int) {
		t.Helper()
		testkit.Eventually(t, patience, func() bool { g.mu.Lock(); defer g.mu.Unlock(); return g.trips == trips && len(g.waiting) == n })
	}
	first := ask(t.Context())
	waits(1, 0)
	leaver, leave := context.WithCancel(t.Context())
	left := ask(leaver)
	waits(1, 1)
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) || !store.Unsent(err) {
		t.Errorf("who left heard %v", err)
	}
	waits(1, 0)

	g.mu.Lock()
	for range mostCrowd {
		g.waiting = append(g.waiting, &asked{ctx: t.Context(), args: []any{1}, done: make(chan struct{})})
	}
	g.mu.Unlock()
	if err := g.do(t.Context(), &asked{}); !errors.Is(err, errCrowded) {
		t.Errorf("in a crowd: %v", err)
	}
	close(release)
	if err := <-first; err != nil {
		t.Error(err)
	}
	all.Wait()
	testkit.Eventually(t, patience, func() bool { g.mu.Lock(); defer g.mu.Unlock(); return g.trips == 0 })
	if n := sent.Load(); n != mostCrowd+1 {
		t.Errorf("%d were asked for, want %d", n, mostCrowd+1)
	}
}
