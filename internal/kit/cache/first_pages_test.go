package cache

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestFirstPages runs on every kind of Redis.
func TestFirstPages(t *testing.T) {
	cases := []struct {
		name string
		run  func(t *testing.T, w *world)
	}{
		{"pages match the list", pagesMatchTheList},
		{"a whole list needs no load", wholeListNeedsNoLoad},
		{"an empty list is stored", emptyListIsStored},
		{"owners are loaded together", ownersAreLoadedTogether},
		{"an invalidation reaches every process", firstPagesAreInvalidated},
		{"round trips", firstPageRoundTrips},
		{"a failed load leaves the other pages", failedFirstPages},
		{"unordered items are an error", unorderedFirstPages},
	}
	onEach(t, func(t *testing.T, b *backend) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) { c.run(t, b.world(t)) })
		}
	})
}

// itemTable stands for a database table with one list per owner.
type itemTable struct {
	mu    sync.Mutex
	lists map[int][]ListItem // the highest first
	loads [][]ListRange[int]
	fails error
}

// newItemTable has lists with these positions. The ids differ from them.
func newItemTable(lists map[int][]int64) *itemTable {
	b := &itemTable{lists: make(map[int][]ListItem)}
	for owner, positions := range lists {
		b.lists[owner] = itemsAt(positions...)
	}
	return b
}

func itemsAt(positions ...int64) []ListItem {
	list := make([]ListItem, len(positions))
	for i, pos := range positions {
		list[i] = ListItem{pos, 1000 - pos}
	}
	return list
}

func (b *itemTable) load(_ context.Context, ranges []ListRange[int]) (map[int][]ListItem, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.loads = append(b.loads, ranges)
	if b.fails != nil {
		return nil, b.fails
	}
	found := make(map[int][]ListItem)
	for _, a := range ranges {
		for _, s := range b.lists[a.Owner] {
			if s.Pos < a.Before && len(found[a.Owner]) < a.Limit {
				found[a.Owner] = append(found[a.Owner], s)
			}
		}
	}
	return found, nil
}

// put commits a list.
func (b *itemTable) put(owner int, positions ...int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lists[owner] = itemsAt(positions...)
}

// page returns the expected page.
func (b *itemTable) page(owner int, below int64, first int) ListPage {
	b.mu.Lock()
	defer b.mu.Unlock()
	rest := slices.DeleteFunc(slices.Clone(b.lists[owner]), func(s ListItem) bool { return s.Pos >= below })
	return ListPage{rest[:min(first, len(rest))], len(rest) > first}
}

// wantLoaded compares the loads since the last call.
func (b *itemTable) wantLoaded(t *testing.T, what string, want ...[]ListRange[int]) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if diff := cmp.Diff(want, b.loads, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s: loads (-want +got):\n%s", what, diff)
	}
	b.loads = nil
}

func firstPagesOf(h *Client, b *itemTable, size int, p Policy) *FirstPages[int] {
	p.Name = "pages"
	return NewFirstPages(h, p.withTestTimes(), size, FirstPagesSource[int]{Key: strconv.Itoa, Parse: strconv.Atoi, Load: b.load})
}

func wantItems(t *testing.T, h *FirstPages[int], owners []int, below int64, first int, want map[int]ListPage) {
	t.Helper()
	got, err := h.Pages(t.Context(), owners, below, first)
	must(t, err)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("Pages(%v, %d, %d) (-want +got):\n%s", owners, below, first, diff)
	}
}

// wantAllPages compares pages of all sizes at all positions with the table.
func wantAllPages(t *testing.T, h *FirstPages[int], b *itemTable, owners ...int) {
	t.Helper()
	for _, below := range []int64{math.MaxInt64, 100, 9, 8, 7, 6, 5, 4, 2, 1, 0, -1, -8, math.MinInt64} {
		for first := range 9 {
			want := make(map[int]ListPage)
			for _, owner := range owners {
				want[owner] = b.page(owner, below, first)
				if first == 0 {
					want[owner] = ListPage{}
				}
			}
			wantItems(t, h, owners, below, first, want)
		}
	}
}

func variousLists() *itemTable {
	return newItemTable(map[int][]int64{1: {9, 8, 7, 6, 5, 4, 0, -7}, 2: {8, 5, 2}, 3: {9, 7, 6, 1}, 4: {5}})
}

func pagesMatchTheList(t *testing.T, w *world) {
	b := variousLists()
	for _, size := range []int{1, 3, 4, 10} {
		w := w.world(t)
		h := firstPagesOf(w.process(t), b, size, Policy{})
		wantAllPages(t, h, b, 1, 2, 3, 4, 5)
		wantAllPages(t, firstPagesOf(w.process(t), b, size, Policy{}), b, 5, 4, 3, 2, 1)
	}
	h := firstPagesOf(w.process(t), b, 4, Policy{})
	wantItems(t, h, []int{1, 2, 1}, 9, 2, map[int]ListPage{1: {itemsAt(8, 7), true}, 2: {itemsAt(8, 5), true}})
}

func wholeListNeedsNoLoad(t *testing.T, w *world) {
	b := variousLists()
	h := firstPagesOf(w.process(t), b, 4, Policy{})
	wantItems(t, h, []int{2}, math.MaxInt64, 3, map[int]ListPage{2: {itemsAt(8, 5, 2), false}})
	b.wantLoaded(t, "the first time", []ListRange[int]{{2, math.MaxInt64, 4}})
	wantItems(t, h, []int{2}, math.MaxInt64, 100, map[int]ListPage{2: {itemsAt(8, 5, 2), false}})
	wantItems(t, h, []int{2}, 5, 100, map[int]ListPage{2: {itemsAt(2), false}})
	wantItems(t, h, []int{2}, 2, 100, map[int]ListPage{2: {}})
	b.wantLoaded(t, "then")
}

func emptyListIsStored(t *testing.T, w *world) {
	b := newItemTable(nil)
	p := Policy{NegativeTTL: -1} // stores no absence
	wantItems(t, firstPagesOf(w.process(t), b, 4, p), []int{7}, math.MaxInt64, 3, map[int]ListPage{7: {}})
	b.wantLoaded(t, "the first time", []ListRange[int]{{7, math.MaxInt64, 4}})
	there := firstPagesOf(w.process(t), b, 4, p)
	wantItems(t, there, []int{7}, math.MaxInt64, 3, map[int]ListPage{7: {}})
	wantItems(t, there, []int{7}, 3, 100, map[int]ListPage{7: {}})
	b.wantLoaded(t, "then")
	b.put(7, 1)
	must(t, there.Invalidate(t.Context(), 7))
	wantItems(t, there, []int{7}, math.MaxInt64, 3, map[int]ListPage{7: {itemsAt(1), false}})
}

func ownersAreLoadedTogether(t *testing.T, w *world) {
	b := variousLists()
	h := firstPagesOf(w.process(t), b, 3, Policy{})
	page := map[int]ListPage{1: {itemsAt(9, 8), true}, 3: {itemsAt(9, 7), true}, 4: {itemsAt(5), false}}
	wantItems(t, h, []int{1, 3, 1, 4}, math.MaxInt64, 2, page)
	b.wantLoaded(t, "first items", []ListRange[int]{{1, math.MaxInt64, 3}, {3, math.MaxInt64, 3}, {4, math.MaxInt64, 3}})
	wantItems(t, h, []int{1, 4, 3, 1}, 8, 2, map[int]ListPage{1: {itemsAt(7, 6), true}, 3: {itemsAt(7, 6), true}, 4: {itemsAt(5), false}})
	b.wantLoaded(t, "past the first items", []ListRange[int]{{1, 8, 3}, {3, 8, 3}})
	wantItems(t, h, []int{2, 3}, 2, 1, map[int]ListPage{2: {}, 3: {itemsAt(1), false}})
	b.wantLoaded(t, "first items, and past them", []ListRange[int]{{2, math.MaxInt64, 3}}, []ListRange[int]{{2, 2, 2}, {3, 2, 2}})
	wantItems(t, h, nil, 8, 2, nil)
	wantItems(t, h, []int{9}, 8, 0, map[int]ListPage{9: {}})
	b.wantLoaded(t, "no owner, and no items")
}

func firstPagesAreInvalidated(t *testing.T, w *world) {
	b := variousLists()
	here, there := firstPagesOf(w.process(t), b, 3, Policy{}), firstPagesOf(w.process(t), b, 3, Policy{})
	wantAllPages(t, here, b, 1, 2)
	b.put(1, 9, 8, 7, 6, 5, 4, 3)
	b.put(2)
	must(t, there.Invalidate(t.Context(), 1, 2))
	wantAllPages(t, here, b, 1, 2)
	wantAllPages(t, there, b, 1, 2)
	if names := w.names(t); len(names) != 2 {
		t.Errorf("got keys %q, want two", names)
	}
}

func firstPageRoundTrips(t *testing.T, w *world) {
	b := newItemTable(nil)
	for _, owner := range upTo(100) {
		b.put(owner, 9, 8, 7, 6, 5)
	}
	sent := new(commandCounter)
	h := firstPagesOf(w.process(t, sent), b, 4, Policy{})
	page := func(below int64, first int) func() {
		return func() {
			_, err := h.Pages(t.Context(), upTo(100), below, first)
			must(t, err)
		}
	}
	page(math.MaxInt64, 1)() // also loads the scripts
	for _, step := range []struct {
		name         string
		do           func()
		trips, loads int
	}{
		{"the first page", page(math.MaxInt64, 2), 1, 0},
		{"the second page", page(8, 1), 1, 0},
		{"a possible last page", page(7, 2), 1, 1},
		{"a later page", page(6, 2), 1, 1},
	} {
		b.loads = nil
		sent.reset()
		step.do()
		if sent.roundTrips != step.trips || len(b.loads) != step.loads {
			t.Errorf("%s: %d round trips and %d loads, want %d and %d", step.name, sent.roundTrips, len(b.loads), step.trips, step.loads)
		}
	}
	if diff := cmp.Diff(Stats{Name: "pages", Hits: 400, Misses: 100, Loads: 300, LoadCalls: 3}, h.Stats()); diff != "" {
		t.Error(diff)
	}
}

func failedFirstPages(t *testing.T, w *world) {
	b := variousLists()
	h := firstPagesOf(w.process(t), b, 3, Policy{})
	wantItems(t, h, []int{1, 2}, math.MaxInt64, 1, map[int]ListPage{1: {itemsAt(9), true}, 2: {itemsAt(8), true}})
	b.fails = errDatabase
	for name, tt := range map[string]struct {
		owners []int
		below  int64
	}{
		"first items": {[]int{1, 3}, 9},
		"later items": {[]int{1, 2}, 6},
		"both":        {[]int{1, 2, 3}, 8},
	} {
		got, err := h.Pages(t.Context(), tt.owners, tt.below, 1)
		if !errors.Is(err, errDatabase) || !strings.Contains(err.Error(), "pages") {
			t.Errorf("%s: got %v, want the loader's error", name, err)
		}
		for owner, page := range got {
			if diff := cmp.Diff(b.page(owner, tt.below, 1), page); diff != "" {
				t.Errorf("%s, %d: %s", name, owner, diff)
			}
		}
		if name == "first items" && len(got) != 1 {
			t.Errorf("got %v, want the page of the stored list", got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Pages(ctx, []int{1}, 6, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled reader: got %v, want context.Canceled", err)
	}
}

func unorderedFirstPages(t *testing.T, w *world) {
	b := newItemTable(map[int][]int64{1: {1, 2}, 2: {3, 3}, 3: {9, 8, 7, 4, 5}})
	h := firstPagesOf(w.process(t), b, 2, Policy{})
	for _, owner := range []int{1, 2} {
		if got, err := h.Pages(t.Context(), []int{owner}, math.MaxInt64, 1); err == nil || len(got) != 0 {
			t.Errorf("owner %d: got %v, %v, want an error", owner, got, err)
		}
	}
	if got, err := h.Pages(t.Context(), []int{3}, 7, 2); err == nil || len(got) != 0 {
		t.Errorf("later items: got %v, %v, want an error", got, err)
	}
	if names := w.names(t); len(names) != 1 {
		t.Errorf("got keys %q, want one", names)
	}
	tooMany := NewFirstPages(w.process(t), Policy{Name: "too-many"}, 2, FirstPagesSource[int]{Key: strconv.Itoa, Parse: strconv.Atoi, Load: func(context.Context, []ListRange[int]) (map[int][]ListItem, error) {
		return map[int][]ListItem{1: itemsAt(3, 2, 1)}, nil
	}})
	if got, err := tooMany.Pages(t.Context(), []int{1}, math.MaxInt64, 1); err == nil {
		t.Errorf("too many items: got %v, want an error", got)
	}
}

func TestLocalFirstPagesNeedNoRoundTrip(t *testing.T) {
	b := variousLists()
	sent := new(commandCounter)
	x := miniWorld(t).manualClient(t, Options{LocalBytes: 1 << 20, SingleProcess: true}, sent)
	h := firstPagesOf(x.Client, b, 4, Policy{Local: Local{Share: 1, Criteria: allCriteria}})
	wantItems(t, h, []int{1, 2}, math.MaxInt64, 2, map[int]ListPage{1: {itemsAt(9, 8), true}, 2: {itemsAt(8, 5), true}})
	sent.reset()
	wantItems(t, h, []int{1, 2}, math.MaxInt64, 2, map[int]ListPage{1: {itemsAt(9, 8), true}, 2: {itemsAt(8, 5), true}})
	if sent.roundTrips != 0 {
		t.Errorf("got %d round trips, want none", sent.roundTrips)
	}
	b.put(1, 3)
	must(t, h.Invalidate(t.Context(), 1))
	wantAllPages(t, h, b, 1, 2)
}

func TestFirstPagesWithoutRedisReadTheSource(t *testing.T) {
	rdb := newClient("unix", filepath.Join(t.TempDir(), "missing"))
	defer func() { _ = rdb.Close() }()
	client, err := NewClient(rdb, Options{})
	must(t, err)
	b := variousLists()
	h := firstPagesOf(client, b, 3, Policy{})
	wantAllPages(t, h, b, 1, 2, 3, 4, 5)
	if err := h.Invalidate(t.Context(), 1); err == nil {
		t.Error("a failed invalidation is no error")
	}
	wantAllPages(t, h, b, 1, 2, 3, 4, 5)
}

// Items with the longest possible text still fit into a record.
func TestLargeFirstPageIsStored(t *testing.T) {
	const size = 1000
	w := startMini(t).world(t)
	loads := 0
	h := NewFirstPages(w.process(t), Policy{Name: "large"}, size, FirstPagesSource[int]{Key: strconv.Itoa, Parse: strconv.Atoi, Load: func(context.Context, []ListRange[int]) (map[int][]ListItem, error) {
		loads++
		list := make([]ListItem, size)
		for i := range list {
			list[i] = ListItem{math.MinInt64 + size - int64(i), math.MinInt64}
		}
		return map[int][]ListItem{1: list}, nil
	}})
	for range 2 {
		got, err := h.Pages(t.Context(), []int{1}, math.MaxInt64, size-1)
		must(t, err)
		if len(got[1].Items) != size-1 || !got[1].More {
			t.Errorf("got %d items, more %v, want a full page and more", len(got[1].Items), got[1].More)
		}
	}
	if loads != 1 {
		t.Errorf("got %d loads, want one", loads)
	}
}

// Reads past the first items have the bounds of any load.
func TestReadsPastTheFirstPageTakeSlots(t *testing.T) {
	w := startMini(t).world(t)
	b := variousLists()
	h := NewFirstPages(w.process(t), Policy{Name: "pages", MaxLoads: 1, LoadTimeout: 50 * time.Millisecond}, 2, FirstPagesSource[int]{Key: strconv.Itoa, Parse: strconv.Atoi, Load: b.load})
	wantAllPages(t, h, b, 1) // each read releases its slot
	must(t, h.cache.inside().slots.Acquire(t.Context(), 1))
	if _, err := h.Pages(t.Context(), []int{1}, 7, 2); !errors.Is(err, ErrBusy) {
		t.Errorf("without a slot: got %v, want ErrBusy", err)
	}
	wantItems(t, h, []int{1}, math.MaxInt64, 1, map[int]ListPage{1: {itemsAt(9), true}})
	h.cache.inside().slots.Release(1)
	wantItems(t, h, []int{1}, 7, 2, map[int]ListPage{1: {itemsAt(6, 5), true}})
}

func TestFirstPagesWithoutSizePanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("NewFirstPages accepted size 0")
		}
	}()
	firstPagesOf(startMini(t).world(t).process(t), newItemTable(nil), 0, Policy{})
}
