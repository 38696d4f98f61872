package cache

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// textCache returns a cache of texts under any key, whose hot keys are saved.
func textCache(h *Client, name string, load Loader[string, string], parse func(string) (string, error)) *Cache[string, string] {
	return New(h, Policy{Name: name}.withTestTimes(), Source[string, string]{Key: func(s string) string { return s }, Load: load, Parse: parse})
}

func TestWarmReadsSavedHotKeys(t *testing.T) {
	onEach(t, func(t *testing.T, b *backend) {
		w := b.world(t)
		texts := echoLoader{}
		before := w.manualClient(t, Options{})
		odd := []string{"plain", "", "_", "}", "_x", "a}b", "店"}
		with, without := textCache(before.Client, "with", texts.load, identity), textCache(before.Client, "without", texts.load, nil)
		for i, text := range odd {
			before.hot.add(with.inside().nameOf(text), int64(100-i))
			before.hot.add(without.inside().nameOf(text), 100)
		}
		before.SaveHotKeys(t.Context())
		if n := w.rdb.Exists(t.Context(), before.warmKey("without", before.wall())).Val(); n != 0 {
			t.Error("saved keys without Parse")
		}
		if left := w.rdb.PTTL(t.Context(), before.warmKey("with", before.wall())).Val(); left <= 0 || left > warmTTL {
			t.Errorf("got TTL %v of the saved keys, want up to two days", left)
		}

		var loaded echoLoader
		after := w.manualClient(t, Options{LocalBytes: 1 << 20})
		c := textCache(after.Client, "with", loaded.load, func(text string) (string, error) {
			if text == "a}b" {
				return "invalid", errors.New("no such key")
			}
			return text, nil
		})
		if _, err := c.Warm(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := [][]string{{"plain", "", "_", "}", "_x", "店"}}
		if diff := cmp.Diff(want, loaded.calls); diff != "" {
			t.Error("hottest first, without invalid keys", diff)
		}
		if _, err := textCache(after.Client, "without", loaded.load, nil).Warm(t.Context()); err != nil || len(loaded.calls) != 1 {
			t.Error("warmed without Parse", err)
		}
	})
}

func identity(text string) (string, error) { return text, nil }

type echoLoader struct{ calls [][]string }

// Warm reads the hot keys of yesterday, however quiet today is and whatever else is hot, but
// not those of the day before. Warming does not make keys hot.
func TestWarmReadsYesterdaysHotKeys(t *testing.T) {
	onEach(t, func(t *testing.T, b *backend) {
		w := b.world(t)
		x := w.manualClient(t, Options{})
		noon := time.Now().UTC().Truncate(24 * time.Hour).Add(12 * time.Hour)
		x.wall = func() time.Time { return noon.Add(time.Duration(x.passed.Load())) }
		c := textCache(x.Client, "texts", func(ctx context.Context, keys []string) (map[string]string, error) {
			return new(echoLoader).load(ctx, keys) // keys near their expiry are refreshed concurrently
		}, identity)
		read := func(hour int, keys int, name string, hits int64) {
			x.passed.Store(int64(time.Duration(hour) * time.Hour))
			for from := 0; from < keys; from += hotTracked {
				x.hot = newTopKeys()
				for i := from; i < min(keys, from+hotTracked); i++ {
					x.hot.add(c.inside().nameOf(name+strconv.Itoa(i)), hits)
				}
				x.SaveHotKeys(t.Context())
			}
		}
		warmed := func() (of map[string]int) {
			t.Helper()
			before := x.hot.certain()
			n, err := c.Warm(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(before, x.hot.certain()); d != "" {
				t.Errorf("warming made keys hot (-before +after)\n%s", d)
			}
			of = map[string]int{"": n}
			saved, err := c.inside().loadWarmKeys(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range saved {
				of[strings.TrimRight(k, "0123456789")]++
			}
			return of
		}
		read(0, 1, "king", 1000)
		read(1, 1200, "many", 50) // a thousand are saved, among them the hottest
		if d := cmp.Diff(map[string]int{"": 1000, "king": 1, "many": 999}, warmed()); d != "" {
			t.Errorf("same day (-want +got)\n%s", d)
		}
		read(13, 1500, "other", 900) // the next day, with more than a thousand hotter keys
		read(25, 1, "many", 1)       // a key of yesterday counts once
		if d := cmp.Diff(map[string]int{"": 2000, "king": 1, "many": 999, "other": 1000}, warmed()); d != "" {
			t.Errorf("one day later (-want +got)\n%s", d)
		}
		read(35, 0, "", 0) // 23:00 of the second day
		if got := warmed(); got["king"] != 1 {
			t.Errorf("end of the next day: got %v, want the hottest key", got)
		}
		x.passed.Store(int64(37 * time.Hour)) // the third day
		if d := cmp.Diff(map[string]int{"": 1000, "other": 1000}, warmed()); d != "" {
			t.Errorf("two days later (-want +got)\n%s", d)
		}
		if left := w.rdb.PTTL(t.Context(), x.warmKey("texts", noon)).Val(); left <= 24*time.Hour || left > warmTTL {
			t.Errorf("got TTL %v of a day's list, want one to two days", left)
		}
	})
}

// Across processes and times of the day, the maximum counts.
func TestSavedHitsAreTheMaximum(t *testing.T) {
	w := miniWorld(t)
	one, other := w.manualClient(t, Options{}), w.manualClient(t, Options{})
	var texts echoLoader
	for _, step := range []struct {
		x    *manualClient
		hits int64
	}{{one, 100}, {other, 300}, {one, 200}, {other, 1}} {
		c := step.x.caches
		if len(c) == 0 {
			textCache(step.x.Client, "texts", texts.load, identity)
		}
		step.x.hot = newTopKeys()
		step.x.hot.add(tagged(step.x.prefix+"texts:{", "k"), step.hits)
		step.x.SaveHotKeys(t.Context())
	}
	if got := w.rdb.ZScore(t.Context(), one.warmKey("texts", one.wall()), "k").Val(); got != 300 {
		t.Errorf("got %v hits, want 300", got)
	}
}

func TestEphemeralKeysAreNotSaved(t *testing.T) {
	w := miniWorld(t)
	x := w.manualClient(t, Options{})
	var texts echoLoader
	c := New(x.Client, Policy{Name: "texts"}.withTestTimes(), Source[string, string]{Key: func(s string) string { return s }, Load: texts.load, Parse: identity, Ephemeral: true})
	x.hot.add(c.inside().nameOf("k"), 100)
	x.SaveHotKeys(t.Context())
	if n := w.rdb.Exists(t.Context(), x.warmKey("texts", x.wall())).Val(); n != 0 {
		t.Error("an ephemeral key was saved")
	}
	if read, err := x.Warm(t.Context()); err != nil || len(read) != 0 {
		t.Errorf("got %v, %v, want nothing", read, err)
	}
}

func TestAtMostAThousandHotKeysAreSaved(t *testing.T) {
	w := miniWorld(t)
	x := w.manualClient(t, Options{})
	var texts echoLoader
	c := textCache(x.Client, "texts", texts.load, identity)
	other := textCache(x.Client, "texts-and-more", texts.load, identity)
	for round := range 3 {
		x.hot = newTopKeys()
		for i := range hotTracked - 1 {
			x.hot.add(c.inside().nameOf(strconv.Itoa(1000*round+i)), int64(1+round))
		}
		x.hot.add(other.inside().nameOf("other"), 5)
		x.SaveHotKeys(t.Context())
	}
	if got := w.rdb.ZCard(t.Context(), x.warmKey("texts", x.wall())).Val(); got != maxWarmKeys {
		t.Errorf("got %d saved keys, want %d", got, maxWarmKeys)
	}
	if got := w.rdb.ZCard(t.Context(), x.warmKey("texts-and-more", x.wall())).Val(); got != 1 {
		t.Errorf("got %d keys of the other policy, want 1", got)
	}
	saved := w.rdb.ZRevRange(t.Context(), x.warmKey("texts", x.wall()), 0, 0).Val()
	if len(saved) != 1 || len(saved[0]) != 4 || saved[0][0] != '2' {
		t.Errorf("got hottest %q, want one of the last round", saved)
	}
	if _, err := c.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, call := range texts.calls {
		n += len(call)
		if len(call) > 100 {
			t.Errorf("got %d keys in one step, want at most 100", len(call))
		}
	}
	if n != maxWarmKeys {
		t.Errorf("got %d keys read, want %d", n, maxWarmKeys)
	}
}

func TestWarmReturnsErrors(t *testing.T) {
	away := new(outage)
	x := miniWorld(t).manualClient(t, Options{}, away)
	var texts echoLoader
	c := textCache(x.Client, "texts", texts.load, identity)
	away.on.Store(true)
	if _, err := c.Warm(t.Context()); !errors.Is(err, errOutage) {
		t.Errorf("got %v, want errOutage", err)
	}
}

func (e *echoLoader) load(_ context.Context, keys []string) (map[string]string, error) {
	e.calls = append(e.calls, keys)
	found := make(map[string]string)
	for _, k := range keys {
		found[k] = k
	}
	return found, nil
}
