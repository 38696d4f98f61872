package cache

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func mustPut(t *testing.T, c *Cache[int, row], r row) (kept bool) {
	t.Helper()
	kept, err := c.Put(t.Context(), r.ID, r)
	if err != nil {
		t.Fatalf("Put(%v): %v", r, err)
	}
	return kept
}

func TestPut(t *testing.T) {
	cases := []struct {
		name string
		run  func(t *testing.T, w *world)
	}{
		{"the newest of three processes' versions stays, in every order (A25)", newestStays},
		{"versions are compared over all their bits", versionsAreCompared},
		{"what cannot be compared is removed", incomparableIsRemoved},
		{"a load that began before a Put is not stored after it", putOvertakesALoad},
		{"a refresh that began before a Put is not stored after it", putOvertakesARefresh},
		{"a key that was put may be invalidated, and a late older Put does not bring it back", latePutAfterInvalidate},
		{"a value too big, or without a version, is invalidated", unstorableIsInvalidated},
		{"what was put lives as long as what was loaded", putSetsTTLs},
		{"a new version costs its readers no load", putSparesTheLoad},
		{"of many values the newer ones stay, and what cannot be kept is removed", putMany},
	}
	onEach(t, func(t *testing.T, b *backend) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) { c.run(t, b.world(t)) })
		}
	})
}

func newestStays(t *testing.T, w *world) {
	rows := newTable(1)
	var caches []*Cache[int, row]
	for range 3 {
		caches = append(caches, rowsOf(w.process(t), Policy{}, rows.load))
	}
	for _, order := range [][]int{{2, 3, 4}, {2, 4, 3}, {3, 2, 4}, {3, 4, 2}, {4, 2, 3}, {4, 3, 2}, {2, 2, 2}, {4, 4, 3}} {
		mustInvalidate(t, caches[0], 1)
		mustGet(t, caches[0], 1) // version 1 is there
		newest := 1
		for i, version := range order {
			if kept, want := mustPut(t, caches[i], row{1, version}), version > newest; kept != want {
				t.Errorf("order %v: version %d kept: %v, want %v", order, version, kept, want)
			}
			newest = max(newest, version)
		}
		for _, c := range caches {
			if got := mustGet(t, c, 1); got.Version != newest {
				t.Errorf("order %v: got version %d, want %d", order, got.Version, newest)
			}
		}
	}
}

func versionsAreCompared(t *testing.T, w *world) {
	pairs := [][2]int{{1, 2}, {255, 256}, {1 << 32, 1<<32 + 1}, {1 << 53, 1<<53 + 1}, {1<<53 + 1, 1<<53 + 2}, {1<<62 + 1, 1<<63 - 1}, {10, 1 << 61}}
	older := 0
	c := rowsOf(w.process(t), Policy{}, func(context.Context, []int) (map[int]row, error) {
		return map[int]row{1: {1, older}}, nil
	})
	for _, pair := range pairs {
		for _, old := range pair {
			for _, put := range pair {
				older = old
				mustInvalidate(t, c, 1)
				mustGet(t, c, 1)
				if kept := mustPut(t, c, row{1, put}); kept != (put > old) {
					t.Errorf("version %d after %d kept: %v", put, old, kept)
				}
				if got := mustGet(t, c, 1); got.Version != max(put, old) {
					t.Errorf("version %d after %d: %d is there", put, old, got.Version)
				}
			}
		}
	}
}

func incomparableIsRemoved(t *testing.T, w *world) {
	record := func(h header) string { return string(append(h.appendTo(nil), `{"ID":1,"Version":1}`...)) }
	now := time.Now()
	before := map[string]string{
		"nothing":        "",
		"there is none":  string(header{flags: flagNegative, created: now, soft: time.Hour, version: 1}.appendTo(nil)),
		"a bare record":  string(header{flags: flagBare, created: now, soft: time.Hour, version: 1}.appendTo(nil)),
		"garbage":        "garbage that is long enough for a header",
		"short garbage":  "x",
		"no version":     record(header{created: now, soft: time.Hour}),
		"another magic":  "\x00" + record(header{created: now, version: 1})[1:],
		"half a header":  record(header{created: now, version: 1})[:headerSize-1],
		"a lease and no": "",
	}
	rows := newTable(1)
	rows.commit(1)
	c := rowsOf(w.process(t), Policy{}, rows.load)
	for name, bytes := range before {
		mustInvalidate(t, c, 1)
		if bytes != "" {
			if err := w.rdb.Set(t.Context(), c.inside().nameOf(1), bytes, time.Hour).Err(); err != nil {
				t.Fatal(err)
			}
		}
		if name == "a lease and no" {
			if err := w.rdb.Set(t.Context(), leaseOf(c.inside().nameOf(1)), "somebody", time.Hour).Err(); err != nil {
				t.Fatal(err)
			}
		}
		if mustPut(t, c, row{1, 2}) {
			t.Errorf("%s: kept", name)
		}
		if left := w.names(t); len(left) != 0 {
			t.Errorf("%s: left %q", name, left)
		}
		if diff := cmp.Diff(row{1, 2}, mustGet(t, c, 1)); diff != "" {
			t.Error(name, diff)
		}
	}
}

func putOvertakesALoad(t *testing.T, w *world) {
	rows := newTable(1)
	load, nextLoad := rows.pausing(t)
	here, there := rowsOf(w.process(t), Policy{}, load), rowsOf(w.process(t), Policy{}, rows.load)
	for _, from := range []*Cache[int, row]{there, here} {
		first := getLater(t.Context(), here, 1)
		p := nextLoad()
		r := rows.commit(1)
		if mustPut(t, from, r) {
			t.Error("kept without an older version to compare with")
		}
		second := getLater(t.Context(), here, 1)
		if from == here { // it does not even wait for the older load
			nextLoad().end <- nil
			if got := receive(t, second); got.row != r {
				t.Errorf("got %v, want %v", got, r)
			}
			p.end <- nil
		} else {
			eventually(t, "the second reader joined", func() bool { return here.Stats().Waits == 1 })
			p.end <- nil
			nextLoad().end <- nil
			if got := receive(t, second); got.row != r {
				t.Errorf("got %v, want %v", got, r)
			}
		}
		receive(t, first)
		if got := mustGet(t, there, 1); got != r {
			t.Errorf("got %v, want %v", got, r)
		}
		mustInvalidate(t, there, 1)
	}
}

func putOvertakesARefresh(t *testing.T, w *world) {
	rows := newTable(1)
	load, nextLoad := rows.pausing(t)
	p := Policy{TTL: time.Minute, StaleTTL: time.Hour, Jitter: -1}
	x := w.manualClient(t, Options{})
	here, there := rowsOf(x.Client, p, load), rowsOf(w.process(t), p, rows.load)
	mustGet(t, there, 1)
	x.advance(2 * time.Minute)
	mustGet(t, here, 1)
	refresh := nextLoad() // has read version 1
	if !mustPut(t, there, rows.commit(1)) {
		t.Error("not kept over the older version")
	}
	refresh.end <- nil
	x.Wait()
	if got := mustGet(t, there, 1); got.Version != 2 {
		t.Errorf("got version %d, want 2", got.Version)
	}
	if got := here.Stats().StoresRefused; got != 1 {
		t.Errorf("%d stores refused, want 1", got)
	}
}

func latePutAfterInvalidate(t *testing.T, w *world) {
	rows := newTable(1)
	here, there := rowsOf(w.process(t), Policy{}, rows.load), rowsOf(w.process(t), Policy{}, rows.load)
	mustGet(t, here, 1)
	late := rows.commit(1)
	mustPut(t, here, rows.commit(1))
	mustInvalidate(t, there, 1)
	if mustPut(t, here, late) {
		t.Error("the late Put was kept")
	}
	if got := mustGet(t, there, 1); got.Version != 3 {
		t.Errorf("got version %d, want 3", got.Version)
	}
	if mustPut(t, here, late) {
		t.Error("the late Put was kept over a newer version")
	}
	if got := mustGet(t, there, 1); got.Version != 3 {
		t.Errorf("got version %d, want 3", got.Version)
	}
}

func unstorableIsInvalidated(t *testing.T, w *world) {
	h := w.process(t)
	type text struct {
		Version int
		Text    string
	}
	load := func(context.Context, []int) (map[int]text, error) { return map[int]text{1: {Version: 1}}, nil }
	versioned := New(h, Policy{Name: "versioned", MaxBytes: 200}, Source[int, text]{
		Key: strconv.Itoa, Load: load, Version: func(v text) int64 { return int64(v.Version) },
	})
	plain := New(h, Policy{Name: "plain"}, Source[int, text]{Key: strconv.Itoa, Load: load})
	cases := []struct {
		name string
		in   *Cache[int, text]
		put  text
	}{
		{"too big", versioned, text{2, strings.Repeat("x", 200)}},
		{"version 0", versioned, text{0, ""}},
		{"a negative version", versioned, text{-1, ""}},
		{"no version at all", plain, text{2, ""}},
	}
	for _, test := range cases {
		if _, err := test.in.Get(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		kept, err := test.in.Put(t.Context(), 1, test.put)
		if kept || err != nil {
			t.Errorf("%s: kept %v, %v", test.name, kept, err)
		}
		if n := w.rdb.Exists(t.Context(), test.in.inside().nameOf(1)).Val(); n != 0 {
			t.Errorf("%s: the older value is still there", test.name)
		}
	}
}

func putSetsTTLs(t *testing.T, w *world) {
	rows := newTable(1)
	c := rowsOf(w.process(t), Policy{TTL: time.Hour, StaleTTL: time.Hour, Jitter: -1}, rows.load)
	mustGet(t, c, 1)
	if err := w.rdb.Persist(t.Context(), c.inside().nameOf(1)).Err(); err != nil {
		t.Fatal(err)
	}
	mustPut(t, c, rows.commit(1))
	if left := w.rdb.PTTL(t.Context(), c.inside().nameOf(1)).Val(); left > 2*time.Hour || left < time.Hour {
		t.Errorf("%v left, want about two hours", left)
	}
	if v, h, is := w.stored(t, c, 1); v.Version != 2 || h.version != 2 || h.soft != time.Hour || is != value {
		t.Errorf("stored %v, %+v, %v", v, h, is)
	}
}

func putSparesTheLoad(t *testing.T, w *world) {
	rows := newTable(1)
	here, there := rowsOf(w.process(t), Policy{}, rows.load), rowsOf(w.process(t), Policy{}, rows.load)
	mustGet(t, here, 1)
	for range 5 {
		r := rows.commit(1)
		if !mustPut(t, here, r) {
			t.Error("not kept")
		}
		if got := mustGet(t, there, 1); got != r {
			t.Errorf("got %v, want %v", got, r)
		}
	}
	if got := len(rows.loads()); got != 1 {
		t.Errorf("%d loads, want the first alone", got)
	}
}

func putMany(t *testing.T, w *world) {
	load := func(_ context.Context, ks []int) (map[int]row, error) {
		rows := make(map[int]row, len(ks))
		for _, k := range ks {
			rows[k] = row{k, 5}
		}
		return rows, nil
	}
	here, there := rowsOf(w.process(t), Policy{}, load), rowsOf(w.process(t), Policy{}, load)
	put, ids := make(map[int]row), make([]int, 2*batch+7)
	for k := range ids {
		ids[k], put[k] = k, row{k, 6}
	}
	put[1], put[2] = row{1, 4}, row{2, 0}
	want := maps.Clone(put)
	want[1], want[2] = row{1, 5}, row{2, 5}
	if _, err := here.GetMany(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	for _, values := range []map[int]row{put, nil} {
		if err := here.PutMany(t.Context(), values); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []*Cache[int, row]{here, there} {
		got, err := c.GetMany(t.Context(), ids)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	if here, there := here.Stats().Loads, there.Stats().Loads; here != int64(len(ids))+1 || there != 0 {
		t.Errorf("%d and %d keys were loaded, want each once and the removed one again", here, there)
	}
}

func TestFailedPutStillDropsTheLocalEntry(t *testing.T) {
	w := miniWorld(t)
	away := new(outage)
	x := w.manualClient(t, Options{LocalBytes: 1 << 20, SingleProcess: true}, away)
	rows := newTable(1)
	c := rowsOf(x.Client, localPolicy(), rows.load)
	mustGet(t, c, 1)
	away.on.Store(true)
	r := rows.commit(1)
	if kept, err := c.Put(t.Context(), 1, r); kept || !errors.Is(err, errOutage) || !strings.Contains(err.Error(), "put 1 keys of cache row") {
		t.Errorf("kept %v, %v", kept, err)
	}
	if got := mustGet(t, c, 1); got != r {
		t.Errorf("got %v, want %v", got, r)
	}
	if got := c.Stats().RedisErrors; got == 0 {
		t.Error("no error of Redis was counted")
	}
}

// The request that a write belongs to may be gone when its commit is not.
func TestWritesDoNotEndWithTheirRequest(t *testing.T) {
	w := miniWorld(t)
	rows := newTable(1)
	c := rowsOf(w.process(t), Policy{}, rows.load)
	gone, leave := context.WithCancel(t.Context())
	leave()
	mustGet(t, c, 1)
	if kept, err := c.Put(gone, 1, rows.commit(1)); !kept || err != nil {
		t.Errorf("Put: %v, %v", kept, err)
	}
	if err := c.Invalidate(gone, 1); err != nil {
		t.Error(err)
	}
	if left := w.names(t); len(left) != 0 {
		t.Error(fmt.Sprint("left after Invalidate: ", left))
	}
}
