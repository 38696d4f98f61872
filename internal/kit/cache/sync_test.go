package cache

import (
	"context"
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/kit/eventbus"
)

// A sync is trusted for the hub's MaxAge from the moment it speaks of, and for
// less by a policy that says less. Redis has another value, which shows when the
// entry is not good any more.
func TestSyncExpires(t *testing.T) {
	cases := []struct {
		name           string
		client, policy time.Duration // their MaxAge
		ago            time.Duration // when it was heard, how long before that everything had been said
		want           time.Duration // from when it was heard
	}{
		{name: "the hub's MaxAge", client: 2 * time.Second, policy: time.Hour, want: 2 * time.Second},
		{name: "from the moment it speaks of, not from when it is heard", client: 2 * time.Second, policy: time.Hour, ago: 500 * time.Millisecond, want: 1500 * time.Millisecond},
		{name: "a policy's MaxAge that is smaller", client: 2 * time.Second, policy: 300 * time.Millisecond, want: 300 * time.Millisecond},
		{name: "a smaller one, from the moment it speaks of", client: 2 * time.Second, policy: 300 * time.Millisecond, ago: 100 * time.Millisecond, want: 200 * time.Millisecond},
		{name: "a second by default", policy: time.Hour, want: time.Second},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			w, on, rows := miniWorld(t), new(wire), newTable(1)
			two := w.connected(t, on, Options{MaxAge: test.client})
			p := localPolicy()
			p.TTL, p.Local.MaxAge = 10*time.Hour, test.policy
			there := parsedRows(two.Client, p, rows)
			mustGet(t, there, 1)
			if diff := cmp.Diff([]int{1}, localKeys(t, there, 1)); diff != "" {
				t.Fatal(diff)
			}
			two.advance(2 * time.Hour) // the entry is not good by its own age
			two.inSyncSince(test.ago)
			two.advance(test.want - 1)
			if len(localKeys(t, there, 1)) == 0 {
				t.Errorf("not trusted until %v after it was heard", test.want)
			}
			two.advance(1)
			if len(localKeys(t, there, 1)) > 0 {
				t.Errorf("trusted %v after it was heard", test.want)
			}
		})
	}
}

// After a gap nothing that a process holds may rest on what it heard before.
func TestResetDropsTheLocalState(t *testing.T) {
	w, on, rows := miniWorld(t), new(wire), newTable(1)
	two := w.connected(t, on, Options{})
	p := localPolicy()
	p.TTL, p.Local.Share = 30*time.Minute, 0.3
	c := parsedRows(two.Client, p, rows)
	lists := localListsOf(two.Client, rows, 0.3)
	near, from := memoryOf(two.Client, Local{Share: 0.3, Criteria: allCriteria}), &memorySource{text: "a", ttl: time.Minute}
	buildFilter(t, c.inside().existence)
	mustGet(t, c, 1)
	if !isAbsent(t, c, 9) {
		t.Fatal("found")
	}
	mustList(t, lists, query{1, 10}, 1)
	wantMemory(t, "before the reset", near, from, "a")

	rows.commit(1)
	rows.commit(2)
	absent := excludedBy(t, c.inside().existence)
	rows.commit(absent)
	from.text = "b"
	// All of it is lost on its way: Redis knows it, this process does not hear it.
	writer := parsedRows(w.connected(t, new(wire), Options{}).Client, localPolicy(), rows)
	mustInvalidate(t, writer, 1, 2, 9, absent)
	mustInvalidateTable(t, writer.inside().client.Table("rows"))

	two.observer.Reset(t.Context(), eventbus.GapLost)
	if two.clock.inSync() {
		t.Error("in sync right after a gap")
	}
	two.inSyncSince(0)
	wantVersion(t, "an entry", c, 1, 2)
	if isAbsent(t, c, absent) {
		t.Error("the guard still excludes what may have been inserted unheard")
	}
	mustList(t, lists, query{1, 10}, 1, 2, absent)
	wantMemory(t, "after the reset", near, from, "b")
}

func localListsOf(h *Client, rows *table, share float64) *QueryCache[query, int] {
	p := localPolicy()
	p.Name, p.Local.Share = "list", share
	return NewQueryCache(h.Table("rows"), p.withTestTimes(), query.text, rows.list)
}

// What was asked before the gap and comes after it is not kept.
func TestReplyFromBeforeAResetIsNotStored(t *testing.T) {
	w, rows := miniWorld(t), newTable(1)
	p, late := new(wire).port(), &lateReply{held: make(chan chan struct{})}
	x := w.manualClient(t, Options{Bus: p, LocalBytes: 1 << 20}, late)
	x.inSyncFor(time.Hour)
	c := parsedRows(x.Client, localPolicy(), rows)
	mustGet(t, c, 1)
	c.inside().local.remove(1)
	late.on.Store(true)
	first := getLater(t.Context(), c, 1)
	release := receive(t, late.held)
	late.on.Store(false)
	p.observer.Reset(t.Context(), eventbus.GapTrimmed)
	x.inSyncFor(time.Hour)
	close(release)
	receive(t, first)
	if got := localKeys(t, c, 1); len(got) > 0 {
		t.Error("kept")
	}
}

// A19 over processes: an insert of P1 that P2 has not heard of.
func TestFilterExcludesNothingWithoutItsBus(t *testing.T) {
	cases := []struct {
		name string
		then func(x *pair)
		want int // version of the row that was inserted
	}{
		{"the bus is silent, for less than MaxAge", func(x *pair) { x.two.advance(time.Second - 1) }, 0},
		{"the bus is silent, for MaxAge", func(x *pair) { x.two.advance(time.Second) }, 1},
		{"the bus found a gap", func(x *pair) { x.two.observer.Reset(context.Background(), eventbus.GapTrimmed) }, 1},
		{"and is in sync again", func(x *pair) {
			x.two.observer.Reset(context.Background(), eventbus.GapTrimmed)
			x.two.inSyncSince(0)
		}, 1},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			p := localPolicy()
			p.Local = Local{}
			x := newPair(t, p, 1)
			buildFilter(t, x.there.inside().existence)
			id := excludedBy(t, x.there.inside().existence)
			x.rows.commit(id)
			mustInvalidate(t, x.here, id)
			test.then(x)
			wantVersion(t, "the row", x.there, id, test.want)
		})
	}
}

// slowIDs lists a table's ids, and waits between its snapshot and its answer.
type slowIDs struct {
	rows    *table
	reading chan struct{}
	goOn    chan struct{}
}

func newSlowIDs(rows *table) *slowIDs {
	return &slowIDs{rows, make(chan struct{}), make(chan struct{})}
}

func (s *slowIDs) all(ctx context.Context) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		var ids []int
		for id := range s.rows.ids(ctx) {
			ids = append(ids, id)
		}
		s.reading <- struct{}{}
		<-s.goOn
		for _, id := range ids {
			if !yield(id, nil) {
				return
			}
		}
	}
}

// A19: inserts that go by while a filter is being built from an older snapshot.
func TestFilterBuildHandlesMessages(t *testing.T) {
	cases := []struct {
		name  string
		then  func(t *testing.T, x *pair)
		built bool
	}{
		{"has in it what it heard meanwhile", func(t *testing.T, x *pair) { x.two.deliver(t.Context()) }, true},
		{"is thrown away at a gap", func(t *testing.T, x *pair) {
			x.two.drain() // lost
			x.two.observer.Reset(t.Context(), eventbus.GapLost)
			x.two.inSyncSince(0)
		}, false},
		{"is thrown away where not all that was said could be read", func(t *testing.T, x *pair) {
			x.two.handler(t.Context(), [][]byte{[]byte("?")})
		}, false},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			x := newPair(t, localPolicy(), 1)
			slow := newSlowIDs(x.rows)
			x.there.inside().existence.all = slow.all
			x.there.inside().maintain(t.Context())
			receive(t, slow.reading)
			inserted := []int{2, 3, 4, 5, 6, 7, 8, 9}
			for _, id := range inserted {
				x.rows.commit(id)
			}
			mustInvalidate(t, x.here, inserted...)
			test.then(t, x)
			close(slow.goOn)
			x.two.Wait()
			if got := x.there.inside().existence.built(); got != test.built {
				t.Fatalf("a filter is in use: %v, want %v", got, test.built)
			}
			for _, id := range inserted {
				wantVersion(t, "an inserted row", x.there, id, 1)
			}
		})
	}
}

// Nothing is in sync before the bus says so.
func TestClientWithBusStartsOutOfSync(t *testing.T) {
	x := miniWorld(t).manualClient(t, Options{Bus: new(wire).port(), LocalBytes: 1 << 20})
	c := parsedRows(x.Client, localPolicy(), newTable(1))
	mustGet(t, c, 1)
	x.advance(time.Second - 1)
	if !localHit(t, c, 1) {
		t.Error("not kept for MaxAge")
	}
	x.advance(1)
	if localHit(t, c, 1) {
		t.Error("served for longer than MaxAge")
	}
	c.inside().maintain(t.Context())
	x.Wait()
	if c.inside().existence.built() {
		t.Error("a guard was built that hears of no inserts")
	}
	if _, err := c.Get(t.Context(), 9); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}
