package batch

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// recorder records the groups of Run, which doubles each number.
type recorder struct {
	hold  chan struct{} // nil: groups do not wait
	fails func(group []int) error

	mu     sync.Mutex
	groups [][]int
}

func (r *recorder) run(ctx context.Context, calls []*Call[int, int]) (func(), error) {
	var group []int
	for _, c := range calls {
		group = append(group, c.In)
		c.Out = 2 * c.In
	}
	r.mu.Lock()
	r.groups = append(r.groups, group)
	r.mu.Unlock()
	if r.hold != nil {
		select {
		case <-r.hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if r.fails != nil {
		return nil, r.fails(group)
	}
	return nil, nil
}

type result struct {
	out int
	err error
}

// gather calls Join with 0 to n-1 while the group of the first call blocks, and returns the
// results. It runs in a synctest bubble.
func gather(t *testing.T, b *Batcher[int, int], r *recorder, n int) []result {
	t.Helper()
	r.hold = make(chan struct{})
	results := make([]result, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { results[i].out, results[i].err = b.Join(t.Context(), i) })
		synctest.Wait()
	}
	close(r.hold)
	all.Wait()
	return results
}

func TestIdleBatcherStartsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		begin := time.Now()
		out, err := New(r.run, Config{}).Join(t.Context(), 4)
		if out != 8 || err != nil || time.Since(begin) != 0 {
			t.Errorf("got %d, %v after %v", out, err, time.Since(begin))
		}
	})
}

func TestConcurrentCallersShareAGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		b := New(r.run, Config{Max: 4})
		results := gather(t, b, r, 8)
		for i, got := range results {
			if got != (result{2 * i, nil}) {
				t.Errorf("call %d: got %v", i, got)
			}
		}
		if diff := cmp.Diff([][]int{{0}, {1, 2, 3, 4}, {5, 6, 7}}, r.groups); diff != "" {
			t.Error(diff)
		}
	})
}

func TestBacklogStartsAnotherGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		b := New(r.run, Config{Max: 5, Groups: 2, Backlog: 3})
		for i, got := range gather(t, b, r, 8) {
			if got != (result{2 * i, nil}) {
				t.Errorf("call %d: got %v", i, got)
			}
		}
		if diff := cmp.Diff([][]int{{0}, {1, 2, 3}, {4, 5, 6, 7}}, r.groups); diff != "" {
			t.Error(diff)
		}
	})
}

func TestGroupsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{hold: make(chan struct{})}
		b := New(r.run, Config{Groups: 3, Backlog: 1})
		for i := range 7 {
			go func() { _, _ = b.Join(t.Context(), i) }()
			synctest.Wait()
		}
		if calls, groups := b.Waiting(); calls != 4 || groups != 3 {
			t.Errorf("got %d waiting calls, %d running groups", calls, groups)
		}
		close(r.hold)
		synctest.Wait()
		if diff := cmp.Diff([][]int{{0}, {1}, {2}, {3, 4, 5, 6}}, r.groups); diff != "" {
			t.Error(diff)
		}
	})
}

func TestPatienceStartsAnotherGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{hold: make(chan struct{})}
		b := New(r.run, Config{Groups: 2, Patience: time.Second})
		for i, pause := range []time.Duration{0, 0, time.Second - 1, 1} {
			time.Sleep(pause) // clock of the bubble
			go func() { _, _ = b.Join(t.Context(), i) }()
			synctest.Wait()
		}
		if diff := cmp.Diff([][]int{{0}, {1, 2, 3}}, r.groups); diff != "" {
			t.Error(diff)
		}
		close(r.hold)
		synctest.Wait()
	})
}

// ownStack reports whether the calling goroutine runs a function whose name contains name.
func ownStack(name string) bool {
	return strings.Contains(string(debug.Stack()), name)
}

func TestCallWithoutEndRunsItsGroup(t *testing.T) {
	var own bool
	b := New(func(context.Context, []*Call[int, int]) (func(), error) {
		own = ownStack("TestCallWithoutEndRunsItsGroup(")
		return nil, nil
	}, Config{})
	for _, ctx := range []context.Context{context.WithoutCancel(t.Context()), t.Context()} {
		if _, err := b.Join(ctx, 1); err != nil || own != (ctx.Done() == nil) {
			t.Errorf("own goroutine: got %v, %v", own, err)
		}
	}
}

func TestBadCallFailsAlone(t *testing.T) {
	bad := errors.New("bad")
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{fails: func(group []int) error {
			if slices.Contains(group, 3) {
				return bad
			}
			return nil
		}}
		for i, got := range gather(t, New(r.run, Config{}), r, 7) {
			want := result{2 * i, nil}
			if i == 3 {
				want = result{0, bad}
			}
			if got != want {
				t.Errorf("call %d: got %v", i, got)
			}
		}
		if diff := cmp.Diff([][]int{{0}, {1, 2, 3, 4, 5, 6}, {1, 2, 3}, {1}, {2, 3}, {2}, {3}, {4, 5, 6}}, r.groups); diff != "" {
			t.Error(diff)
		}
	})
}

func TestFailedGroupIsRetriedOnce(t *testing.T) {
	deadlock := errors.New("deadlock")
	for name, failures := range map[string]int{"one failure": 1, "two failures": 2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &recorder{}
				left := failures
				r.fails = func(group []int) error {
					if len(group) > 1 && left > 0 {
						left--
						return deadlock
					}
					return nil
				}
				b := New(r.run, Config{Retryable: func(err error) bool { return errors.Is(err, deadlock) }})
				for i, got := range gather(t, b, r, 3) {
					if got != (result{2 * i, nil}) {
						t.Errorf("call %d: got %v", i, got)
					}
				}
				want := [][]int{{0}, {1, 2}, {1, 2}}
				if failures == 2 {
					want = append(want, []int{1}, []int{2})
				}
				if diff := cmp.Diff(want, r.groups); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestSharedErrorIsNotSplit(t *testing.T) {
	unavailable := errors.New("unavailable")
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{fails: func([]int) error { return unavailable }}
		b := New(r.run, Config{Shared: func(err error) bool { return errors.Is(err, unavailable) }})
		for i, got := range gather(t, b, r, 4) {
			if got != (result{0, unavailable}) {
				t.Errorf("call %d: got %v", i, got)
			}
		}
		if len(r.groups) != 2 {
			t.Errorf("got groups %v", r.groups)
		}
	})
}

func TestErrorOfOneCallIsItsOwn(t *testing.T) {
	mine := errors.New("mine")
	b := New(func(_ context.Context, calls []*Call[int, int]) (func(), error) {
		calls[0].Err = mine
		return nil, nil
	}, Config{})
	if _, err := b.Join(t.Context(), 1); !errors.Is(err, mine) {
		t.Errorf("got %v", err)
	}
}

func TestCancelledQueuedCallDoesNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{hold: make(chan struct{})}
		b := New(r.run, Config{})
		go func() { _, _ = b.Join(t.Context(), 1) }()
		synctest.Wait()
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() {
			_, err := b.Join(ctx, 2)
			left <- err
		}()
		synctest.Wait()
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if waiting, running := b.Waiting(); waiting != 0 || running != 1 {
			t.Errorf("got %d waiting calls, %d running groups", waiting, running)
		}
		close(r.hold)
		synctest.Wait()
		if diff := cmp.Diff([][]int{{1}}, r.groups); diff != "" {
			t.Error(diff)
		}
		if _, err := b.Join(ctx, 3); !errors.Is(err, context.Canceled) || len(r.groups) != 1 {
			t.Errorf("ended context: got %v, groups %v", err, r.groups)
		}
	})
}

func TestCancelledCallerLearnsTheResultOfItsGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{hold: make(chan struct{})}
		b := New(r.run, Config{})
		ctx, leave := context.WithCancel(t.Context())
		got := make(chan result, 1)
		go func() {
			out, err := b.Join(ctx, 2)
			got <- result{out, err}
		}()
		synctest.Wait()
		leave()
		synctest.Wait()
		close(r.hold)
		if res := <-got; res != (result{4, nil}) {
			t.Errorf("got %v", res)
		}
	})
}

func TestCallerMayLeaveARunningGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{hold: make(chan struct{})}
		b := New(r.run, Config{Leave: true})
		go func() { _, _ = b.Join(t.Context(), 0) }()
		synctest.Wait()
		ctx, leave := context.WithCancel(t.Context())
		left, stayed := make(chan error, 1), make(chan result, 1)
		go func() {
			_, err := b.Join(ctx, 1)
			left <- err
		}()
		go func() {
			out, err := b.Join(t.Context(), 2)
			stayed <- result{out, err}
		}()
		synctest.Wait()
		r.hold <- struct{}{}
		synctest.Wait() // the second group runs
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		close(r.hold)
		if got := <-stayed; got != (result{4, nil}) {
			t.Errorf("got %v", got)
		}
		if len(r.groups) != 2 || len(r.groups[1]) != 2 {
			t.Errorf("got groups %v", r.groups)
		}
	})
}

func TestRunCanceledRunsCallWithoutCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{hold: make(chan struct{})}
		b := New(r.run, Config{Leave: true, RunCanceled: true})
		go func() { _, _ = b.Join(t.Context(), 0) }()
		synctest.Wait()
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		left := make(chan error, 1)
		for i := range 2 { // the context of the second call has already ended
			go func() {
				_, err := b.Join(ctx, 1+i)
				left <- err
			}()
			synctest.Wait()
			leave()
			if err := <-left; !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		}
		close(r.hold)
		synctest.Wait()
		if diff := cmp.Diff([][]int{{0}, {1, 2}}, r.groups); diff != "" {
			t.Error(diff)
		}
	})
}

func TestWithdrawnCallHasItsOwnError(t *testing.T) {
	unsent := errors.New("unsent")
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{hold: make(chan struct{})}
		b := New(r.run, Config{Leave: true, Withdrawn: func(err error) error { return errors.Join(unsent, err) }})
		ctx, leave := context.WithCancel(t.Context())
		errs := make(chan error, 2)
		for i := range 2 { // the first one runs
			go func() {
				_, err := b.Join(ctx, i)
				errs <- err
			}()
			synctest.Wait()
		}
		leave()
		var withdrawn int
		for range 2 {
			err := <-errs
			if errors.Is(err, unsent) {
				withdrawn++
			}
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		}
		if withdrawn != 1 {
			t.Errorf("got %d withdrawn calls, want 1", withdrawn)
		}
		if _, err := b.Join(ctx, 2); !errors.Is(err, unsent) || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		close(r.hold)
		synctest.Wait()
	})
}

func TestJoinEndsAtTheCallerDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{hold: make(chan struct{})}
		b := New(r.run, Config{})
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := b.Join(ctx, 2)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != 300*time.Millisecond {
			t.Errorf("got %v after %v", err, time.Since(begin))
		}
		close(r.hold)
		synctest.Wait()
	})
}

func TestGroupHasATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		begin := time.Now()
		r.hold = make(chan struct{})
		b := New(r.run, Config{Timeout: time.Second})
		results := make([]result, 3)
		var all sync.WaitGroup
		for i := range results {
			all.Go(func() { results[i].out, results[i].err = b.Join(t.Context(), i) })
			synctest.Wait()
		}
		all.Wait()
		for i, got := range results {
			if !errors.Is(got.err, context.DeadlineExceeded) {
				t.Errorf("call %d: got %v", i, got)
			}
		}
		if took := time.Since(begin); took != 2*time.Second || len(r.groups) != 2 {
			t.Errorf("got %v for groups %v", took, r.groups)
		}
	})
}

func TestNegativeTimeoutIsNone(t *testing.T) {
	for timeout, limited := range map[time.Duration]bool{0: true, -1: false} {
		b := New(func(ctx context.Context, _ []*Call[int, bool]) (func(), error) {
			if _, ok := ctx.Deadline(); ok != limited {
				t.Errorf("timeout %v: got deadline %v", timeout, ok)
			}
			return nil, nil
		}, Config{Timeout: timeout})
		if _, err := b.Join(t.Context(), 1); err != nil {
			t.Error(err)
		}
	}
}

func TestFullQueueIsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{hold: make(chan struct{})}
		b := New(r.run, Config{MaxWaiting: 2})
		for i := range 3 {
			go func() { _, _ = b.Join(t.Context(), i) }()
			synctest.Wait()
		}
		if _, err := b.Join(t.Context(), 3); !errors.Is(err, ErrBusy) {
			t.Errorf("got %v", err)
		}
		close(r.hold)
		synctest.Wait()
	})
}

func TestAfterRunsNextToTheFollowingGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		var started, returned atomic.Int64
		b := New(func(context.Context, []*Call[int, int]) (func(), error) {
			started.Add(1)
			return func() { <-hold }, nil
		}, Config{})
		for i := range 2 {
			go func() {
				_, _ = b.Join(t.Context(), i)
				returned.Add(1)
			}()
			synctest.Wait()
		}
		if started.Load() != 2 || returned.Load() != 0 {
			t.Errorf("got %d started groups, %d returned callers", started.Load(), returned.Load())
		}
		close(hold)
		synctest.Wait()
		if returned.Load() != 2 {
			t.Errorf("got %d returned callers, want 2", returned.Load())
		}
	})
}

func TestWaitEndsWithTheLastGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{hold: make(chan struct{})}
		follows := make(chan struct{})
		b := New(func(ctx context.Context, calls []*Call[int, int]) (func(), error) {
			_, err := r.run(ctx, calls)
			return func() { <-follows }, err
		}, Config{})
		b.Wait() // nothing runs
		for i := range 2 {
			go func() { _, _ = b.Join(t.Context(), i) }()
			synctest.Wait()
		}
		var over atomic.Bool
		go func() {
			b.Wait()
			over.Store(true)
		}()
		for _, step := range []func(){
			func() {}, func() { r.hold <- struct{}{} }, func() { r.hold <- struct{}{} }, func() { follows <- struct{}{} },
		} {
			step()
			synctest.Wait()
			if over.Load() {
				t.Fatal("Wait returned early")
			}
		}
		close(follows)
		synctest.Wait()
		if !over.Load() {
			t.Error("Wait did not return")
		}
	})
}

func TestPanicIsAnError(t *testing.T) {
	b := New(func(context.Context, []*Call[int, int]) (func(), error) { panic("oh") }, Config{})
	if _, err := b.Join(t.Context(), 1); err == nil {
		t.Error("got no error")
	}
	b = New(func(context.Context, []*Call[int, int]) (func(), error) { return func() { panic("oh") }, nil }, Config{})
	if _, err := b.Join(t.Context(), 1); err == nil {
		t.Error("got no error after the commit")
	}
}

// Callers arrive, cancel and fail at random. Each gets the result of its own call, which runs
// at most once.
func TestRandomCallersGetTheirOwnResults(t *testing.T) {
	for name, cfg := range map[string]Config{
		"one group": {Max: 20}, "several groups": {Max: 20, Groups: 3, Backlog: 4},
	} {
		t.Run(name, func(t *testing.T) { randomCallers(t, cfg) })
	}
}

func randomCallers(t *testing.T, cfg Config) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	var mu sync.Mutex
	done := map[int]int{}
	odd := errors.New("odd")
	b := New(func(_ context.Context, calls []*Call[int, int]) (func(), error) {
		for _, c := range calls {
			if c.In%17 == 0 {
				return nil, odd
			}
		}
		mu.Lock()
		defer mu.Unlock()
		for _, c := range calls {
			done[c.In]++
			c.Out = -c.In
		}
		return nil, nil
	}, cfg)
	const callers, each = 32, 300
	var all sync.WaitGroup
	for i := range callers {
		leaves, endless := rnd.IntN(4) == 0, rnd.IntN(3) == 0
		all.Go(func() {
			for n := range each {
				in := 1 + i*each + n
				ctx, cancel := context.WithCancel(t.Context())
				switch {
				case leaves:
					go cancel()
				case endless:
					ctx = context.WithoutCancel(ctx)
				}
				out, err := b.Join(ctx, in)
				cancel()
				mu.Lock()
				times := done[in]
				mu.Unlock()
				var wrong bool
				switch {
				case err == nil:
					wrong = out != -in || times != 1
				case errors.Is(err, odd):
					wrong = in%17 != 0 || times != 0
				case errors.Is(err, context.Canceled):
					wrong = !leaves || times != 0
				default:
					wrong = true
				}
				if wrong {
					t.Errorf("call %d: got %d, %v, done %d times", in, out, err, times)
				}
			}
		})
	}
	all.Wait()
}
