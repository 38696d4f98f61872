package cache

import (
	"testing"
	"time"
)

// flood reads many other keys several times, which fills the local cache many times over.
func flood(t *testing.T, c *Cache[int, row], rows *table) {
	t.Helper()
	for id := 1000; id < 2500; id++ {
		rows.commit(id)
	}
	for id := 1000; id < 2500; id += 100 {
		var ids []int
		for i := range 100 {
			ids = append(ids, id+i)
		}
		for range 3 {
			if _, err := c.GetMany(t.Context(), ids); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.inside().local.entries.all()
}

func TestPinnedKeysSurviveAFlood(t *testing.T) {
	x := miniWorld(t).manualClient(t, Options{LocalBytes: 20_000, SingleProcess: true})
	rows := newTable()
	var ids []int
	for id := range 40 {
		rows.commit(id)
		ids = append(ids, id)
	}
	c := rowsOf(x.Client, localPolicy(), rows.load)
	stored := func() (n int) {
		for _, id := range ids {
			if _, _, ok := c.inside().local.get(id); ok {
				n++
			}
		}
		return n
	}
	for _, id := range ids { // some are stored before they are pinned
		if id%2 == 0 {
			mustGet(t, c, id)
		}
	}
	if err := c.Pin(t.Context(), time.Now().Add(30*time.Minute), ids...); err != nil {
		t.Fatal(err)
	}
	flood(t, c, rows)
	if got := stored(); got != len(ids) {
		t.Errorf("got %d of %d pinned keys after a flood", got, len(ids))
	}
	x.advance(31 * time.Minute)
	c.inside().maintain(t.Context())
	for _, id := range ids {
		mustGet(t, c, id)
	}
	flood(t, c, rows)
	if got := stored(); got > len(ids)/2 {
		t.Errorf("got %d of %d keys after a flood without pins, want at most half", got, len(ids))
	}
	c.inside().local.pins.mu.Lock()
	defer c.inside().local.pins.mu.Unlock()
	if n := len(c.inside().local.pins.until); n != 0 {
		t.Errorf("got %d pins after their end, want none", n)
	}
}

// A pin holds for policies without Hot and after an invalidation.
func TestDroppedPinnedKeyIsReloaded(t *testing.T) {
	x := miniWorld(t).manualClient(t, Options{LocalBytes: 1 << 20, SingleProcess: true})
	p := localPolicy()
	p.Local.Criteria &^= Hot
	rows := newTable(1)
	c := rowsOf(x.Client, p, rows.load)
	until := time.Now().Add(30 * time.Minute)
	if err := c.Pin(t.Context(), until, 1); err != nil {
		t.Fatal(err)
	}
	if !localHit(t, c, 1) {
		t.Error("not stored after Pin")
	}
	if err := c.Pin(t.Context(), until.Add(-20*time.Minute), 1); err != nil { // the later end counts
		t.Fatal(err)
	}
	x.advance(15 * time.Minute)
	rows.commit(1)
	mustInvalidate(t, c, 1)
	c.inside().maintain(t.Context())
	if e, _, ok := c.inside().local.get(1); !ok || e.v.Version != 2 {
		t.Errorf("after an invalidation: got %v, %v, want version 2", e, ok)
	}
	loads := len(rows.loads())
	c.inside().maintain(t.Context())
	if len(rows.loads()) != loads {
		t.Error("unnecessary load")
	}
}

// Entries that are valid only for MaxAge are reloaded each time.
func TestPinnedEntryIsReloadedWithinMaxAge(t *testing.T) {
	x := miniWorld(t).manualClient(t, Options{LocalBytes: 1 << 20, SingleProcess: true})
	p := localPolicy()
	p.Local.Criteria &^= RarelyChanged
	p.Local.MaxAge = 10 * time.Second
	c := rowsOf(x.Client, p, newTable(1).load)
	if err := c.Pin(t.Context(), time.Now().Add(time.Hour), 1); err != nil {
		t.Fatal(err)
	}
	for range 30 {
		x.advance(maintainEvery)
		if _, _, ok := c.inside().local.get(1); !ok {
			t.Fatal("entry expired between two maintenance runs")
		}
		c.inside().maintain(t.Context())
	}
	if s := c.Stats(); s.Hits < 2 || s.Hits > 6 {
		t.Errorf("got %d reads in 30 seconds, want one per 10 seconds", s.Hits)
	}
}

func TestPinWithoutLocalCacheFillsRedis(t *testing.T) {
	w := miniWorld(t)
	rows := newTable(1, 2)
	c := rowsOf(w.process(t), Policy{}, rows.load)
	if err := c.Pin(t.Context(), time.Now().Add(time.Hour), 1, 2); err != nil {
		t.Fatal(err)
	}
	for _, id := range []int{1, 2} {
		if _, _, is := w.stored(t, c, id); is != value {
			t.Errorf("row %d is not in Redis", id)
		}
	}
}
