package cache

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
)

// TestUnion runs on every kind of Redis. The text "B/4 A/3, all" is a whole feed, with source
// and score of each entry; "B/4 A/3, from 3" is complete from score 3 on.
func TestUnion(t *testing.T) {
	cases := []struct {
		name string
		run  func(t *testing.T, w *world)
	}{
		{"a page has entries of sources only", unionShowsItsSources},
		{"pages have a start and a limit", unionPagesBeginAndEnd},
		{"a page skips many entries", unionPassesOverMany},
		{"a source leaves and returns", unionSourceComesBack},
		{"a new source brings its older entries", unionSourceJoins},
		{"source scores are numbers up to 2^53", unionSourceScores},
		{"a large new source truncates the union", unionJoinCuts},
		{"a full union ends at its oldest entry", unionFullAtOnce},
		{"the floor holds after joins and pushes", unionFloorHolds},
		{"a join larger than a batch", unionLargeJoin},
		{"an unannounced leaving stops no reader", unionNewestSourceLeft},
		{"a join includes unannounced sources", unionJoinsEarly},
		{"unstored sources are loaded once", unionSourcesAreNotStored},
		{"source sets identify the sources", unionSourceSets},
		{"an overtaken load is not stored (A1)", unionOvertakenLoad},
		{"an overtaken join changes nothing", unionOvertakenJoin},
		{"a join does not restore a lost union", unionJoinOfWhatIsLost},
		{"readers do not wait for a load", unionBusy},
		{"lost keys are reloaded", unionReloadsLostKeys},
		{"foreign keys are reloaded", unionForeignKeys},
		{"a partial window of sources is unknown", unionSourcesCutOff},
		{"names are looked up", unionNames},
		{"source names round-trip (A27)", unionAnySource},
		{"all keys have TTLs (A7)", unionKeysHaveTTLs},
		{"a warm page costs one round trip", unionRoundTrips},
		{"scripts are reloaded", unionScriptsAreReloaded},
		{"a failed load releases its lease", unionFailedLoad},
		{"a failed join leaves the union", unionFailedJoin},
		{"a failed load of sources is an error", unionFailedSources},
		{"invalid loads are errors", unionRejectsInvalidLoads},
		{"a cancelled reader leaves no lease", unionReaderLeavesEarly},
		{"a load survives its reader (A5)", unionReaderLeavesALoad},
		{"repeated commands are idempotent", unionRepeatsCommands},
	}
	onEach(t, func(t *testing.T, b *backend) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) { c.run(t, b.world(t)) })
		}
	})
}

// authors stands for database tables: the follows of each user with their scores, and the
// entries of each author. Scores of both increase.
type authors struct {
	mu      sync.Mutex
	joined  int64
	head    int64
	follows map[int]map[string]int64 // by user, when each source joined
	entries []Entry                  // newest first

	unions, lists int // calls of the loaders
}

func newAuthors() *authors { return &authors{follows: make(map[int]map[string]int64)} }

// join commits that a user follows some sources, one after the other.
func (a *authors) join(user int, sources ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.follows[user] == nil {
		a.follows[user] = make(map[string]int64)
	}
	for _, source := range sources {
		a.joined++
		a.follows[user][source] = a.joined
	}
}

// leave commits that a user unfollows a source, and returns its entry in the window of
// sources.
func (a *authors) leave(user int, source string) Entry {
	a.mu.Lock()
	defer a.mu.Unlock()
	e := Entry{source, a.follows[user][source]}
	delete(a.follows[user], source)
	return e
}

// write commits one entry per source, with increasing scores.
func (a *authors) write(sources ...string) []Entry {
	a.mu.Lock()
	defer a.mu.Unlock()
	fresh := make([]Entry, 0, len(sources))
	for _, source := range sources {
		a.head++
		fresh = append(fresh, UnionEntry(source, strconv.FormatInt(a.head, 10), a.head))
	}
	a.entries = newestFirst(append(a.entries, fresh...))
	return fresh
}

func sourceOf(e Entry) string {
	source, _, _ := strings.Cut(e.Member, "/")
	return source
}

// load is a UnionLoader.
func (a *authors) load(_ context.Context, user int, above int64, limit int) ([]Entry, int64, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.unions++
	var newest int64
	for _, score := range a.follows[user] {
		newest = max(newest, score)
	}
	var found []Entry
	for _, e := range a.entries {
		if a.follows[user][sourceOf(e)] > above && len(found) < limit {
			found = append(found, e)
		}
	}
	return found, newest, nil
}

// list is the WindowLoader of the sources.
func (a *authors) list(_ context.Context, users []int, limit int) (map[int][]Entry, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lists++
	found := make(map[int][]Entry)
	for _, user := range users {
		var all []Entry
		for source, score := range a.follows[user] {
			all = append(all, Entry{source, score})
		}
		all = newestFirst(all)
		found[user] = all[:min(limit, len(all))]
	}
	return found, nil
}

// wantCalls compares the calls of both loaders since the last check.
func (a *authors) wantCalls(t *testing.T, what string, unions, lists int) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.unions != unions || a.lists != lists {
		t.Errorf("%s: got %d loads of unions and %d of sources, want %d and %d", what, a.unions, a.lists, unions, lists)
	}
	a.unions, a.lists = 0, 0
}

// pausing returns a loader whose first calls read the tables and then pause, and a function
// that waits for the next such call.
func (a *authors) pausing(t *testing.T, first int64) (UnionLoader[int], func() paused) {
	calls, over := make(chan paused), t.Context()
	var n atomic.Int64
	load := func(ctx context.Context, user int, above int64, limit int) ([]Entry, int64, error) {
		found, newest, _ := a.load(ctx, user, above, limit)
		if n.Add(1) > first {
			return found, newest, nil
		}
		p := paused{ctx, make(chan error)}
		select {
		case calls <- p:
		case <-over.Done():
			return nil, 0, over.Err()
		}
		select {
		case err := <-p.end:
			return found, newest, err
		case <-over.Done():
			return nil, 0, over.Err()
		}
	}
	return load, func() paused { return receive(t, calls) }
}

// feeds holds the unions and their sources in one process.
type feeds struct {
	*Union[int]
	client *Client
	truth  *authors
}

// feedsOf returns feeds in which nothing expires unless a test sets it.
func feedsOf(h *Client, a *authors, load UnionLoader[int], p WindowPolicy) *feeds {
	p.Name = "feed:in"
	p.LoadTimeout = positiveOr(p.LoadTimeout, longTime)
	p.LeaseTTL = positiveOr(p.LeaseTTL, longTime)
	sources := windowOf(h, a.list, WindowPolicy{Size: 8, TTL: 2 * p.TTL})
	return &feeds{Union: NewUnion(h, p, sources, load), client: h, truth: a}
}

// follow commits and announces that a user follows some sources.
func (f *feeds) follow(t *testing.T, user int, sources ...string) {
	t.Helper()
	f.truth.join(user, sources...)
	must(t, f.sources.Invalidate(t.Context(), user))
}

// unfollow commits and announces that a user unfollows a source.
func (f *feeds) unfollow(t *testing.T, user int, source string) {
	t.Helper()
	must(t, f.sources.RemoveExactly(t.Context(), user, f.truth.leave(user, source)))
}

// publish commits new entries and pushes them to the followers.
func (f *feeds) publish(t *testing.T, sources ...string) {
	t.Helper()
	for _, e := range f.truth.write(sources...) {
		f.push(t, e)
	}
}

// push adds an entry to the unions of the current followers.
func (f *feeds) push(t *testing.T, e Entry) {
	t.Helper()
	fresh := make(map[int][]Entry)
	f.truth.mu.Lock()
	for user, sources := range f.truth.follows {
		if sources[sourceOf(e)] > 0 {
			fresh[user] = []Entry{e}
		}
	}
	f.truth.mu.Unlock()
	must(t, f.Window().AddEach(t.Context(), fresh))
}

// unionKeys are the keys of a union and its window of sources.
type unionKeys struct{ window, lease, seen, sources string }

func (f *feeds) keys(user int) unionKeys {
	name := f.Window().nameOf(user)
	return unionKeys{name, leaseOf(name), name + ":s", f.sources.nameOf(user)}
}

// describe returns a page in the format of the cases.
func (p UnionPage) describe() string {
	if !p.OK {
		return "unknown"
	}
	members := make([]string, len(p.Entries))
	for i, e := range p.Entries {
		members[i] = e.Member
		if !strings.HasSuffix(e.Member, "/"+strconv.FormatInt(e.Score, 10)) {
			members[i] = fmt.Sprint(e)
		}
	}
	end := ", all"
	if p.Floor != math.MinInt64 {
		end = fmt.Sprintf(", from %d", p.Floor)
	}
	return strings.Join(members, " ") + end
}

const maxUnionScore = math.MaxInt64

func (f *feeds) mustPage(t *testing.T, user int, from int64, most int, names ...string) UnionPage {
	t.Helper()
	page, err := f.Page(t.Context(), user, from, most, names)
	if err != nil {
		t.Fatalf("Page(%d, %d, %d): %v", user, from, most, err)
	}
	return page
}

func wantFeed(t *testing.T, what string, f *feeds, user int, want string) {
	t.Helper()
	if got := f.mustPage(t, user, maxUnionScore, 100).describe(); got != want {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

type unionOutcome struct {
	page UnionPage
	err  error
}

func unionPageLater(ctx context.Context, f *feeds, user int) <-chan unionOutcome {
	done := make(chan unionOutcome, 1)
	go func() {
		page, err := f.Page(ctx, user, maxUnionScore, 100, nil)
		done <- unionOutcome{page, err}
	}()
	return done
}

// countKeys returns how many of these keys exist.
func (w *world) countKeys(t *testing.T, names ...string) (n int64) {
	t.Helper()
	for _, name := range names {
		is, err := w.rdb.Exists(t.Context(), name).Result()
		must(t, err)
		n += is
	}
	return n
}

func (w *world) drop(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		must(t, w.rdb.Del(t.Context(), name).Err())
	}
}

func unionShowsItsSources(t *testing.T, w *world) {
	a := newAuthors()
	here, there := feedsOf(w.process(t), a, a.load, WindowPolicy{}), feedsOf(w.process(t), a, a.load, WindowPolicy{})
	wantFeed(t, "no source", here, 1, ", all")
	a.join(2, "Z") // another user
	here.follow(t, 1, "A", "B")
	a.write("A", "Z", "B", "A")
	must(t, here.Invalidate(t.Context(), 1))
	for _, f := range []*feeds{here, here, there} {
		wantFeed(t, "loaded", f, 1, "A/4 B/3 A/1, all")
		wantFeed(t, "another user", f, 2, "Z/2, all")
	}
	there.publish(t, "B", "Z")
	must(t, there.Window().Add(t.Context(), 1, UnionEntry("Z", "6", 6), UnionEntry("A1", "6", 6))) // not a source
	for _, f := range []*feeds{here, there} {
		wantFeed(t, "pushed", f, 1, "B/5 A/4 B/3 A/1, all")
		wantFeed(t, "pushed to another user", f, 2, "Z/6 Z/2, all")
	}
	a.wantCalls(t, "total", 3, 3)
	if got := here.Window().Stats(); got.Hits != 4 || got.Misses != 3 {
		t.Errorf("got %d hits and %d misses, want 4 and 3: a page counts once", got.Hits, got.Misses)
	}
}

func unionPagesBeginAndEnd(t *testing.T, w *world) {
	a := newAuthors()
	a.join(1, "A", "B")
	a.write("A", "Z", "B", "A", "B", "B") // 1 to 6
	whole, cut := feedsOf(w.process(t), a, a.load, WindowPolicy{}), feedsOf(w.process(t), a, a.load, WindowPolicy{Size: 3})
	tests := []struct {
		from       int64
		limit      int
		whole, cut string
	}{
		{maxUnionScore, 1, "B/6, all", "B/6, from 4"},
		{6, 2, "B/6 B/5, all", "B/6 B/5, from 4"},
		{5, 2, "B/5 A/4, all", "B/5 A/4, from 4"},
		{4, 9, "A/4 B/3 A/1, all", "A/4, from 4"},
		{2, 9, "A/1, all", ", from 4"},
		{0, 9, ", all", ", from 4"},
		{math.MinInt64, 9, ", all", ", from 4"},
		{maxUnionScore, 0, ", all", ", from 4"},
	}
	for f, want := range map[*feeds]func(i int) string{
		whole: func(i int) string { return tests[i].whole },
		cut:   func(i int) string { return tests[i].cut },
	} {
		must(t, f.Invalidate(t.Context(), 1))
		for i, test := range tests {
			if got := f.mustPage(t, 1, test.from, test.limit).describe(); got != want(i) {
				t.Errorf("%d from %d: got %q, want %q", test.limit, test.from, got, want(i))
			}
		}
	}
}

func unionPassesOverMany(t *testing.T, w *world) {
	const size = 1300
	a := newAuthors()
	a.join(1, "A", "B")
	a.write("A", "A")
	a.write(slices.Repeat([]string{"B"}, 700)...)
	a.write("A")
	a.write(slices.Repeat([]string{"B"}, 550)...)
	a.write("A") // 1254
	f := feedsOf(w.process(t), a, a.load, WindowPolicy{Size: size})
	f.mustPage(t, 1, maxUnionScore, 1)
	f.unfollow(t, 1, "B")
	for limit, want := range map[int]string{
		1: "A/1254, all", 2: "A/1254 A/703, all", 3: "A/1254 A/703 A/2, all",
		4: "A/1254 A/703 A/2 A/1, all", 2000: "A/1254 A/703 A/2 A/1, all",
	} {
		if got := f.mustPage(t, 1, maxUnionScore, limit).describe(); got != want {
			t.Errorf("limit %d: got %q, want %q", limit, got, want)
		}
	}
	a.wantCalls(t, "total", 1, 1)
}

func unionSourceComesBack(t *testing.T, w *world) {
	a := newAuthors()
	here, there := feedsOf(w.process(t), a, a.load, WindowPolicy{}), feedsOf(w.process(t), a, a.load, WindowPolicy{})
	here.follow(t, 1, "A", "B")
	here.publish(t, "A", "B")
	wantFeed(t, "at first", here, 1, "B/2 A/1, all")
	there.unfollow(t, 1, "A")
	here.publish(t, "A", "B") // the entry of A is not pushed
	wantFeed(t, "A left", here, 1, "B/4 B/2, all")
	a.wantCalls(t, "with A skipped", 1, 1)

	here.follow(t, 1, "A")
	wantFeed(t, "A returned", there, 1, "B/4 A/3 B/2 A/1, all")
	a.wantCalls(t, "with A again", 1, 1)

	old := a.leave(1, "B")
	a.write("B")
	here.follow(t, 1, "B") // before its leaving is announced
	wantFeed(t, "B returned", here, 1, "B/5 B/4 A/3 B/2 A/1, all")
	must(t, there.sources.RemoveExactly(t.Context(), 1, old))
	wantFeed(t, "late announcement", here, 1, "B/5 B/4 A/3 B/2 A/1, all")
}

func unionSourceJoins(t *testing.T, w *world) {
	a := newAuthors()
	here, there := feedsOf(w.process(t), a, a.load, WindowPolicy{}), feedsOf(w.process(t), a, a.load, WindowPolicy{})
	here.follow(t, 1, "A")
	here.publish(t, "A", "B", "A", "B", "C")
	wantFeed(t, "A alone", here, 1, "A/3 A/1, all")
	there.follow(t, 1, "B")
	there.publish(t, "B") // pushed before the sources are loaded
	wantFeed(t, "B joined", here, 1, "B/6 B/4 A/3 B/2 A/1, all")
	there.follow(t, 1, "C", "D")
	there.unfollow(t, 1, "D")
	wantFeed(t, "C joined, D joined and left", there, 1, "B/6 C/5 B/4 A/3 B/2 A/1, all")
	a.wantCalls(t, "total", 3, 3)
	for _, f := range []*feeds{here, there} {
		wantFeed(t, "at the end", f, 1, "B/6 C/5 B/4 A/3 B/2 A/1, all")
	}
	a.wantCalls(t, "warm", 0, 0)
}

func unionSourceScores(t *testing.T, w *world) {
	for _, last := range []int64{8, 99_998, 1_699_999_999_998, maxScore - 2} { // before one more digit, and as 1.7e+12
		a := newAuthors()
		a.joined = last
		f := feedsOf(w.process(t), a, a.load, WindowPolicy{})
		must(t, f.Invalidate(t.Context(), 1))
		f.follow(t, 1, "A")
		a.write("A", "B")
		wantFeed(t, fmt.Sprint("one after ", last), f, 1, "A/1, all")
		f.follow(t, 1, "B")
		wantFeed(t, fmt.Sprint("two after ", last), f, 1, "B/2 A/1, all")
		a.wantCalls(t, fmt.Sprint("after ", last), 2, 2)
		if got, want := f.mustPage(t, 1, maxUnionScore, 1).Sources, (SourceSet{last + 2, 2}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

func unionJoinCuts(t *testing.T, w *world) {
	tests := []struct {
		name   string
		before []string // entries, of A that is followed, or of B that joins
		want   string
	}{
		{"fewer than fit", []string{"A", "B", "B"}, "B/3 B/2 A/1, all"},
		{"as many as fit", []string{"A", "B", "B", "B"}, "B/4 B/3 B/2 A/1, all"},
		{"one more, mostly new", []string{"A", "B", "B", "B", "B"}, "B/5 B/4 B/3 B/2, from 2"},
		{"many more", []string{"A", "B", "B", "B", "B", "B", "B"}, "B/7 B/6 B/5 B/4, from 4"},
		{"older ones", []string{"B", "B", "B", "A", "A"}, "A/5 A/4 B/3 B/2, from 2"},
		{"as many as fit into an empty one", []string{"B", "B", "B", "B"}, "B/4 B/3 B/2 B/1, all"},
		{"one more than fits into an empty one", []string{"B", "B", "B", "B", "B"}, "B/5 B/4 B/3 B/2, from 2"},
	}
	for _, test := range tests {
		a := newAuthors()
		f := feedsOf(w.process(t), a, a.load, WindowPolicy{Size: 4})
		must(t, f.Invalidate(t.Context(), 1))
		f.follow(t, 1, "A")
		a.write(test.before...)
		f.mustPage(t, 1, maxUnionScore, 1)
		f.follow(t, 1, "B")
		wantFeed(t, test.name, f, 1, test.want)
		a.wantCalls(t, test.name, 2, 2)
	}
}

func unionFullAtOnce(t *testing.T, w *world) {
	for n, want := range []string{
		3: "A/3 A/2 A/1, all", 4: "A/4 A/3 A/2 A/1, from 1", 5: "A/5 A/4 A/3 A/2, from 2",
	} {
		a := newAuthors()
		f := feedsOf(w.process(t), a, a.load, WindowPolicy{Size: 4})
		if want == "" {
			continue
		}
		must(t, f.Invalidate(t.Context(), 1))
		f.follow(t, 1, "A")
		a.write(slices.Repeat([]string{"A"}, n)...)
		wantFeed(t, strconv.Itoa(n), f, 1, want)
	}
}

func unionFloorHolds(t *testing.T, w *world) {
	a := newAuthors()
	f := feedsOf(w.process(t), a, a.load, WindowPolicy{Size: 4})
	f.follow(t, 1, "A")
	late := UnionEntry("A", "2", 2)
	a.write("A", "A", "B", "A", "B", "A", "A", "C") // 1 to 8
	wantFeed(t, "loaded", f, 1, "A/7 A/6 A/4 A/2, from 2")
	f.follow(t, 1, "B") // has 3 and 5; the floor rises above the trimmed entries
	wantFeed(t, "B joined", f, 1, "A/7 A/6 B/5 A/4, from 4")
	f.push(t, late) // repeated, from below the floor
	wantFeed(t, "late push", f, 1, "A/7 A/6 B/5 A/4, from 4")
	f.unfollow(t, 1, "A")
	wantFeed(t, "A left", f, 1, "B/5, from 4") // B/3 is below the floor
	f.publish(t, "B")
	wantFeed(t, "one pushed", f, 1, "B/9 B/5, from 5")
	f.follow(t, 1, "C") // 8 is above the floor
	wantFeed(t, "C joined", f, 1, "B/9 C/8, from 6")
	f.follow(t, 1, "A")
	wantFeed(t, "A returned", f, 1, "B/9 C/8 A/7 A/6, from 6")
	a.wantCalls(t, "total", 4, 4)
}

func unionLargeJoin(t *testing.T, w *world) {
	const size = maxWindow
	a := newAuthors()
	f := feedsOf(w.process(t), a, a.load, WindowPolicy{Size: size})
	f.follow(t, 1, "A")
	f.mustPage(t, 1, maxUnionScore, 1)
	a.write(slices.Repeat([]string{"B"}, size+10)...)
	f.follow(t, 1, "B")
	page := f.mustPage(t, 1, maxUnionScore, size+10)
	if !page.OK || page.Floor != 11 {
		t.Fatalf("got known %v from %d, want true from 11", page.OK, page.Floor)
	}
	if diff := cmp.Diff(a.entries[:size], page.Entries); diff != "" {
		t.Error(diff)
	}
}

func unionNewestSourceLeft(t *testing.T, w *world) {
	a := newAuthors()
	f := feedsOf(w.process(t), a, a.load, WindowPolicy{})
	f.follow(t, 1, "A", "B")
	a.write("A", "B")
	_, err := f.sources.Has(t.Context(), 1, nil)
	must(t, err)
	left := a.leave(1, "B") // not announced yet
	wantFeed(t, "loaded", f, 1, "A/1, all")
	wantFeed(t, "again", f, 1, "A/1, all")
	a.wantCalls(t, "loaded", 2, 1) // joined entries are loaded once
	must(t, f.sources.RemoveExactly(t.Context(), 1, left))
	f.follow(t, 1, "B")
	wantFeed(t, "it returned", f, 1, "B/2 A/1, all")
}

func unionJoinsEarly(t *testing.T, w *world) {
	a := newAuthors()
	f := feedsOf(w.process(t), a, a.load, WindowPolicy{})
	f.follow(t, 1, "A")
	a.write("A", "B", "C")
	f.mustPage(t, 1, maxUnionScore, 1)
	f.follow(t, 1, "B")
	_, err := f.sources.Has(t.Context(), 1, nil)
	must(t, err)
	a.join(1, "C") // not announced yet
	wantFeed(t, "B joined", f, 1, "B/2 A/1, all")
	a.wantCalls(t, "B joined", 2, 2)
	must(t, f.sources.Invalidate(t.Context(), 1))
	wantFeed(t, "C is announced", f, 1, "C/3 B/2 A/1, all")
	a.wantCalls(t, "C is announced", 0, 1)
}

func unionSourcesAreNotStored(t *testing.T, w *world) {
	a := newAuthors()
	h := w.process(t)
	var sources *Window[int]
	sources = windowOf(h, func(ctx context.Context, users []int, limit int) (map[int][]Entry, error) {
		found, err := a.list(ctx, users, limit)
		return found, errors.Join(err, sources.Invalidate(ctx, users...))
	}, WindowPolicy{})
	f := &feeds{Union: NewUnion(h, WindowPolicy{Name: "feed:in"}, sources, a.load), client: h, truth: a}
	wantFeed(t, "overtaken", f, 1, "unknown")
	a.wantCalls(t, "overtaken", 0, 1)
}

func unionSourceSets(t *testing.T, w *world) {
	a := newAuthors()
	f := feedsOf(w.process(t), a, a.load, WindowPolicy{})
	steps := []struct {
		do   func()
		want SourceSet
	}{
		{func() {}, SourceSet{0, 0}},
		{func() { f.follow(t, 1, "A", "B", "C") }, SourceSet{3, 3}},
		{func() { f.unfollow(t, 1, "A") }, SourceSet{3, 2}},
		{func() { f.unfollow(t, 1, "C") }, SourceSet{2, 1}},
		{func() { f.follow(t, 1, "A") }, SourceSet{4, 2}},
		{func() { f.unfollow(t, 1, "A"); f.unfollow(t, 1, "B") }, SourceSet{0, 0}},
	}
	for i, step := range steps {
		step.do()
		if got := f.mustPage(t, 1, maxUnionScore, 1).Sources; got != step.want {
			t.Errorf("step %d: got %+v, want %+v", i, got, step.want)
		}
	}
}

// A load reads the tables, then an entry is written and pushed, then the load ends. Each key
// may have been lost before.
func unionOvertakenLoad(t *testing.T, w *world) {
	lost := map[string]func(k unionKeys) []string{
		"no union":           func(k unionKeys) []string { return []string{k.window, k.seen} },
		"window lost":        func(k unionKeys) []string { return []string{k.window} },
		"newest source lost": func(k unionKeys) []string { return []string{k.seen} },
	}
	for name, lose := range lost {
		a := newAuthors()
		load, nextLoad := a.pausing(t, 1)
		here, there := feedsOf(w.process(t), a, load, WindowPolicy{}), feedsOf(w.process(t), a, a.load, WindowPolicy{})
		must(t, there.Invalidate(t.Context(), 1))
		there.follow(t, 1, "A")
		a.write("A")
		there.mustPage(t, 1, maxUnionScore, 1)
		w.drop(t, lose(there.keys(1))...)

		reader := unionPageLater(t.Context(), here, 1)
		p := nextLoad()
		there.publish(t, "A")
		p.end <- nil // its reader reads again
		got := receive(t, reader)
		must(t, got.err)
		if got, want := got.page.describe(), "A/2 A/1, all"; got != want {
			t.Errorf("%s: overtaken reader: got %q, want %q", name, got, want)
		}
		wantFeed(t, name+", the next reader", there, 1, "A/2 A/1, all")
		if got := here.Window().Stats().StoresRefused; got != 1 {
			t.Errorf("%s: got %d stores refused, want 1", name, got)
		}
	}
}

func unionOvertakenJoin(t *testing.T, w *world) {
	a := newAuthors()
	load, nextLoad := a.pausing(t, 1)
	here, there := feedsOf(w.process(t), a, load, WindowPolicy{}), feedsOf(w.process(t), a, a.load, WindowPolicy{})
	there.follow(t, 1, "A")
	a.write("A", "B", "C")
	there.mustPage(t, 1, maxUnionScore, 1)
	there.follow(t, 1, "B")
	reader := unionPageLater(t.Context(), here, 1)
	p := nextLoad() // has read B
	there.follow(t, 1, "C")
	wantFeed(t, "the other reader", there, 1, "C/3 B/2 A/1, all")
	a.wantCalls(t, "the load, B twice, once with C", 3, 3)
	p.end <- nil
	got := receive(t, reader)
	must(t, got.err)
	if got, want := got.page.describe(), "C/3 B/2 A/1, all"; got != want {
		t.Errorf("overtaken reader: got %q, want %q", got, want)
	}
	wantFeed(t, "afterwards", there, 1, "C/3 B/2 A/1, all")
	a.wantCalls(t, "the overtaken join", 0, 0)
}

func unionJoinOfWhatIsLost(t *testing.T, w *world) {
	for name, lose := range map[string]func(k unionKeys) []string{
		"the window":        func(k unionKeys) []string { return []string{k.window} },
		"its newest source": func(k unionKeys) []string { return []string{k.seen} },
		"both":              func(k unionKeys) []string { return []string{k.window, k.seen} },
	} {
		a := newAuthors()
		load, nextLoad := a.pausing(t, 2)
		here, there := feedsOf(w.process(t), a, load, WindowPolicy{}), feedsOf(w.process(t), a, a.load, WindowPolicy{})
		there.follow(t, 1, "A")
		a.write("A", "B")
		there.mustPage(t, 1, maxUnionScore, 1)
		there.follow(t, 1, "B")
		reader := unionPageLater(t.Context(), here, 1)
		p := nextLoad() // has read B
		k := there.keys(1)
		w.drop(t, lose(k)...)
		p.end <- nil
		p = nextLoad() // of all
		if n := w.countKeys(t, k.window, k.seen); n != 0 {
			t.Errorf("%s: got %d keys without a load, want none", name, n)
		}
		p.end <- nil
		must(t, receive(t, reader).err)
		wantFeed(t, name, there, 1, "B/2 A/1, all")
		must(t, there.Invalidate(t.Context(), 1))
	}
}

func unionBusy(t *testing.T, w *world) {
	a := newAuthors()
	load, nextLoad := a.pausing(t, 1)
	here, there := feedsOf(w.process(t), a, load, WindowPolicy{}), feedsOf(w.process(t), a, a.load, WindowPolicy{})
	there.follow(t, 1, "A")
	a.write("A")
	reader := unionPageLater(t.Context(), here, 1)
	p := nextLoad()
	wantFeed(t, "while another loads", there, 1, "unknown")
	wantFeed(t, "again", there, 1, "unknown")
	a.wantCalls(t, "busy", 1, 1)
	p.end <- nil
	must(t, receive(t, reader).err)
	wantFeed(t, "then", there, 1, "A/1, all")
	a.wantCalls(t, "then", 0, 0)
}

func unionReloadsLostKeys(t *testing.T, w *world) {
	a := newAuthors()
	f := feedsOf(w.process(t), a, a.load, WindowPolicy{})
	f.follow(t, 1, "A", "B")
	a.write("A", "B")
	wantFeed(t, "loaded", f, 1, "B/2 A/1, all")
	a.wantCalls(t, "loaded", 1, 1)
	k := f.keys(1)
	tests := []struct {
		name          string
		lost          []string
		unions, lists int
	}{
		{"nothing", nil, 0, 0},
		{"the window", []string{k.window}, 1, 0},
		{"its newest source", []string{k.seen}, 1, 0},
		{"the sources", []string{k.sources}, 0, 1},
		{"the union", []string{k.window, k.seen}, 1, 0},
		{"everything", []string{k.window, k.seen, k.sources}, 1, 1},
	}
	for _, test := range tests {
		w.drop(t, test.lost...)
		wantFeed(t, test.name+" is lost", f, 1, strings.Join(membersOf(a.entries), " ")+", all")
		a.wantCalls(t, test.name+" is lost", test.unions, test.lists)
		w.drop(t, test.lost...)
		f.publish(t, "B")
		wantFeed(t, test.name+" is lost, then B wrote", f, 1, strings.Join(membersOf(a.entries), " ")+", all")
		a.wantCalls(t, test.name+" is lost, then B wrote", test.unions, test.lists)
	}
	if n := w.countKeys(t, k.lease); n != 0 {
		t.Error("a lease remains")
	}
}

func membersOf(entries []Entry) []string {
	all := make([]string, len(entries))
	for i, e := range entries {
		all[i] = e.Member
	}
	return all
}

func unionForeignKeys(t *testing.T, w *world) {
	a := newAuthors()
	f := feedsOf(w.process(t), a, a.load, WindowPolicy{})
	f.follow(t, 1, "A")
	a.write("A")
	k := f.keys(1)
	creates := map[string]func(name string) error{
		"a set":  func(name string) error { return w.rdb.ZAdd(t.Context(), name, redis.Z{Member: "A/9", Score: 9}).Err() },
		"a list": func(name string) error { return w.rdb.RPush(t.Context(), name, "1").Err() },
		"text":   func(name string) error { return w.rdb.Set(t.Context(), name, "[]", 0).Err() },
	}
	for what, create := range creates {
		for _, name := range []string{k.window, k.seen, k.sources} {
			f.mustPage(t, 1, maxUnionScore, 1)
			w.drop(t, name)
			must(t, create(name))
			wantFeed(t, what+" at "+name, f, 1, "A/1, all")
			w.drop(t, k.window, k.seen)
		}
	}
	if got := f.Window().Stats().RedisErrors; got != 0 {
		t.Errorf("got %d Redis errors, want none", got)
	}
}

func unionSourcesCutOff(t *testing.T, w *world) {
	a := newAuthors()
	f := feedsOf(w.process(t), a, a.load, WindowPolicy{})
	f.follow(t, 1, "A", "B", "C", "D", "E", "F", "G")
	a.write("A")
	wantFeed(t, "seven of eight", f, 1, "A/1, all")
	f.follow(t, 1, "H")
	a.wantCalls(t, "seven", 1, 1)
	wantFeed(t, "eight of eight", f, 1, "unknown")
	wantFeed(t, "again", f, 1, "unknown")
	a.wantCalls(t, "eight", 0, 1)
	f.unfollow(t, 1, "B")
	must(t, f.sources.Invalidate(t.Context(), 1))
	wantFeed(t, "seven again", f, 1, "A/1, all")
}

func unionNames(t *testing.T, w *world) {
	a := newAuthors()
	f := feedsOf(w.process(t), a, a.load, WindowPolicy{})
	f.follow(t, 1, "A", "C")
	a.write("A", "C", "A")
	f.mustPage(t, 1, maxUnionScore, 1)
	many := make([]string, 1200)
	for i := range many {
		many[i] = strconv.Itoa(i)
	}
	many[499], many[500], many[1199] = "A", "C", "A"
	tests := []struct {
		name  string
		names []string
		want  map[string]bool
	}{
		{"none", nil, map[string]bool{}},
		{"no source", []string{"B", "", "A/1"}, map[string]bool{}},
		{"some of them", []string{"B", "A", "B", "C", "A"}, map[string]bool{"A": true, "C": true}},
		{"many", many, map[string]bool{"A": true, "C": true}},
	}
	for _, test := range tests {
		for limit, want := range []string{", all", "A/3, all", "A/3 C/2, all"} {
			page := f.mustPage(t, 1, maxUnionScore, limit, test.names...)
			if diff := cmp.Diff(test.want, page.Has); diff != "" || page.describe() != want {
				t.Errorf("%s: got %q, want %q %s", test.name, page.describe(), want, diff)
			}
		}
	}
}

func unionAnySource(t *testing.T, w *world) {
	for _, source := range []string{"\x00", "\x00a", "a b\r\n", "ä", "\xff", "%d", "-inf", "{1}"} {
		a := newAuthors()
		f := feedsOf(w.process(t), a, a.load, WindowPolicy{})
		must(t, f.Invalidate(t.Context(), 1))
		f.follow(t, 1, source)
		a.write(source)
		wantFeed(t, "loaded", f, 1, source+"/1, all")
		f.publish(t, source)
		wantFeed(t, "pushed", f, 1, source+"/2 "+source+"/1, all")
		if got := f.mustPage(t, 1, maxUnionScore, 1, source); !got.Has[source] {
			t.Errorf("got Has without %q, want it", source)
		}
		must(t, f.Window().Add(t.Context(), 1, UnionEntry("a/b", "3", 3), UnionEntry("a", "b/4", 4)))
		f.follow(t, 1, "a")
		if got := f.mustPage(t, 1, maxUnionScore, 1).Entries; len(got) != 1 || got[0] != UnionEntry("a", "b/4", 4) {
			t.Errorf("item with a slash: got %v, want one entry", got)
		}
	}
}

func unionKeysHaveTTLs(t *testing.T, w *world) {
	const life = time.Hour
	a := newAuthors()
	load, nextLoad := a.pausing(t, 1)
	here := feedsOf(w.process(t), a, load, WindowPolicy{TTL: life, LeaseTTL: time.Minute})
	f := feedsOf(w.process(t), a, a.load, WindowPolicy{TTL: life})
	f.follow(t, 1, "A")
	k := f.keys(1)
	left := func(name string) time.Duration { return w.rdb.PTTL(t.Context(), name).Val() }
	reader := unionPageLater(t.Context(), here, 1)
	p := nextLoad()
	if got := left(k.lease); got <= 0 || got > time.Minute {
		t.Errorf("got lease TTL %v, want more than 0 and at most a minute", got)
	}
	p.end <- nil
	must(t, receive(t, reader).err)
	f.follow(t, 1, "B") // a join
	f.mustPage(t, 1, maxUnionScore, 1)
	if diff := cmp.Diff(3, len(w.names(t))); diff != "" {
		t.Errorf("got keys %q, want three", w.names(t))
	}
	full := map[string]time.Duration{k.window: life, k.seen: life, k.sources: 2 * life}
	for name, full := range full {
		if got := left(name); got < full*8/10 || got > full {
			t.Errorf("%s: got TTL %v, want at most %v", name, got, full)
		}
	}
	tests := []struct {
		name    string
		old     []string // with half of their TTL
		renewed []string
	}{
		{"none", nil, nil},
		{"the window", []string{k.window}, []string{k.window, k.seen}},
		{"its newest source", []string{k.seen}, []string{k.window, k.seen}},
		{"the sources", []string{k.sources}, []string{k.sources}},
		{"all", []string{k.window, k.seen, k.sources}, []string{k.window, k.seen, k.sources}},
	}
	for _, test := range tests {
		set := make(map[string]time.Duration)
		for name, full := range full {
			set[name] = full * 76 / 100 // just above the renewal limit
			if slices.Contains(test.old, name) {
				set[name] = full / 2
			}
			must(t, w.rdb.PExpire(t.Context(), name, set[name]).Err())
		}
		f.mustPage(t, 1, maxUnionScore, 1)
		for name, full := range full {
			if got, want := left(name) > set[name], slices.Contains(test.renewed, name); got != want || left(name) > full {
				t.Errorf("%s is old: got %s renewed %v, want %v", test.name, name, got, want)
			}
		}
	}
	f.unfollow(t, 1, "B")
	f.publish(t, "A")
	for _, name := range w.names(t) {
		if left(name) <= 0 {
			t.Errorf("%s has no TTL", name)
		}
	}
}

func unionRoundTrips(t *testing.T, w *world) {
	a := newAuthors()
	a.join(1, "A")
	a.write("A", "B")
	sent := new(commandCounter)
	f := feedsOf(w.process(t, sent), a, a.load, WindowPolicy{})
	page := func() { f.mustPage(t, 1, maxUnionScore, 10, "A", "B") }
	steps := []struct {
		name string
		do   func()
		want int
	}{
		{"first load", page, 0},
		{"first join", func() { f.follow(t, 1, "B"); page() }, 0},
		{"first changes", func() { f.unfollow(t, 1, "B"); f.publish(t, "A") }, 0},
		{"a page", page, 1},
		{"a large page", func() { f.mustPage(t, 1, maxUnionScore, 5000, make([]string, 3000)...) }, 1},
		{"invalidating", func() { must(t, f.Invalidate(t.Context(), 1)) }, 1},
		{"a load", page, 4},
		{"a new source", func() { f.follow(t, 1, "B") }, 1},
		{"loading the sources and joining", page, 7}, // a read, the sources in three, a read, the join, a read
	}
	for _, step := range steps {
		step.do()
		got := sent.roundTrips
		sent.reset()
		if step.want != 0 && got != step.want {
			t.Errorf("%s: got %d round trips, want %d", step.name, got, step.want)
		}
	}
}

func unionScriptsAreReloaded(t *testing.T, w *world) {
	a := newAuthors()
	f := feedsOf(w.process(t), a, a.load, WindowPolicy{})
	steps := []func(){
		func() { f.follow(t, 1, "A"); a.write("A", "B") },
		func() { wantFeed(t, "loaded", f, 1, "A/1, all") },
		func() { f.follow(t, 1, "B") },
		func() { wantFeed(t, "joined", f, 1, "B/2 A/1, all") },
		func() { f.publish(t, "A") },
		func() { wantFeed(t, "pushed", f, 1, "A/3 B/2 A/1, all") },
	}
	for _, step := range steps {
		must(t, w.admin(t).ScriptFlush(t.Context()).Err())
		step()
	}
	a.wantCalls(t, "total", 2, 2)
}

func unionFailedLoad(t *testing.T, w *world) {
	failures := map[string]func(ctx context.Context) error{
		"an error":   func(context.Context) error { return errDatabase },
		"a panic":    func(context.Context) error { panic(errDatabase) },
		"a deadline": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"an exit":    func(context.Context) error { runtime.Goexit(); return nil },
	}
	for name, fail := range failures {
		a := newAuthors()
		f := feedsOf(w.process(t), a, func(ctx context.Context, _ int, _ int64, _ int) ([]Entry, int64, error) {
			return nil, 0, fail(ctx)
		}, WindowPolicy{LoadTimeout: 200 * time.Millisecond})
		f.follow(t, 1, "A")
		k := f.keys(1)
		w.drop(t, k.lease)
		page, err := f.Page(t.Context(), 1, maxUnionScore, 10, nil)
		if err == nil || page.OK || !strings.Contains(err.Error(), "feed:in") {
			t.Errorf("%s: got %+v, %v, want an error with the name of the window", name, page, err)
		}
		if name == "an error" && !errors.Is(err, errDatabase) || name == "a deadline" && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got unexpected error %v", name, err)
		}
		f.client.Wait()
		if n := w.countKeys(t, k.window, k.seen); n != 0 {
			t.Errorf("%s: the load was stored", name)
		}
		if n := w.countKeys(t, k.lease); (n != 0) != (name == "an exit") { // which leaves it until it expires
			t.Errorf("%s: got %d leases, want one only after an exit", name, n)
		}
		if got := f.Window().Stats(); name != "an exit" && got.LoadErrors != 1 || got.RedisErrors+got.StoresRefused != 0 {
			t.Errorf("%s: got stats %+v, want one load error", name, got)
		}
	}
}

func unionFailedJoin(t *testing.T, w *world) {
	a := newAuthors()
	good := feedsOf(w.process(t), a, a.load, WindowPolicy{})
	good.follow(t, 1, "A")
	a.write("A", "B")
	for name, fail := range map[string]func() error{
		"an error": func() error { return errDatabase },
		"a panic":  func() error { panic(errDatabase) },
	} {
		must(t, good.Invalidate(t.Context(), 1))
		good.mustPage(t, 1, maxUnionScore, 10)
		f := feedsOf(w.process(t), a, func(context.Context, int, int64, int) ([]Entry, int64, error) { return nil, 0, fail() }, WindowPolicy{})
		good.follow(t, 1, "B")
		if page, err := f.Page(t.Context(), 1, maxUnionScore, 10, nil); err == nil || page.OK {
			t.Errorf("%s: got %+v, %v, want an error", name, page, err)
		}
		good.unfollow(t, 1, "B")
		wantFeed(t, name, f, 1, "A/1, all")
		good.follow(t, 1, "B")
		wantFeed(t, name+", and then", good, 1, "B/2 A/1, all")
		good.unfollow(t, 1, "B")
	}
}

func unionFailedSources(t *testing.T, w *world) {
	a := newAuthors()
	h := w.process(t)
	sources := windowOf(h, func(context.Context, []int, int) (map[int][]Entry, error) { return nil, errDatabase }, WindowPolicy{})
	u := NewUnion(h, WindowPolicy{Name: "feed:in"}, sources, a.load)
	if page, err := u.Page(t.Context(), 1, maxUnionScore, 10, nil); !errors.Is(err, errDatabase) || page.OK {
		t.Errorf("got %+v, %v, want errDatabase", page, err)
	}
	a.wantCalls(t, "without sources", 0, 0)
}

func unionRejectsInvalidLoads(t *testing.T, w *world) {
	tests := []struct {
		name    string
		entries []Entry
		newest  int64
		want    string
	}{
		{"out of order", numbered(1, 2), 9, "newest first"},
		{"duplicate", numbered(2, 2), 9, "each once"},
		{"score too large", []Entry{{"A/1", maxScore + 1}}, 9, "2^53"},
		{"negative source", nil, -1, "positive"},
	}
	a := newAuthors()
	good := feedsOf(w.process(t), a, a.load, WindowPolicy{Size: 2})
	for _, test := range tests {
		bad := feedsOf(w.process(t), a, func(context.Context, int, int64, int) ([]Entry, int64, error) {
			return test.entries, test.newest, nil
		}, WindowPolicy{Size: 2})
		must(t, good.Invalidate(t.Context(), 1))
		for _, what := range []string{"load", "join"} {
			good.follow(t, 1, "A")
			if _, err := bad.Page(t.Context(), 1, maxUnionScore, 10, nil); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s, %s: got %v, want an error with %q", test.name, what, err, test.want)
			}
			wantFeed(t, test.name+", "+what, good, 1, ", all")
		}
	}
	k := good.keys(1)
	long := feedsOf(w.process(t), a, func(context.Context, int, int64, int) ([]Entry, int64, error) {
		return []Entry{UnionEntry("A", "3", 3), UnionEntry("A", "2", 2), UnionEntry("A", "1", 1)}, 99, nil
	}, WindowPolicy{Size: 2})
	w.drop(t, k.window)
	wantFeed(t, "more than the limit", long, 1, "A/3 A/2, from 2")
}

// cancelOnReply cancels a reader at the reply to its next pipeline.
type cancelOnReply struct {
	mu    sync.Mutex
	leave context.CancelFunc
}

func (l *cancelOnReply) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (l *cancelOnReply) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (l *cancelOnReply) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.leave != nil {
			l.leave()
			l.leave = nil
		}
		return err
	}
}

func unionReaderLeavesEarly(t *testing.T, w *world) {
	a := newAuthors()
	hook := new(cancelOnReply)
	f := feedsOf(w.process(t, hook), a, a.load, WindowPolicy{})
	f.follow(t, 1, "A")
	f.mustPage(t, 1, maxUnionScore, 1) // loads the scripts
	must(t, f.Invalidate(t.Context(), 1))
	ctx, leave := context.WithCancel(t.Context())
	hook.mu.Lock()
	hook.leave = leave
	hook.mu.Unlock()
	if page, err := f.Page(ctx, 1, maxUnionScore, 10, nil); !errors.Is(err, context.Canceled) || page.OK {
		t.Errorf("cancelled reader: got %+v, %v, want context.Canceled", page, err)
	}
	f.client.Wait()
	if n := w.countKeys(t, f.keys(1).lease); n != 0 {
		t.Error("a lease remains")
	}
	if page, err := f.Page(ctx, 1, maxUnionScore, 10, nil); !errors.Is(err, context.Canceled) || page.OK {
		t.Errorf("cancelled reader, second read: got %+v, %v, want context.Canceled", page, err)
	}
	if got := f.Window().Stats().RedisErrors; got != 0 {
		t.Errorf("%d errors of Redis, want none", got)
	}
}

func unionReaderLeavesALoad(t *testing.T, w *world) {
	a := newAuthors()
	load, nextLoad := a.pausing(t, 2)
	here, there := feedsOf(w.process(t), a, load, WindowPolicy{}), feedsOf(w.process(t), a, a.load, WindowPolicy{})
	a.write("A", "B")
	for _, source := range []string{"A", "B"} { // a load, then a join
		there.follow(t, 1, source)
		ctx, leave := context.WithCancel(t.Context())
		reader := unionPageLater(ctx, here, 1)
		p := nextLoad()
		leave()
		if got := receive(t, reader); !errors.Is(got.err, context.Canceled) {
			t.Errorf("cancelled reader: got %+v, want context.Canceled", got)
		}
		if _, ok := p.ctx.Deadline(); !ok || p.ctx.Err() != nil {
			t.Errorf("got load with deadline %v, ended %v, want a running one with a deadline", ok, p.ctx.Err())
		}
		a.wantCalls(t, "with "+source, 1, 1)
		p.end <- nil
		here.client.loads.Wait()
		for _, name := range w.names(t) {
			if left := w.rdb.PTTL(t.Context(), name).Val(); left <= 0 {
				t.Errorf("with %s: %s has no TTL", source, name)
			}
		}
		there.mustPage(t, 1, maxUnionScore, 10)
		a.wantCalls(t, "afterwards", 0, 0)
	}
	wantFeed(t, "at the end", there, 1, "B/2 A/1, all")
}

// sendTwice repeats each pipeline, like a client that lost the first reply.
type sendTwice struct{ on atomic.Bool }

func (h *sendTwice) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (h *sendTwice) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (h *sendTwice) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		if h.on.Load() {
			err = next(ctx, cmds)
		}
		return err
	}
}

func unionRepeatsCommands(t *testing.T, w *world) {
	a := newAuthors()
	hook := new(sendTwice)
	f := feedsOf(w.process(t, hook), a, a.load, WindowPolicy{})
	f.follow(t, 1, "A")
	a.write("A", "B")
	f.mustPage(t, 1, maxUnionScore, 1)
	hook.on.Store(true)
	must(t, f.Invalidate(t.Context(), 1))
	wantFeed(t, "loaded", f, 1, "A/1, all")
	f.follow(t, 1, "B")
	wantFeed(t, "joined", f, 1, "B/2 A/1, all")
	f.publish(t, "A")
	wantFeed(t, "pushed", f, 1, "A/3 B/2 A/1, all")
	a.wantCalls(t, "total", 3, 2)
}

func TestUnionIsUnknownWithoutRedis(t *testing.T) {
	w := miniWorld(t)
	a := newAuthors()
	away := new(outage)
	f := feedsOf(w.process(t, away), a, a.load, WindowPolicy{})
	f.follow(t, 1, "A")
	a.write("A")
	wantFeed(t, "at first", f, 1, "A/1, all")
	a.wantCalls(t, "at first", 1, 1)
	away.on.Store(true)
	wantFeed(t, "unavailable", f, 1, "unknown")
	a.wantCalls(t, "unavailable", 0, 0)
	if err := f.Invalidate(t.Context(), 1); !errors.Is(err, errOutage) {
		t.Errorf("Invalidate: got %v, want errOutage", err)
	}
	away.on.Store(false)
	wantFeed(t, "back", f, 1, "A/1, all")
	if diff := cmp.Diff(Stats{Name: "feed-in", Hits: 1, Misses: 2, Loads: 1, LoadCalls: 1, RedisErrors: 2}, f.Window().Stats()); diff != "" {
		t.Error(diff)
	}
}

func TestUnionSurvivesRedisFailureDuringLoad(t *testing.T) {
	for _, what := range []string{"load", "join"} {
		m := miniredis.RunT(t)
		rdb := newClient("tcp", m.Addr())
		h, err := NewClient(rdb, Options{})
		must(t, err)
		a := newAuthors()
		fails := what == "load"
		f := feedsOf(h, a, func(ctx context.Context, user int, above int64, limit int) ([]Entry, int64, error) {
			if fails {
				m.Close()
			}
			return a.load(ctx, user, above, limit)
		}, WindowPolicy{})
		f.follow(t, 1, "A")
		if what == "join" {
			f.mustPage(t, 1, maxUnionScore, 1)
			f.follow(t, 1, "B")
			fails = true
		}
		wantFeed(t, what, f, 1, "unknown")
		if got := f.Window().Stats().RedisErrors; got != 1 {
			t.Errorf("%s: got %d Redis errors, want 1", what, got)
		}
		h.Wait()
		must(t, rdb.Close())
	}
}

func TestUnionReadGivesUpWhenAlwaysOvertaken(t *testing.T) {
	w := miniWorld(t)
	a := newAuthors()
	var f *feeds
	f = feedsOf(w.process(t), a, func(ctx context.Context, user int, above int64, limit int) ([]Entry, int64, error) {
		entries, newest, err := a.load(ctx, user, above, limit)
		return entries, newest, errors.Join(err, f.Window().Add(ctx, user, a.write("A")...))
	}, WindowPolicy{})
	f.follow(t, 1, "A")
	wantFeed(t, "overtaken each time", f, 1, "unknown")
	a.wantCalls(t, "overtaken each time", maxUnionReads-1, 1) // the first read loads the sources
}

func TestUnionWindowIsNotReadAlone(t *testing.T) {
	a := newAuthors()
	f := feedsOf(miniWorld(t).process(t), a, a.load, WindowPolicy{})
	if _, _, err := f.Window().Page(t.Context(), 1, nil, 10); !errors.Is(err, errReadAlone) {
		t.Errorf("got %v, want %v", err, errReadAlone)
	}
}
