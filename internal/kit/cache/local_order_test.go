package cache

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Replies of two reads may arrive in another order than Redis sent them. A reader that saw the
// newer value must not see the older one later.
func TestLateReplyDoesNotReplaceNewerEntry(t *testing.T) {
	on, rows := new(wire), newTable(1)
	w, late := miniWorld(t), &lateReply{held: make(chan chan struct{})}
	one, p := w.connected(t, on, Options{}), on.port()
	two := w.manualClient(t, Options{Bus: p, LocalBytes: 1 << 20}, late)
	two.inSyncFor(time.Hour)
	here, there := parsedRows(one.Client, localPolicy(), rows), parsedRows(two.Client, localPolicy(), rows)
	mustGet(t, here, 1)
	late.on.Store(true)
	first := getLater(t.Context(), there, 1) // Redis replied with version 1
	release := receive(t, late.held)
	late.on.Store(false)
	r := rows.commit(1)
	mustPut(t, here, r) // process two misses the message
	if got := versionOf(SkipLocal(t.Context()), t, there, 1); got != 2 {
		t.Fatalf("SkipLocal got version %d, want 2", got)
	}
	close(release)
	receive(t, first)
	wantVersion(t, "after SkipLocal", there, 1, 2)
}

func TestOlderGenerationDoesNotReplaceNewerList(t *testing.T) {
	x := miniWorld(t).connected(t, new(wire), Options{})
	lists := localListsOf(x.Client, newTable(1), 1).lists
	k := query{1, 10}
	entryOf := func(generation int64, ids ...int) *entry[*[]int] {
		return &entry[*[]int]{v: &ids, version: generation, until: int64(time.Hour), weight: 300}
	}
	before := lists.inside().local.stamp(k)
	lists.inside().local.put(k, before, entryOf(1_700_000_000_000_002, 1, 2))
	lists.inside().local.put(k, before, entryOf(1_700_000_000_000_001, 1))
	got, err := lists.Get(t.Context(), k)
	if err != nil || !cmp.Equal([]int{1, 2}, got) {
		t.Errorf("got %v, %v, want the list of the newer generation", got, err)
	}
	lists.inside().local.put(k, before, entryOf(1_700_000_000_000_003))
	if got, err := lists.Get(t.Context(), k); err != nil || len(got) != 0 {
		t.Errorf("got %v, %v, want the empty list of the newest generation", got, err)
	}
}

// A read bypasses or misses L1, and an invalidation that this process misses overtakes its
// load. The value is not stored, and the older entry is dropped.
func TestRefusedLoadDropsAnOlderEntry(t *testing.T) {
	w, rows := miniWorld(t), newTable(1)
	two := w.connected(t, new(wire), Options{}) // misses all messages
	load, nextLoad := rows.pausing(t)
	here, there := rowsOf(w.process(t), Policy{}, rows.load), parsedRowsFrom(two.Client, localPolicy(), rows, load)
	mustGet(t, here, 1)
	mustGet(t, there, 1)
	rows.commit(1)
	mustInvalidate(t, here, 1)
	fresh := getLater(SkipLocal(t.Context()), there, 1)
	p := nextLoad() // of version 2
	mustInvalidate(t, here, 1)
	p.end <- nil
	if got := receive(t, fresh); got.row.Version != 2 {
		t.Fatalf("SkipLocal got %v, want version 2", got)
	}
	if got := localKeys(t, there, 1); len(got) > 0 {
		t.Error("the older entry is still stored")
	}
}

// A reply that does not qualify for local memory must not leave an older entry there.
func TestSkippedStoreDropsAnOlderEntry(t *testing.T) {
	cases := []struct {
		name     string
		criteria Criteria
		spoil    func(x connected, c *Cache[int, row])
	}{
		{"no longer hot", allCriteria &^ Hot, func(x connected, _ *Cache[int, row]) { x.hot = newTopKeys() }},
		{"too large now", allCriteria, func(_ connected, c *Cache[int, row]) { c.inside().policy.MaxBytes = headerSize }},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			w, rows := miniWorld(t), newTable(1)
			x := w.connected(t, new(wire), Options{})
			p := localPolicy()
			p.Local.Criteria = test.criteria
			here, there := rowsOf(w.process(t), Policy{}, rows.load), parsedRows(x.Client, p, rows)
			x.hot.add(there.inside().nameOf(1), 2*hotEnough)
			mustGet(t, there, 1)
			if len(localKeys(t, there, 1)) == 0 {
				t.Fatal("entry not stored")
			}
			test.spoil(x, there)
			rows.commit(1)
			mustInvalidate(t, here, 1)
			if got := versionOf(SkipLocal(t.Context()), t, there, 1); got != 2 {
				t.Fatalf("SkipLocal got version %d, want 2", got)
			}
			wantVersion(t, "after SkipLocal", there, 1, 2)
		})
	}
}

// The reply with the higher version is newer, in any order of the requests.
func TestHigherVersionWins(t *testing.T) {
	cases := []struct {
		name              string
		firstIs, secondIs int  // versions of the replies, in request order
		firstComesFirst   bool // order of the replies
		want              int
	}{
		{"first request newer, last reply", 2, 1, false, 2},
		{"first request newer, first reply", 2, 1, true, 2},
		{"first request older, last reply", 1, 2, false, 2},
		{"first request older, first reply", 1, 2, true, 2},
		{"no versions: later request", 0, 0, false, 0},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			x := miniWorld(t).connected(t, new(wire), Options{MaxAge: time.Hour})
			p := localPolicy()
			p.Local.MaxAge = time.Hour
			c := parsedRows(x.Client, p, newTable())
			entryOf := func(version int, label string) *entry[*row] {
				return &entry[*row]{v: &row{1, version}, version: int64(version), name: label, until: int64(time.Hour), weight: 300}
			}
			first := c.inside().local.stamp(1)
			x.advance(time.Second)
			second := c.inside().local.stamp(1)
			puts := []func(){
				func() { c.inside().local.put(1, first, entryOf(test.firstIs, "first")) },
				func() { c.inside().local.put(1, second, entryOf(test.secondIs, "second")) },
			}
			if !test.firstComesFirst {
				puts[0], puts[1] = puts[1], puts[0]
			}
			for _, put := range puts {
				put()
			}
			e, _, ok := c.inside().local.get(1)
			if !ok || e.v.Version != test.want || test.want == 0 && e.name != "second" {
				t.Errorf("got entry %v, want version %d", e, test.want)
			}
		})
	}
}

// A refresh and a read may return one version at the same tick, with two lifetimes.
func TestLaterExpiryWinsForOneVersion(t *testing.T) {
	for _, lives := range [][2]time.Duration{{time.Second, time.Hour}, {time.Hour, time.Second}} {
		x := miniWorld(t).connected(t, new(wire), Options{})
		c := parsedRows(x.Client, localPolicy(), newTable())
		at := c.inside().local.stamp(1)
		for _, life := range lives {
			c.inside().local.put(1, at, &entry[*row]{v: &row{1, 1}, version: 1, until: int64(life), weight: 300})
		}
		if e, _, ok := c.inside().local.get(1); !ok || e.until != int64(time.Hour) {
			t.Errorf("lifetimes %v: got entry %v, want the one of an hour", lives, e)
		}
	}
}

// A reply that an invalidation overtook is not stored. Its reader must not see an older value
// later.
func TestOvertakenReplyDropsAnOlderEntry(t *testing.T) {
	cases := []struct {
		name         string
		entry, reply int // versions
		want         int // 0: no entry
	}{
		{"older entry", 1, 2, 0},
		{"same version", 2, 2, 2},
		{"newer entry", 3, 2, 3},
		{"reply without version", 3, 0, 0},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			x := miniWorld(t).connected(t, new(wire), Options{})
			c := parsedRows(x.Client, localPolicy(), newTable())
			entryOf := func(version int) *entry[*row] {
				return &entry[*row]{v: &row{1, version}, version: int64(version), until: int64(time.Hour), weight: 300}
			}
			before := c.inside().local.stamp(1)
			c.inside().local.drop(1)
			c.inside().local.put(1, c.inside().local.stamp(1), entryOf(test.entry))
			c.inside().local.put(1, before, entryOf(test.reply))
			got := 0
			if e, _, ok := c.inside().local.get(1); ok {
				got = e.v.Version
			}
			if got != test.want {
				t.Errorf("got version %d, want %d", got, test.want)
			}
		})
	}
}
