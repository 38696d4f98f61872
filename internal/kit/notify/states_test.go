package notify

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/broadcast"
	"github.com/tandian-dev/tandian/internal/kit/eventbus"
	"github.com/tandian-dev/tandian/internal/testkit"
)

// A fakeReceiver records its calls.
type fakeReceiver struct {
	mu     sync.Mutex
	calls  []string
	places []int64
}

func (r *fakeReceiver) Push(u *broadcast.Update) {
	v, err := u.Load(context.Background())
	n, ok := v.(int)
	if err != nil || !ok {
		n = -1
	}
	r.record(strconv.Itoa(n))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.places = append(r.places, u.Seq)
}

func (r *fakeReceiver) Reset()    { r.record("reset") }
func (r *fakeReceiver) End(error) { r.record("end") }

func (r *fakeReceiver) record(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, what)
}

func (r *fakeReceiver) is(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Equal(r.calls, want) {
		t.Errorf("got %q, want %q", r.calls, want)
	}
}

func TestSubscribersShareReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(eventbus.NewMemory(), Options{})
		testkit.RunWorkers(t, h)
		states := NewSharedUpdates[int](h)
		var now, reads atomic.Int64
		source := func() broadcast.Source {
			return states.Of("stock", UpdateOptions[int]{
				Read:  func(context.Context) (int, error) { reads.Add(1); return int(now.Load()), nil },
				Final: func(n int) bool { return n == 9 },
			})
		}
		follow := func() (*fakeReceiver, broadcast.Subscription) {
			r := new(fakeReceiver)
			f, err := source().Subscribe(r)
			if err != nil {
				t.Fatal(err)
			}
			return r, f
		}
		tell := func(n int64) {
			now.Store(n)
			h.Notify("stock")
			time.Sleep(time.Second)
		}
		first, f1 := follow()
		first.is(t, "0")
		second, f2 := follow()
		second.is(t, "0")
		tell(1)
		first.is(t, "0", "1")
		second.is(t, "0", "1")
		if n := reads.Load(); n != 2 {
			t.Errorf("got %d reads for 2 states and 2 subscribers", n)
		}
		f2.Resume(first.places[0]) // too slow for the second state
		second.is(t, "0", "1", "reset", "1")
		f2.Resume(first.places[1])
		second.is(t, "0", "1", "reset", "1", "reset")
		f2.Close()
		f2.Close()
		f2.Resume(0)
		tell(9)
		first.is(t, "0", "1", "9", "end")
		second.is(t, "0", "1", "reset", "1", "reset")
		f1.Resume(first.places[1]) // missed the end
		first.is(t, "0", "1", "9", "end", "reset", "9", "end")
		f1.Close()
		now.Store(5)
		third, f3 := follow() // starts new updates
		third.is(t, "5")
		f3.Close()
		synctest.Wait()
		if len(states.open) != 0 || h.count != 0 {
			t.Errorf("got %d states and %d watches, want none", len(states.open), h.count)
		}
	})
}

func TestSubscribeReturnsErrFull(t *testing.T) {
	h := New(eventbus.NewMemory(), Options{MaxWatches: -1})
	_, err := NewSharedUpdates[int](h).Of("stock", UpdateOptions[int]{}).Subscribe(new(fakeReceiver))
	if !errors.Is(err, ErrFull) {
		t.Errorf("%v", err)
	}
}
