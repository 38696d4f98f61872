package cache

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
)

// longTime is a duration that no test reaches.
const longTime = 5 * time.Minute

var errDatabase = errors.New("database unavailable")

// TestCache runs on every kind of Redis. A number such as A1 is an anomaly in DESIGN.md that
// the case excludes. A14, an invalidation inside the transaction, has no case: the API takes
// no transaction.
func TestCache(t *testing.T) {
	cases := []struct {
		name string
		run  func(t *testing.T, w *world)
	}{
		{"a second read is a hit in every process", secondReadIsAHit},
		{"an overtaken load is not stored (A1)", overtakenLoadIsNotStored},
		{"a lease belongs to one load (A2)", leaseBelongsToOneLoad},
		{"a read does not join an older load (A3)", readDoesNotJoinAnOlderLoad},
		{"two processes load a hot missing key once (A4)", hotMissingKeyIsLoadedOnce},
		{"a load survives its reader (A5)", loadSurvivesItsReader},
		{"a lost lease affects one key (A6)", lostLeaseAffectsOneKey},
		{"a lease expires (A7)", leaseEndsByItself},
		{"an insert removes the negative entry (A8)", insertClearsTheNegativeEntry},
		{"a disabled negative cache loads each time", disabledNegativeCachingLoadsEachTime},
		{"TTLs are spread (A9)", ttlsAreSpread},
		{"payloads round-trip (A27)", payloadsRoundTrip},
		{"garbage is a miss once (A29)", garbageIsAMissOnce},
		{"a record of another type is a miss once (A29)", otherTypeIsAMissOnce},
		{"any text is a key with one slot (A31)", anyTextIsAKey},
		{"GetMany returns distinct values", getManyReturnsThoseFound},
		{"GetMany above a batch loads in one call", getManyBeyondABatch},
		{"an oversized value is returned, not stored", oversizeIsServed},
		{"an unencodable value is returned", unencodableIsServed},
		{"a failed load hands over", failedLoadHandsOver},
		{"a failed load returns the cached values", failedLoadReturnsTheRest},
		{"a loader panic is an error", panicIsAnError},
		{"a loader exit is an error", goexitIsAnError},
		{"a waiting reader ends with its context", waitingReaderEnds},
		{"a long wait ends in a load", longWaitLoadsAlone},
		{"scripts are reloaded", scriptsAreReloaded},
		{"all keys have TTLs", allKeysHaveTTLs},
		{"round trips", roundTrips},
	}
	onEach(t, func(t *testing.T, b *backend) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) { c.run(t, b.world(t)) })
		}
	})
}

func secondReadIsAHit(t *testing.T, w *world) {
	rows := newTable(7)
	here, there := cacheOf(w.process(t), rows.load, Policy{}), cacheOf(w.process(t), rows.load, Policy{})
	for _, c := range []*Cache[int, row]{here, here, there} {
		if diff := cmp.Diff(row{7, 1}, mustGet(t, c, 7)); diff != "" {
			t.Fatal(diff)
		}
	}
	if _, err := here.Get(t.Context(), 8); !errors.Is(err, ErrNotFound) {
		t.Fatalf("absent: got %v, want ErrNotFound", err)
	}
	if _, err := there.Get(t.Context(), 8); !errors.Is(err, ErrNotFound) {
		t.Fatalf("absent, second read: got %v, want ErrNotFound", err)
	}
	if diff := cmp.Diff([][]int{{7}, {8}}, rows.loads()); diff != "" {
		t.Error("loads", diff)
	}
	if diff := cmp.Diff(Stats{Name: "row", Hits: 1, Misses: 2, Loads: 2, LoadCalls: 2}, here.Stats()); diff != "" {
		t.Error("here", diff)
	}
	if diff := cmp.Diff(Stats{Name: "row", Hits: 1, NegativeHits: 1}, there.Stats()); diff != "" {
		t.Error("there", diff)
	}
}

func overtakenLoadIsNotStored(t *testing.T, w *world) {
	rows := newTable(1)
	load, nextLoad := rows.pausing(t)
	here, there := cacheOf(w.process(t), load, Policy{}), cacheOf(w.process(t), rows.load, Policy{})

	first := getLater(t.Context(), here, 1)
	p := nextLoad()
	rows.commit(1)
	mustInvalidate(t, there, 1)
	p.end <- nil

	if got := receive(t, first); got.err != nil || got.row.Version != 1 {
		t.Errorf("overtaken reader: got %v, want its own version 1", got)
	}
	if got := mustGet(t, there, 1); got.Version != 2 {
		t.Errorf("next reader: got version %d, want 2", got.Version)
	}
	if got := mustGet(t, here, 1); got.Version != 2 {
		t.Errorf("first process, second read: got version %d, want 2", got.Version)
	}
	if diff := cmp.Diff(Stats{Name: "row", Hits: 1, Misses: 1, Loads: 1, LoadCalls: 1, StoresRefused: 1}, here.Stats()); diff != "" {
		t.Error(diff)
	}
}

func leaseBelongsToOneLoad(t *testing.T, w *world) {
	rows := newTable(1)
	load, nextLoad := rows.pausing(t)
	here, there := cacheOf(w.process(t), load, Policy{}), cacheOf(w.process(t), rows.load, Policy{})

	first := getLater(t.Context(), here, 1)
	old := nextLoad()
	rows.commit(1)
	mustInvalidate(t, here, 1)
	second := getLater(t.Context(), here, 1)
	later := nextLoad() // holds the lease now
	old.end <- nil
	receive(t, first)

	if n := w.rdb.Exists(t.Context(), here.inside().nameOf(1)).Val(); n != 0 {
		t.Error("the older load stored its value under the later lease")
	}
	later.end <- nil
	if got := receive(t, second); got.err != nil || got.row.Version != 2 {
		t.Errorf("second reader: got %v, want version 2", got)
	}
	if got := mustGet(t, there, 1); got.Version != 2 {
		t.Errorf("another process: got version %d, want 2", got.Version)
	}
	if got := here.Stats().StoresRefused; got != 1 {
		t.Errorf("got %d stores refused, want 1", got)
	}
	if got := len(rows.loads()); got != 2 {
		t.Errorf("got %d loads, want 2: the later load must be stored", got)
	}
}

func readDoesNotJoinAnOlderLoad(t *testing.T, w *world) {
	rows := newTable(1)
	load, nextLoad := rows.pausing(t)
	c := cacheOf(w.process(t), load, Policy{})

	first := getLater(t.Context(), c, 1)
	old := nextLoad()
	rows.commit(1)
	mustInvalidate(t, c, 1)
	second := getLater(t.Context(), c, 1)
	nextLoad().end <- nil

	if got := receive(t, second); got.err != nil || got.row.Version != 2 {
		t.Errorf("got %v during the older load, want version 2", got)
	}
	old.end <- nil
	receive(t, first)
}

func hotMissingKeyIsLoadedOnce(t *testing.T, w *world) {
	const readers = 20
	rows := newTable(1)
	load, nextLoad := rows.pausing(t)
	caches := []*Cache[int, row]{cacheOf(w.process(t), load, Policy{}), cacheOf(w.process(t), load, Policy{})}

	var waiting []<-chan getResult
	for range readers {
		for _, c := range caches {
			waiting = append(waiting, getLater(t.Context(), c, 1))
		}
	}
	p := nextLoad()
	eventually(t, "all other readers wait", func() bool {
		return caches[0].Stats().Waits+caches[1].Stats().Waits == 2*readers-1
	})
	p.end <- nil
	for _, reader := range waiting {
		if got := receive(t, reader); got != (getResult{row: row{1, 1}}) {
			t.Fatalf("got %v, want version 1", got)
		}
	}
	if got := len(rows.loads()); got != 1 {
		t.Errorf("%d loads, want 1", got)
	}
}

func loadSurvivesItsReader(t *testing.T, w *world) {
	type key struct{}
	rows := newTable(1)
	load, nextLoad := rows.pausing(t)
	h := w.process(t)
	c, there := cacheOf(h, load, Policy{}), cacheOf(w.process(t), rows.load, Policy{LeaseTTL: 5 * time.Second, LoadTimeout: 5 * time.Second})

	ctx, leave := context.WithCancel(context.WithValue(t.Context(), key{}, "trace"))
	first := getLater(ctx, c, 1)
	p := nextLoad()
	leave()
	if got := receive(t, first); !errors.Is(got.err, context.Canceled) {
		t.Errorf("cancelled reader: got %v, want context.Canceled", got)
	}
	if p.ctx.Err() != nil {
		t.Error("the load ended with its reader")
	}
	if _, ok := p.ctx.Deadline(); !ok {
		t.Error("the load has no deadline")
	}
	if p.ctx.Value(key{}) != "trace" {
		t.Error("the load lost the values of the reader's context")
	}
	p.end <- nil
	h.Wait()
	if got := mustGet(t, there, 1); got.Version != 1 {
		t.Errorf("got %v, want version 1", got)
	}
	if got := len(rows.loads()); got != 1 {
		t.Errorf("%d loads, want 1", got)
	}
}

func lostLeaseAffectsOneKey(t *testing.T, w *world) {
	rows := newTable(0, 1, 2, 3)
	load, nextLoad := rows.pausing(t)
	here, there := cacheOf(w.process(t), load, Policy{}), cacheOf(w.process(t), rows.load, Policy{})

	done := make(chan map[int]row)
	go func() {
		found, _ := here.GetMany(t.Context(), []int{0, 1, 2, 3})
		done <- found
	}()
	p := nextLoad()
	mustInvalidate(t, there, 0)
	p.end <- nil
	if diff := cmp.Diff(rows.all(), receive(t, done)); diff != "" {
		t.Error(diff)
	}
	found, err := there.GetMany(t.Context(), []int{0, 1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rows.all(), found); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]int{{0, 1, 2, 3}, {0}}, rows.loads()); diff != "" {
		t.Error("loads", diff)
	}
	if diff := cmp.Diff(Stats{Name: "row", Hits: 3, Misses: 1, Loads: 1, LoadCalls: 1}, there.Stats()); diff != "" {
		t.Error("want no waits", diff)
	}
	if got := here.Stats().StoresRefused; got != 1 {
		t.Errorf("%d stores refused, want 1", got)
	}
}

func leaseEndsByItself(t *testing.T, w *world) {
	rows := newTable(1)
	load, nextLoad := rows.pausing(t)
	here := cacheOf(w.process(t), load, Policy{LeaseTTL: 200 * time.Millisecond})
	there := cacheOf(w.process(t), rows.load, Policy{LoadTimeout: 5 * time.Second})

	crashed := getLater(t.Context(), here, 1)
	p := nextLoad() // from here on its process looks dead to Redis
	left := w.rdb.PTTL(t.Context(), leaseOf(here.inside().nameOf(1))).Val()
	if left <= 0 || left > 200*time.Millisecond {
		t.Errorf("got lease TTL %v, want more than 0 and at most 200ms", left)
	}
	if w.elapse != nil {
		w.elapse(200 * time.Millisecond)
	}
	if got := mustGet(t, there, 1); got.Version != 1 {
		t.Errorf("got %v, want version 1", got)
	}
	p.end <- nil
	receive(t, crashed)
	if got := here.Stats().StoresRefused; got != 1 {
		t.Errorf("got %d stores refused after the lease expired, want 1", got)
	}
}

func insertClearsTheNegativeEntry(t *testing.T, w *world) {
	rows := newTable()
	here, there := cacheOf(w.process(t), rows.load, Policy{}), cacheOf(w.process(t), rows.load, Policy{})
	for range 2 {
		if _, err := there.Get(t.Context(), 1); !errors.Is(err, ErrNotFound) {
			t.Fatalf("got %v, want ErrNotFound", err)
		}
	}
	if got := there.Stats().NegativeHits; got != 1 {
		t.Fatalf("got %d negative hits, want 1: the absence must be stored", got)
	}
	rows.commit(1)
	mustInvalidate(t, here, 1)
	if got := mustGet(t, there, 1); got.Version != 1 {
		t.Errorf("got %v, want version 1", got)
	}
}

func disabledNegativeCachingLoadsEachTime(t *testing.T, w *world) {
	rows := newTable()
	c := cacheOf(w.process(t), rows.load, Policy{NegativeTTL: -1})
	for range 2 {
		if _, err := c.Get(t.Context(), 1); !errors.Is(err, ErrNotFound) {
			t.Fatalf("got %v, want ErrNotFound", err)
		}
	}
	rows.commit(1) // without invalidation
	for range 2 {
		if got := mustGet(t, c, 1); got.Version != 1 {
			t.Errorf("got %v, want version 1", got)
		}
	}
	if n := len(rows.loads()); n != 3 {
		t.Errorf("got %d loads, want one for each absence and one for the value", n)
	}
}

func ttlsAreSpread(t *testing.T, w *world) {
	const n = 40
	ids := make([]int, 2*n)
	for i := range ids {
		ids[i] = i
	}
	rows := newTable(ids[:n]...)
	c := cacheOf(w.process(t), rows.load, Policy{TTL: 100 * time.Minute, NegativeTTL: 10 * time.Minute, Jitter: 0.5})
	if _, err := c.GetMany(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	const elapsed = time.Minute // upper bound of the time since the store
	ttls := make(map[time.Duration]bool)
	for _, id := range ids {
		limit := 100 * time.Minute
		if id >= n {
			limit = 10 * time.Minute
		}
		left := w.rdb.PTTL(t.Context(), c.inside().nameOf(id)).Val()
		if left < limit/2-elapsed || left > limit {
			t.Errorf("key %d: got TTL %v, want %v to %v", id, left, limit/2, limit)
		}
		ttls[left.Truncate(time.Second)] = true
	}
	if len(ttls) < n/4 {
		t.Errorf("got only %d different TTLs of %d keys", len(ttls), len(ids))
	}
}

func payloadsRoundTrip(t *testing.T, w *world) {
	texts := []string{
		"", "*", `""`, `"`, "null", "0", "!", "rueidisid:1", "\x00\x01", "<b>&amp;</b>", "探店 🍜", "\u2028",
		string(slices.Repeat([]byte{magic, codecJSON}, 20)), strings.Repeat("x", 8<<10),
	}
	for i, text := range texts {
		texts[i] = strings.ToValidUTF8(text, "\uFFFD") // JSON has only valid UTF-8
	}
	h := w.process(t)
	sameText := newCache(h, Policy{Name: "text"}, strconv.Itoa, func(_ context.Context, ks []int) (map[int]string, error) {
		m := make(map[int]string)
		for _, k := range ks {
			m[k] = texts[k]
		}
		return m, nil
	})
	sameNil := newCache(h, Policy{Name: "nil"}, strconv.Itoa, func(_ context.Context, ks []int) (map[int]*row, error) {
		return map[int]*row{ks[0]: nil}, nil
	})
	for _, from := range []string{"loader", "cache"} {
		for k, text := range texts {
			got, err := sameText.Get(t.Context(), k)
			if diff := cmp.Diff(text, got); err != nil || diff != "" {
				t.Errorf("%q from the %s: got %v %s", text, from, err, diff)
			}
		}
		if got, err := sameNil.Get(t.Context(), 0); err != nil || got != nil {
			t.Errorf("nil from the %s: got %v, %v, want nil", from, got, err)
		}
	}
	if got, want := sameText.Stats().Hits, int64(len(texts)); got != want {
		t.Errorf("got %d hits, want %d", got, want)
	}
	if got := sameNil.Stats().Hits; got != 1 {
		t.Errorf("nil: got %d hits, want 1", got)
	}
}

func garbageIsAMissOnce(t *testing.T, w *world) {
	record := func(change func(b []byte) []byte) string {
		b := header{created: time.Now()}.appendTo(nil)
		return string(change(append(b, `{"ID":1,"Version":9}`...)))
	}
	garbage := map[string]string{
		"empty":         "",
		"short":         "x",
		"plain JSON":    `{"ID":1,"Version":9,"Name":"long enough for a header"}`,
		"zeros":         string(make([]byte, headerSize)),
		"other magic":   record(func(b []byte) []byte { b[0]++; return b }),
		"other codec":   record(func(b []byte) []byte { b[1]++; return b }),
		"other flags":   record(func(b []byte) []byte { b[2] = 1 << 7; return b }),
		"cut payload":   record(func(b []byte) []byte { return b[:len(b)-1] }),
		"no payload":    record(func(b []byte) []byte { return b[:headerSize] }),
		"header cut":    record(func(b []byte) []byte { return b[:headerSize-1] }),
		"a big payload": record(func(b []byte) []byte { return append(b, strings.Repeat("x", 64<<10)...) }),
	}
	read := map[string]func(c *Cache[int, row]) (row, error){
		"Get": func(c *Cache[int, row]) (row, error) { return c.Get(t.Context(), 1) },
		"GetMany": func(c *Cache[int, row]) (row, error) {
			m, err := c.GetMany(t.Context(), []int{1})
			return m[1], err
		},
	}
	for how, get := range read {
		for what, bytes := range garbage {
			t.Run(how+" "+what, func(t *testing.T) {
				w := w.world(t)
				rows := newTable(1)
				c := cacheOf(w.process(t), rows.load, Policy{})
				if err := w.rdb.Set(t.Context(), c.inside().nameOf(1), bytes, time.Hour).Err(); err != nil {
					t.Fatal(err)
				}
				for range 3 {
					got, err := get(c)
					if diff := cmp.Diff(row{1, 1}, got); err != nil || diff != "" {
						t.Fatal(err, diff)
					}
				}
				if diff := cmp.Diff(Stats{Name: "row", Hits: 2, Misses: 1, Loads: 1, LoadCalls: 1, Undecodable: 1}, c.Stats()); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func otherTypeIsAMissOnce(t *testing.T, w *world) {
	rows := newTable(1)
	before := newCache(w.process(t), Policy{Name: "row"}, strconv.Itoa, func(context.Context, []int) (map[int]string, error) {
		return map[int]string{1: "value of the last release"}, nil
	})
	if _, err := before.Get(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	c := cacheOf(w.process(t), rows.load, Policy{})
	for range 3 {
		if diff := cmp.Diff(row{1, 1}, mustGet(t, c, 1)); diff != "" {
			t.Fatal(diff)
		}
	}
	if diff := cmp.Diff(Stats{Name: "row", Hits: 2, Misses: 1, Loads: 1, LoadCalls: 1, Undecodable: 1}, c.Stats()); diff != "" {
		t.Error(diff)
	}
}

func anyTextIsAKey(t *testing.T, w *world) {
	texts := []string{"", "}", "}x", "_", "_}", "__", "{", "{}", "a}b", "a", "a}:l", "a:l", "a b\n", "店"}
	c := newCache(w.process(t), Policy{Name: "text"}, func(s string) string { return s },
		func(_ context.Context, ks []string) (map[string]string, error) {
			m := make(map[string]string)
			for _, k := range ks {
				m[k] = "value of " + k
			}
			return m, nil
		})
	want := make(map[string]string)
	for _, text := range texts {
		want[text] = "value of " + text
	}
	for range 2 {
		got, err := c.GetMany(t.Context(), texts)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatal(err, diff)
		}
	}
	n := int64(len(texts))
	if diff := cmp.Diff(Stats{Name: "text", Hits: n, Misses: n, Loads: n, LoadCalls: 1}, c.Stats()); diff != "" {
		t.Error(diff)
	}
	if err := c.Invalidate(t.Context(), texts...); err != nil {
		t.Error(err)
	}
	if left := w.names(t); len(left) != 0 {
		t.Errorf("got keys %q after Invalidate, want none", left)
	}
}

func getManyReturnsThoseFound(t *testing.T, w *world) {
	rows := newTable(1, 2, 3)
	c := cacheOf(w.process(t), rows.load, Policy{})
	mustGet(t, c, 2)
	for range 2 {
		got, err := c.GetMany(t.Context(), []int{3, 9, 2, 3, 1, 9, 2})
		if diff := cmp.Diff(rows.all(), got); err != nil || diff != "" {
			t.Fatal(err, diff)
		}
	}
	if diff := cmp.Diff([][]int{{2}, {3, 9, 1}}, rows.loads()); diff != "" {
		t.Error("loads", diff)
	}
	if diff := cmp.Diff(Stats{Name: "row", Hits: 4, NegativeHits: 1, Misses: 4, Loads: 4, LoadCalls: 2}, c.Stats()); diff != "" {
		t.Error(diff)
	}
	if got, err := c.GetMany(t.Context(), nil); err != nil || len(got) != 0 {
		t.Errorf("GetMany without keys: got %v, %v, want an empty map", got, err)
	}
}

func getManyBeyondABatch(t *testing.T, w *world) {
	ids := make([]int, 2*batch+7)
	for i := range ids {
		ids[i] = i
	}
	rows := newTable(ids...)
	c := cacheOf(w.process(t), rows.load, Policy{})
	for range 2 {
		got, err := c.GetMany(t.Context(), ids)
		if diff := cmp.Diff(rows.all(), got); err != nil || diff != "" {
			t.Fatal(err, diff)
		}
	}
	if diff := cmp.Diff([][]int{ids}, rows.loads()); diff != "" {
		t.Error("loads", diff)
	}
	mustInvalidate(t, c, ids...)
	if left := w.names(t); len(left) != 0 {
		t.Errorf("got %d keys after Invalidate, want none", len(left))
	}
}

func oversizeIsServed(t *testing.T, w *world) {
	const limit = 1000
	sizes := map[int]int{1: limit - headerSize, 2: limit - headerSize + 1}
	var mu sync.Mutex
	hold, release := make(chan struct{}), make(chan struct{})
	loads, holding := make(map[int]int), false
	c := newCache(w.process(t), Policy{Name: "big", MaxBytes: limit, LeaseTTL: longTime}, strconv.Itoa,
		func(_ context.Context, ks []int) (map[int]string, error) {
			mu.Lock()
			loads[ks[0]]++
			wait := holding
			mu.Unlock()
			if wait {
				hold <- struct{}{}
				select {
				case <-release:
				case <-t.Context().Done():
				}
			}
			return map[int]string{ks[0]: strings.Repeat("x", sizes[ks[0]])}, nil
		})
	for range 2 {
		for id, size := range sizes {
			if got, err := c.Get(t.Context(), id); err != nil || len(got) != size {
				t.Fatalf("got %d bytes, %v, want %d", len(got), err, size)
			}
		}
	}
	if diff := cmp.Diff(map[int]int{1: 1, 2: 2}, loads); diff != "" {
		t.Error("loads", diff)
	}
	if got := c.Stats().Oversize; got != 1 {
		t.Errorf("got %d oversize, want 1", got)
	}
	if size := w.rdb.StrLen(t.Context(), c.inside().nameOf(2)).Val(); size != headerSize {
		t.Errorf("got %d stored bytes of an oversized value, want the header", size)
	}

	holding = true
	done := make(chan error)
	for range 2 { // the second reader comes during the first load and does not wait
		go func() {
			_, err := c.Get(t.Context(), 2)
			done <- err
		}()
		receive(t, hold)
	}
	close(release)
	for range 2 {
		if err := receive(t, done); err != nil {
			t.Error(err)
		}
	}
}

func unencodableIsServed(t *testing.T, w *world) {
	c := newCache(w.process(t), Policy{Name: "func"}, strconv.Itoa, func(context.Context, []int) (map[int]any, error) {
		return map[int]any{1: func() {}}, nil
	})
	for range 2 {
		if v, err := c.Get(t.Context(), 1); err != nil || v == nil {
			t.Fatalf("got %v, %v, want a value", v, err)
		}
	}
	if diff := cmp.Diff(Stats{Name: "func", Misses: 2, Loads: 2, LoadCalls: 2, Undecodable: 1}, c.Stats()); diff != "" {
		t.Error(diff)
	}
}

func failedLoadHandsOver(t *testing.T, w *world) {
	rows := newTable(1)
	load, nextLoad := rows.pausing(t)
	here, there := cacheOf(w.process(t), load, Policy{}), cacheOf(w.process(t), rows.load, Policy{})

	first := getLater(t.Context(), here, 1)
	p := nextLoad()
	second := getLater(t.Context(), there, 1)
	eventually(t, "the second reader waits", func() bool { return there.Stats().Waits == 1 })
	p.end <- errDatabase
	if got := receive(t, first); !errors.Is(got.err, errDatabase) || !strings.Contains(got.err.Error(), "load 1 keys of cache row") {
		t.Errorf("first reader: got %v, want the loader's error", got)
	}
	if got := receive(t, second); got.err != nil || got.row.Version != 1 {
		t.Errorf("second reader: got %v, want version 1", got)
	}
	if got := here.Stats().LoadErrors; got != 1 {
		t.Errorf("got %d load errors, want 1", got)
	}
}

func failedLoadReturnsTheRest(t *testing.T, w *world) {
	rows := newTable(1, 2)
	h := w.process(t)
	mustGet(t, cacheOf(w.process(t), rows.load, Policy{}), 1)
	c := cacheOf(h, func(context.Context, []int) (map[int]row, error) { return nil, errDatabase }, Policy{})
	got, err := c.GetMany(t.Context(), []int{1, 2})
	if !errors.Is(err, errDatabase) {
		t.Errorf("got %v, want the loader's error", err)
	}
	if diff := cmp.Diff(map[int]row{1: {1, 1}}, got); diff != "" {
		t.Error(diff)
	}
	if _, err := c.Get(t.Context(), 2); !errors.Is(err, errDatabase) {
		t.Errorf("Get: %v, want the loader's error", err)
	}
}

func panicIsAnError(t *testing.T, w *world) {
	c := cacheOf(w.process(t), func(context.Context, []int) (map[int]row, error) { panic("no such column") }, Policy{})
	for range 2 { // the lease is released in between
		_, err := c.Get(t.Context(), 1)
		if err == nil || !strings.Contains(err.Error(), "panic: no such column") {
			t.Fatalf("got %v, want the panic as an error", err)
		}
	}
}

func goexitIsAnError(t *testing.T, w *world) {
	c := cacheOf(w.process(t), func(context.Context, []int) (map[int]row, error) {
		runtime.Goexit()
		return nil, nil
	}, Policy{})
	if _, err := c.Get(t.Context(), 1); !errors.Is(err, errExited) {
		t.Fatalf("got %v, want errExited", err)
	}
}

func waitingReaderEnds(t *testing.T, w *world) {
	rows := newTable(1)
	load, nextLoad := rows.pausing(t)
	here, there := cacheOf(w.process(t), load, Policy{}), cacheOf(w.process(t), rows.load, Policy{})
	first := getLater(t.Context(), here, 1)
	p := nextLoad()
	ctx, leave := context.WithCancel(t.Context())
	second := getLater(ctx, there, 1)
	eventually(t, "the second reader waits", func() bool { return there.Stats().Waits == 1 })
	leave()
	if got := receive(t, second); !errors.Is(got.err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", got)
	}
	if _, err := there.Get(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("a read with an ended context: got %v, want context.Canceled", err)
	}
	p.end <- nil
	receive(t, first)
	if got := len(rows.loads()); got != 1 {
		t.Errorf("%d loads, want 1", got)
	}
}

func longWaitLoadsAlone(t *testing.T, w *world) {
	rows := newTable(1)
	c := cacheOf(w.process(t), rows.load, Policy{LeaseTTL: 10 * time.Millisecond, LoadTimeout: 20 * time.Millisecond})
	if err := w.rdb.Set(t.Context(), leaseOf(c.inside().nameOf(1)), "a token", time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	if got := mustGet(t, c, 1); got.Version != 1 {
		t.Errorf("got %v, want version 1", got)
	}
	if n := w.rdb.Exists(t.Context(), c.inside().nameOf(1)).Val(); n != 0 {
		t.Error("a load without a lease was stored")
	}
	if diff := cmp.Diff(Stats{Name: "row", Misses: 1, Waits: 1, Loads: 1, LoadCalls: 1}, c.Stats()); diff != "" {
		t.Error(diff)
	}
}

func scriptsAreReloaded(t *testing.T, w *world) {
	rows := newTable(1, 2, 3, 4, 5)
	c := cacheOf(w.process(t), rows.load, Policy{})
	for range 2 {
		if err := w.admin(t).ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		got, err := c.GetMany(t.Context(), []int{1, 2, 3, 4, 5})
		if diff := cmp.Diff(rows.all(), got); err != nil || diff != "" {
			t.Fatal(err, diff)
		}
	}
	if diff := cmp.Diff(Stats{Name: "row", Hits: 5, Misses: 5, Loads: 5, LoadCalls: 1}, c.Stats()); diff != "" {
		t.Error(diff)
	}
}

func allKeysHaveTTLs(t *testing.T, w *world) {
	rows := newTable(1, 2)
	load, nextLoad := rows.pausing(t)
	here, there := cacheOf(w.process(t), load, Policy{}), cacheOf(w.process(t), rows.load, Policy{MaxBytes: headerSize + 1})
	big := mustGet(t, there, 1)
	if _, err := there.Get(t.Context(), 9); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
	first := getLater(t.Context(), here, 2)
	p := nextLoad()
	names := w.names(t)
	if len(names) != 3 || big.Version != 1 {
		t.Errorf("got keys %q, want a bare record, a negative one and a lease", names)
	}
	for _, name := range names {
		if left := w.rdb.PTTL(t.Context(), name).Val(); left <= 0 {
			t.Errorf("%s has no TTL: %v", name, left)
		}
	}
	p.end <- nil
	receive(t, first)
}

// commandCounter counts the commands of a client.
type commandCounter struct {
	mu                 sync.Mutex
	roundTrips, single int
}

func (c *commandCounter) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *commandCounter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.mu.Lock()
		c.roundTrips++
		c.single++
		c.mu.Unlock()
		return next(ctx, cmd)
	}
}

func (c *commandCounter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.mu.Lock()
		c.roundTrips++
		c.mu.Unlock()
		return next(ctx, cmds)
	}
}

func (c *commandCounter) reset() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := fmt.Sprintf("%d round trips, %d of a single command", c.roundTrips, c.single)
	c.roundTrips, c.single = 0, 0
	return s
}

func roundTrips(t *testing.T, w *world) {
	ids := make([]int, 100)
	for i := range ids {
		ids[i] = i
	}
	rows := newTable(ids...)
	sent := new(commandCounter)
	c := cacheOf(w.process(t, sent), rows.load, Policy{})
	hits := "1 round trips, 1 of a single command" // MGET
	misses := "3 round trips, 1 of a single command"
	if w.name == "cluster" {
		hits, misses = "1 round trips, 0 of a single command", "3 round trips, 0 of a single command"
	}
	steps := []struct {
		name string
		do   func() error
		want string
	}{
		{"load the scripts", func() error { _, err := c.Get(t.Context(), 1000); return err }, ""},
		{"100 misses", func() error { _, err := c.GetMany(t.Context(), ids); return err }, misses},
		{"100 hits", func() error { _, err := c.GetMany(t.Context(), ids); return err }, hits},
		{"one hit", func() error { _, err := c.Get(t.Context(), 7); return err }, "1 round trips, 1 of a single command"},
		{"one negative hit", func() error { _, err := c.Get(t.Context(), 1000); return err }, "1 round trips, 1 of a single command"},
		{"invalidate 100", func() error { return c.Invalidate(t.Context(), ids...) }, "1 round trips, 0 of a single command"},
	}
	for _, step := range steps {
		if err := step.do(); err != nil && !errors.Is(err, ErrNotFound) {
			t.Fatal(step.name, err)
		}
		if got := sent.reset(); step.want != "" && got != step.want {
			t.Errorf("%s: got %s, want %s", step.name, got, step.want)
		}
	}
	if diff := cmp.Diff([][]int{{1000}, ids}, rows.loads()); diff != "" {
		t.Error("loads", diff)
	}
}
