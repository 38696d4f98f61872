package cache

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/testkit"
)

// A8: process two stores an absence, and process one inserts the row.
func TestRemoteInsertIsFound(t *testing.T) {
	const maxAge = time.Second
	cases := []struct {
		name string
		read func(t *testing.T, x *pair, id int) int
		want int
	}{
		{"not without the message in sync", func(t *testing.T, x *pair, id int) int {
			x.two.advance(maxAge - 1)
			return versionOf(t.Context(), t, x.there, id)
		}, 0},
		{"after the message", func(t *testing.T, x *pair, id int) int {
			x.two.deliver(t.Context())
			return versionOf(t.Context(), t, x.there, id)
		}, 1},
		{"after MaxAge without messages", func(t *testing.T, x *pair, id int) int {
			x.two.advance(maxAge)
			return versionOf(t.Context(), t, x.there, id)
		}, 1},
		{"at once with SkipLocal", func(t *testing.T, x *pair, id int) int {
			return versionOf(SkipLocal(t.Context()), t, x.there, id)
		}, 1},
	}
	for _, state := range []string{"local entry", "filter"} {
		for _, test := range cases {
			t.Run(state+", "+test.name, func(t *testing.T) {
				x := newPair(t, localPolicy(), 1)
				id := 9
				if state == "filter" {
					buildFilter(t, x.there.inside().existence)
					id = excludedBy(t, x.there.inside().existence)
				}
				if got := versionOf(t.Context(), t, x.there, id); got != 0 {
					t.Fatal("found before the insert")
				}
				x.rows.commit(id)
				mustInvalidate(t, x.here, id)
				if got := test.read(t, x, id); got != test.want {
					t.Errorf("version %d, want %d", got, test.want)
				}
			})
		}
	}
}

// excludedBy returns a key that the filter excludes.
func excludedBy(t *testing.T, g *existenceFilter[int]) int {
	t.Helper()
	for id := 1000; id < 2000; id++ {
		if g.excludes(id) {
			return id
		}
	}
	t.Fatal("the filter excludes nothing")
	return 0
}

// A15 across processes: process two receives an invalidation while it waits for a reply of
// Redis.
func TestReplyOvertakenByAnotherProcessIsNotStored(t *testing.T) {
	on, rows := new(wire), newTable(1)
	w, late := miniWorld(t), &lateReply{held: make(chan chan struct{})}
	one, p := w.connected(t, on, Options{}), on.port()
	two := w.manualClient(t, Options{Bus: p, LocalBytes: 1 << 20}, late)
	two.inSyncFor(time.Hour)
	here, there := parsedRows(one.Client, localPolicy(), rows), parsedRows(two.Client, localPolicy(), rows)
	mustGet(t, here, 1) // now in Redis
	late.on.Store(true)
	first := getLater(t.Context(), there, 1)
	release := receive(t, late.held)
	late.on.Store(false)
	rows.commit(1)
	mustInvalidate(t, here, 1)
	p.deliver(t.Context())
	close(release)
	if got := receive(t, first); got.err != nil || got.row.Version != 1 {
		t.Errorf("the overtaken reader got %v, want its own version 1", got)
	}
	wantVersion(t, "a read after the message", there, 1, 2)
}

// A reader that comes after the message does not join an older load of its process.
func TestRemoteInvalidationEndsJoiningOfLoads(t *testing.T) {
	w, on, rows := miniWorld(t), new(wire), newTable(1)
	one, two := w.connected(t, on, Options{}), w.connected(t, on, Options{})
	load, nextLoad := rows.pausing(t)
	here, there := parsedRows(one.Client, localPolicy(), rows), parsedRowsFrom(two.Client, localPolicy(), rows, load)
	first := getLater(t.Context(), there, 1)
	old := nextLoad()
	rows.commit(1)
	mustInvalidate(t, here, 1)
	two.deliver(t.Context())
	second := getLater(t.Context(), there, 1)
	later := nextLoad() // while the old load is running
	later.end <- nil
	if got := receive(t, second); got.row.Version != 2 {
		t.Errorf("the later reader got %v, want version 2", got)
	}
	old.end <- nil
	receive(t, first)
	wantVersion(t, "a read after both loads", there, 1, 2)
}

// The sender has already applied its message. Its later reads are correct.
func TestOwnMessageDropsNothing(t *testing.T) {
	x := newPair(t, localPolicy(), 1)
	x.warm(t, 1)
	x.rows.commit(1)
	mustInvalidate(t, x.here, 1)
	wantVersion(t, "a read after the own write", x.here, 1, 2)
	x.one.deliver(t.Context())
	if !localHit(t, x.here, 1) {
		t.Error("not a local hit")
	}
	if epoch := x.one.epoch.Load(); epoch != 0 {
		t.Errorf("got epoch %d, want 0", epoch)
	}
}

// Messages drop the entries that they name, in any order and repeatedly, and reads stay
// correct.
func TestMessagesMayRepeatAndReorder(t *testing.T) {
	seed := testkit.Seed(t)
	draw := rand.New(rand.NewPCG(seed, 0))
	ids := []int{1, 2, 3, 4, 5, 6, 7, 8}
	x := newPair(t, localPolicy(), ids...)
	for range 50 {
		x.warm(t, ids...)
		for range 1 + draw.IntN(6) {
			r := x.rows.commit(ids[draw.IntN(len(ids))])
			if draw.IntN(2) == 0 {
				mustPut(t, x.here, r)
			} else {
				mustInvalidate(t, x.here, r.ID)
			}
		}
		bodies := x.two.drain()
		bodies = append(bodies, bodies[draw.IntN(len(bodies))])
		draw.Shuffle(len(bodies), func(i, j int) { bodies[i], bodies[j] = bodies[j], bodies[i] })
		x.two.handler(t.Context(), bodies)
		for id, want := range x.rows.all() {
			wantVersion(t, "after a shuffled delivery", x.there, id, want.Version)
		}
	}
	if t.Failed() {
		t.Logf("seed %d", seed)
	}
}

func TestTableInvalidateReachesOtherProcesses(t *testing.T) {
	w, on, rows := miniWorld(t), new(wire), newTable(1)
	one, two := w.connected(t, on, Options{}), w.connected(t, on, Options{})
	here, there := localLists(one.Client, rows), localLists(two.Client, rows)
	mustList(t, there.lists, query{1, 10}, 1)
	mustList(t, there.other, query{1, 10}, 1)
	rows.commit(2)
	mustInvalidateTable(t, here.table)
	mustList(t, there.lists, query{1, 10}, 1) // a local hit: no message yet
	if got, err := there.lists.lists.Get(SkipLocal(t.Context()), query{1, 10}); err != nil || !cmp.Equal([]int{1, 2}, got) {
		t.Errorf("SkipLocal: got %v, %v, want both rows", got, err)
	}
	two.deliver(t.Context())
	mustList(t, there.lists, query{1, 10}, 1, 2)
	mustList(t, there.other, query{1, 10}, 1, 2)
}

// localQueries are the lists of a table in one process, of two kinds of queries.
type localQueries struct {
	table        *Table
	lists, other *QueryCache[query, int]
}

func localLists(h *Client, rows *table) localQueries {
	t, p := h.Table("rows"), localPolicy()
	p.Name, p.Local.Share = "list", 0.5
	q := p
	q.Name = "other"
	return localQueries{t, NewQueryCache(t, p.withTestTimes(), query.text, rows.list), NewQueryCache(t, q.withTestTimes(), query.text, rows.list)}
}
