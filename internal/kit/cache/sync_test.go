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

// A sync is valid for MaxAge of the client, or of the policy if smaller, from the moment it
// refers to. Redis has another value, which appears when the entry is invalid.
func TestSyncExpires(t *testing.T) {
	cases := []struct {
		name           string
		client, policy time.Duration // their MaxAge
		ago            time.Duration // age of the sync when it is received
		want           time.Duration // from its receipt
	}{
		{name: "MaxAge of the client", client: 2 * time.Second, policy: time.Hour, want: 2 * time.Second},
		{name: "from the time of the sync", client: 2 * time.Second, policy: time.Hour, ago: 500 * time.Millisecond, want: 1500 * time.Millisecond},
		{name: "smaller MaxAge of the policy", client: 2 * time.Second, policy: 300 * time.Millisecond, want: 300 * time.Millisecond},
		{name: "smaller, from the time of the sync", client: 2 * time.Second, policy: 300 * time.Millisecond, ago: 100 * time.Millisecond, want: 200 * time.Millisecond},
		{name: "default", policy: time.Hour, want: time.Second},
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
			two.advance(2 * time.Hour) // the entry is invalid by its own age
			two.inSyncSince(test.ago)
			two.advance(test.want - 1)
			if len(localKeys(t, there, 1)) == 0 {
				t.Errorf("sync ended before %v after its receipt", test.want)
			}
			two.advance(1)
			if len(localKeys(t, there, 1)) > 0 {
				t.Errorf("sync is valid %v after its receipt", test.want)
			}
		})
	}
}

// After a gap, no local state may depend on earlier messages.
func TestResetDropsTheLocalState(t *testing.T) {
	w, on, rows := miniWorld(t), new(wire), newTable(1)
	two := w.connected(t, on, Options{})
	p := localPolicy()
	p.TTL, p.Local.Share = 30*time.Minute, 0.3
	c := parsedRows(two.Client, p, rows)
	lists := localListsOf(two.Client, rows, 0.3)
	memory, from := memoryOf(two.Client, Local{Share: 0.3, Criteria: allCriteria}), &memorySource{text: "a", ttl: time.Minute}
	buildFilter(t, c.inside().existence)
	mustGet(t, c, 1)
	if !isAbsent(t, c, 9) {
		t.Fatal("got a row, want none")
	}
	mustList(t, lists, query{1, 10}, 1)
	wantMemory(t, "before the reset", memory, from, "a")

	rows.commit(1)
	rows.commit(2)
	absent := excludedBy(t, c.inside().existence)
	rows.commit(absent)
	from.text = "b"
	// All messages are lost: Redis has the changes, this process misses them.
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
		t.Error("the filter excludes a missed insert")
	}
	mustList(t, lists, query{1, 10}, 1, 2, absent)
	wantMemory(t, "after the reset", memory, from, "b")
}

func localListsOf(h *Client, rows *table, share float64) *QueryCache[query, int] {
	p := localPolicy()
	p.Name, p.Local.Share = "list", share
	return NewQueryCache(h.Table("rows"), p.withTestTimes(), query.text, rows.list)
}

// A reply to a read from before the gap is not stored.
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
		t.Error("stored")
	}
}

// A19 across processes: process two misses an insert of process one.
func TestFilterExcludesNothingWithoutItsBus(t *testing.T) {
	cases := []struct {
		name string
		then func(x *pair)
		want int // version of the inserted row
	}{
		{"silent for less than MaxAge", func(x *pair) { x.two.advance(time.Second - 1) }, 0},
		{"silent for MaxAge", func(x *pair) { x.two.advance(time.Second) }, 1},
		{"gap", func(x *pair) { x.two.observer.Reset(context.Background(), eventbus.GapTrimmed) }, 1},
		{"in sync after a gap", func(x *pair) {
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

// slowIDs lists the ids of a table and pauses between snapshot and reply.
type slowIDs struct {
	rows    *table
	reading chan struct{}
	proceed chan struct{}
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
		<-s.proceed
		for _, id := range ids {
			if !yield(id, nil) {
				return
			}
		}
	}
}

// A19: inserts arrive while a filter is built from an older snapshot.
func TestFilterBuildHandlesMessages(t *testing.T) {
	cases := []struct {
		name  string
		then  func(t *testing.T, x *pair)
		built bool
	}{
		{"received inserts are added", func(t *testing.T, x *pair) { x.two.deliver(t.Context()) }, true},
		{"a gap discards the build", func(t *testing.T, x *pair) {
			x.two.drain() // lost
			x.two.observer.Reset(t.Context(), eventbus.GapLost)
			x.two.inSyncSince(0)
		}, false},
		{"an invalid message discards the build", func(t *testing.T, x *pair) {
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
			close(slow.proceed)
			x.two.Wait()
			if got := x.there.inside().existence.built(); got != test.built {
				t.Fatalf("got filter in use: %v, want %v", got, test.built)
			}
			for _, id := range inserted {
				wantVersion(t, "an inserted row", x.there, id, 1)
			}
		})
	}
}

// A client with a bus is out of sync until the first sync.
func TestClientWithBusStartsOutOfSync(t *testing.T) {
	x := miniWorld(t).manualClient(t, Options{Bus: new(wire).port(), LocalBytes: 1 << 20})
	c := parsedRows(x.Client, localPolicy(), newTable(1))
	mustGet(t, c, 1)
	x.advance(time.Second - 1)
	if !localHit(t, c, 1) {
		t.Error("not stored for MaxAge")
	}
	x.advance(1)
	if localHit(t, c, 1) {
		t.Error("valid for longer than MaxAge")
	}
	c.inside().maintain(t.Context())
	x.Wait()
	if c.inside().existence.built() {
		t.Error("a filter was built out of sync")
	}
	if _, err := c.Get(t.Context(), 9); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}
