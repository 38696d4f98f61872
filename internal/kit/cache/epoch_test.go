package cache

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEpoch(t *testing.T) {
	cases := []struct {
		name string
		run  func(t *testing.T, w *world)
	}{
		{"processes share one epoch", epochIsShared},
		{"a lost epoch is raised", lostEpochIsRaised},
		{"each key misses once after InvalidateAll", everythingMissesOnce},
		{"Put removes a record of another epoch", putComparesEpochs},
		{"a process learns the epoch from a record", epochIsReadFromARecord},
		{"two epochs on one key do not loop", epochsDoNotLoop},
		{"a load from before InvalidateAll is old", overtakenLoadIsOfTheOldEpoch},
		{"garbage brings no epoch", garbageBringsNoEpoch},
	}
	onEach(t, func(t *testing.T, b *backend) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) { c.run(t, b.world(t)) })
		}
	})
}

func mustRefreshEpoch(t *testing.T, h *Client) uint32 {
	t.Helper()
	if err := h.RefreshEpoch(t.Context()); err != nil {
		t.Fatal(err)
	}
	return h.epoch.Load()
}

func epochIsShared(t *testing.T, w *world) {
	one, two := w.process(t), w.process(t)
	first := mustRefreshEpoch(t, one)
	if now := time.Now().Unix(); int64(first) < now-60 || int64(first) > now+60 {
		t.Errorf("got first epoch %d, want about the time, %d", first, now)
	}
	if got := mustRefreshEpoch(t, two); got != first {
		t.Errorf("another process has epoch %d, want %d", got, first)
	}
	mustInvalidateAll(t, one)
	second := one.epoch.Load()
	if second <= first {
		t.Errorf("got epoch %d, want more than %d", second, first)
	}
	mustInvalidateAll(t, two)
	if got := two.epoch.Load(); got <= second {
		t.Errorf("got epoch %d, want more than %d", got, second)
	}
}

func lostEpochIsRaised(t *testing.T, w *world) {
	h := w.process(t)
	known := mustRefreshEpoch(t, h) + 1000 // ahead of all clocks here
	h.epoch.Store(known)
	for name, value := range map[string]string{"lost": "", "lower": "17", "invalid": "x"} {
		var err error
		if value == "" {
			err = w.rdb.Del(t.Context(), h.root+"cache-epoch").Err()
		} else {
			err = w.rdb.Set(t.Context(), h.root+"cache-epoch", value, 0).Err()
		}
		if err != nil {
			t.Fatal(err)
		}
		got := mustRefreshEpoch(t, h)
		if got <= known {
			t.Errorf("%s: got epoch %d, want more than %d", name, got, known)
		}
		if there := w.rdb.Get(t.Context(), h.root+"cache-epoch").Val(); there != strconv.Itoa(int(got)) {
			t.Errorf("%s: Redis has %q, want %d", name, there, got)
		}
		known = got
	}
}

// localProcess is a process whose caches of rows and lists are local too.
type localProcess struct {
	connected
	rows  *Cache[int, row]
	lists *QueryCache[query, int]
}

func (w *world) localProcess(t *testing.T, on *wire, rows *table) localProcess {
	t.Helper()
	x := w.connected(t, on, Options{})
	p := localPolicy()
	p.Local.Share = 0.5
	mustRefreshEpoch(t, x.Client)
	return localProcess{x, parsedRows(x.Client, p, rows), localListsOf(x.Client, rows, 0.5)}
}

func everythingMissesOnce(t *testing.T, w *world) {
	on, rows := new(wire), newTable(1, 2)
	all := []localProcess{w.localProcess(t, on, rows), w.localProcess(t, on, rows)}
	read := func(p localProcess) {
		for _, id := range []int{1, 2, 9} { // 9 is absent
			want := rows.all()[id].Version
			wantVersion(t, "a row", p.rows, id, want)
		}
		mustList(t, p.lists, query{1, 10}, 1, 2)
	}
	loads := func() int { n := len(rows.loads()); return n }
	for range 2 {
		for _, p := range all {
			read(p)
		}
	}
	if got := loads(); got != 4 {
		t.Fatalf("got %d loads at first, want 4", got)
	}
	mustInvalidateAll(t, all[0].Client)
	all[1].deliver(t.Context())
	for _, p := range all {
		if got := localKeys(t, p.rows, 1, 2, 9); len(got) > 0 {
			t.Errorf("keys %v are still stored", got)
		}
	}
	for range 2 {
		for _, p := range all {
			read(p)
		}
	}
	if got := loads(); got != 8 {
		t.Errorf("got %d loads after InvalidateAll, want 8: one more per key", got)
	}
	for _, p := range all {
		if diff := cmp.Diff([]int{1, 2, 9}, localKeys(t, p.rows, 1, 2, 9)); diff != "" {
			t.Error("stored again", diff)
		}
	}
}

func putComparesEpochs(t *testing.T, w *world) {
	rows := newTable(1)
	one, two := w.process(t), w.process(t)
	mustRefreshEpoch(t, one)
	mustRefreshEpoch(t, two)
	here, there := rowsOf(one, Policy{}, rows.load), rowsOf(two, Policy{}, rows.load)
	mustGet(t, there, 1)
	mustInvalidateAll(t, one) // two misses the message
	r := rows.commit(1)
	if mustPut(t, here, r) {
		t.Error("stored over a record of an old epoch")
	}
	if _, _, is := w.stored(t, here, 1); is != nothing {
		t.Error("the old record still exists")
	}
	wantVersion(t, "a read", here, 1, 2)
	r = rows.commit(1)
	if !mustPut(t, here, r) {
		t.Error("not stored over a record of this epoch")
	}
	r = rows.commit(1)
	if mustPut(t, there, r) {
		t.Error("stored under an old epoch")
	}
	for _, c := range []*Cache[int, row]{here, there} {
		wantVersion(t, "the last read", c, 1, r.Version)
	}
	if n := len(rows.loads()); n != 3 {
		t.Errorf("%d loads, want 3", n)
	}
}

func epochIsReadFromARecord(t *testing.T, w *world) {
	on, rows := new(wire), newTable(1, 2)
	one, isolated := w.localProcess(t, on, rows), w.localProcess(t, new(wire), rows)
	for _, id := range []int{1, 2} {
		mustGet(t, isolated.rows, id)
	}
	mustInvalidateAll(t, one.Client)
	mustGet(t, one.rows, 1)
	before := len(rows.loads())
	if got := localKeys(t, isolated.rows, 1, 2); len(got) != 2 {
		t.Fatalf("keys %v are stored, want both: inconclusive", got)
	}
	if _, err := isolated.rows.Get(SkipLocal(t.Context()), 1); err != nil { // a record of the new epoch
		t.Fatal(err)
	}
	if got, want := isolated.epoch.Load(), one.epoch.Load(); got != want {
		t.Errorf("epoch %d, want %d", got, want)
	}
	if got := localKeys(t, isolated.rows, 2); len(got) > 0 {
		t.Error("an entry of the old epoch is still stored")
	}
	if n := len(rows.loads()) - before; n != 0 {
		t.Errorf("got %d loads, want none", n)
	}
	mustGet(t, isolated.rows, 2)
	if n := len(rows.loads()) - before; n != 1 {
		t.Errorf("got %d loads of the other key, want one", n)
	}
}

func epochsDoNotLoop(t *testing.T, w *world) {
	rows := newTable(1)
	oldOne, newOne := w.process(t), w.process(t)
	mustRefreshEpoch(t, oldOne)
	mustRefreshEpoch(t, newOne)
	here, there := rowsOf(oldOne, Policy{}, rows.load), rowsOf(newOne, Policy{}, rows.load)
	for range 5 {
		mustGet(t, here, 1)
		mustInvalidateAll(t, newOne) // the other process misses the message
		r := rows.commit(1)
		mustInvalidate(t, here, 1)
		before := len(rows.loads())
		mustGet(t, here, 1) // stores a record of the old epoch
		for range 10 {
			wantVersion(t, "in the new epoch", there, 1, r.Version)
			wantVersion(t, "in the old epoch", here, 1, r.Version)
		}
		if n := len(rows.loads()) - before; n > 3 {
			t.Errorf("got %d loads for 21 reads, want at most 3", n)
		}
		if a, b := oldOne.epoch.Load(), newOne.epoch.Load(); a != b {
			t.Errorf("got epochs %d and %d, want equal ones", a, b)
		}
	}
}

// The load holds its lease all the time: only the epoch shows that it read before.
func overtakenLoadIsOfTheOldEpoch(t *testing.T, w *world) {
	rows := newTable(1)
	h, other := w.process(t), w.process(t)
	mustRefreshEpoch(t, h)
	load, nextLoad := rows.pausing(t)
	c := rowsOf(h, Policy{}, load)
	first := getLater(t.Context(), c, 1)
	p := nextLoad()
	rows.commit(1) // its invalidation is lost
	mustInvalidateAll(t, h)
	p.end <- nil
	receive(t, first)
	second := getLater(t.Context(), c, 1)
	nextLoad().end <- nil
	if got := receive(t, second); got.row.Version != 2 {
		t.Errorf("got %v, want version 2", got)
	}
	wantVersion(t, "in another process", rowsOf(other, Policy{}, rows.load), 1, 2)
}

func garbageBringsNoEpoch(t *testing.T, w *world) {
	h, rows := w.process(t), newTable(1)
	known := mustRefreshEpoch(t, h)
	c := rowsOf(h, Policy{}, rows.load)
	garbage := string(header{created: time.Now(), soft: time.Hour, epoch: known + 1_000_000}.appendTo(nil)) + "no JSON"
	if err := w.rdb.Set(t.Context(), c.inside().nameOf(1), garbage, time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	wantVersion(t, "a read", c, 1, 1)
	if got := h.epoch.Load(); got != known {
		t.Errorf("epoch %d, want %d", got, known)
	}
}

// After a failover Redis may have lost the epoch: a process that knows it starts a new one.
func TestLostEpochIsDetectedAfterAReset(t *testing.T) {
	w := miniWorld(t)
	x := w.manualClient(t, Options{LocalBytes: 1 << 20})
	x.inSyncFor(time.Hour)
	x.ensureEpoch(t.Context())
	before := x.epoch.Load()
	if err := w.rdb.Del(t.Context(), w.prefix+":cache-epoch").Err(); err != nil {
		t.Fatal(err)
	}
	x.ensureEpoch(t.Context())
	if got := x.epoch.Load(); got != before || before == 0 {
		t.Errorf("got epoch %d, want %d without a read", got, before)
	}
	x.Reset(t.Context(), "lost")
	x.inSyncFor(time.Hour)
	x.ensureEpoch(t.Context())
	stored, err := w.rdb.Get(t.Context(), w.prefix+":cache-epoch").Uint64()
	if got := x.epoch.Load(); err != nil || got <= before || uint64(got) != stored {
		t.Errorf("got epoch %d after %d and %d in Redis, %v, want a higher one, the same in Redis", got, before, stored, err)
	}
}
