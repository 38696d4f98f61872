package cache

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
)

// TestWindow runs on every kind of Redis. A number such as A23 is an anomaly in DESIGN.md
// that the case excludes.
func TestWindow(t *testing.T) {
	cases := []struct {
		name string
		run  func(t *testing.T, w *world)
	}{
		{"pages reach the end of a short list", pagesWalkToTheEnd},
		{"a full window ends at its floor", fullWindowEndsAtItsFloor},
		{"ties are paged by member", tiesArePaged},
		{"members round-trip (A27)", membersRoundTrip},
		{"scores are exact up to 2^53", scoresAreExact},
		{"an added entry creates no window (A23)", noPartialList},
		{"a set without marker is no window (A23)", foreignKeysAreNoWindow},
		{"an empty list is stored (A24)", emptyListIsRemembered},
		{"the order of adds does not matter (A25)", orderOfAddsDoesNotMatter},
		{"a full window has the newest entries", fullWindowHasTheNewest},
		{"an added entry may fill a window", addedEntryMayFillIt},
		{"a moved floor drops the window", movedFloorDropsTheWindow},
		{"removed entries are missing", removedIsGone},
		{"a drained window is reloaded", drainedWindowIsLoadedAgain},
		{"an overtaken load is not stored (A1)", overtakenWindowIsNotStored},
		{"a lease belongs to one load (A2)", windowLeaseBelongsToOneLoad},
		{"a read does not join an older load (A3)", windowReadDoesNotJoin},
		{"two processes load a hot missing window once (A4)", hotMissingWindowIsLoadedOnce},
		{"a load survives its reader (A5)", windowLoadSurvivesItsReader},
		{"lease and window have TTLs (A7)", windowKeysHaveTTLs},
		{"TTLs are spread and renewed (A22)", readsRenewWindows},
		{"a failed load hands over", failedWindowLoadHandsOver},
		{"an unordered list is an error", unorderedListIsAnError},
		{"a long wait ends in a load", longWindowWaitLoadsAlone},
		{"writes larger than a batch", largeWindow},
		{"scripts are reloaded", windowScriptsAreReloaded},
		{"round trips", windowRoundTrips},
		{"entries are added to many lists", manyListsAtOnce},
		{"a scan returns windows without renewal", scanReturnsWindows},
		{"pages of many lists", pagesOfMany},
		{"missing windows are loaded together", missingWindowsAreLoadedTogether},
		{"pages of many lists wait for other loads", pagesOfManyWait},
		{"a failed list fails alone", failedListFailsAlone},
		{"loads of many lists survive their reader", manyLoadsSurviveTheirReader},
		{"members are known down to the floor", membersAreKnown},
		{"any member is found (A27)", anyMemberIsFound},
		{"exact removals may be late or repeated", removedExactly},
		{"an exact removal overtakes a load (A1)", exactRemovalOvertakesALoad},
	}
	onEach(t, func(t *testing.T, b *backend) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) { c.run(t, b.world(t)) })
		}
	})
}

// lists stands for a database table with one list per user.
type lists struct {
	mu     sync.Mutex
	byUser map[int][]Entry // newest first
	loads  int
}

func newLists(user int, entries ...Entry) *lists {
	l := &lists{byUser: make(map[int][]Entry)}
	l.insert(user, entries...)
	return l
}

// insert commits entries.
func (l *lists) insert(user int, entries ...Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byUser[user] = newestFirst(append(l.byUser[user], entries...))
}

// remove commits the removal of members.
func (l *lists) remove(user int, members ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byUser[user] = slices.DeleteFunc(l.byUser[user], func(e Entry) bool { return slices.Contains(members, e.Member) })
}

func (l *lists) load(_ context.Context, users []int, limit int) (map[int][]Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loads++
	found := make(map[int][]Entry)
	for _, user := range users {
		if all := l.byUser[user]; len(all) > 0 {
			found[user] = slices.Clone(all[:min(limit, len(all))])
		}
	}
	return found, nil
}

func (l *lists) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.loads
}

// pausing returns a loader whose calls read the lists and then pause, and a function that
// waits for the next such call.
func (l *lists) pausing(t *testing.T) (WindowLoader[int], func() paused) {
	calls, over := make(chan paused), t.Context()
	load := func(ctx context.Context, users []int, limit int) (map[int][]Entry, error) {
		found, _ := l.load(ctx, users, limit)
		p := paused{ctx, make(chan error)}
		select {
		case calls <- p:
		case <-over.Done():
			return nil, over.Err()
		}
		select {
		case err := <-p.end:
			return found, err
		case <-over.Done():
			return nil, over.Err()
		}
	}
	return load, func() paused { return receive(t, calls) }
}

func newestFirst(entries []Entry) []Entry {
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b Entry) int { return b.Compare(a) })
	return entries
}

// numbered returns entries with these scores and different members.
func numbered(scores ...int) []Entry {
	entries := make([]Entry, len(scores))
	for i, s := range scores {
		entries[i] = Entry{Member: fmt.Sprintf("m%03d", s), Score: int64(s)}
	}
	return entries
}

// windowOf returns windows of one process. Nothing expires unless a test sets it.
func windowOf(h *Client, load WindowLoader[int], p WindowPolicy) *Window[int] {
	p.Name = "order:list"
	p.LoadTimeout = positiveOr(p.LoadTimeout, longTime)
	p.LeaseTTL = positiveOr(p.LeaseTTL, longTime)
	return NewWindow(h, p, strconv.Itoa, load)
}

// pageResult is the result of one Page.
type pageResult struct {
	Entries  []Entry
	Complete bool
}

func mustPage(t *testing.T, w *Window[int], user int, after *Entry, first int) pageResult {
	t.Helper()
	entries, complete, err := w.Page(t.Context(), user, after, first)
	if err != nil {
		t.Fatalf("Page(%d, %v, %d): %v", user, after, first, err)
	}
	return pageResult{append([]Entry{}, entries...), complete}
}

type pageOutcome struct {
	pageResult
	err error
}

func pageLater(ctx context.Context, w *Window[int], user int) <-chan pageOutcome {
	done := make(chan pageOutcome, 1)
	go func() {
		entries, complete, err := w.Page(ctx, user, nil, 100)
		done <- pageOutcome{pageResult{append([]Entry{}, entries...), complete}, err}
	}()
	return done
}

func wantPage(t *testing.T, what string, want, got pageResult) {
	t.Helper()
	want.Entries = append([]Entry{}, want.Entries...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantLoads(t *testing.T, l *lists, want int) {
	t.Helper()
	if got := l.count(); got != want {
		t.Errorf("got %d loads, want %d", got, want)
	}
}

// members returns the size of a set in Redis, including the marker.
func (w *world) members(t *testing.T, name string) int64 {
	t.Helper()
	n, err := w.rdb.ZCard(t.Context(), name).Result()
	must(t, err)
	return n
}

func pagesWalkToTheEnd(t *testing.T, w *world) {
	l := newLists(1, numbered(1, 2, 3, 4, 5)...)
	here, there := windowOf(w.process(t), l.load, WindowPolicy{Size: 8}), windowOf(w.process(t), l.load, WindowPolicy{Size: 8})
	for _, win := range []*Window[int]{here, here, there} {
		wantPage(t, "first page", pageResult{numbered(5, 4), true}, mustPage(t, win, 1, nil, 2))
		wantPage(t, "second page", pageResult{numbered(3, 2), true}, mustPage(t, win, 1, &numbered(4)[0], 2))
		wantPage(t, "last page", pageResult{numbered(1), true}, mustPage(t, win, 1, &numbered(2)[0], 2))
		wantPage(t, "beyond the end", pageResult{nil, true}, mustPage(t, win, 1, &numbered(1)[0], 2))
		wantPage(t, "more than the list", pageResult{numbered(5, 4, 3, 2, 1), true}, mustPage(t, win, 1, nil, 1000))
		wantPage(t, "after an unknown entry", pageResult{numbered(2, 1), true}, mustPage(t, win, 1, &Entry{"m0029", 2}, 1000))
		wantPage(t, "after everything", pageResult{numbered(5), true}, mustPage(t, win, 1, &Entry{"", 1 << 60}, 1))
		wantPage(t, "before everything", pageResult{nil, true}, mustPage(t, win, 1, &Entry{"", -1 << 60}, 1))
		wantPage(t, "nothing", pageResult{nil, true}, mustPage(t, win, 1, nil, 0))
	}
	wantLoads(t, l, 1)
	if diff := cmp.Diff(Stats{Name: "order-list", Hits: 15, Misses: 1, Loads: 1, LoadCalls: 1}, here.Stats()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Stats{Name: "order-list", Hits: 8}, there.Stats()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{w.prefix + ":order:list:{1}"}, w.names(t)); diff != "" {
		t.Error("keys", diff)
	}
}

func fullWindowEndsAtItsFloor(t *testing.T, w *world) {
	l := newLists(1, numbered(1, 2, 3, 4, 5)...)
	win := windowOf(w.process(t), l.load, WindowPolicy{Size: 3})
	for _, when := range []string{"loaded", "cached"} {
		wantPage(t, when+", within", pageResult{numbered(5, 4, 3), true}, mustPage(t, win, 1, nil, 3))
		wantPage(t, when+", past the floor", pageResult{numbered(5, 4, 3), false}, mustPage(t, win, 1, nil, 4))
		wantPage(t, when+", over the floor", pageResult{numbered(3), false}, mustPage(t, win, 1, &numbered(4)[0], 2))
		wantPage(t, when+", from the floor", pageResult{nil, false}, mustPage(t, win, 1, &numbered(3)[0], 2))
		wantPage(t, when+", below the floor", pageResult{nil, false}, mustPage(t, win, 1, &numbered(2)[0], 2))
	}
	wantLoads(t, l, 1)
}

func tiesArePaged(t *testing.T, w *world) {
	var all []Entry
	for i := range 30 {
		all = append(all, Entry{fmt.Sprintf("%02d", i), 7})
	}
	all = append(all, Entry{"00", 6}, Entry{"99", 8})
	all[30].Member, all[31].Member = "older", "newer"
	all = newestFirst(all)
	for _, size := range []int{100, 20} {
		l := newLists(size, all...)
		win := NewWindow(w.process(t), WindowPolicy{Name: "tie", Size: size}, strconv.Itoa, l.load)
		for range 2 { // as loaded, then from Redis
			var got []Entry
			var after *Entry
			for {
				page := mustPage(t, win, size, after, 4)
				got = append(got, page.Entries...)
				if len(page.Entries) < 4 {
					if page.Complete != (size == 100) {
						t.Errorf("size %d: got complete %v at the end, want it only if the window is the list", size, page.Complete)
					}
					break
				}
				after = &page.Entries[3]
			}
			if diff := cmp.Diff(all[:min(size, len(all))], got); diff != "" {
				t.Errorf("size %d (-want +got):\n%s", size, diff)
			}
		}
		wantLoads(t, l, 1)
	}
}

func membersRoundTrip(t *testing.T, w *world) {
	members := []string{
		"", "\x00", "\x00\x00", "\x00a", "\x01", "null", "*", "-inf", "0", "a", "A", "ä", "z", "é", "\xff", "\xff\xfe", "{1}", "a b\r\n",
	}
	var all []Entry
	for _, m := range members {
		all = append(all, Entry{m, 7})
	}
	all = newestFirst(all)
	l := newLists(1)
	win := windowOf(w.process(t), l.load, WindowPolicy{})
	mustPage(t, win, 1, nil, 1)
	l.insert(1, all...)
	must(t, win.Add(t.Context(), 1, all...))
	wantPage(t, "added", pageResult{all, true}, mustPage(t, win, 1, nil, 100))
	wantLoads(t, l, 1)

	must(t, win.Invalidate(t.Context(), 1))
	for i := range all { // the first page loads, Redis has the others
		wantPage(t, "one by one", pageResult{all[i : i+1], true}, mustPage(t, win, 1, cursorAt(all, i-1), 1))
	}
	wantLoads(t, l, 2)

	must(t, win.Remove(t.Context(), 1, members...))
	wantPage(t, "removed", pageResult{nil, true}, mustPage(t, win, 1, nil, 100))
	wantLoads(t, l, 2)
}

func cursorAt(all []Entry, i int) *Entry {
	if i < 0 {
		return nil
	}
	return &all[i]
}

func scoresAreExact(t *testing.T, w *world) {
	all := newestFirst([]Entry{
		{"a", maxScore},
		{"b", maxScore - 1},
		{"c", 1_700_000_000_000},
		{"d", 1_700_000_000_001},
		{"e", 1_795_303_468_123},
		{"f", 0},
		{"g", -1},
		{"h", -maxScore},
	})
	l := newLists(1, all[:4]...)
	win := windowOf(w.process(t), l.load, WindowPolicy{})
	mustPage(t, win, 1, nil, 1)
	must(t, win.Add(t.Context(), 1, all[4:]...))
	wantPage(t, "all", pageResult{all, true}, mustPage(t, win, 1, nil, 100))
	for i := range all {
		wantPage(t, "one by one", pageResult{all[i : i+1], true}, mustPage(t, win, 1, cursorAt(all, i-1), 1))
	}
	for _, score := range []int64{maxScore + 1, -maxScore - 1} {
		if err := win.Add(t.Context(), 1, Entry{"x", 1}, Entry{"y", score}); err == nil || !strings.Contains(err.Error(), "2^53") {
			t.Errorf("Add of score %d: got %v, want an error", score, err)
		}
		l.insert(2, Entry{"y", score})
		if _, _, err := win.Page(t.Context(), 2, nil, 1); err == nil || !strings.Contains(err.Error(), "2^53") {
			t.Errorf("load of score %d: got %v, want an error", score, err)
		}
	}
	wantPage(t, "a refused Add changes nothing", pageResult{all, true}, mustPage(t, win, 1, nil, 100))
}

func noPartialList(t *testing.T, w *world) {
	l := newLists(1, numbered(1, 2, 3)...)
	win := windowOf(w.process(t), l.load, WindowPolicy{})
	mustPage(t, win, 1, nil, 10)
	must(t, w.rdb.Del(t.Context(), win.nameOf(1)).Err()) // like its expiry
	l.insert(1, numbered(4)...)
	must(t, win.Add(t.Context(), 1, numbered(4)...))
	if diff := cmp.Diff([]string(nil), w.names(t)); diff != "" {
		t.Error("keys", diff)
	}
	for range 2 {
		wantPage(t, "the list", pageResult{numbered(4, 3, 2, 1), true}, mustPage(t, win, 1, nil, 10))
	}
	wantLoads(t, l, 2)
}

func foreignKeysAreNoWindow(t *testing.T, w *world) {
	l := newLists(1, numbered(1, 2)...)
	win := windowOf(w.process(t), l.load, WindowPolicy{})
	name := win.nameOf(1)
	creates := map[string]func() error{
		"a set": func() error { return w.rdb.ZAdd(t.Context(), name, redis.Z{Member: "m009", Score: 9}).Err() },
		"text":  func() error { return w.rdb.Set(t.Context(), name, "[]", 0).Err() },
	}
	writes := map[string]func() error{
		"read":   func() error { return nil },
		"add":    func() error { return win.Add(t.Context(), 1, numbered(2)...) },
		"remove": func() error { return win.Remove(t.Context(), 1, "m009") },
	}
	for what, create := range creates {
		for how, write := range writes {
			before := l.count()
			must(t, w.rdb.Del(t.Context(), name).Err())
			must(t, create())
			must(t, write())
			for range 2 {
				wantPage(t, what+", "+how, pageResult{numbered(2, 1), true}, mustPage(t, win, 1, nil, 10))
			}
			wantLoads(t, l, before+1)
		}
	}
	if got := win.Stats().RedisErrors; got != 0 {
		t.Errorf("got %d Redis errors, want none", got)
	}
}

func emptyListIsRemembered(t *testing.T, w *world) {
	l := newLists(1)
	win := windowOf(w.process(t), l.load, WindowPolicy{})
	for range 2 {
		wantPage(t, "empty", pageResult{nil, true}, mustPage(t, win, 1, nil, 10))
	}
	l.insert(1, numbered(5)...)
	must(t, win.Add(t.Context(), 1, numbered(5)...))
	wantPage(t, "after the first", pageResult{numbered(5), true}, mustPage(t, win, 1, nil, 10))
	must(t, win.Remove(t.Context(), 1, "m005", ""))
	wantPage(t, "empty again", pageResult{nil, true}, mustPage(t, win, 1, nil, 10))
	wantLoads(t, l, 1)
}

func orderOfAddsDoesNotMatter(t *testing.T, w *world) {
	l := newLists(1)
	win := windowOf(w.process(t), l.load, WindowPolicy{Size: 4})
	all := numbered(1, 2, 3, 4, 5, 6, 7)
	for user := range 10 {
		mustPage(t, win, user, nil, 10)
		for _, i := range rand.Perm(len(all)) {
			must(t, win.Add(t.Context(), user, all[i]))
		}
		wantPage(t, "added", pageResult{numbered(7, 6, 5, 4), false}, mustPage(t, win, user, nil, 10))
	}
	wantLoads(t, l, 10)
}

func fullWindowHasTheNewest(t *testing.T, w *world) {
	ties := []Entry{{"c", 5}, {"b", 5}}
	l := newLists(1, append(numbered(1, 2, 3, 7, 6), ties...)...)
	win := windowOf(w.process(t), l.load, WindowPolicy{Size: 4})
	want := append(numbered(7, 6), ties...)
	wantPage(t, "loaded", pageResult{want, false}, mustPage(t, win, 1, nil, 10))
	for _, e := range []Entry{{"a", 5}, {"m004", 4}, {"", 5}, {"b", 5}} { // below the floor, and the floor again
		must(t, win.Add(t.Context(), 1, e))
		wantPage(t, fmt.Sprint("added ", e), pageResult{want, false}, mustPage(t, win, 1, nil, 10))
	}
	must(t, win.Add(t.Context(), 1, Entry{"bb", 5}))
	wantPage(t, "just above the floor", pageResult{append(numbered(7, 6), Entry{"c", 5}, Entry{"bb", 5}), false}, mustPage(t, win, 1, nil, 10))
	must(t, win.Add(t.Context(), 1, numbered(9, 4, 8)...))
	wantPage(t, "newer ones", pageResult{numbered(9, 8, 7, 6), false}, mustPage(t, win, 1, nil, 10))
	if got := w.members(t, win.nameOf(1)); got != 5 {
		t.Errorf("got %d members in the set, want 4 and the marker", got)
	}
	// The window has space now, but entries below its floor are missing.
	must(t, win.Remove(t.Context(), 1, "m009", "m008"))
	must(t, win.Add(t.Context(), 1, numbered(4)...))
	wantPage(t, "below the floor", pageResult{numbered(7, 6), false}, mustPage(t, win, 1, nil, 10))
	wantLoads(t, l, 1)
}

func addedEntryMayFillIt(t *testing.T, w *world) {
	l := newLists(1, numbered(1, 2)...)
	win := windowOf(w.process(t), l.load, WindowPolicy{Size: 3})
	mustPage(t, win, 1, nil, 10)
	must(t, win.Add(t.Context(), 1, numbered(3)...))
	wantPage(t, "three of three", pageResult{numbered(3, 2, 1), true}, mustPage(t, win, 1, nil, 10))
	must(t, win.Add(t.Context(), 1, numbered(4)...))
	wantPage(t, "three of four", pageResult{numbered(4, 3, 2), false}, mustPage(t, win, 1, nil, 10))
	must(t, win.Remove(t.Context(), 1, "m003"))
	wantPage(t, "two of three", pageResult{numbered(4, 2), false}, mustPage(t, win, 1, nil, 10))
	wantLoads(t, l, 1)
}

// movedFloorDropsTheWindow has an entry with score 3 below the window. When the floor moves
// there, the window must not claim that no entry is in between.
func movedFloorDropsTheWindow(t *testing.T, w *world) {
	for _, to := range []int64{1, 9} {
		l := newLists(1, numbered(3, 4, 5, 6)...)
		win := windowOf(w.process(t), l.load, WindowPolicy{Size: 3})
		must(t, win.Invalidate(t.Context(), 1))
		mustPage(t, win, 1, nil, 10)
		l.remove(1, "m004")
		l.insert(1, Entry{"m004", to})
		must(t, win.Add(t.Context(), 1, Entry{"m004", to}))
		all := newestFirst(append(numbered(3, 5, 6), Entry{"m004", to}))
		wantPage(t, fmt.Sprint("moved to ", to), pageResult{all[:3], false}, mustPage(t, win, 1, nil, 10))
		wantLoads(t, l, 2)
	}
}

func removedIsGone(t *testing.T, w *world) {
	l := newLists(1, numbered(1, 2, 3, 4, 5, 6)...)
	win := windowOf(w.process(t), l.load, WindowPolicy{Size: 4})
	mustPage(t, win, 1, nil, 10)
	must(t, win.Remove(t.Context(), 1, "m005", "m003", "m001", "unknown"))
	wantPage(t, "removed", pageResult{numbered(6, 4), false}, mustPage(t, win, 1, nil, 10))
	must(t, win.Add(t.Context(), 1, numbered(3)...))
	wantPage(t, "below the new floor", pageResult{numbered(6, 4), false}, mustPage(t, win, 1, nil, 10))
	wantLoads(t, l, 1)
}

func drainedWindowIsLoadedAgain(t *testing.T, w *world) {
	for _, size := range []int{1, 3} {
		l := newLists(size, numbered(1, 2, 3, 4, 5)...)
		win := NewWindow(w.process(t), WindowPolicy{Name: "drain", Size: size}, strconv.Itoa, l.load)
		mustPage(t, win, size, nil, 10)
		l.remove(size, "m005", "m004")
		must(t, win.Remove(t.Context(), size, "m005", "m004"))
		wantPage(t, "reloaded", pageResult{newestFirst(numbered(1, 2, 3))[:size], false}, mustPage(t, win, size, nil, 10))
		wantLoads(t, l, 2)
	}
}

func overtakenWindowIsNotStored(t *testing.T, w *world) {
	writes := map[string]func(l *lists, win *Window[int]) error{
		"add": func(l *lists, win *Window[int]) error {
			l.insert(1, numbered(9)...)
			return win.Add(t.Context(), 1, numbered(9)...)
		},
		"remove": func(l *lists, win *Window[int]) error {
			l.remove(1, "m002")
			return win.Remove(t.Context(), 1, "m002")
		},
		"invalidate": func(l *lists, win *Window[int]) error {
			l.insert(1, numbered(9)...)
			return win.Invalidate(t.Context(), 2, 1)
		},
	}
	for name, write := range writes {
		l := newLists(1, numbered(1, 2)...)
		load, nextLoad := l.pausing(t)
		here, there := windowOf(w.process(t), load, WindowPolicy{}), windowOf(w.process(t), l.load, WindowPolicy{})
		must(t, there.Invalidate(t.Context(), 1))
		first := pageLater(t.Context(), here, 1)
		p := nextLoad()
		must(t, write(l, there))
		p.end <- nil

		if got := receive(t, first); got.err != nil || len(got.Entries) != 2 {
			t.Errorf("%s: overtaken reader: got %v, want its own list", name, got)
		}
		l.mu.Lock()
		want := pageResult{l.byUser[1], true}
		l.mu.Unlock()
		wantPage(t, name+", the next reader", want, mustPage(t, there, 1, nil, 10))
		wantPage(t, name+", the first process then", want, mustPage(t, here, 1, nil, 10))
		if diff := cmp.Diff(Stats{Name: "order-list", Hits: 1, Misses: 1, Loads: 1, LoadCalls: 1, StoresRefused: 1}, here.Stats()); diff != "" {
			t.Error(name, diff)
		}
	}
}

func windowLeaseBelongsToOneLoad(t *testing.T, w *world) {
	l := newLists(1, numbered(1)...)
	load, nextLoad := l.pausing(t)
	here, there := windowOf(w.process(t), load, WindowPolicy{}), windowOf(w.process(t), l.load, WindowPolicy{})
	first := pageLater(t.Context(), here, 1)
	old := nextLoad()
	l.insert(1, numbered(2)...)
	must(t, here.Add(t.Context(), 1, numbered(2)...))
	second := pageLater(t.Context(), here, 1)
	later := nextLoad() // holds the lease now
	old.end <- nil
	receive(t, first)
	if n := w.rdb.Exists(t.Context(), here.nameOf(1)).Val(); n != 0 {
		t.Error("the older load stored its list under the later lease")
	}
	later.end <- nil
	wantPage(t, "the second reader", pageResult{numbered(2, 1), true}, receive(t, second).pageResult)
	wantPage(t, "another process", pageResult{numbered(2, 1), true}, mustPage(t, there, 1, nil, 10))
	wantLoads(t, l, 2)
}

func windowReadDoesNotJoin(t *testing.T, w *world) {
	l := newLists(1, numbered(1)...)
	load, nextLoad := l.pausing(t)
	here := windowOf(w.process(t), load, WindowPolicy{})
	first := pageLater(t.Context(), here, 1)
	old := nextLoad()
	l.insert(1, numbered(2)...)
	must(t, here.Add(t.Context(), 1, numbered(2)...))
	second := pageLater(t.Context(), here, 1)
	nextLoad().end <- nil // while the old load still runs
	wantPage(t, "the second reader", pageResult{numbered(2, 1), true}, receive(t, second).pageResult)
	old.end <- nil
	wantPage(t, "the first reader", pageResult{numbered(1), true}, receive(t, first).pageResult)
}

func hotMissingWindowIsLoadedOnce(t *testing.T, w *world) {
	l := newLists(1, numbered(1, 2)...)
	load, nextLoad := l.pausing(t)
	windows := []*Window[int]{windowOf(w.process(t), load, WindowPolicy{}), windowOf(w.process(t), load, WindowPolicy{})}
	var readers []<-chan pageOutcome
	for i := range 16 {
		readers = append(readers, pageLater(t.Context(), windows[i%2], 1))
	}
	p := nextLoad()
	eventually(t, "15 readers wait", func() bool { return windows[0].Stats().Waits+windows[1].Stats().Waits == 15 })
	p.end <- nil
	for _, r := range readers {
		got := receive(t, r)
		must(t, got.err)
		wantPage(t, "a reader", pageResult{numbered(2, 1), true}, got.pageResult)
	}
	wantLoads(t, l, 1)
}

func windowLoadSurvivesItsReader(t *testing.T, w *world) {
	l := newLists(1, numbered(1)...)
	load, nextLoad := l.pausing(t)
	h := w.process(t)
	win := windowOf(h, load, WindowPolicy{})
	there := windowOf(w.process(t), l.load, WindowPolicy{LeaseTTL: 5 * time.Second, LoadTimeout: 5 * time.Second})
	ctx, leave := context.WithCancel(t.Context())
	first := pageLater(ctx, win, 1)
	p := nextLoad()
	leave()
	if got := receive(t, first); !errors.Is(got.err, context.Canceled) {
		t.Errorf("cancelled reader: got %v, want context.Canceled", got)
	}
	if _, ok := p.ctx.Deadline(); !ok || p.ctx.Err() != nil {
		t.Errorf("got load with deadline %v, ended %v, want a running one with a deadline", ok, p.ctx.Err())
	}
	p.end <- nil
	h.Wait()
	wantPage(t, "another reader", pageResult{numbered(1), true}, mustPage(t, there, 1, nil, 10))
	wantLoads(t, l, 1)
}

func windowKeysHaveTTLs(t *testing.T, w *world) {
	l := newLists(1, numbered(1)...)
	load, nextLoad := l.pausing(t)
	here := windowOf(w.process(t), load, WindowPolicy{LeaseTTL: time.Minute})
	there := windowOf(w.process(t), l.load, WindowPolicy{})
	mustPage(t, there, 7, nil, 10) // empty
	crashed := pageLater(t.Context(), here, 1)
	p := nextLoad() // from here on its process looks dead to Redis
	left := w.rdb.PTTL(t.Context(), leaseOf(here.nameOf(1))).Val()
	if left <= 0 || left > time.Minute {
		t.Errorf("got lease TTL %v, want more than 0 and at most a minute", left)
	}
	must(t, w.rdb.Del(t.Context(), leaseOf(here.nameOf(1))).Err()) // like its expiry
	wantPage(t, "its successor", pageResult{numbered(1), true}, mustPage(t, there, 1, nil, 10))
	p.end <- nil
	receive(t, crashed)
	if got := here.Stats().StoresRefused; got != 1 {
		t.Errorf("got %d stores refused after the lease expired, want 1", got)
	}
	must(t, there.Add(t.Context(), 1, numbered(2)...))
	must(t, there.Remove(t.Context(), 1, "m001"))
	names := w.names(t)
	if len(names) != 2 {
		t.Errorf("got keys %q, want two windows", names)
	}
	for _, name := range names {
		if left := w.rdb.PTTL(t.Context(), name).Val(); left <= 0 {
			t.Errorf("%s has no TTL: %v", name, left)
		}
	}
}

func readsRenewWindows(t *testing.T, w *world) {
	const life = time.Hour
	l := newLists(1)
	win := windowOf(w.process(t), l.load, WindowPolicy{TTL: life})
	shortest, longest := life, time.Duration(0)
	for user := range 100 {
		mustPage(t, win, user, nil, 10)
		left := w.rdb.PTTL(t.Context(), win.nameOf(user)).Val()
		shortest, longest = min(shortest, left), max(longest, left)
	}
	if shortest < life*8/10 || longest > life || longest-shortest < life/50 {
		t.Errorf("got TTLs from %v to %v, want them spread over the last tenth of %v", shortest, longest, life)
	}
	tests := []struct {
		name  string
		left  time.Duration
		do    func() error
		renew bool
	}{
		{"old, read", life / 2, func() error { mustPage(t, win, 1, nil, 10); return nil }, true},
		{"recent, read", life * 4 / 5, func() error { mustPage(t, win, 1, nil, 10); return nil }, false},
		{"old, written", life / 2, func() error { return win.Add(t.Context(), 1, numbered(1)...) }, false},
	}
	for _, test := range tests {
		must(t, w.rdb.PExpire(t.Context(), win.nameOf(1), test.left).Err())
		must(t, test.do())
		left := w.rdb.PTTL(t.Context(), win.nameOf(1)).Val()
		if left < test.left/2 || left > life || test.renew != (left > test.left) {
			t.Errorf("%s: got TTL %v of %v, want renewed %v", test.name, left, test.left, test.renew)
		}
	}
}

func failedWindowLoadHandsOver(t *testing.T, w *world) {
	l := newLists(1, numbered(1)...)
	failures := map[string]func() error{
		"an error": func() error { return errDatabase },
		"a panic":  func() error { panic(errDatabase) },
		"an exit":  func() error { runtime.Goexit(); return nil },
	}
	for name, fail := range failures {
		failing := true
		win := windowOf(w.process(t), func(ctx context.Context, users []int, limit int) (map[int][]Entry, error) {
			if failing {
				return nil, fail()
			}
			return l.load(ctx, users, limit)
		}, WindowPolicy{LeaseTTL: time.Second, LoadTimeout: 20 * time.Second})
		must(t, win.Invalidate(t.Context(), 1))
		if _, _, err := win.Page(t.Context(), 1, nil, 10); err == nil {
			t.Errorf("%s of the loader: got no error, want one", name)
		} else if name == "an error" && (!errors.Is(err, errDatabase) || !strings.Contains(err.Error(), "order:list")) {
			t.Errorf("%s: got unexpected error %v", name, err)
		}
		if w.elapse != nil {
			w.elapse(time.Second) // an exit leaves the lease until it expires
		}
		failing = false
		wantPage(t, name, pageResult{numbered(1), true}, mustPage(t, win, 1, nil, 10))
		if got := win.Stats(); name != "an exit" && got.Waits != 0 || got.LoadErrors > 1 {
			t.Errorf("%s: got %+v, want no waits", name, got)
		}
	}
}

func unorderedListIsAnError(t *testing.T, w *world) {
	for _, scores := range [][]int{{1, 2}, {3, 2, 2}, {3, 1, 2}} {
		win := windowOf(w.process(t), always(numbered(scores...)), WindowPolicy{})
		if got, _, err := win.Page(t.Context(), 1, nil, 10); err == nil || got != nil {
			t.Errorf("scores %d: got %v, %v, want an error", scores, got, err)
		}
		if names := w.names(t); len(names) != 0 {
			t.Fatalf("scores %d: got keys %q, want none", scores, names)
		}
	}
	long := windowOf(w.process(t), always(numbered(4, 3, 2, 1)), WindowPolicy{Size: 2})
	for range 2 {
		wantPage(t, "more than the limit", pageResult{numbered(4, 3), false}, mustPage(t, long, 1, nil, 10))
	}
}

// always returns a loader with the same entries for every list.
func always(entries []Entry) WindowLoader[int] {
	return func(_ context.Context, users []int, _ int) (map[int][]Entry, error) {
		found := make(map[int][]Entry)
		for _, user := range users {
			found[user] = entries
		}
		return found, nil
	}
}

func longWindowWaitLoadsAlone(t *testing.T, w *world) {
	l := newLists(1, numbered(1)...)
	load, nextLoad := l.pausing(t)
	slow := windowOf(w.process(t), load, WindowPolicy{})
	hasty := windowOf(w.process(t), l.load, WindowPolicy{LeaseTTL: 10 * time.Millisecond, LoadTimeout: 500 * time.Millisecond})
	first := pageLater(t.Context(), slow, 1)
	p := nextLoad()
	wantPage(t, "after the wait", pageResult{numbered(1), true}, mustPage(t, hasty, 1, nil, 10))
	if diff := cmp.Diff(Stats{Name: "order-list", Misses: 1, Waits: 1, Loads: 1, LoadCalls: 1}, hasty.Stats()); diff != "" {
		t.Error(diff)
	}
	if n := w.rdb.Exists(t.Context(), hasty.nameOf(1)).Val(); n != 0 {
		t.Error("stored without a lease")
	}
	ctx, leave := context.WithCancel(t.Context())
	patient := windowOf(w.process(t), l.load, WindowPolicy{})
	waiting := pageLater(ctx, patient, 1)
	eventually(t, "a reader waits", func() bool { return patient.Stats().Waits == 1 })
	leave()
	if got := receive(t, waiting); !errors.Is(got.err, context.Canceled) {
		t.Errorf("cancelled reader: got %v, want context.Canceled", got)
	}
	p.end <- nil
	receive(t, first)
}

func largeWindow(t *testing.T, w *world) {
	var all []Entry
	for i := range 1700 {
		all = append(all, Entry{strconv.Itoa(i), int64(i / 3)})
	}
	all = newestFirst(all)
	l := newLists(1, all[1100:]...)
	win := windowOf(w.process(t), l.load, WindowPolicy{Size: 1200})
	mustPage(t, win, 1, nil, 1)
	must(t, win.Add(t.Context(), 1, all[:1100]...))
	wantPage(t, "added", pageResult{all[:1200], false}, mustPage(t, win, 1, nil, 1700))
	wantLoads(t, l, 1)
	must(t, win.Invalidate(t.Context(), 1))
	l.insert(1, all[:1100]...)
	for range 2 {
		wantPage(t, "loaded", pageResult{all[:1200], false}, mustPage(t, win, 1, nil, 1700))
	}
	wantLoads(t, l, 2)
	var removals []string
	for _, e := range all[:600] {
		removals = append(removals, e.Member)
	}
	must(t, win.Remove(t.Context(), 1, removals...))
	wantPage(t, "removed", pageResult{all[600:1200], false}, mustPage(t, win, 1, nil, 1700))
	wantLoads(t, l, 2)
	must(t, win.Add(t.Context(), 1))
	must(t, win.Remove(t.Context(), 1))
	must(t, win.Invalidate(t.Context()))
}

func windowScriptsAreReloaded(t *testing.T, w *world) {
	l := newLists(1, numbered(1)...)
	win := windowOf(w.process(t), l.load, WindowPolicy{})
	steps := []func() error{
		func() error { mustPage(t, win, 1, nil, 10); return nil },
		func() error { return win.Add(t.Context(), 1, numbered(2, 3)...) },
		func() error { return win.Remove(t.Context(), 1, "m002") },
		func() error {
			wantPage(t, "at the end", pageResult{numbered(3, 1), true}, mustPage(t, win, 1, nil, 10))
			return nil
		},
	}
	for _, step := range steps {
		must(t, w.admin(t).ScriptFlush(t.Context()).Err())
		must(t, step())
	}
	wantLoads(t, l, 1)
}

func windowRoundTrips(t *testing.T, w *world) {
	l := newLists(1, numbered(1, 2, 3)...)
	sent := new(commandCounter)
	win := windowOf(w.process(t, sent), l.load, WindowPolicy{})
	page := func() error { _, _, err := win.Page(t.Context(), 1, nil, 10); return err }
	pages := func() error { _, err := win.Pages(t.Context(), upTo(100), 10); return err }
	steps := []struct {
		name string
		do   func() error
		want int
	}{
		{"first read", page, 0},
		{"first add", func() error { return win.Add(t.Context(), 1, numbered(4)...) }, 0},
		{"first removal", func() error { return win.Remove(t.Context(), 1, "m004") }, 0},
		{"a hit", page, 1},
		{"an added entry", func() error { return win.Add(t.Context(), 1, numbered(4)...) }, 1},
		{"adding to 100 lists with one window", func() error { return win.AddEach(t.Context(), inEach(100, numbered(4)...)) }, 2},
		{"a removed entry", func() error { return win.Remove(t.Context(), 1, "m004") }, 1},
		{"invalidating 100", func() error { return win.Invalidate(t.Context(), make([]int, 100)...) }, 1},
		{"invalidating one", func() error { return win.Invalidate(t.Context(), 1) }, 1},
		{"adding to 100 lists without windows", func() error { return win.AddEach(t.Context(), inEach(100, numbered(4)...)) }, 1},
		{"a miss", page, 3},
		{"first lookup of members", func() error { _, err := win.Has(t.Context(), 1, nil); return err }, 0},
		{"1200 members", func() error { _, err := win.Has(t.Context(), 1, make([]string, 1200)); return err }, 1},
		{"an exact removal", func() error { return win.RemoveExactly(t.Context(), 1, numbered(4)...) }, 1},
		{"pages of 100 lists with one window", pages, 2},
		{"pages of 100 lists", pages, 1},
	}
	for _, step := range steps {
		must(t, step.do())
		got := sent.roundTrips
		sent.reset()
		if step.want != 0 && got != step.want {
			t.Errorf("%s: got %d round trips, want %d", step.name, got, step.want)
		}
	}
}

// inEach returns the same entries for lists 1 to n.
func inEach(n int, entries ...Entry) map[int][]Entry {
	all := make(map[int][]Entry, n)
	for k := 1; k <= n; k++ {
		all[k] = entries
	}
	return all
}

func manyListsAtOnce(t *testing.T, w *world) {
	const present, missing = 700, 300
	l := newLists(0)
	win := windowOf(w.process(t), l.load, WindowPolicy{Size: 3})
	for k := 1; k <= present; k++ {
		l.insert(k, numbered(1)...)
		mustPage(t, win, k, nil, 1)
	}
	before := l.count()
	must(t, win.AddEach(t.Context(), inEach(present+missing, numbered(2, 3)...)))
	for _, k := range []int{1, present / 2, present} {
		wantPage(t, "a list with a window", pageResult{numbered(3, 2, 1), true}, mustPage(t, win, k, nil, 3))
	}
	if n := l.count() - before; n != 0 {
		t.Errorf("got %d loads of lists with windows, want none", n)
	}
	wantPage(t, "a list without window", pageResult{nil, true}, mustPage(t, win, present+1, nil, 3))
}

// scanReturnsWindows also has keys that are no windows.
func scanReturnsWindows(t *testing.T, w *world) {
	l := newLists(1, numbered(2, 1)...)
	l.insert(2, numbered(5, 4, 3)...)
	win := windowOf(w.process(t), l.load, WindowPolicy{Size: 3})
	for k := range 4 { // 0 and 3 are empty
		mustPage(t, win, k, nil, 1)
	}
	must(t, w.rdb.Set(t.Context(), win.nameOf(8), "a string", time.Minute).Err())
	must(t, w.rdb.ZAdd(t.Context(), win.nameOf(9), redis.Z{Score: 1, Member: "no marker"}).Err())
	must(t, w.rdb.ZAdd(t.Context(), win.prefix+"words}", redis.Z{Score: 1, Member: ""}).Err())
	must(t, w.rdb.Set(t.Context(), leaseOf(win.nameOf(7)), "a token", time.Minute).Err())
	must(t, w.rdb.PExpire(t.Context(), win.nameOf(1), time.Minute).Err())

	got := map[int]WindowSnapshot[int]{}
	var at ScanCursor
	for steps := 0; steps == 0 || at != (ScanCursor{}); steps++ {
		var windows []WindowSnapshot[int]
		var err error
		windows, at, err = win.Scan(t.Context(), at, strconv.Atoi)
		must(t, err)
		for _, k := range windows {
			got[k.Key] = k
		}
		if steps > 1000 {
			t.Fatal("the scan does not end")
		}
	}
	want := map[int]WindowSnapshot[int]{
		0: {Key: 0, Entries: []Entry{}, Whole: true},
		1: {Key: 1, Entries: numbered(2, 1), Whole: true},
		2: {Key: 2, Entries: numbered(5, 4, 3)},
		3: {Key: 3, Entries: []Entry{}, Whole: true},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("windows (-want +got):\n%s", d)
	}
	if left := w.rdb.PTTL(t.Context(), win.nameOf(1)).Val(); left > time.Minute {
		t.Errorf("got TTL %v after a scan, want no renewal", left)
	}
}

func TestWindowsWithoutRedisReadTheSource(t *testing.T) {
	rdb := newClient("unix", filepath.Join(t.TempDir(), "missing"))
	defer func() { _ = rdb.Close() }()
	h, err := NewClient(rdb, Options{})
	must(t, err)
	l := newLists(1, numbered(1, 2, 3)...)
	win := windowOf(h, l.load, WindowPolicy{Size: 2})
	wantPage(t, "first page", pageResult{numbered(3), true}, mustPage(t, win, 1, nil, 1))
	wantPage(t, "past the floor", pageResult{numbered(2), false}, mustPage(t, win, 1, &numbered(3)[0], 5))
	wantPages(t, win, []int{1, 2, 1}, 2, map[int]Page{1: {numbered(3, 2), true}, 2: {nil, true}})
	wantMembers(t, win, 1, []string{"m003", "m001"}, Membership{Has: map[string]bool{"m003": true}, Floor: 2})
	for name, err := range map[string]error{
		"add 2 entries to window order:list":      win.Add(t.Context(), 1, numbered(4, 5)...),
		"remove 1 members from window order:list": win.Remove(t.Context(), 1, "m003"),
		"remove 2 members from window order:list": win.RemoveExactly(t.Context(), 1, numbered(3, 2)...),
		"invalidate 1 windows order:list":         win.Invalidate(t.Context(), 1),
	} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want an error with %q", err, name)
		}
	}
	if diff := cmp.Diff(Stats{Name: "order-list", Misses: 5, Loads: 5, LoadCalls: 4, RedisErrors: 8}, win.Stats()); diff != "" {
		t.Error(diff)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := win.Page(ctx, 1, nil, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled reader, Page: got %v, want context.Canceled", err)
	}
	if pages, err := win.Pages(ctx, []int{1, 2}, 1); !errors.Is(err, context.Canceled) || len(pages) != 0 {
		t.Errorf("cancelled reader, Pages: got %v, %v, want context.Canceled", pages, err)
	}
	wantLoads(t, l, 4)
}

func TestWindowSurvivesRedisFailureDuringLoad(t *testing.T) {
	m := miniredis.RunT(t)
	rdb := newClient("tcp", m.Addr())
	defer func() { _ = rdb.Close() }()
	h, err := NewClient(rdb, Options{})
	must(t, err)
	l := newLists(1, numbered(1)...)
	win := windowOf(h, func(ctx context.Context, users []int, limit int) (map[int][]Entry, error) {
		m.Close()
		return l.load(ctx, users, limit)
	}, WindowPolicy{})
	wantPage(t, "loaded", pageResult{numbered(1), true}, mustPage(t, win, 1, nil, 10))
	if diff := cmp.Diff(Stats{Name: "order-list", Misses: 1, Loads: 1, LoadCalls: 1, RedisErrors: 1}, win.Stats()); diff != "" {
		t.Error(diff)
	}
}

func TestNewWindowRejectsInvalidPolicies(t *testing.T) {
	rdb := newClient("tcp", "localhost:0")
	defer func() { _ = rdb.Close() }()
	h, err := NewClient(rdb, Options{})
	must(t, err)
	l := newLists(1)
	NewWindow(h, WindowPolicy{Name: "taken:list", Size: maxWindow}, strconv.Itoa, l.load)
	for _, p := range []WindowPolicy{{}, {Name: "taken:list"}, {Name: "a{b}"}, {Name: "Order"}, {Name: "large", Size: maxWindow + 1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("NewWindow accepted %+v", p)
				}
			}()
			NewWindow(h, p, strconv.Itoa, l.load)
		}()
	}
}
