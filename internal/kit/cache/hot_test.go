package cache

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/testkit"
)

// zipf counts n hits on keys whose frequencies follow Zipf's law.
func zipf(seed uint64, top *topKeys, n int) map[string]int64 {
	draw := rand.NewZipf(rand.New(rand.NewPCG(seed, 0)), 1.1, 1, 50_000)
	exact := make(map[string]int64)
	for range n {
		key := fmt.Sprint("k", draw.Uint64())
		exact[key]++
		top.add(key, 1)
	}
	return exact
}

func TestFrequentKeysAreFound(t *testing.T) {
	const hits = 200_000
	top := newTopKeys()
	exact := zipf(testkit.Seed(t), top, hits)
	counts := make(map[string]int64)
	for _, k := range top.top(hotTracked) {
		counts[k.Key] = k.Hits
	}
	frequent := 0
	for key, n := range exact {
		if n > hits/hotTracked {
			frequent++
			if counts[key] == 0 {
				t.Errorf("%s has %d hits and is missing", key, n)
			}
		}
	}
	if frequent < 10 || len(exact) < 10*hotTracked {
		t.Errorf("%d frequent of %d keys: inconclusive", frequent, len(exact))
	}
	for key, c := range top.byKey {
		if n := exact[key]; c.hits < n || c.hits-c.error > n {
			t.Errorf("%s: got %d hits, counted as %d with error %d", key, n, c.hits, c.error)
		}
		if c.error > hits/hotTracked {
			t.Errorf("%s: error %d exceeds the bound", key, c.error)
		}
		if want := c.hits-c.error >= hotEnough; top.hot(key) != want {
			t.Errorf("%s: got hot %v, want %v", key, !want, want)
		}
	}
}

func TestTrackedHotKeysAreBounded(t *testing.T) {
	top := newTopKeys()
	for i := range 100_000 {
		top.add(fmt.Sprint(i), 1)
	}
	if len(top.byKey) != hotTracked || len(top.heap) != hotTracked {
		t.Errorf("got %d and %d tracked keys, want %d", len(top.byKey), len(top.heap), hotTracked)
	}
	for _, c := range top.heap {
		if top.byKey[c.key] != c || top.heap[c.at] != c {
			t.Fatalf("%s has a wrong position", c.key)
		}
	}
	if top.hot("99999") {
		t.Error("a key with one read is hot by its inherited count")
	}
}

func TestTopKeysAreSorted(t *testing.T) {
	top := newTopKeys()
	for key, hits := range map[string]int64{"b": 3, "a": 3, "c": 9, "d": 1} {
		top.add(key, hits)
	}
	top.add("d", 1)
	if diff := cmp.Diff([]HotKey{{"c", 9}, {"a", 3}, {"b", 3}}, top.top(3)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]HotKey{{"c", 9}, {"a", 3}, {"b", 3}, {"d", 2}}, top.top(100)); diff != "" {
		t.Error(diff)
	}
}

func TestHotKeysFade(t *testing.T) {
	top := newTopKeys()
	zipf(testkit.Seed(t), top, 50_000)
	top.add("was hot", 2*hotEnough)
	before := make(map[string]counted)
	for key, c := range top.byKey {
		before[key] = *c
	}
	top.fade()
	for key, old := range before {
		c := top.byKey[key]
		if old.hits/2 == 0 {
			if c != nil {
				t.Errorf("%s is cold and still counted", key)
			}
			continue
		}
		if c == nil || c.hits != old.hits/2 || c.error != old.error/2 {
			t.Errorf("%s: got %+v after %+v, want half", key, c, old)
		}
	}
	for i, c := range top.heap {
		if c.at != i || i > 0 && top.heap[(i-1)/2].hits > c.hits {
			t.Fatal("invalid heap")
		}
	}
	if !top.hot("was hot") {
		t.Error("not hot after one fade")
	}
	for range 10 {
		top.fade()
	}
	if top.hot("was hot") {
		t.Error("still hot after ten fades")
	}
	for range 64 {
		top.fade()
	}
	if len(top.byKey) != 0 || len(top.heap) != 0 {
		t.Errorf("got %d keys, want none", len(top.byKey))
	}
	top.add("new", 1)
	if diff := cmp.Diff([]HotKey{{"new", 1}}, top.top(9)); diff != "" {
		t.Error(diff)
	}
}

func TestHotKeysReturnsMostReadKeys(t *testing.T) {
	const reads = exactHits / 2 // together with the other key below exactHits
	for _, local := range []bool{true, false} {
		t.Run(fmt.Sprintf("local %v", local), func(t *testing.T) {
			o := Options{SingleProcess: true}
			if local {
				o.LocalBytes = 1 << 20
			}
			x := miniWorld(t).manualClient(t, o)
			c := rowsOf(x.Client, localPolicy(), newTable(1, 2).load)
			for i := range reads {
				mustGet(t, c, 1)
				if i%4 == 0 {
					mustGet(t, c, 2)
				}
			}
			got := x.HotKeys(1)
			if len(got) != 1 || got[0].Key != c.inside().nameOf(1) || got[0].Hits < reads*9/10 || got[0].Hits > reads*11/10 {
				t.Errorf("got hottest %v, want %s with about %d hits", got, c.inside().nameOf(1), reads)
			}
			if got := x.HotKeys(10); len(got) != 2 {
				t.Errorf("got %v, want two keys", got)
			}
		})
	}
}

// After the first thousands, local hits are sampled; the sum stays approximately correct.
func TestManyLocalHitsAreEstimated(t *testing.T) {
	const reads = 400_000
	x := miniWorld(t).manualClient(t, Options{SingleProcess: true, LocalBytes: 1 << 20})
	c := rowsOf(x.Client, localPolicy(), newTable(1).load)
	for i := range reads + 1 {
		if i%100 == 0 {
			x.advance(tickEvery)
		}
		if _, err := c.Get(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
	}
	if got := c.Stats().LocalHits; got < reads*9/10 || got > reads*11/10 {
		t.Errorf("got %d local hits, want about %d", got, reads)
	}
	if got := x.HotKeys(1); len(got) != 1 || got[0].Hits < reads*9/10 || got[0].Hits > reads*11/10 {
		t.Errorf("got hottest %v, want about %d hits", got, reads)
	}
}

func TestAbsentKeysCanBeHot(t *testing.T) {
	x := miniWorld(t).manualClient(t, Options{SingleProcess: true})
	c := rowsOf(x.Client, localPolicy(), newTable().load)
	for range 1000 {
		if _, err := c.Get(context.WithoutCancel(t.Context()), 7); !errors.Is(err, ErrNotFound) {
			t.Fatal(err)
		}
	}
	if got := x.HotKeys(1); len(got) != 1 || got[0].Key != c.inside().nameOf(7) {
		t.Errorf("got hottest %v, want key 7", got)
	}
}
