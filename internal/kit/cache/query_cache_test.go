package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// query holds the arguments of a query: rows from an id on.
type query struct{ From, Limit int }

func (s query) text() string { return fmt.Sprintf("rows from %d limit %d", s.From, s.Limit) }

// list reads the ids of a query from the table.
func (t *table) list(_ context.Context, s query) ([]int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls = append(t.calls, []int{s.From, s.Limit})
	ids := []int{}
	for id := range t.rows {
		if id >= s.From {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids[:min(len(ids), s.Limit)], nil
}

func queriesOf(h *Client, load func(context.Context, query) ([]int, error)) (*Table, *QueryCache[query, int]) {
	t := h.Table("rows")
	return t, NewQueryCache(t, Policy{Name: "list"}.withTestTimes(), query.text, load)
}

func mustList(t *testing.T, q *QueryCache[query, int], s query, want ...int) {
	t.Helper()
	got, err := q.Get(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func mustInvalidateTable(t *testing.T, table *Table) {
	t.Helper()
	if err := table.Invalidate(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestQueryCache(t *testing.T) {
	cases := []struct {
		name string
		run  func(t *testing.T, w *world)
	}{
		{"a list is loaded once per generation", listIsReadOnce},
		{"an overtaken list is not stored", overtakenListDoesNotCount},
		{"a reader after a write loads again", readerAfterWriteReads},
		{"a lost counter invalidates all lists", lostCounterEndsLists},
		{"another generation is absent", otherGenerationIsNone},
		{"arguments are distinguished", argumentsAreDistinguished},
		{"all keys but the counter have TTLs", listKeysHaveTTLs},
		{"a list costs one round trip", listCostsOneRoundTrip},
		{"many lists cost one round trip", manyListsCostOneRoundTrip},
	}
	onEach(t, func(t *testing.T, b *backend) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) { c.run(t, b.world(t)) })
		}
	})
}

func listIsReadOnce(t *testing.T, w *world) {
	rows := newTable(1, 2, 3)
	here, lists := queriesOf(w.process(t), rows.list)
	_, other := queriesOf(w.process(t), rows.list)
	for range 2 {
		mustList(t, lists, query{1, 10}, 1, 2, 3)
		mustList(t, other, query{1, 10}, 1, 2, 3)
	}
	rows.commit(4)
	mustInvalidateTable(t, here)
	mustList(t, other, query{1, 10}, 1, 2, 3, 4)
	mustList(t, lists, query{1, 10}, 1, 2, 3, 4)
	if got := len(rows.loads()); got != 2 {
		t.Errorf("got %d queries, want one before and one after the write", got)
	}
}

// pausingList returns a query that waits between its read and its return, and a function that
// waits for the next such call.
func pausingList(t *testing.T, rows *table) (load func(context.Context, query) ([]int, error), next func() chan struct{}) {
	loads := make(chan chan struct{})
	load = func(ctx context.Context, s query) ([]int, error) {
		ids, err := rows.list(ctx, s)
		end := make(chan struct{})
		select {
		case loads <- end:
			<-end
		case <-t.Context().Done():
		}
		return ids, err
	}
	return load, func() chan struct{} { return receive(t, loads) }
}

type listResult struct {
	ids []int
	err error
}

func listLater(ctx context.Context, q *QueryCache[query, int], s query) <-chan listResult {
	done := make(chan listResult, 1)
	go func() {
		ids, err := q.Get(ctx, s)
		done <- listResult{ids, err}
	}()
	return done
}

func overtakenListDoesNotCount(t *testing.T, w *world) {
	rows := newTable(1)
	load, next := pausingList(t, rows)
	_, slow := queriesOf(w.process(t), load)
	there, quick := queriesOf(w.process(t), rows.list)
	first := listLater(t.Context(), slow, query{0, 10})
	end := next()
	rows.commit(2)
	mustInvalidateTable(t, there)
	close(end)
	if got := receive(t, first); got.err != nil || len(got.ids) != 1 {
		t.Errorf("overtaken reader: got %v, want its own list", got)
	}
	mustList(t, quick, query{0, 10}, 1, 2)
}

func readerAfterWriteReads(t *testing.T, w *world) {
	rows := newTable(1)
	load, next := pausingList(t, rows)
	_, slow := queriesOf(w.process(t), load)
	there, quick := queriesOf(w.process(t), rows.list)
	first := listLater(t.Context(), slow, query{0, 10})
	end := next()
	rows.commit(2)
	mustInvalidateTable(t, there)
	second := listLater(t.Context(), quick, query{0, 10})
	eventually(t, "the second reader waits", func() bool { return quick.lists.Stats().Waits == 1 })
	close(end)
	receive(t, first)
	if got := receive(t, second); got.err != nil || len(got.ids) != 2 {
		t.Errorf("got %v, want both rows", got)
	}
	before := len(rows.loads())
	mustList(t, quick, query{0, 10}, 1, 2)
	if got := len(rows.loads()); got != before {
		t.Error("the list of the second reader was not stored")
	}
}

func lostCounterEndsLists(t *testing.T, w *world) {
	rows := newTable(1)
	table, lists := queriesOf(w.process(t), rows.list)
	mustInvalidateTable(t, table)
	mustList(t, lists, query{0, 10}, 1)
	rows.commit(2) // its invalidation is lost with the counter
	if err := w.rdb.Del(t.Context(), table.generation).Err(); err != nil {
		t.Fatal(err)
	}
	mustList(t, lists, query{0, 10}, 1, 2)
	mustInvalidateTable(t, table)
	mustList(t, lists, query{0, 10}, 1, 2)
}

func otherGenerationIsNone(t *testing.T, w *world) {
	for _, by := range []int64{-1, 1} {
		rows := newTable(1)
		w := w.world(t)
		table, lists := queriesOf(w.process(t), rows.list)
		mustList(t, lists, query{0, 10}, 1)
		if err := w.rdb.IncrBy(t.Context(), table.generation, by).Err(); err != nil {
			t.Fatal(err)
		}
		rows.commit(2)
		mustList(t, lists, query{0, 10}, 1, 2)
	}
}

func argumentsAreDistinguished(t *testing.T, w *world) {
	rows := newTable(1, 2, 3)
	_, lists := queriesOf(w.process(t), rows.list)
	for range 2 {
		mustList(t, lists, query{1, 10}, 1, 2, 3)
		mustList(t, lists, query{1, 2}, 1, 2)
		mustList(t, lists, query{3, 10}, 3)
		if got, err := lists.Get(t.Context(), query{9, 10}); err != nil || len(got) != 0 {
			t.Errorf("got %v, %v, want an empty list", got, err)
		}
	}
	if got := len(rows.loads()); got != 4 {
		t.Errorf("got %d queries, want 4", got)
	}
	load := func(context.Context, query) ([]int, error) { return nil, errDatabase }
	_, broken := queriesOf(w.world(t).process(t), load)
	if _, err := broken.Get(t.Context(), query{}); !errors.Is(err, errDatabase) {
		t.Errorf("got %v, want the database's error", err)
	}
}

func listKeysHaveTTLs(t *testing.T, w *world) {
	rows := newTable(1)
	table, lists := queriesOf(w.process(t), rows.list)
	mustInvalidateTable(t, table)
	mustList(t, lists, query{0, 10}, 1)
	names := w.names(t)
	if len(names) != 2 {
		t.Errorf("got keys %q, want a list and the counter", names)
	}
	for _, name := range names {
		left := w.rdb.PTTL(t.Context(), name).Val()
		if counter := name == table.generation; counter != (left == -1) {
			t.Errorf("%s: got TTL %v, want none for the counter only", name, left)
		}
	}
}

func listCostsOneRoundTrip(t *testing.T, w *world) {
	rows := newTable(1)
	sent := new(commandCounter)
	_, lists := queriesOf(w.process(t, sent), rows.list)
	mustList(t, lists, query{0, 10}, 1)
	sent.reset()
	mustList(t, lists, query{0, 10}, 1)
	if got, want := sent.reset(), "1 round trips, 1 of a single command"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func manyListsCostOneRoundTrip(t *testing.T, w *world) {
	rows := newTable(1, 2, 3)
	calls := 0
	load := func(ctx context.Context, all []query) (map[query][]int, error) {
		calls++
		found := map[query][]int{}
		for _, s := range all {
			list, err := rows.list(ctx, s)
			if err != nil {
				return nil, err
			}
			if len(list) > 0 {
				found[s] = list
			}
		}
		return found, nil
	}
	sent := new(commandCounter)
	table := w.process(t, sent).Table("rows")
	lists := NewBatchQueryCache(table, Policy{Name: "list"}.withTestTimes(), query.text, load)
	want := map[query][]int{{1, 10}: {1, 2, 3}, {2, 1}: {2}, {9, 10}: nil}
	for range 3 {
		sent.reset()
		got, err := lists.GetMany(t.Context(), []query{{1, 10}, {2, 1}, {9, 10}, {1, 10}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	if got, want := sent.reset(), "1 round trips, 1 of a single command"; got != want || calls != 1 {
		t.Errorf("got %s, want %s; got %d loads, want 1", got, want, calls)
	}
	mustList(t, lists, query{2, 1}, 2) // the same list alone
	rows.commit(4)
	mustInvalidateTable(t, table)
	want[query{1, 10}] = []int{1, 2, 3, 4}
	got, err := lists.GetMany(t.Context(), []query{{1, 10}, {2, 1}, {9, 10}})
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestTableInvalidateDropsLocalLists(t *testing.T) {
	b := startMini(t)
	rdb := b.client()
	defer func() { _ = rdb.Close() }()
	h, err := NewClient(rdb, Options{LocalBytes: 1 << 20, SingleProcess: true})
	if err != nil {
		t.Fatal(err)
	}
	h.clock.now.Store(int64(time.Second))
	rows := newTable(1)
	table := h.Table("rows")
	p := Policy{Name: "list", Local: Local{Share: 1, Criteria: Hot | RarelyChanged | Small | MayBeStale}}
	lists := NewQueryCache(table, p, query.text, rows.list)
	for range 3 {
		mustList(t, lists, query{0, 10}, 1)
	}
	if got := lists.lists.Stats().LocalHits; got != 2 {
		t.Errorf("got %d local hits, want 2", got)
	}
	rows.commit(2)
	mustInvalidateTable(t, table)
	mustList(t, lists, query{0, 10}, 1, 2)
}
