package cache

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// memoryOf returns a Memory of texts by number.
func memoryOf(h *Client, l Local) *Memory[int, string] {
	return NewMemory[int, string](h, Policy{Name: "memory", TTL: time.Hour, Local: l}, strconv.Itoa, strconv.Atoi)
}

var wholeMemory = Local{Share: 1, Criteria: allCriteria}

// memorySource loads values for a Memory.
type memorySource struct {
	text   string
	ttl    time.Duration
	remote bool
	err    error
	calls  int
}

func (w *memorySource) load(context.Context) (Loaded[string], error) {
	w.calls++
	return Loaded[string]{w.text, w.ttl, w.remote}, w.err
}

func wantMemory(t *testing.T, what string, n *Memory[int, string], from *memorySource, want string) {
	t.Helper()
	got, err := n.Get(t.Context(), 1, from.load)
	if err != nil || got != want {
		t.Errorf("%s: got %q, %v, want %q", what, got, err, want)
	}
}

func TestMemoryHitDoesNotLoad(t *testing.T) {
	x := miniWorld(t).connected(t, new(wire), Options{})
	n, from := memoryOf(x.Client, wholeMemory), &memorySource{text: "a", ttl: time.Minute}
	for range 3 {
		wantMemory(t, "in sync", n, from, "a")
	}
	if from.calls != 1 {
		t.Errorf("got %d loads, want one", from.calls)
	}
	if s := n.Stats(); s.LocalHits != 2 || s.Misses != 1 {
		t.Errorf("got %d hits and %d misses, want 2 and 1", s.LocalHits, s.Misses)
	}
	if _, err := n.Get(SkipLocal(t.Context()), 1, from.load); err != nil || from.calls != 2 {
		t.Errorf("SkipLocal: got %v, %d loads, want 2 loads", err, from.calls)
	}
	if allocs := testing.AllocsPerRun(100, func() { _, _ = n.Get(t.Context(), 1, from.load) }); allocs > 1 { // the method value
		t.Errorf("got %v allocations per hit, want at most 1", allocs)
	}
}

// A value from Redis counts as a hit, as in a Cache.
func TestMemoryCountsRemoteLoadsAsHits(t *testing.T) {
	x := miniWorld(t).connected(t, new(wire), Options{})
	n, from := memoryOf(x.Client, wholeMemory), &memorySource{text: "a", remote: true}
	wantMemory(t, "from Redis", n, from, "a")
	from.remote = false
	wantMemory(t, "from the database", n, from, "a")
	from.remote, from.err = true, errors.New("away")
	_, _ = n.Get(t.Context(), 1, from.load)
	if s := n.Stats(); s.Hits != 1 || s.Misses != 2 {
		t.Errorf("got %d hits and %d misses, want 1 and 2", s.Hits, s.Misses)
	}
}

func TestMemoryEntryLifetime(t *testing.T) {
	cases := []struct {
		name     string
		life     time.Duration // from load
		inSync   time.Duration
		criteria Criteria
		maxAge   time.Duration // of the policy; 0: its default
		want     time.Duration
	}{
		{name: "life of the value", life: time.Minute, inSync: 2 * time.Hour, criteria: allCriteria, want: time.Minute},
		{name: "at most TTL", life: 3 * time.Hour, inSync: 2 * time.Hour, criteria: allCriteria, want: time.Hour},
		{name: "until the sync ends", life: time.Minute, inSync: 10 * time.Second, criteria: allCriteria, want: 10 * time.Second},
		{name: "MaxAge out of sync", life: time.Minute, criteria: allCriteria, maxAge: 500 * time.Millisecond, want: 500 * time.Millisecond},
		{name: "MaxAge without RarelyChanged", life: time.Minute, inSync: time.Hour, criteria: allCriteria &^ RarelyChanged, want: time.Second},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			x := miniWorld(t).manualClient(t, Options{LocalBytes: 1 << 20})
			x.inSyncFor(test.inSync)
			if test.maxAge > 0 { // the policy trusts a sync for this much less than the client
				x.inSyncFor(test.inSync + x.maxAge - test.maxAge)
			}
			n := memoryOf(x.Client, Local{Share: 1, Criteria: test.criteria, MaxAge: test.maxAge})
			from := &memorySource{text: "a", ttl: test.life}
			wantMemory(t, "at first", n, from, "a")
			from.text = "b"
			x.advance(test.want - 1)
			wantMemory(t, "just before its expiry", n, from, "a")
			x.advance(1)
			wantMemory(t, "at its expiry", n, from, "b")
		})
	}
}

func TestMemoryDoesNotStore(t *testing.T) {
	cases := []struct {
		name string
		from memorySource
	}{
		{"error", memorySource{text: "half", ttl: time.Minute, err: errDatabase}},
		{"no life", memorySource{text: "a"}},
		{"negative life", memorySource{text: "a", ttl: -time.Second}},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			n, from := memoryOf(miniWorld(t).connected(t, new(wire), Options{}).Client, wholeMemory), test.from
			for range 2 {
				if got, err := n.Get(t.Context(), 1, from.load); !errors.Is(err, from.err) || got != from.text {
					t.Errorf("got %q, %v, want the loaded value", got, err)
				}
			}
			if from.calls != 2 {
				t.Errorf("got %d loads, want 2", from.calls)
			}
		})
	}
}

func TestMemoryWithoutBytesAlwaysLoads(t *testing.T) {
	on := new(wire)
	x := miniWorld(t).manualClient(t, Options{Bus: on.port()})
	n, from := memoryOf(x.Client, wholeMemory), &memorySource{text: "a", ttl: time.Minute}
	wantMemory(t, "at first", n, from, "a")
	wantMemory(t, "again", n, from, "a")
	if from.calls != 2 {
		t.Errorf("got %d loads, want 2", from.calls)
	}
	if err := n.Invalidate(t.Context(), 1); err != nil {
		t.Error(err)
	}
	if got := on.messages(t); len(got) != 1 {
		t.Errorf("got %d messages, want one even without local memory", len(got))
	}
	n.receive([]string{"1", "?"})
	n.reset()
}

// A value that was loaded before an Invalidate is not stored after it.
func TestMemoryDoesNotStoreOvertakenLoads(t *testing.T) {
	forget := map[string]func(t *testing.T, x connected, n *Memory[int, string]){
		"own message": func(t *testing.T, _ connected, n *Memory[int, string]) {
			if err := n.Invalidate(t.Context(), 1); err != nil {
				t.Error(err)
			}
		},
		"message of another process": func(t *testing.T, x connected, _ *Memory[int, string]) {
			x.handler(t.Context(), [][]byte{[]byte(`{"f":"other","p":"memory","k":["1"]}`)})
		},
		"invalid keys": func(t *testing.T, x connected, _ *Memory[int, string]) {
			x.handler(t.Context(), [][]byte{[]byte(`{"f":"other","p":"memory","k":["one"]}`)})
		},
		"reset": func(t *testing.T, x connected, _ *Memory[int, string]) {
			x.observer.Reset(t.Context(), "test")
			x.inSyncSince(0)
		},
	}
	for name, forget := range forget {
		t.Run(name, func(t *testing.T) {
			x := miniWorld(t).connected(t, new(wire), Options{})
			n := memoryOf(x.Client, wholeMemory)
			got, err := n.Get(t.Context(), 1, func(context.Context) (Loaded[string], error) {
				forget(t, x, n) // after the read, before the store
				return Loaded[string]{Value: "old", TTL: time.Minute}, nil
			})
			if err != nil || got != "old" {
				t.Fatal(got, err)
			}
			wantMemory(t, "afterwards", n, &memorySource{text: "new", ttl: time.Minute}, "new")
		})
	}
}

func TestMemoryInvalidateReachesOtherProcesses(t *testing.T) {
	w, on := miniWorld(t), new(wire)
	one, two := w.connected(t, on, Options{}), w.connected(t, on, Options{})
	here, there := memoryOf(one.Client, wholeMemory), memoryOf(two.Client, wholeMemory)
	from := &memorySource{text: "a", ttl: time.Minute}
	wantMemory(t, "at first", there, from, "a")
	other := &memorySource{text: "other", ttl: time.Minute}
	if _, err := there.Get(t.Context(), 2, other.load); err != nil {
		t.Fatal(err)
	}
	from.text = "b"
	if err := here.Invalidate(t.Context(), 1, 3); err != nil {
		t.Fatal(err)
	}
	wantMemory(t, "before the message", there, from, "a")
	two.deliver(t.Context())
	wantMemory(t, "after the message", there, from, "b")
	if _, err := there.Get(t.Context(), 2, other.load); err != nil || other.calls != 1 {
		t.Errorf("another key: got %d loads, want one; %v", other.calls, err)
	}
	want := []busMessage{{From: one.id, Policy: "memory", Keys: []string{"1", "3"}}}
	if diff := cmp.Diff(want, on.messages(t)); diff != "" {
		t.Error(diff)
	}
}
