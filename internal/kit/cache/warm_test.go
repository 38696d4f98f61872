package cache

import (
	"context"
	"errors"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// recalled is a cache of texts under any key, whose hot keys are remembered.
func recalled(h *Hub, name string, load Loader[string, string], parse func(string) (string, error)) *Cache[string, string] {
	return New(h, Policy{Name: name}.withTestTimes(), Source[string, string]{Key: func(s string) string { return s }, Load: load, Parse: parse})
}

func TestWhatWasHotIsReadAtTheNextStart(t *testing.T) {
	onEach(t, func(t *testing.T, b *backend) {
		w := b.world(t)
		texts := echo{}
		before := w.hands(t, Options{})
		odd := []string{"plain", "", "_", "}", "_x", "a}b", "店"}
		with, without := recalled(before.Hub, "with", texts.load, asItIs), recalled(before.Hub, "without", texts.load, nil)
		for i, text := range odd {
			before.hot.add(with.nameOf(text), int64(100-i))
			before.hot.add(without.nameOf(text), 100)
		}
		before.Remember(t.Context())
		if n := w.rdb.Exists(t.Context(), before.warmKey("without")).Val(); n != 0 {
			t.Error("remembered what nobody can parse")
		}
		if left := w.rdb.PTTL(t.Context(), before.warmKey("with")).Val(); left <= 0 || left > warmLife {
			t.Errorf("what was hot has %v left, want a life", left)
		}

		var loaded echo
		after := w.hands(t, Options{LocalBytes: 1 << 20})
		c := recalled(after.Hub, "with", loaded.load, func(text string) (string, error) {
			if text == "a}b" {
				return "what cannot be parsed", errors.New("no such key")
			}
			return text, nil
		})
		if err := c.Warm(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := [][]string{{"plain", "", "_", "}", "_x", "店"}}
		if diff := cmp.Diff(want, loaded.calls); diff != "" {
			t.Error("the hottest first, those that parse", diff)
		}
		if err := recalled(after.Hub, "without", loaded.load, nil).Warm(t.Context()); err != nil || len(loaded.calls) != 1 {
			t.Error("warmed without Parse", err)
		}
	})
}

func asItIs(text string) (string, error) { return text, nil }

type echo struct{ calls [][]string }

func TestNewHeatBeatsOld(t *testing.T) {
	w := mini(t)
	x := w.hands(t, Options{})
	var texts echo
	c := recalled(x.Hub, "texts", texts.load, asItIs)
	at := func(hours int, key string, hits int64) {
		x.hot = newTopKeys()
		x.hot.add(c.nameOf(key), hits)
		x.passed.Store(int64(time.Duration(hours) * time.Hour))
		x.Remember(t.Context())
	}
	at(0, "was very hot", 1000)
	at(0, "was hot", 100)
	at(2, "is warm", 100)   // as 400 two hours ago
	at(4, "is hot", 100)    // as 1600 four hours ago
	at(5, "is hot", 1)      // cools down, which does not make it worse than it was
	at(6, "was hot", 1)     // as 64 six hours ago: less than it has
	at(3, "is late", 1<<20) // a clock behind is no worse
	got := w.rdb.ZRevRange(t.Context(), x.warmKey("texts"), 0, -1).Val()
	if diff := cmp.Diff([]string{"is late", "is hot", "was very hot", "is warm", "was hot"}, got); diff != "" {
		t.Error(diff)
	}
	now := float64(x.began.Unix())
	if got, want := w.rdb.ZScore(t.Context(), x.warmKey("texts"), "was hot").Val(), now+halfLife.Seconds()*math.Log2(100); math.Abs(got-want) > 1 {
		t.Errorf("score %v, want %v", got, want)
	}
}

func TestAThousandKeysAreRememberedAtMost(t *testing.T) {
	w := mini(t)
	x := w.hands(t, Options{})
	var texts echo
	c := recalled(x.Hub, "texts", texts.load, asItIs)
	other := recalled(x.Hub, "texts-and-more", texts.load, asItIs)
	for round := range 3 {
		x.hot = newTopKeys()
		for i := range hotTracked - 1 {
			x.hot.add(c.nameOf(strconv.Itoa(1000*round+i)), int64(1+round))
		}
		x.hot.add(other.nameOf("other"), 5)
		x.Remember(t.Context())
	}
	if got := w.rdb.ZCard(t.Context(), x.warmKey("texts")).Val(); got != warmKeys {
		t.Errorf("%d keys remembered, want %d", got, warmKeys)
	}
	if got := w.rdb.ZCard(t.Context(), x.warmKey("texts-and-more")).Val(); got != 1 {
		t.Errorf("%d keys of the other policy, want its own", got)
	}
	kept := w.rdb.ZRevRange(t.Context(), x.warmKey("texts"), 0, 0).Val()
	if len(kept) != 1 || len(kept[0]) != 4 || kept[0][0] != '2' {
		t.Errorf("the hottest is %q, want one of the last round", kept)
	}
	if err := c.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, call := range texts.calls {
		n += len(call)
		if len(call) > 100 {
			t.Errorf("%d keys in one step", len(call))
		}
	}
	if n != warmKeys {
		t.Errorf("%d keys read, want %d", n, warmKeys)
	}
}

func TestWarmReturnsWhatFailed(t *testing.T) {
	away := new(outage)
	x := mini(t).hands(t, Options{}, away)
	var texts echo
	c := recalled(x.Hub, "texts", texts.load, asItIs)
	away.on.Store(true)
	if err := c.Warm(t.Context()); !errors.Is(err, errAway) {
		t.Errorf("got %v", err)
	}
}

func (e *echo) load(_ context.Context, keys []string) (map[string]string, error) {
	e.calls = append(e.calls, keys)
	found := make(map[string]string)
	for _, k := range keys {
		found[k] = k
	}
	return found, nil
}
