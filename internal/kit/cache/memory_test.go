package cache

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// nearbyOf keeps texts by number.
func nearbyOf(h *Client, l Local) *Memory[int, string] {
	return NewMemory[int, string](h, Policy{Name: "near", TTL: time.Hour, Local: l}, strconv.Itoa, strconv.Atoi)
}

var wholeMemory = Local{Share: 1, Criteria: everyCriterion}

// well is where nearby values come from.
type well struct {
	text   string
	life   time.Duration
	remote bool
	err    error
	calls  int
}

func (w *well) load(context.Context) (Loaded[string], error) {
	w.calls++
	return Loaded[string]{w.text, w.life, w.remote}, w.err
}

func wantNear(t *testing.T, what string, n *Memory[int, string], from *well, want string) {
	t.Helper()
	got, err := n.Get(t.Context(), 1, from.load)
	if err != nil || got != want {
		t.Errorf("%s: got %q, %v, want %q", what, got, err, want)
	}
}

func TestMemoryHitDoesNotLoad(t *testing.T) {
	x := mini(t).connected(t, new(wire), Options{})
	n, from := nearbyOf(x.Client, wholeMemory), &well{text: "a", life: time.Minute}
	for range 3 {
		wantNear(t, "in sync", n, from, "a")
	}
	if from.calls != 1 {
		t.Errorf("%d loads, want one", from.calls)
	}
	if s := n.Stats(); s.LocalHits != 2 || s.Misses != 1 {
		t.Errorf("%d hits and %d misses counted, want 2 and 1", s.LocalHits, s.Misses)
	}
	if _, err := n.Get(SkipLocal(t.Context()), 1, from.load); err != nil || from.calls != 2 {
		t.Errorf("a fresh read: %v, %d loads, want it to load", err, from.calls)
	}
	if allocs := testing.AllocsPerRun(100, func() { _, _ = n.Get(t.Context(), 1, from.load) }); allocs > 1 { // the method value
		t.Errorf("a hit costs %v allocations", allocs)
	}
}

// What Redis had is a hit, as it is one of a cache.
func TestMemoryCountsRemoteLoadsAsHits(t *testing.T) {
	x := mini(t).connected(t, new(wire), Options{})
	n, from := nearbyOf(x.Client, wholeMemory), &well{text: "a", remote: true}
	wantNear(t, "from Redis", n, from, "a")
	from.remote = false
	wantNear(t, "from elsewhere", n, from, "a")
	from.remote, from.err = true, errors.New("away")
	_, _ = n.Get(t.Context(), 1, from.load)
	if s := n.Stats(); s.Hits != 1 || s.Misses != 2 {
		t.Errorf("%d hits and %d misses counted, want 1 and 2", s.Hits, s.Misses)
	}
}

func TestMemoryEntryLifetime(t *testing.T) {
	cases := []struct {
		name   string
		life   time.Duration // that load says
		inSync time.Duration
		suits  Criteria
		maxAge time.Duration // of the policy; 0: its default
		want   time.Duration
	}{
		{name: "for the life that load says", life: time.Minute, inSync: 2 * time.Hour, suits: everyCriterion, want: time.Minute},
		{name: "to the end of Fresh at most", life: 3 * time.Hour, inSync: 2 * time.Hour, suits: everyCriterion, want: time.Hour},
		{name: "to the end of the sync", life: time.Minute, inSync: 10 * time.Second, suits: everyCriterion, want: 10 * time.Second},
		{name: "for MaxAge out of sync", life: time.Minute, suits: everyCriterion, maxAge: 500 * time.Millisecond, want: 500 * time.Millisecond},
		{name: "for MaxAge if it is not seldom changed", life: time.Minute, inSync: time.Hour, suits: everyCriterion &^ RarelyChanged, want: time.Second},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			x := mini(t).hands(t, Options{LocalBytes: 1 << 20})
			x.inSyncFor(test.inSync)
			if test.maxAge > 0 { // its policy trusts a sync for so much less than the hub
				x.inSyncFor(test.inSync + x.maxAge - test.maxAge)
			}
			n := nearbyOf(x.Client, Local{Share: 1, Criteria: test.suits, MaxAge: test.maxAge})
			from := &well{text: "a", life: test.life}
			wantNear(t, "at first", n, from, "a")
			from.text = "b"
			x.pass(test.want - 1)
			wantNear(t, "just before its end", n, from, "a")
			x.pass(1)
			wantNear(t, "at its end", n, from, "b")
		})
	}
}

func TestMemoryDoesNotStore(t *testing.T) {
	cases := []struct {
		name string
		from well
	}{
		{"an error", well{text: "half", life: time.Minute, err: errDatabase}},
		{"what has no life", well{text: "a"}},
		{"what ended before it was read", well{text: "a", life: -time.Second}},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			n, from := nearbyOf(mini(t).connected(t, new(wire), Options{}).Client, wholeMemory), test.from
			for range 2 {
				if got, err := n.Get(t.Context(), 1, from.load); !errors.Is(err, from.err) || got != from.text {
					t.Errorf("got %q, %v, want what load returned", got, err)
				}
			}
			if from.calls != 2 {
				t.Errorf("%d loads, want 2", from.calls)
			}
		})
	}
}

func TestMemoryWithoutBytesAlwaysLoads(t *testing.T) {
	on := new(wire)
	x := mini(t).hands(t, Options{Bus: on.port()})
	n, from := nearbyOf(x.Client, wholeMemory), &well{text: "a", life: time.Minute}
	wantNear(t, "at first", n, from, "a")
	wantNear(t, "again", n, from, "a")
	if from.calls != 2 {
		t.Errorf("%d loads, want 2", from.calls)
	}
	if err := n.Invalidate(t.Context(), 1); err != nil {
		t.Error(err)
	}
	if got := on.words(t); len(got) != 1 {
		t.Errorf("%d words, want the others to hear of it all the same", len(got))
	}
	n.receive([]string{"1", "?"})
	n.reset()
}

// What load found before an Invalidate is not kept after it.
func TestMemoryDoesNotStoreOvertakenLoads(t *testing.T) {
	forget := map[string]func(t *testing.T, x connected, n *Memory[int, string]){
		"of its own process": func(t *testing.T, _ connected, n *Memory[int, string]) {
			if err := n.Invalidate(t.Context(), 1); err != nil {
				t.Error(err)
			}
		},
		"of another process": func(t *testing.T, x connected, _ *Memory[int, string]) {
			x.hear(t.Context(), [][]byte{[]byte(`{"f":"other","p":"near","k":["1"]}`)})
		},
		"of keys that cannot be parsed": func(t *testing.T, x connected, _ *Memory[int, string]) {
			x.hear(t.Context(), [][]byte{[]byte(`{"f":"other","p":"near","k":["one"]}`)})
		},
		"of all, by a reset": func(t *testing.T, x connected, _ *Memory[int, string]) {
			x.follower.Reset(t.Context(), "test")
			x.inSyncSince(0)
		},
	}
	for name, forget := range forget {
		t.Run(name, func(t *testing.T) {
			x := mini(t).connected(t, new(wire), Options{})
			n := nearbyOf(x.Client, wholeMemory)
			got, err := n.Get(t.Context(), 1, func(context.Context) (Loaded[string], error) {
				forget(t, x, n) // after it was read, before it is kept
				return Loaded[string]{Value: "old", Life: time.Minute}, nil
			})
			if err != nil || got != "old" {
				t.Fatal(got, err)
			}
			wantNear(t, "after it", n, &well{text: "new", life: time.Minute}, "new")
		})
	}
}

func TestMemoryInvalidateReachesOtherProcesses(t *testing.T) {
	w, on := mini(t), new(wire)
	one, two := w.connected(t, on, Options{}), w.connected(t, on, Options{})
	here, there := nearbyOf(one.Client, wholeMemory), nearbyOf(two.Client, wholeMemory)
	from := &well{text: "a", life: time.Minute}
	wantNear(t, "at first", there, from, "a")
	kept := &well{text: "kept", life: time.Minute}
	if _, err := there.Get(t.Context(), 2, kept.load); err != nil {
		t.Fatal(err)
	}
	from.text = "b"
	if err := here.Invalidate(t.Context(), 1, 3); err != nil {
		t.Fatal(err)
	}
	wantNear(t, "before it is heard", there, from, "a")
	two.deliver(t.Context())
	wantNear(t, "once it is heard", there, from, "b")
	if _, err := there.Get(t.Context(), 2, kept.load); err != nil || kept.calls != 1 {
		t.Errorf("another key was loaded %d times, want once; %v", kept.calls, err)
	}
	want := []busMessage{{From: one.id, Policy: "near", Keys: []string{"1", "3"}}}
	if diff := cmp.Diff(want, on.words(t)); diff != "" {
		t.Error(diff)
	}
}
