package cache

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLocalHitNeedsNoRedisAndNoAllocation(t *testing.T) {
	w := miniWorld(t)
	sent := new(commandCounter)
	rows := newTable(1)
	x := w.manualClient(t, Options{LocalBytes: 1 << 20, SingleProcess: true}, sent)
	c := rowsOf(x.Client, localPolicy(), rows.load)
	mustGet(t, c, 1)
	if _, err := c.Get(t.Context(), 9); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
	sent.reset()
	ctx := t.Context()
	for range 2 * exactHits { // beyond the exact part
		if r, err := c.Get(ctx, 1); err != nil || r != (row{1, 1}) {
			t.Fatal(r, err)
		}
	}
	if allocs := testing.AllocsPerRun(1000, func() { _, _ = c.Get(ctx, 1) }); allocs != 0 {
		t.Errorf("%v allocations, want none", allocs)
	}
	if _, err := c.Get(ctx, 9); !errors.Is(err, ErrNotFound) {
		t.Errorf("stored absence: got %v, want ErrNotFound", err)
	}
	if got, err := c.GetMany(ctx, []int{1, 9, 1}); err != nil || !cmp.Equal(map[int]row{1: {1, 1}}, got) {
		t.Errorf("GetMany: got %v, %v, want row 1", got, err)
	}
	if got := sent.reset(); got != "0 round trips, 0 of a single command" {
		t.Error(got)
	}
	if diff := cmp.Diff([][]int{{1}, {9}}, rows.loads()); diff != "" {
		t.Error("loads", diff)
	}
	// The sample is precise only over many ticks; this test has one.
	if got := c.Stats().LocalHits; got < exactHits {
		t.Errorf("got %d local hits, want at least %d", got, exactHits)
	}
}

func TestLocalEntryLifetime(t *testing.T) {
	const fresh, maxAge, negative = time.Hour, 3 * time.Second, 10 * time.Minute
	cases := []struct {
		name     string
		single   bool
		inSync   time.Duration // from the read on
		criteria Criteria
		id       int
		want     time.Duration
	}{
		{name: "TTL in a single process", single: true, criteria: allCriteria, id: 1, want: fresh},
		{name: "NegativeTTL of an absence", single: true, criteria: allCriteria, id: 9, want: negative},
		{name: "TTL in sync", inSync: 2 * fresh, criteria: allCriteria, id: 1, want: fresh},
		{name: "until the sync ends", inSync: time.Minute, criteria: allCriteria, id: 1, want: time.Minute},
		{name: "MaxAge out of sync", criteria: allCriteria, id: 1, want: maxAge},
		{name: "MaxAge after a shorter sync", inSync: time.Second, criteria: allCriteria, id: 1, want: maxAge},
		{name: "MaxAge in sync without RarelyChanged", inSync: 2 * fresh, criteria: allCriteria &^ RarelyChanged, id: 1, want: maxAge},
		{name: "MaxAge in a single process without RarelyChanged", single: true, criteria: allCriteria &^ RarelyChanged, id: 1, want: maxAge},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			w := miniWorld(t)
			x := w.manualClient(t, Options{LocalBytes: 1 << 20, SingleProcess: test.single})
			x.advance(time.Minute)
			if !test.single {
				x.inSyncFor(test.inSync)
			}
			p := localPolicy()
			p.Local.Criteria, p.Local.MaxAge = test.criteria, maxAge
			c := rowsOf(x.Client, p, newTable(1).load)
			if localHit(t, c, test.id) {
				t.Fatal("the first read was a local hit")
			}
			x.advance(test.want - 1)
			if !localHit(t, c, test.id) {
				t.Errorf("entry expired before %v", test.want)
			}
			x.advance(1)
			if localHit(t, c, test.id) {
				t.Errorf("entry is valid after %v", test.want)
			}
		})
	}
}

// The age of an entry counts from before the Redis read: the reply may lack later
// invalidations.
func TestEntryAgeStartsBeforeItsRead(t *testing.T) {
	w := miniWorld(t)
	x := w.manualClient(t, Options{LocalBytes: 1 << 20})
	p := localPolicy()
	p.Local.MaxAge = time.Second
	rows := newTable(1)
	load, nextLoad := rows.pausing(t)
	c := rowsOf(x.Client, p, load)
	first := getLater(t.Context(), c, 1)
	loading := nextLoad()
	x.advance(900 * time.Millisecond)
	loading.end <- nil
	receive(t, first)
	if !localHit(t, c, 1) {
		t.Error("the loaded value was not stored")
	}
	x.advance(100 * time.Millisecond)
	if localHit(t, c, 1) {
		t.Error("valid for more than MaxAge after its load began")
	}
}

func TestLocalCacheNeedsRun(t *testing.T) {
	w := miniWorld(t)
	h := w.manualClient(t, Options{LocalBytes: 1 << 20, SingleProcess: true}).Client
	h.clock.start(true) // as after NewClient
	c := rowsOf(h, localPolicy(), newTable(1).load)
	for range 3 {
		if localHit(t, c, 1) {
			t.Fatal("a local hit before Run")
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- h.Run(ctx) }()
	eventually(t, "a local hit while the client runs", func() bool { return localHit(t, c, 1) })
	stop()
	if err := receive(t, done); err != nil {
		t.Error(err)
	}
	if localHit(t, c, 1) {
		t.Error("a local hit after Run")
	}
}

func TestLocalCacheNeedsBytesAndShare(t *testing.T) {
	w := miniWorld(t)
	none := w.manualClient(t, Options{SingleProcess: true})
	some := w.manualClient(t, Options{SingleProcess: true, LocalBytes: 1 << 20})
	unshared := localPolicy()
	unshared.Local.Share = 0
	for name, c := range map[string]*Cache[int, row]{
		"no bytes": rowsOf(none.Client, localPolicy(), newTable(1).load),
		"no share": rowsOf(some.Client, unshared, newTable(1).load),
	} {
		for range 3 {
			if localHit(t, c, 1) {
				t.Errorf("%s: got a local hit, want none", name)
			}
		}
	}
}

func TestOwnWritesAreVisibleAtOnce(t *testing.T) {
	writes := map[string]func(t *testing.T, c *Cache[int, row], r row){
		"Invalidate": func(t *testing.T, c *Cache[int, row], r row) { mustInvalidate(t, c, r.ID) },
		"Put":        func(t *testing.T, c *Cache[int, row], r row) { mustPut(t, c, r) },
	}
	for name, write := range writes {
		t.Run(name, func(t *testing.T) {
			w := miniWorld(t)
			x := w.manualClient(t, Options{LocalBytes: 1 << 20, SingleProcess: true})
			rows := newTable(1)
			c := rowsOf(x.Client, localPolicy(), rows.load)
			for _, id := range []int{1, 2} { // 2 is absent (A8)
				localHit(t, c, id)
				if !localHit(t, c, id) {
					t.Fatal("not stored")
				}
				r := rows.commit(id)
				write(t, c, r)
				if got := mustGet(t, c, id); got != r {
					t.Errorf("got %v, want %v", got, r)
				}
			}
		})
	}
}

// A15: an invalidation comes while the reply of Redis is on its way.
func TestOvertakenReplyIsNotStoredLocally(t *testing.T) {
	w := miniWorld(t)
	late := &lateReply{held: make(chan chan struct{})}
	x := w.manualClient(t, Options{LocalBytes: 1 << 20, SingleProcess: true}, late)
	rows := newTable(1)
	c := rowsOf(x.Client, localPolicy(), rows.load)
	mustGet(t, c, 1)
	c.inside().local.remove(1) // in Redis, not in the process
	late.on.Store(true)
	first := getLater(t.Context(), c, 1)
	release := receive(t, late.held)
	late.on.Store(false)
	rows.commit(1)
	mustInvalidate(t, c, 1)
	close(release)
	if got := receive(t, first); got.err != nil || got.row.Version != 1 {
		t.Errorf("the overtaken reader got %v, want its own version 1", got)
	}
	if got := mustGet(t, c, 1); got.Version != 2 {
		t.Errorf("got version %d after the invalidation, want 2", got.Version)
	}
}

// The same for a load.
func TestOvertakenLoadIsNotStoredLocally(t *testing.T) {
	w := miniWorld(t)
	away := new(outage)
	x := w.manualClient(t, Options{LocalBytes: 1 << 20, SingleProcess: true}, away)
	rows := newTable(1)
	load, nextLoad := rows.pausing(t)
	c := rowsOf(x.Client, localPolicy(), load)
	away.on.Store(true) // loaded without a lease, stored for MaxAge
	first := getLater(t.Context(), c, 1)
	p := nextLoad()
	away.on.Store(false)
	rows.commit(1)
	mustInvalidate(t, c, 1)
	p.end <- nil
	receive(t, first)
	second := getLater(t.Context(), c, 1)
	nextLoad().end <- nil
	if got := receive(t, second); got.row.Version != 2 {
		t.Errorf("got %v, want version 2", got)
	}
}

func TestOlderReplyDoesNotReplaceNewerEntry(t *testing.T) {
	x := miniWorld(t).manualClient(t, Options{LocalBytes: 1 << 20, SingleProcess: true})
	c := rowsOf(x.Client, localPolicy(), newTable().load)
	entryOf := func(version int) *entry[*row] {
		return &entry[*row]{v: &row{1, version}, until: int64(time.Hour), weight: 300}
	}
	early := c.inside().local.stamp(1)
	x.advance(time.Second)
	c.inside().local.put(1, c.inside().local.stamp(1), entryOf(2))
	c.inside().local.put(1, early, entryOf(1))
	if e, _, ok := c.inside().local.get(1); !ok || e.v.Version != 2 {
		t.Errorf("got %v, %v, want version 2", e, ok)
	}
	c.inside().local.put(1, c.inside().local.stamp(1), entryOf(3))
	if e, _, ok := c.inside().local.get(1); !ok || e.v.Version != 3 {
		t.Errorf("got %v, %v, want version 3", e, ok)
	}
}

func TestOnlyHotKeysAreStoredLocallyWithoutHot(t *testing.T) {
	w := miniWorld(t)
	x := w.manualClient(t, Options{LocalBytes: 1 << 20, SingleProcess: true})
	p := localPolicy()
	p.Local.Criteria &^= Hot
	c := rowsOf(x.Client, p, newTable(1, 2).load)
	for range 3 {
		if localHit(t, c, 1) {
			t.Fatal("stored although it is not hot")
		}
	}
	x.hot.add(c.inside().nameOf(1), hotEnough-1) // sampling may have counted some of the reads above
	x.hot.add(c.inside().nameOf(1), 1)
	localHit(t, c, 1)
	if !localHit(t, c, 1) {
		t.Error("not stored although it is hot")
	}
	localHit(t, c, 2)
	if localHit(t, c, 2) {
		t.Error("another key is stored too")
	}
}

func TestLargeValuesAreLocalOnlyWithSmall(t *testing.T) {
	cases := []struct {
		name     string
		criteria Criteria
		bytes    int // of the record
		want     bool
	}{
		{"2 KB without Small", allCriteria &^ Small, smallBytes, true},
		{"above 2 KB without Small", allCriteria &^ Small, smallBytes + 1, false},
		{"above 2 KB with Small", allCriteria, smallBytes + 1, true},
		{"above MaxBytes", allCriteria, 16<<10 + 1, false},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			x := miniWorld(t).manualClient(t, Options{LocalBytes: 1 << 20, SingleProcess: true})
			p := localPolicy()
			p.Local.Criteria = test.criteria
			text := strings.Repeat("x", test.bytes-headerSize)
			c := newCache(x.Client, p, strconv.Itoa, func(context.Context, []int) (map[int]string, error) {
				return map[int]string{1: text}, nil
			})
			for range 3 {
				if got, err := c.Get(t.Context(), 1); err != nil || got != text {
					t.Fatalf("got %d bytes, %v, want the text", len(got), err)
				}
			}
			if got := c.Stats().LocalHits > 0; got != test.want {
				t.Errorf("got stored %v, want %v", got, test.want)
			}
		})
	}
}

func TestNewRejectsInvalidLocal(t *testing.T) {
	cases := map[string][]Local{
		"no MayBeStale":    {{Share: 0.1, Criteria: allCriteria &^ MayBeStale}},
		"share above one":  {{Share: 1.1, Criteria: allCriteria}},
		"negative share":   {{Share: -0.1, Criteria: allCriteria}},
		"shares above one": {{Share: 0.6, Criteria: allCriteria}, {Share: 0.5, Criteria: allCriteria}},
	}
	for name, locals := range cases {
		t.Run(name, func(t *testing.T) {
			x := miniWorld(t).manualClient(t, Options{LocalBytes: 1 << 20})
			defer func() {
				if recover() == nil {
					t.Error("New accepted it")
				}
			}()
			for i, l := range locals {
				rowsOf(x.Client, Policy{Name: "p" + strconv.Itoa(i), Local: l}, newTable().load)
			}
		})
	}
	x := miniWorld(t).manualClient(t, Options{LocalBytes: 1 << 20})
	for i := range 10 {
		rowsOf(x.Client, Policy{Name: "tenth" + strconv.Itoa(i), Local: Local{Share: 0.1, Criteria: allCriteria}}, newTable().load)
	}
}

func TestLocalCacheIsBoundedByItsShare(t *testing.T) {
	const bytes, share, n = 200_000, 0.25, 2000
	x := miniWorld(t).manualClient(t, Options{LocalBytes: bytes, SingleProcess: true})
	p := localPolicy()
	p.Local.Share = share
	text := strings.Repeat("x", 1000)
	c := newCache(x.Client, p, strconv.Itoa, func(_ context.Context, ids []int) (map[int]string, error) {
		m := make(map[int]string)
		for _, id := range ids {
			m[id] = text
		}
		return m, nil
	})
	ids := make([]int, n)
	for i := range ids {
		ids[i] = i
	}
	if _, err := c.GetMany(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, found := range c.inside().local.entries.all() {
		e, _ := found.(*entry[*string])
		size += len(*e.v)
	}
	if limit := int(bytes * share); size > limit || size < limit/2 {
		t.Errorf("got %d bytes of text, want at least half of %d", size, limit)
	}
	stats := x.Stats()[0]
	if stats.LocalBytes < int64(size) || stats.LocalBytes > stats.LocalMax || stats.LocalMax != int64(bytes*share) {
		t.Errorf("got stats of %d of %d bytes, want at least the %d bytes of text, and the limit of the share", stats.LocalBytes, stats.LocalMax, size)
	}
	count := 0
	for range c.inside().local.entries.all() {
		count++
	}
	if stats.LocalEvictions != int64(n-count) {
		t.Errorf("got %d evictions, want %d", stats.LocalEvictions, n-count)
	}
	if err := c.Invalidate(t.Context(), ids...); err != nil {
		t.Fatal(err)
	}
	if after := x.Stats()[0]; after.LocalEvictions != stats.LocalEvictions {
		t.Errorf("got %d evictions after an invalidation, want %d", after.LocalEvictions, stats.LocalEvictions)
	}
}

func TestSkipLocalObservesRemoteInvalidations(t *testing.T) {
	w := miniWorld(t)
	x := w.manualClient(t, Options{LocalBytes: 1 << 20})
	rows := newTable(1, 2)
	c, there := rowsOf(x.Client, localPolicy(), rows.load), cacheOf(w.process(t), rows.load, Policy{})
	read := func(ctx context.Context, id int) int {
		r, err := c.Get(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		return r.Version
	}
	read(t.Context(), 1)
	read(t.Context(), 2)
	rows.commit(1)
	rows.commit(2)
	mustInvalidate(t, there, 1, 2)
	if got := read(t.Context(), 1); got != 1 {
		t.Errorf("the local entry has version %d, want 1: inconclusive", got)
	}
	if got := read(SkipLocal(t.Context()), 1); got != 2 {
		t.Errorf("SkipLocal got version %d, want 2", got)
	}
	if got := read(t.Context(), 1); got != 2 {
		t.Errorf("the read after SkipLocal got version %d, want 2", got)
	}
	got, err := c.GetMany(SkipLocal(t.Context()), []int{1, 2})
	if diff := cmp.Diff(rows.all(), got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// A value that was loaded without Redis is stored for at most MaxAge: the process misses the
// writes of others.
func TestLoadWithoutRedisIsStoredForMaxAge(t *testing.T) {
	for _, id := range []int{1, 9} { // 9 is absent
		w := miniWorld(t)
		away := new(outage)
		x := w.manualClient(t, Options{LocalBytes: 1 << 20}, away)
		x.inSyncFor(time.Hour)
		p := localPolicy()
		p.Local.MaxAge = time.Second
		rows := newTable(1)
		c := rowsOf(x.Client, p, rows.load)
		away.on.Store(true)
		localHit(t, c, id)
		x.advance(time.Second - 1)
		if !localHit(t, c, id) {
			t.Errorf("key %d: not stored", id)
		}
		x.advance(1)
		if localHit(t, c, id) {
			t.Errorf("key %d: stored for more than MaxAge", id)
		}
	}
}

// A refused store shows that another process invalidated the key.
func TestRefusedStoreIsNotStoredLocally(t *testing.T) {
	w := miniWorld(t)
	x := w.manualClient(t, Options{LocalBytes: 1 << 20, SingleProcess: true})
	rows := newTable(1)
	load, nextLoad := rows.pausing(t)
	c, there := rowsOf(x.Client, localPolicy(), load), cacheOf(w.process(t), rows.load, Policy{})
	first := getLater(t.Context(), c, 1)
	p := nextLoad()
	rows.commit(1)
	mustInvalidate(t, there, 1)
	p.end <- nil
	receive(t, first)
	second := getLater(t.Context(), c, 1)
	nextLoad().end <- nil
	if got := receive(t, second); got.row.Version != 2 {
		t.Errorf("got %v, want version 2", got)
	}
}

func TestRefreshReplacesTheLocalEntry(t *testing.T) {
	w := miniWorld(t)
	x := w.manualClient(t, Options{LocalBytes: 1 << 20, SingleProcess: true})
	p := localPolicy()
	p.StaleTTL = time.Hour
	var broken atomic.Bool
	rows := newTable(1)
	c := rowsOf(x.Client, p, rows.failingAfter(&broken))
	mustGet(t, c, 1)
	x.advance(p.TTL)
	rows.commit(1)
	if got := mustGet(t, c, 1); got.Version != 1 || c.Stats().LocalHits != 0 {
		t.Errorf("got %v with %d local hits, want version 1 from Redis", got, c.Stats().LocalHits)
	}
	x.Wait()
	if !localHit(t, c, 1) || mustGet(t, c, 1).Version != 2 {
		t.Error("the refreshed value is not stored")
	}
}

// A reader whose joined load failed reads again and stores its own result: its stamp is that
// of its own load.
func TestValueOfASecondReaderIsStored(t *testing.T) {
	w := miniWorld(t)
	x := w.manualClient(t, Options{LocalBytes: 1 << 20, SingleProcess: true})
	rows := newTable(1)
	load, nextLoad := rows.pausing(t)
	c := rowsOf(x.Client, localPolicy(), load)
	mustInvalidate(t, c, 1)
	first := getLater(t.Context(), c, 1)
	p := nextLoad()
	later := getLater(t.Context(), c, 1)
	awaitWaits(t, c, 1)
	p.end <- errDatabase
	receive(t, first)
	nextLoad().end <- nil
	receive(t, later)
	if !localHit(t, c, 1) {
		t.Error("not stored")
	}
}

// Ref and Refs return the values of Get and GetMany, without copying local ones.
func TestRefsPointIntoLocalMemory(t *testing.T) {
	w := miniWorld(t)
	sent := new(commandCounter)
	rows := newTable(1, 2, 3)
	x := w.manualClient(t, Options{LocalBytes: 1 << 20, SingleProcess: true}, sent)
	c := rowsOf(x.Client, localPolicy(), rows.load)
	ctx := t.Context()
	remote, err := c.Refs(ctx, []int{1, 9, 2, 1})
	if diff := cmp.Diff(map[int]*row{1: {1, 1}, 2: {2, 1}}, remote); err != nil || diff != "" {
		t.Fatal("loaded", err, diff)
	}
	if three, err := c.Ref(ctx, 3); err != nil || *three != (row{3, 1}) {
		t.Fatal("loaded", three, err)
	}
	sent.reset()
	here, err := c.Refs(ctx, []int{3, 1, 9, 2, 1})
	if diff := cmp.Diff(map[int]*row{1: {1, 1}, 2: {2, 1}, 3: {3, 1}}, here); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for id, p := range here {
		if one, err := c.Ref(ctx, id); err != nil || one != p {
			t.Errorf("key %d: got %p, want %p, %v", id, one, p, err)
		}
	}
	if _, err := c.Ref(ctx, 9); !errors.Is(err, ErrNotFound) {
		t.Error("stored absence:", err)
	}
	if got := sent.reset(); got != "0 round trips, 0 of a single command" {
		t.Error(got)
	}
	if allocs := testing.AllocsPerRun(1000, func() { _, _ = c.Ref(ctx, 1) }); allocs != 0 {
		t.Errorf("%v allocations, want none", allocs)
	}
	if err := c.Invalidate(ctx, 2); err != nil {
		t.Fatal(err)
	}
	some, err := c.Refs(ctx, []int{1, 2, 9})
	if diff := cmp.Diff(map[int]*row{1: {1, 1}, 2: {2, 1}}, some); err != nil || diff != "" || some[1] != here[1] || some[2] == here[2] {
		t.Error("one local and one remote:", err, diff)
	}
}
