package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/eventbus"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/redistest"
)

func TestNotifyHintsWatchesInAllProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := eventbus.NewMemory()
		here, there := New(bus, Options{}), New(bus, Options{})
		testkit.RunWorkers(t, bus, here, there)
		list := append(watch(t, here, "a", "a", "b"), watch(t, there, "a", "b", "b")...)
		time.Sleep(time.Second)
		hinted(list...) // hints of the start
		here.Notify("a")
		synctest.Wait()
		if diff := cmp.Diff([]bool{true, true, false, true, false, false}, hinted(list...)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		time.Sleep(time.Second)
		if diff := cmp.Diff(make([]bool, 6), hinted(list...)); diff != "" {
			t.Errorf("hinted again (-want +got)\n%s", diff)
		}
		there.Notify("x", "b", "b", "a")
		synctest.Wait()
		if diff := cmp.Diff([]bool{true, true, true, true, true, true}, hinted(list...)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

func TestClosedWatchGetsNoHints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := eventbus.NewMemory()
		h := New(bus, Options{})
		for closed := range 3 { // the first, one in the middle, the last
			list := watch(t, h, "a", "a", "a")
			want := []bool{true, true, true}
			list[closed].Close()
			list[closed].Close()
			want[closed] = false
			h.Notify("a")
			stop := testkit.RunWorkers(t, h)
			synctest.Wait()
			if diff := cmp.Diff(want, hinted(list...)); diff != "" {
				t.Errorf("closed %d (-want +got)\n%s", closed, diff)
			}
			stop()
			for _, w := range list {
				w.Close()
			}
		}
		if len(h.watches) != 0 || h.count != 0 {
			t.Errorf("got %d watches of %d keys, want none", h.count, len(h.watches))
		}
	})
}

func TestMaxWatches(t *testing.T) {
	h := New(eventbus.NewMemory(), Options{MaxWatches: 2})
	list := watch(t, h, "a", "a")
	if _, err := h.Watch("b"); !errors.Is(err, ErrFull) {
		t.Errorf("third watch: got %v", err)
	}
	if _, err := Updates(t.Context(), h, "b", UpdateOptions[int]{}); !errors.Is(err, ErrFull) {
		t.Errorf("updates: got %v", err)
	}
	list[0].Close()
	watch(t, h, "b")
}

func TestNotificationsAreCombined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := new(fakeBus)
		h := New(bus, Options{})
		testkit.RunWorkers(t, h)
		h.Notify("first") // sent at once
		synctest.Wait()
		for i := range 1000 {
			h.Notify("order:"+strconv.Itoa(i%50), "stock")
			time.Sleep(10 * time.Microsecond)
		}
		time.Sleep(time.Second)
		bodies, _ := bus.published()
		if want := []int{idBytes + keyBytes, idBytes + 51*keyBytes}; cmp.Diff(want, lengths(bodies)) != "" {
			t.Errorf("got messages of %v bytes, want %v", lengths(bodies), want)
		}
	})
}

func lengths(bodies []string) (list []int) {
	for _, b := range bodies {
		list = append(list, len(b))
	}
	return list
}

func TestManyKeysAreSplitIntoMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := new(fakeBus)
		h, other := New(bus, Options{}), New(bus, Options{})
		var keys []string
		for i := range 10_000 {
			keys = append(keys, "k"+strconv.Itoa(i))
		}
		list := watch(t, other, keys...)
		h.Notify(keys...)
		testkit.RunWorkers(t, h, other)
		time.Sleep(time.Second)
		if bodies, _ := bus.published(); len(bodies) != 3 {
			t.Errorf("got %d messages", len(bodies))
		}
		for i, got := range hinted(list...) {
			if !got {
				t.Fatalf("%s was not hinted", keys[i])
			}
		}
	})
}

func TestTooManyKeysHintAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := new(fakeBus)
		reg := prometheus.NewRegistry()
		h, other := New(bus, Options{MaxPending: 10, Registerer: reg}), New(bus, Options{})
		list := append(watch(t, h, "a"), watch(t, other, "a")...)
		for i := range 11 {
			h.Notify("k" + strconv.Itoa(i))
		}
		testkit.RunWorkers(t, h, other)
		time.Sleep(time.Second)
		if diff := cmp.Diff([]bool{true, true}, hinted(list...)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if bodies, _ := bus.published(); len(bodies) != 1 {
			t.Errorf("got %d messages", len(bodies))
		}
		if n := testutil.ToFloat64(h.metrics.errors.WithLabelValues(overflowed)); n != 2 {
			t.Errorf("got %v overflows, want one local and one remote", n)
		}
	})
}

func TestFailedPublishIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := new(fakeBus)
		log := new(testkit.Log)
		h, other := New(bus, Options{Log: slog.New(slog.NewTextHandler(log, nil))}), New(bus, Options{})
		testkit.RunWorkers(t, h, other)
		list := append(watch(t, h, "a", "b"), watch(t, other, "a", "b")...)
		bus.failWith(errors.New("bus is unavailable"))
		h.Notify("a")
		time.Sleep(15 * time.Second)
		h.Notify("b")
		time.Sleep(15 * time.Second)
		if diff := cmp.Diff([]bool{true, true, false, false}, hinted(list...)); diff != "" {
			t.Errorf("during the outage (-want +got)\n%s", diff)
		}
		if _, tries := bus.published(); tries < 25 || tries > 40 {
			t.Errorf("got %d tries in 30 seconds", tries)
		}
		if n := strings.Count(log.String(), "bus is unavailable"); n != 3 && n != 4 {
			t.Errorf("got %d log records in 30 seconds", n)
		}
		bus.failWith(nil)
		time.Sleep(maxPause)
		synctest.Wait()
		if diff := cmp.Diff([]bool{false, false, true, true}, hinted(list...)); diff != "" {
			t.Errorf("after the outage (-want +got)\n%s", diff)
		}
	})
}

func TestPendingKeysArePublishedAtEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := new(fakeBus)
		h := New(bus, Options{Debounce: time.Hour})
		stop := testkit.RunWorkers(t, h)
		h.Notify("a")
		synctest.Wait()
		h.Notify("b")
		stop()
		if bodies, _ := bus.published(); len(bodies) != 2 {
			t.Errorf("got %d messages, want 2", len(bodies))
		}
	})
}

func TestGapHintsAllWatchesInGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := eventbus.NewMemory()
		h := New(bus, Options{})
		testkit.RunWorkers(t, h)
		var keys []string
		for i := range 10*hintBatch - 1 {
			keys = append(keys, "k"+strconv.Itoa(i))
		}
		list := watch(t, h, keys...)
		time.Sleep(time.Second)
		hinted(list...) // hints of the start
		observer{h}.Reset(t.Context(), eventbus.GapLost)
		time.Sleep(5 * hintPause / 2)
		late := watch(t, h, "late")[0] // opened after the gap
		h.Notify("late")
		time.Sleep(2 * hintPause)
		if n := count(hinted(list...)); n < 4*hintBatch || n > 6*hintBatch {
			t.Errorf("got %d of %d hints after half of the time", n, len(list))
		}
		if !hinted(late)[0] {
			t.Error("a new hint waits for the last group")
		}
		time.Sleep(time.Second)
		if n := count(hinted(list...)); n < 4*hintBatch || n > 6*hintBatch {
			t.Errorf("got %d of %d hints in the second half", n, len(list))
		}
	})
}

func count(list []bool) (n int) {
	for _, b := range list {
		if b {
			n++
		}
	}
	return n
}

func TestInvalidMessageMeansAllKeys(t *testing.T) {
	id := [idBytes]byte{1, 2, 3}
	tests := []struct {
		name string
		body string
		want batch
		fine bool
	}{
		{"keys", string(encode(id, batch{keys: []key{7, 1 << 31}})[0]), batch{keys: []key{7, 1 << 31}}, true},
		{"all keys", string(encode(id, batch{all: true})[0]), batch{all: true}, true},
		{"empty", "", batch{all: true}, false},
		{"half an id", "abc", batch{all: true}, false},
		{"half a key", "01234567ab", batch{all: true}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			from, got, err := decode([]byte(tt.body))
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(batch{})); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if (err == nil) != tt.fine || (from == id) != tt.fine {
				t.Errorf("got sender %x, %v", from, err)
			}
		})
	}
}

func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		bus := eventbus.NewMemory()
		h := New(bus, Options{Registerer: reg})
		testkit.RunWorkers(t, h)
		watch(t, h, "a", "a", "b")
		h.Notify("a", "c")
		synctest.Wait()
		h.receive(t.Context(), [][]byte{[]byte("nonsense!")})
		want := `
# HELP tandian_live_errors_total Failures of live updates, by operation.
# TYPE tandian_live_errors_total counter
tandian_live_errors_total{doing="decode"} 1
tandian_live_errors_total{doing="overflow"} 0
tandian_live_errors_total{doing="publish"} 0
tandian_live_errors_total{doing="read"} 0
tandian_live_errors_total{doing="watch"} 0
# HELP tandian_live_hints_total Hints delivered to watches; a pending hint is not repeated.
# TYPE tandian_live_hints_total counter
tandian_live_hints_total 2
# HELP tandian_live_reads_total States read for subscribers.
# TYPE tandian_live_reads_total counter
tandian_live_reads_total 0
# HELP tandian_live_told_total Keys that this process notified.
# TYPE tandian_live_told_total counter
tandian_live_told_total 2
# HELP tandian_live_watches Open watches.
# TYPE tandian_live_watches gauge
tandian_live_watches 3
`
		if err := testutil.GatherAndCompare(reg, strings.NewReader(want)); err != nil {
			t.Error(err)
		}
	})
}

func TestProcessesHintEachOtherOverRedis(t *testing.T) {
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		one, two := startProcess(t, rdb, Options{}), startProcess(t, rdb, Options{})
		list := watch(t, two.Hub, "a", "b")
		one.Notify("a")
		testkit.Eventually(t, soon, func() bool { return hinted(list[0])[0] })
		if hinted(list[1])[0] {
			t.Error("no hint for b")
		}
	})
}

func TestLostBusHintsAllWatches(t *testing.T) {
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		one, two := startProcess(t, rdb, Options{}), startProcess(t, rdb, Options{})
		list := append(watch(t, one.Hub, "a"), watch(t, two.Hub, "b")...)
		one.Notify("x") // a message is on the bus
		two.sync.await(t)
		if err := rdb.Unlink(t.Context(), "td:bus").Err(); err != nil {
			t.Fatal(err)
		}
		for _, w := range list {
			testkit.Eventually(t, soon, func() bool { return hinted(w)[0] })
		}
	})
}

func TestWatchIsSmall(t *testing.T) {
	if n := bytesOfWatch(t, 50_000); n > 320 {
		t.Errorf("got %d bytes per watch", n)
	}
}

func bytesOfWatch(t testing.TB, n int) int {
	h := New(eventbus.NewMemory(), Options{})
	list := make([]*Watch, n)
	before := heap()
	for i := range list {
		w, err := h.Watch(fmt.Sprintf("order:%d", i))
		if err != nil {
			t.Fatal(err)
		}
		list[i] = w
	}
	used := heap() - before
	runtime.KeepAlive(list)
	return used / n
}

func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse)
}

func BenchmarkWatchBytes(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(float64(bytesOfWatch(b, 100_000)), "B/watch")
	}
}

// BenchmarkUpdatesBytes includes the stacks.
func BenchmarkUpdatesBytes(b *testing.B) {
	const n = 20_000
	for b.Loop() {
		h := New(eventbus.NewMemory(), Options{})
		ctx, cancel := context.WithCancel(b.Context())
		before := heap()
		list := make([]<-chan int, n)
		for i := range list {
			list[i], _ = Updates(ctx, h, strconv.Itoa(i), UpdateOptions[int]{
				Read: func(context.Context) (int, error) { return 1, nil }, Every: time.Second, Refresh: time.Minute,
			})
			<-list[i]
		}
		time.Sleep(2 * time.Second) // until all wait for hints
		b.ReportMetric(float64((heap()-before)/n), "B/updates")
		cancel()
		h.Wait()
	}
}

func BenchmarkNotify(b *testing.B) {
	h := New(eventbus.NewMemory(), Options{})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		h.Notify("order:12345678901", "stock:99")
		if i%100 == 0 {
			h.local.take()
			h.remote.take()
		}
	}
}

// BenchmarkHint measures the cost of one key with many watches.
func BenchmarkHint(b *testing.B) {
	const n = 5000
	h := New(eventbus.NewMemory(), Options{})
	var list []*Watch
	for range n {
		list = append(list, watch(b, h, "stock")...)
	}
	for b.Loop() {
		_ = h.hint(b.Context(), batch{keys: []key{keyOf("stock")}})
		hinted(list...)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/watch")
}
