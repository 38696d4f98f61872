package notify

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/eventbus"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/redistest"
)

// A cell is a state with a Read that can fail.
type cell struct {
	now, reads atomic.Int64
	mu         sync.Mutex
	fail       error
}

func (c *cell) read(context.Context) (int64, error) {
	c.reads.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now.Load(), c.fail
}

func (c *cell) failWith(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail = err
}

func same(a, b int64) bool { return a == b }

// startUpdates starts updates that end with the test.
func startUpdates(t testing.TB, h *Hub, key string, o UpdateOptions[int64]) <-chan int64 {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c, err := Updates(ctx, h, key, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		for range c { // until it is closed
		}
	})
	return c
}

// next returns the next state, -1 for none and -2 for the end. It needs a synctest
// bubble.
func next(c <-chan int64) int64 {
	synctest.Wait()
	select {
	case state, ok := <-c:
		if !ok {
			return -2
		}
		return state
	default:
		return -1
	}
}

// newHub returns a running Hub, in a synctest bubble.
func newHub(t *testing.T) *Hub {
	t.Helper()
	h := New(eventbus.NewMemory(), Options{})
	testkit.RunWorkers(t, h)
	return h
}

func TestCurrentStateComesFirstThenChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, c := newHub(t), new(cell)
		c.now.Store(3)
		states := startUpdates(t, h, "a", UpdateOptions[int64]{Read: c.read, Same: same, Final: func(n int64) bool { return n == 9 }})
		got := []int64{next(states), next(states)}
		for _, n := range []int64{4, 4, 5, 9} {
			c.now.Store(n)
			h.Notify("a")
			time.Sleep(time.Second)
			got = append(got, next(states))
		}
		got = append(got, next(states))
		if diff := cmp.Diff([]int64{3, -1, 4, -1, 5, 9, -2}, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if len(h.watches) != 0 {
			t.Error("the watch is still open")
		}
	})
}

func TestWithoutSameEveryStateIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, c := newHub(t), new(cell)
		states := startUpdates(t, h, "a", UpdateOptions[int64]{Read: c.read})
		got := []int64{next(states), next(states)}
		h.Notify("a")
		got = append(got, next(states))
		if diff := cmp.Diff([]int64{0, -1, 0}, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

func TestFinalStateEndsUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, c := newHub(t), new(cell)
		states := startUpdates(t, h, "a", UpdateOptions[int64]{Read: c.read, Final: func(int64) bool { return true }})
		if diff := cmp.Diff([]int64{0, -2}, []int64{next(states), next(states)}); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

func TestChangeDuringFirstReadIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, c := newHub(t), new(cell)
		states := startUpdates(t, h, "a", UpdateOptions[int64]{Same: same, Read: func(ctx context.Context) (int64, error) {
			n, err := c.read(ctx)
			time.Sleep(time.Second) // the answer is on its way
			return n, err
		}})
		time.Sleep(time.Second / 2)
		c.now.Store(1)
		h.Notify("a")
		time.Sleep(time.Second)
		got := []int64{next(states)}
		time.Sleep(time.Second)
		got = append(got, next(states))
		if diff := cmp.Diff([]int64{0, 1}, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

func TestManyHintsCostOneReadPerPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, c := newHub(t), new(cell)
		states := startUpdates(t, h, "a", UpdateOptions[int64]{Read: c.read, Same: same, Every: 200 * time.Millisecond})
		var last atomic.Int64
		var reader sync.WaitGroup
		reader.Go(func() {
			for n := range states {
				last.Store(n)
				if n == 10_000 {
					return
				}
			}
		})
		for n := range int64(10_000) { // for two seconds
			c.now.Store(n + 1)
			h.Notify("a")
			time.Sleep(200 * time.Microsecond)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if last.Load() != 10_000 {
			t.Fatalf("got last state %d", last.Load())
		}
		reader.Wait()
		if n := c.reads.Load(); n < 9 || n > 12 {
			t.Errorf("got %d reads in two seconds", n)
		}
	})
}

func TestFailedReadIsRetriedWithGrowingPauses(t *testing.T) {
	for name, read := range map[string]func(*cell) func(context.Context) (int64, error){
		"error": func(c *cell) func(context.Context) (int64, error) { return c.read },
		"panic": func(c *cell) func(context.Context) (int64, error) {
			return func(ctx context.Context) (int64, error) {
				n, err := c.read(ctx)
				if err != nil {
					panic(err)
				}
				return n, nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, c := newHub(t), new(cell)
				states := startUpdates(t, h, "a", UpdateOptions[int64]{Read: read(c), Same: same})
				got := []int64{next(states)}
				c.failWith(errors.New("unavailable"))
				c.now.Store(1)
				before := c.reads.Load()
				for range 600 { // hints do not speed it up
					h.Notify("a")
					time.Sleep(100 * time.Millisecond)
				}
				if n := c.reads.Load() - before; n < 14 || n > 20 {
					t.Errorf("got %d tries in a minute", n)
				}
				if n := testutil.ToFloat64(h.metrics.errors.WithLabelValues(reading)); n != float64(c.reads.Load()-before) {
					t.Errorf("got %v failures", n)
				}
				got = append(got, next(states))
				c.failWith(nil)
				time.Sleep(2 * maxRetry)
				got = append(got, next(states))
				if diff := cmp.Diff([]int64{0, -1, 1}, got); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			})
		})
	}
}

func TestHungReadTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, c := newHub(t), new(cell)
		states := startUpdates(t, h, "a", UpdateOptions[int64]{Timeout: time.Second, Read: func(ctx context.Context) (int64, error) {
			if c.reads.Add(1) == 1 {
				<-ctx.Done()
				return 0, ctx.Err()
			}
			return 7, nil
		}})
		time.Sleep(2 * time.Second)
		if n := next(states); n != 7 {
			t.Errorf("got %d", n)
		}
	})
}

func TestRefreshReadsWithoutHint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, c := newHub(t), new(cell)
		states := startUpdates(t, h, "a", UpdateOptions[int64]{Read: c.read, Same: same, Refresh: 10 * time.Second})
		got := []int64{next(states)}
		c.now.Store(1)
		time.Sleep(8 * time.Second)
		got = append(got, next(states))
		time.Sleep(4 * time.Second)
		got = append(got, next(states))
		if diff := cmp.Diff([]int64{0, -1, 1}, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		time.Sleep(1000 * time.Second)
		if n := c.reads.Load(); n < 90 || n > 115 {
			t.Errorf("got %d reads in 1000 seconds", n)
		}
	})
}

func TestUpdatesEndWithTheirContext(t *testing.T) {
	tests := []struct {
		name string
		read func(ctx context.Context) (int64, error)
		take bool
	}{
		{"waiting for a hint", func(context.Context) (int64, error) { return 0, nil }, true},
		{"waiting for a receiver", func(context.Context) (int64, error) { return 0, nil }, false},
		{"reading", func(ctx context.Context) (int64, error) { <-ctx.Done(); return 0, ctx.Err() }, false},
		{"failing reads", func(context.Context) (int64, error) { return 0, errors.New("unavailable") }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHub(t)
				ctx, cancel := context.WithCancel(t.Context())
				states, err := Updates(ctx, h, "a", UpdateOptions[int64]{Read: tt.read, Every: time.Minute})
				if err != nil {
					t.Fatal(err)
				}
				if tt.take {
					<-states
				}
				synctest.Wait()
				failures := testutil.ToFloat64(h.metrics.errors.WithLabelValues(reading))
				cancel()
				h.Wait()
				if n := next(states); n != -2 {
					t.Errorf("got %d, want the end", n)
				}
				if n := testutil.ToFloat64(h.metrics.errors.WithLabelValues(reading)); n != failures {
					t.Error("the end counted as a failure")
				}
			})
		})
	}
}

func TestSlowReceiverGetsNewestState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, c := newHub(t), new(cell)
		o := UpdateOptions[int64]{Read: c.read, Same: same}
		slow, quick := startUpdates(t, h, "a", o), startUpdates(t, h, "a", o)
		next(quick)
		synctest.Wait() // the first state waits for the slow receiver
		for n := range int64(100) {
			c.now.Store(n + 1)
			h.Notify("a")
			time.Sleep(30 * time.Millisecond)
			if got := next(quick); got != n+1 {
				t.Fatalf("fast receiver: got %d, want %d", got, n+1)
			}
		}
		if diff := cmp.Diff([]int64{0, 100, -1}, []int64{next(slow), next(slow), next(slow)}); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if n := c.reads.Load(); n != 103 {
			t.Errorf("got %d reads, want 101 of the fast one and 2 of the slow one", n)
		}
	})
}

// TestLastStateAlwaysArrives checks the invariant: any process may notify at any time,
// and the bus may lose messages, but a subscriber gets the last state.
func TestLastStateAlwaysArrives(t *testing.T) {
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		const keys, writes = 20, 3000
		rnd := rand.New(rand.NewPCG(testkit.Seed(t), 1))
		processes := []process{startProcess(t, rdb, Options{Debounce: time.Millisecond}), startProcess(t, rdb, Options{})}
		var cells [keys]cell
		var got [2 * keys]atomic.Int64
		var readers sync.WaitGroup
		t.Cleanup(readers.Wait) // after their updates ended
		for i := range got {
			c := &cells[i%keys]
			states := startUpdates(t, processes[i/keys].Hub, "k"+strconv.Itoa(i%keys), UpdateOptions[int64]{
				Read: c.read, Same: same, Every: time.Duration(rnd.IntN(10)) * time.Millisecond,
			})
			readers.Go(func() {
				for n := range states {
					if before := got[i].Swap(n); n < before {
						t.Errorf("got %d after %d", n, before)
					}
				}
			})
		}
		for n := range writes {
			k := rnd.IntN(keys)
			cells[k].now.Add(1)
			processes[rnd.IntN(2)].Notify("k" + strconv.Itoa(k))
			if n == writes/2 {
				if err := rdb.Unlink(t.Context(), "td:bus").Err(); err != nil {
					t.Fatal(err)
				}
			}
		}
		testkit.Eventually(t, soon, func() bool {
			for i := range got {
				if got[i].Load() != cells[i%keys].now.Load() {
					return false
				}
			}
			return true
		})
	})
}
