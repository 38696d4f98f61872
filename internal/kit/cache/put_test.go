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

func mustPut(t *testing.T, c *Cache[int, row], r row) (stored bool) {
	t.Helper()
	stored, err := c.Put(t.Context(), r.ID, r)
	if err != nil {
		t.Fatalf("Put(%v): %v", r, err)
	}
	return stored
}

func TestPut(t *testing.T) {
	cases := []struct {
		name string
		run  func(t *testing.T, w *world)
	}{
		{"the newest version stays in any order (A25)", newestStays},
		{"versions are compared in all bits", versionsAreCompared},
		{"an incomparable record is removed", incomparableIsRemoved},
		{"a put overtakes a load", putOvertakesALoad},
		{"a put overtakes a refresh", putOvertakesARefresh},
		{"a late put does not undo an invalidation", latePutAfterInvalidate},
		{"an unstorable value is invalidated", unstorableIsInvalidated},
		{"a put sets the TTL of a load", putSetsTTLs},
		{"a put saves the load", putSparesTheLoad},
		{"many values", putMany},
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
		mustGet(t, caches[0], 1) // stores version 1
		newest := 1
		for i, version := range order {
			if got, want := mustPut(t, caches[i], row{1, version}), version > newest; got != want {
				t.Errorf("order %v, version %d: got stored %v, want %v", order, version, got, want)
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
				if got := mustPut(t, c, row{1, put}); got != (put > old) {
					t.Errorf("version %d after %d: got stored %v, want it only for a higher version", put, old, got)
				}
				if got := mustGet(t, c, 1); got.Version != max(put, old) {
					t.Errorf("version %d after %d: got version %d, want the higher one", put, old, got.Version)
				}
			}
		}
	}
}

func incomparableIsRemoved(t *testing.T, w *world) {
	record := func(h header) string { return string(append(h.appendTo(nil), `{"ID":1,"Version":1}`...)) }
	now := time.Now()
	before := map[string]string{
		"nothing":       "",
		"negative":      string(header{flags: flagNegative, created: now, soft: time.Hour, version: 1}.appendTo(nil)),
		"bare":          string(header{flags: flagBare, created: now, soft: time.Hour, version: 1}.appendTo(nil)),
		"garbage":       "garbage that is long enough for a header",
		"short garbage": "x",
		"no version":    record(header{created: now, soft: time.Hour}),
		"other magic":   "\x00" + record(header{created: now, version: 1})[1:],
		"short header":  record(header{created: now, version: 1})[:headerSize-1],
		"lease only":    "",
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
		if name == "lease only" {
			if err := w.rdb.Set(t.Context(), leaseOf(c.inside().nameOf(1)), "a token", time.Hour).Err(); err != nil {
				t.Fatal(err)
			}
		}
		if mustPut(t, c, row{1, 2}) {
			t.Errorf("%s: got stored, want removed", name)
		}
		if left := w.names(t); len(left) != 0 {
			t.Errorf("%s: got keys %q, want none", name, left)
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
			t.Error("stored without an older version to compare with")
		}
		second := getLater(t.Context(), here, 1)
		if from == here { // it does not wait for the older load
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
		t.Error("not stored over the older version")
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
		t.Error("the late Put was stored")
	}
	if got := mustGet(t, there, 1); got.Version != 3 {
		t.Errorf("got version %d, want 3", got.Version)
	}
	if mustPut(t, here, late) {
		t.Error("the late Put was stored over a newer version")
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
		{"too large", versioned, text{2, strings.Repeat("x", 200)}},
		{"version 0", versioned, text{0, ""}},
		{"negative version", versioned, text{-1, ""}},
		{"no Version", plain, text{2, ""}},
	}
	for _, test := range cases {
		if _, err := test.in.Get(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		stored, err := test.in.Put(t.Context(), 1, test.put)
		if stored || err != nil {
			t.Errorf("%s: got stored %v, %v, want false", test.name, stored, err)
		}
		if n := w.rdb.Exists(t.Context(), test.in.inside().nameOf(1)).Val(); n != 0 {
			t.Errorf("%s: the older value still exists", test.name)
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
		t.Errorf("got TTL %v, want one to two hours", left)
	}
	if v, h, is := w.stored(t, c, 1); v.Version != 2 || h.version != 2 || h.soft != time.Hour || is != value {
		t.Errorf("got record %v, %+v, %v, want a value of version 2 with a TTL of an hour", v, h, is)
	}
}

func putSparesTheLoad(t *testing.T, w *world) {
	rows := newTable(1)
	here, there := rowsOf(w.process(t), Policy{}, rows.load), rowsOf(w.process(t), Policy{}, rows.load)
	mustGet(t, here, 1)
	for range 5 {
		r := rows.commit(1)
		if !mustPut(t, here, r) {
			t.Error("not stored")
		}
		if got := mustGet(t, there, 1); got != r {
			t.Errorf("got %v, want %v", got, r)
		}
	}
	if got := len(rows.loads()); got != 1 {
		t.Errorf("got %d loads, want only the first", got)
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
		t.Errorf("got %d and %d loaded keys, want each once and the removed one again", here, there)
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
	if stored, err := c.Put(t.Context(), 1, r); stored || !errors.Is(err, errOutage) || !strings.Contains(err.Error(), "put 1 keys of cache row") {
		t.Errorf("got stored %v, %v, want false and errOutage", stored, err)
	}
	if got := mustGet(t, c, 1); got != r {
		t.Errorf("got %v, want %v", got, r)
	}
	if got := c.Stats().RedisErrors; got == 0 {
		t.Error("no Redis error was counted")
	}
}

// A commit outlives its request.
func TestWritesDoNotEndWithTheirRequest(t *testing.T) {
	w := miniWorld(t)
	rows := newTable(1)
	c := rowsOf(w.process(t), Policy{}, rows.load)
	cancelled, leave := context.WithCancel(t.Context())
	leave()
	mustGet(t, c, 1)
	if stored, err := c.Put(cancelled, 1, rows.commit(1)); !stored || err != nil {
		t.Errorf("Put: got stored %v, %v, want true", stored, err)
	}
	if err := c.Invalidate(cancelled, 1); err != nil {
		t.Error(err)
	}
	if left := w.names(t); len(left) != 0 {
		t.Error(fmt.Sprint("keys after Invalidate: ", left))
	}
}
