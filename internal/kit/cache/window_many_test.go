package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/redis/go-redis/v9"
)

// Cases of TestWindow: pages of many lists, members, exact removals.

func wantPages(t *testing.T, w *Window[int], users []int, first int, want map[int]Page) {
	t.Helper()
	got, err := w.Pages(t.Context(), users, first)
	must(t, err)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("Pages(%v, %d) (-want +got):\n%s", users, first, diff)
	}
}

func wantMembers(t *testing.T, w *Window[int], user int, members []string, want Membership) {
	t.Helper()
	got, err := w.Has(t.Context(), user, members)
	must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Has(%d, %.100q) (-want +got):\n%s", user, members, diff)
	}
}

// upTo returns the lists 1 to n.
func upTo(n int) []int {
	users := make([]int, n)
	for i := range users {
		users[i] = i + 1
	}
	return users
}

type pagesOutcome struct {
	pages map[int]Page
	err   error
}

func pagesLater(ctx context.Context, w *Window[int], users ...int) <-chan pagesOutcome {
	done := make(chan pagesOutcome, 1)
	go func() {
		pages, err := w.Pages(ctx, users, 100)
		done <- pagesOutcome{pages, err}
	}()
	return done
}

func pagesOfMany(t *testing.T, w *world) {
	l := newLists(1, numbered(1, 2, 3, 4, 5)...)
	l.insert(2, numbered(6, 7)...)
	l.insert(3, numbered(1, 2, 3)...)
	win := windowOf(w.process(t), l.load, WindowPolicy{Size: 3})
	users := []int{3, 1, 2, 4, 1}
	for range 2 { // as loaded, then from Redis
		wantPages(t, win, users, 2, map[int]Page{1: {numbered(5, 4), true}, 2: {numbered(7, 6), true}, 3: {numbered(3, 2), true}, 4: {nil, true}})
		wantPages(t, win, users, 4, map[int]Page{1: {numbered(5, 4, 3), false}, 2: {numbered(7, 6), true}, 3: {numbered(3, 2, 1), false}, 4: {nil, true}})
	}
	wantPages(t, win, users, 0, map[int]Page{1: {nil, true}, 2: {nil, true}, 3: {nil, true}, 4: {nil, true}})
	wantPages(t, win, nil, 2, nil)
	wantLoads(t, l, 1)
	if diff := cmp.Diff(Stats{Name: "order-list", Hits: 12, Misses: 4, Loads: 4, LoadCalls: 1}, win.Stats()); diff != "" {
		t.Error(diff)
	}
	for _, user := range upTo(4) {
		if left := w.rdb.PTTL(t.Context(), win.nameOf(user)).Val(); left <= 0 {
			t.Errorf("the window of %d has no TTL: %v", user, left)
		}
	}
}

// missingWindowsAreLoadedTogether has more lists than a batch, and more entries than a round
// trip carries.
func missingWindowsAreLoadedTogether(t *testing.T, w *world) {
	const n, each = batch + 100, 50
	scores := make([]int, each)
	for i := range scores {
		scores[i] = each - i
	}
	want := make(map[int]Page)
	l := newLists(0)
	for _, user := range upTo(n) {
		l.byUser[user] = numbered(scores...)
		want[user] = Page{numbered(scores...), true}
	}
	win := windowOf(w.process(t), l.load, WindowPolicy{Size: each})
	mustPage(t, win, 7, nil, 1)
	wantPages(t, win, upTo(n), each, want)
	wantLoads(t, l, 3) // one by Page, and two batches
	wantPages(t, win, upTo(n), each, want)
	wantLoads(t, l, 3)
	if s := win.Stats(); s.Loads != n || s.StoresRefused != 0 {
		t.Errorf("got %+v, want each list loaded once and stored", s)
	}
}

func pagesOfManyWait(t *testing.T, w *world) {
	l := newLists(1, numbered(1)...)
	l.insert(2, numbered(2)...)
	l.insert(3, numbered(3)...)
	load, nextLoad := l.pausing(t)
	other := windowOf(w.process(t), load, WindowPolicy{})
	here := windowOf(w.process(t), l.load, WindowPolicy{})
	one, two := pageLater(t.Context(), other, 1), pageLater(t.Context(), other, 2)
	a, b := nextLoad(), nextLoad()
	many := pagesLater(t.Context(), here, 1, 2, 3)
	eventually(t, "two of three lists wait", func() bool { return here.Stats().Waits == 2 })
	wantLoads(t, l, 3) // two elsewhere, list 3 here
	a.end <- nil
	b.end <- errDatabase
	receive(t, one)
	receive(t, two)
	got := receive(t, many)
	must(t, got.err)
	want := map[int]Page{1: {numbered(1), true}, 2: {numbered(2), true}, 3: {numbered(3), true}}
	if diff := cmp.Diff(want, got.pages); diff != "" {
		t.Error(diff)
	}
	wantLoads(t, l, 4) // and the failed one elsewhere

	ctx, leave := context.WithCancel(t.Context())
	must(t, here.Invalidate(t.Context(), 1))
	one = pageLater(t.Context(), other, 1)
	a = nextLoad()
	many = pagesLater(ctx, here, 1, 2)
	eventually(t, "a list waits", func() bool { return here.Stats().Waits == 3 })
	leave()
	if got := receive(t, many); !errors.Is(got.err, context.Canceled) || len(got.pages) != 1 {
		t.Errorf("cancelled reader: got %v, want context.Canceled and the stored page", got)
	}
	a.end <- nil
	receive(t, one)
}

func failedListFailsAlone(t *testing.T, w *world) {
	win := windowOf(w.process(t), func(_ context.Context, users []int, _ int) (map[int][]Entry, error) {
		if slices.Contains(users, 9) {
			return nil, errDatabase
		}
		return map[int][]Entry{1: numbered(2, 1), 2: numbered(1, 2), 3: {{"x", maxScore + 1}}}, nil
	}, WindowPolicy{})
	got, err := win.Pages(t.Context(), []int{1, 2, 3}, 5)
	if err == nil || !strings.Contains(err.Error(), "order:list") {
		t.Errorf("got %v, want an error of the windows", err)
	}
	if diff := cmp.Diff(map[int]Page{1: {numbered(2, 1), true}}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{win.nameOf(1)}, w.names(t)); diff != "" {
		t.Error("keys", diff) // no lease remains
	}
	if got, err = win.Pages(t.Context(), []int{1, 9, 4}, 5); !errors.Is(err, errDatabase) || len(got) != 1 {
		t.Errorf("got %v, %v, want the stored page and the loader's error", got, err)
	}
	if s := win.Stats(); s.Waits != 0 || s.LoadErrors != 3 {
		t.Errorf("got %+v, want no waits", s)
	}
}

func manyLoadsSurviveTheirReader(t *testing.T, w *world) {
	l := newLists(1, numbered(1)...)
	load, nextLoad := l.pausing(t)
	h := w.process(t)
	win, there := windowOf(h, load, WindowPolicy{}), windowOf(w.process(t), l.load, WindowPolicy{})
	ctx, leave := context.WithCancel(t.Context())
	many := pagesLater(ctx, win, 1, 2)
	p := nextLoad()
	leave()
	if got := receive(t, many); !errors.Is(got.err, context.Canceled) {
		t.Errorf("cancelled reader: got %v, want context.Canceled", got)
	}
	if _, ok := p.ctx.Deadline(); !ok || p.ctx.Err() != nil {
		t.Errorf("got load with deadline %v, ended %v, want a running one with a deadline", ok, p.ctx.Err())
	}
	p.end <- nil
	h.Wait()
	wantPages(t, there, []int{1, 2}, 5, map[int]Page{1: {numbered(1), true}, 2: {nil, true}})
	wantLoads(t, l, 1)
}

func membersAreKnown(t *testing.T, w *world) {
	l := newLists(1, numbered(1, 2, 3, 4, 5)...)
	l.insert(2, numbered(1, 2)...)
	win := windowOf(w.process(t), l.load, WindowPolicy{Size: 3})
	members := []string{"m005", "m001", "m002", "unknown", "m005"}
	for range 2 { // as loaded, then from Redis
		wantMembers(t, win, 1, members, Membership{Has: map[string]bool{"m005": true}, Floor: 3})
		wantMembers(t, win, 2, members, Membership{Has: map[string]bool{"m001": true, "m002": true}, Whole: true})
		wantMembers(t, win, 3, members, Membership{Has: map[string]bool{}, Whole: true})
		wantMembers(t, win, 1, nil, Membership{Has: map[string]bool{}, Floor: 3})
	}
	wantLoads(t, l, 3)
	if diff := cmp.Diff(Stats{Name: "order-list", Hits: 5, Misses: 3, Loads: 3, LoadCalls: 3}, win.Stats()); diff != "" {
		t.Error(diff)
	}
	l.insert(1, numbered(6)...)
	must(t, win.Add(t.Context(), 1, numbered(6)...))
	wantMembers(t, win, 1, []string{"m006", "m003"}, Membership{Has: map[string]bool{"m006": true}, Floor: 4})
	must(t, win.Invalidate(t.Context(), 1))
	wantMembers(t, win, 1, []string{"m006"}, Membership{Has: map[string]bool{"m006": true}, Floor: 4})
	wantLoads(t, l, 4)

	must(t, w.rdb.PExpire(t.Context(), win.nameOf(1), time.Minute).Err())
	wantMembers(t, win, 1, []string{"m006"}, Membership{Has: map[string]bool{"m006": true}, Floor: 4})
	if left := w.rdb.PTTL(t.Context(), win.nameOf(1)).Val(); left <= time.Minute {
		t.Errorf("got TTL %v after Has, want it renewed", left)
	}
	must(t, w.rdb.ZRem(t.Context(), win.nameOf(1), "").Err())
	wantMembers(t, win, 1, []string{"m006"}, Membership{Has: map[string]bool{"m006": true}, Floor: 4})
	wantLoads(t, l, 5) // a set without marker is no window
}

func anyMemberIsFound(t *testing.T, w *world) {
	odd := []string{"", "\x00", "\x00\x00", "null", "\xff", "a b\r\n", "-inf"}
	var all []Entry
	for _, m := range odd {
		all = append(all, Entry{m, 7})
	}
	for i := range 1300 {
		all = append(all, Entry{strconv.Itoa(i), 1_700_000_000_000 + int64(i)})
	}
	l := newLists(1, all...)
	win := windowOf(w.process(t), l.load, WindowPolicy{Size: maxWindow})
	want := Membership{Has: make(map[string]bool), Whole: true}
	var members []string
	for _, e := range all {
		want.Has[e.Member] = true
		members = append(members, e.Member, e.Member+" missing")
	}
	for range 2 {
		wantMembers(t, win, 1, members, want)
	}
	wantLoads(t, l, 1)
}

func removedExactly(t *testing.T, w *world) {
	ms := func(n int64) Entry { return Entry{fmt.Sprintf("m%d", n), 1_700_000_000_000 + n} }
	all := newestFirst([]Entry{ms(1), ms(2), ms(3), {"neg", -5}, {"zero", 0}, {"most", maxScore}, {"", 9}})
	l := newLists(1, all...)
	win := windowOf(w.process(t), l.load, WindowPolicy{})
	mustPage(t, win, 1, nil, 1)
	var wrong []Entry
	for _, e := range all {
		wrong = append(wrong, Entry{e.Member, e.Score + 1}, Entry{e.Member, e.Score - 1})
	}
	must(t, win.RemoveExactly(t.Context(), 1, append(wrong, Entry{"unknown", 1})...))
	wantPage(t, "other scores", pageResult{all, true}, mustPage(t, win, 1, nil, 100))
	for range 2 {
		must(t, win.RemoveExactly(t.Context(), 1, ms(2), Entry{"", 9}, Entry{"most", maxScore}, Entry{"neg", -5}))
		wantPage(t, "removed", pageResult{newestFirst([]Entry{ms(1), ms(3), {"zero", 0}}), true}, mustPage(t, win, 1, nil, 100))
	}
	must(t, win.RemoveExactly(t.Context(), 1))

	// The member returns with another score, and then the removal is repeated.
	returned := Entry{ms(2).Member, ms(9).Score}
	must(t, win.Add(t.Context(), 1, returned))
	must(t, win.RemoveEach(t.Context(), map[int][]Entry{1: {ms(2)}, 7: {ms(2)}, 8: nil}))
	wantPage(t, "returned", pageResult{newestFirst([]Entry{returned, ms(1), ms(3), {"zero", 0}}), true}, mustPage(t, win, 1, nil, 100))
	wantLoads(t, l, 1)

	// A window with a continuation is dropped when it is more than half empty.
	l.insert(2, numbered(1, 2, 3, 4, 5, 6, 7, 8)...)
	small := NewWindow(w.process(t), WindowPolicy{Name: "small", Size: 4}, strconv.Itoa, l.load)
	mustPage(t, small, 2, nil, 1)
	must(t, small.RemoveExactly(t.Context(), 2, append(numbered(8, 5), Entry{"m007", 6})...))
	wantPage(t, "higher floor", pageResult{numbered(7, 6), false}, mustPage(t, small, 2, nil, 100))
	wantLoads(t, l, 2)
	l.remove(2, "m008", "m007", "m005")
	must(t, small.RemoveExactly(t.Context(), 2, numbered(7)...))
	wantPage(t, "reloaded", pageResult{numbered(6, 4, 3, 2), false}, mustPage(t, small, 2, nil, 100))
	wantLoads(t, l, 3)
}

// exactRemovalOvertakesALoad also announces an insert after its own removal.
func exactRemovalOvertakesALoad(t *testing.T, w *world) {
	l := newLists(1, numbered(1, 2)...)
	load, nextLoad := l.pausing(t)
	here, there := windowOf(w.process(t), load, WindowPolicy{}), windowOf(w.process(t), l.load, WindowPolicy{})
	first := pageLater(t.Context(), here, 1)
	p := nextLoad()
	l.remove(1, "m002")
	must(t, there.RemoveExactly(t.Context(), 1, numbered(2)...))
	p.end <- nil
	receive(t, first)
	wantPage(t, "the next reader", pageResult{numbered(1), true}, mustPage(t, there, 1, nil, 10))
	must(t, there.Invalidate(t.Context(), 1)) // the insert of 2, late
	wantPage(t, "after the late insert", pageResult{numbered(1), true}, mustPage(t, there, 1, nil, 10))
	if got := here.Stats().StoresRefused; got != 1 {
		t.Errorf("%d stores refused, want 1", got)
	}
}

// hasReplies replaces the replies of window_has.lua.
type hasReplies struct{ answers []any }

func (h *hasReplies) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (h *hasReplies) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (h *hasReplies) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		if len(cmds) != len(h.answers) {
			return err
		}
		for i, cmd := range cmds {
			if script, ok := cmd.(*redis.Cmd); ok { // otherwise the start of a connection
				script.SetErr(nil)
				script.SetVal(h.answers[i])
				err = nil
			}
		}
		return err
	}
}

// A window may change between the calls of one pipeline. Each reply covers the first or the
// last 500 of 1000 members.
func TestMembershipUsesTheHighestFloor(t *testing.T) {
	answer := func(mark, floor string, has int64) []any {
		list := []any{mark, floor, has}
		for range batch - 1 {
			list = append(list, int64(0))
		}
		return list
	}
	one := map[string]bool{"a": true}
	whole, truth := Membership{Has: one, Whole: true}, Membership{Has: map[string]bool{}, Floor: 7}
	cases := []struct {
		name    string
		answers []any
		want    Membership
		loads   int
	}{
		{"whole", []any{answer(markWhole, "5", 1), answer(markWhole, "", 0)}, whole, 0},
		{"partial, then whole", []any{answer(markPartial, "-5", 1), answer(markWhole, "3", 0)}, Membership{Has: one, Floor: -5}, 0},
		{"whole, then partial", []any{answer(markWhole, "3", 1), answer(markPartial, "-5", 0)}, Membership{Has: one, Floor: -5}, 0},
		{"rising floor", []any{answer(markPartial, "-5", 1), answer(markPartial, "3", 0)}, Membership{Has: one, Floor: 3}, 0},
		{"falling floor", []any{answer(markPartial, "3", 1), answer(markPartial, "-5", 0)}, Membership{Has: one, Floor: 3}, 0},
		{"missing window", []any{answer(markPartial, "3", 1), int64(-1)}, truth, 1},
		{"garbage", []any{answer(markPartial, "3", 1), "a text"}, truth, 1},
		{"missing score", []any{answer(markPartial, "3", 1), answer(markPartial, "", 0)}, truth, 1},
		{"short reply", []any{answer(markPartial, "3", 1), []any{markPartial, "3"}}, truth, 1},
	}
	members := append([]string{"a"}, make([]string, batch-1)...)
	for i := range batch {
		members = append(members, strconv.Itoa(i))
	}
	w := startMini(t).world(t)
	hook := new(hasReplies)
	l := newLists(1, numbered(6, 7, 8)...)
	win := windowOf(w.process(t, hook), l.load, WindowPolicy{Size: 2})
	for _, c := range cases {
		before := l.count()
		hook.answers = c.answers
		must(t, win.Invalidate(t.Context(), 1))
		got, err := win.Has(t.Context(), 1, members)
		must(t, err)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if n := l.count() - before; n != c.loads {
			t.Errorf("%s: got %d loads, want %d", c.name, n, c.loads)
		}
	}
}
