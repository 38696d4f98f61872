package flashsale

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/batch"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/testkit"
)

type admitCalls = []*batch.Call[admitCall, *redis.Cmd]

// answerAll answers each admission with its order.
func answerAll(calls admitCalls) {
	for _, c := range calls {
		c.Out = redis.NewCmdResult(c.In.args[0], nil)
	}
}

// admitOf returns the admission of order n.
func admitOf(n int) admitCall { return admitCall{args: []any{n}} }

func TestConcurrentAdmissionsShareARoundTrip(t *testing.T) {
	const callers = 1000
	release := make(chan struct{})
	var trips, running, peak, sent atomic.Int32
	g := newAdmissions(func(_ context.Context, calls admitCalls) (func(), error) {
		trips.Add(1)
		sent.Add(int32(len(calls))) //nolint:gosec // at most maxTripCalls
		n := running.Add(1)
		defer running.Add(-1)
		for m := peak.Load(); n > m && !peak.CompareAndSwap(m, n); m = peak.Load() {
		}
		if len(calls) > maxTripCalls {
			t.Errorf("got %d admissions in a round trip, want at most %d", len(calls), maxTripCalls)
		}
		<-release
		answerAll(calls)
		return nil, nil
	})
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			if cmd, err := g.Join(t.Context(), admitOf(i)); err != nil || cmd.Val() != i {
				t.Errorf("caller %d: got %v, %v", i, cmd, err)
			}
		})
	}
	testkit.Eventually(t, patience, func() bool { // all of them wait
		waiting, trips := g.Waiting()
		return trips == maxTrips && waiting+int(sent.Load()) == callers
	})
	close(release)
	all.Wait()
	g.Wait()
	if n := trips.Load(); n > callers/10 || n < callers/maxTripCalls {
		t.Errorf("got %d round trips", n)
	}
	if n := peak.Load(); n > maxTrips {
		t.Errorf("got %d parallel round trips, want at most %d", n, maxTrips)
	}
}

// A lone caller does not wait, and a cancelled one does not cancel the others.
func TestCancelledCallerIsStillAdmitted(t *testing.T) {
	release, entered := make(chan struct{}), make(chan admitCalls, 2)
	g := newAdmissions(func(ctx context.Context, calls admitCalls) (func(), error) {
		entered <- calls
		<-release
		answerAll(calls)
		if ctx.Err() != nil {
			t.Error("the round trip ended with its caller")
		}
		return nil, nil
	})
	join := func(ctx context.Context, n int) (<-chan error, *any) {
		got, answer := make(chan error, 1), new(any)
		go func() {
			cmd, err := g.Join(ctx, admitOf(n))
			if err == nil {
				*answer = cmd.Val()
			}
			got <- err
		}()
		return got, answer
	}
	leaver, leave := context.WithCancel(t.Context())
	left, _ := join(leaver, 1)
	if n := len(<-entered); n != 1 {
		t.Fatalf("got %d admissions in the first round trip, want 1", n)
	}
	stays, answer := join(t.Context(), 2)
	testkit.Eventually(t, patience, func() bool { n, _ := g.Waiting(); return n == 1 })
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) || redisdb.NotSent(err) {
		t.Errorf("cancelled caller: got %v", err)
	}
	close(release)
	if err := <-stays; err != nil || *answer != 2 {
		t.Errorf("other caller: got %v, %v", *answer, err)
	}
	g.Wait()
}

// A caller that is cancelled before its round trip is not admitted. A full queue rejects
// callers.
func TestQueuedAdmissionsAreCancellableAndBounded(t *testing.T) {
	release, sent := make(chan struct{}), atomic.Int32{}
	g := newAdmissions(func(_ context.Context, calls admitCalls) (func(), error) {
		sent.Add(int32(len(calls))) //nolint:gosec // a few
		<-release
		answerAll(calls)
		return nil, nil
	})
	var all sync.WaitGroup
	ask := func(ctx context.Context) <-chan error {
		got := make(chan error, 1)
		all.Go(func() {
			_, err := g.Join(ctx, admitOf(1))
			got <- err
		})
		return got
	}
	waits := func(trips, n int) {
		t.Helper()
		testkit.Eventually(t, patience, func() bool { waiting, running := g.Waiting(); return running == trips && waiting == n })
	}
	first := ask(t.Context())
	waits(1, 0)
	leaver, leave := context.WithCancel(t.Context())
	left := ask(leaver)
	waits(1, 1)
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) || !redisdb.NotSent(err) {
		t.Errorf("cancelled caller: got %v", err)
	}
	waits(1, 0)
	const more = (maxTrips-1)*tripBacklog + maxTripQueue
	for range more {
		ask(t.Context())
	}
	waits(maxTrips, maxTripQueue)
	if _, err := g.Join(t.Context(), admitCall{}); !errors.Is(err, errTooManyAdmissions) {
		t.Errorf("full queue: got %v", err)
	}
	close(release)
	if err := <-first; err != nil {
		t.Error(err)
	}
	all.Wait()
	waits(0, 0)
	if n := sent.Load(); n != more+1 {
		t.Errorf("got %d sent admissions, want %d", n, more+1)
	}
}
