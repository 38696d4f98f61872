package cache

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/kit/eventbus"
)

func TestPipelineIsOneRoundTrip(t *testing.T) {
	onEach(t, func(t *testing.T, b *backend) {
		w := b.world(t)
		rows, sent := newTable(1, 2), new(commandCounter)
		client := w.process(t, sent)
		c := rowsOf(client, Policy{}, rows.load)
		l := newLists(1, Entry{"1", 1}, Entry{"2", 2}, Entry{"3", 3})
		l.insert(2, Entry{"1", 1}, Entry{"2", 2}, Entry{"3", 3})
		win := windowOf(client, l.load, WindowPolicy{})
		change := func() error {
			p := client.Pipeline()
			c.PutIn(p, map[int]row{1: rows.commit(1)})
			win.InvalidateIn(p, 1)
			win.RemoveEachIn(p, map[int][]Entry{2: {{"1", 1}}})
			return p.Exec(t.Context())
		}
		must(t, change()) // loads the scripts
		mustGet(t, c, 1)
		for _, list := range []int{1, 2} {
			if _, _, err := win.Page(t.Context(), list, nil, 10); err != nil {
				t.Fatal(err)
			}
		}
		loads := len(rows.loads())
		sent.reset()
		must(t, change())
		if got := sent.reset(); got != "1 round trips, 0 of a single command" {
			t.Error(got)
		}
		if got := mustGet(t, c, 1); got.Version != 3 || len(rows.loads()) != loads {
			t.Errorf("got version %d after %d more loads, want 3 without loads", got.Version, len(rows.loads())-loads)
		}
		exist := map[string]int64{}
		for _, list := range []int{1, 2} {
			exist[win.nameOf(list)] = w.rdb.Exists(t.Context(), win.nameOf(list)).Val()
		}
		if diff := cmp.Diff(map[string]int64{win.nameOf(1): 0, win.nameOf(2): 1}, exist); diff != "" {
			t.Error(diff)
		}
	})
}

// The error of one part does not stop the others.
func TestPipelinePartsFailSeparately(t *testing.T) {
	onEach(t, func(t *testing.T, b *backend) {
		w := b.world(t)
		rows := newTable(1)
		client := w.process(t)
		c := rowsOf(client, Policy{}, rows.load)
		win := windowOf(client, newLists(1, Entry{"1", 1}).load, WindowPolicy{})
		must(t, w.rdb.RPush(t.Context(), c.inside().nameOf(1), "no record").Err())
		if _, _, err := win.Page(t.Context(), 1, nil, 10); err != nil {
			t.Fatal(err)
		}
		p := client.Pipeline()
		c.PutIn(p, map[int]row{1: {1, 9}})
		win.InvalidateIn(p, 1)
		if err := p.Exec(t.Context()); err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
			t.Errorf("got %v, want WRONGTYPE", err)
		}
		if n := w.rdb.Exists(t.Context(), win.nameOf(1)).Val(); n != 0 {
			t.Error("the window still exists")
		}
	})
}

// A cache without local state needs no messages.
func TestCacheWithoutLocalStatePublishesNothing(t *testing.T) {
	x := newPair(t, localPolicy(), 1)
	published := 0
	x.wire.before = func(ms []eventbus.Message) error { published += len(ms); return nil }
	remote := rowsOf(x.one.Client, Policy{Name: "remote"}, x.rows.load)
	mustInvalidate(t, remote, 1)
	if published != 0 {
		t.Errorf("got %d messages without local state, want none", published)
	}
	mustInvalidate(t, x.here, 1)
	if published != 1 {
		t.Errorf("got %d messages with local state, want 1", published)
	}
}
