package cache

import (
	"context"
	"crypto/rand"
	_ "embed" // the scripts
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// UnionEntry names an entry of a union: where it comes from, and what it is. The name of a
// source is not empty and has no '/'.
func UnionEntry(source, item string, score int64) Entry {
	return Entry{Member: source + "/" + item, Score: score}
}

// UnionLoader reads from the truth the newest entries, limit at most, that those sources of a
// list hold together whose scores are higher than above, newest first; and, at the same
// moment, the score of the list's newest source, 0 if it has none. Like a [Loader] it must
// begin to read after it is called.
type UnionLoader[K comparable] func(ctx context.Context, k K, above int64, limit int) (entries []Entry, newest int64, err error)

// Union keeps, for each key, the newest entries of many lists together, which are its
// sources: the feed of a user is the union of the notes of whom she follows. Which sources
// it has at a moment is said by a [Window] of the same key. It is safe for concurrent use.
//
// Entries are pushed into it when they come to be ([Window.AddEach] of its window), and what
// is shown is decided when it is read: entries of what is no source any more are passed
// over. A source that joins brings its older entries along: the union remembers the newest
// source that it holds, by the score that the window of sources gives it, and the reader who
// finds a newer one adds what is missing. So nothing has to be told to a union when sources
// join and leave, nothing can be told too late, and no moment between is seen: one script
// looks at both.
//
// For that, the scores of sources are positive, grow with each that joins, and one that joins
// again gets a new one; the loader knows them. The window of sources is loaded as a whole, from one
// state of the truth: it is told of who joined by [Window.Invalidate], not by Add. No two entries
// of a list have the same score: a page would not know how many of them are below it. An entry
// that was taken out of the truth may stay here or come back; its reader leaves it out.
type Union[K comparable] struct {
	window  *Window[K]
	sources *Window[K]
	load    UnionLoader[K]
}

// NewUnion builds the unions of one kind. Their keys have the same texts as those of
// sources, so both lie in one slot of a cluster. What is said of NewWindow holds here too.
func NewUnion[K comparable](client *Client, p WindowPolicy, sources *Window[K], load UnionLoader[K]) *Union[K] {
	all := func(context.Context, []K, int) (map[K][]Entry, error) { return nil, errReadAlone }
	return &Union[K]{window: NewWindow(client, p, sources.key, all), sources: sources, load: load}
}

// errReadAlone says that the window of a union is not to be read as one.
var errReadAlone = errors.New("a union is read with its sources")

// Window is where the entries lie, for adding some, and for looking at what is kept. Its
// readers are those of the union.
func (u *Union[K]) Window() *Window[K] { return u.window }

// SourceSet says which sources a list has, without naming them: two answers about one list
// are equal if and only if its sources are the same.
type SourceSet struct {
	Newest int64 // score of the newest one
	Count  int
}

// UnionPage is a part of a union.
type UnionPage struct {
	// Known says that the union answered. Otherwise Redis is away, somebody else is loading
	// what is not there, or it has more sources than a window holds: ask the truth.
	Known   bool
	Entries []Entry // newest first, of sources that the list has
	// Floor is the score from which on Entries is all there is, below what was asked for.
	Floor   int64
	Sources SourceSet
	Has     map[string]bool // those of the names that were asked for and are sources: true
}

// maxUnionReads is how often a reader begins anew, because sources joined, or what he loaded
// was overtaken, before he is sent to the truth.
const maxUnionReads = 4

// Page returns the newest entries of a list at and below a score, most of them if there are
// so many, and says which of some names are its sources, at the same moment.
//
// It costs one round trip. If the union is not there it is loaded, which costs a call of the
// loader and three round trips more; what joined since is added, for a call and two. An error
// is a loader's, wrapped, or that of ctx.
func (u *Union[K]) Page(ctx context.Context, k K, from int64, most int, names []string) (UnionPage, error) {
	for try := range maxUnionReads {
		a := u.read(ctx, k, from, most, names, "")
		if try == 0 {
			u.window.count([]windowResult{{state: a.state}})
		}
		if a.state == windowFound {
			return a.page, nil
		}
		if a.state == unionSourcesAbsent && try > 0 {
			break // a load of them is not kept now: to repeat it would not help
		}
		again, err := u.repair(ctx, k, a)
		if err != nil {
			return UnionPage{}, fmt.Errorf("load a union %s: %w", u.window.policy.Name, err)
		}
		if !again {
			break
		}
	}
	return UnionPage{}, ctx.Err()
}

// Invalidate drops the unions of lists, for the next reader to load.
func (u *Union[K]) Invalidate(ctx context.Context, ks ...K) error {
	return u.window.Invalidate(ctx, ks...)
}

// NewestSource is the score of the newest source whose entries the union of a list holds, 0 if there is
// no union. It changes nothing, not even how long the union is kept.
func (u *Union[K]) NewestSource(ctx context.Context, k K) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, u.window.client.timeout)
	defer cancel()
	seen, err := u.window.client.rdb.Get(ctx, u.window.nameOf(k)+":s").Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return 0, fmt.Errorf("read the newest source of a union %s: %w", u.window.policy.Name, err)
	}
	return seen, nil
}

const (
	unionSourcesAbsent  windowState = windowLoaded + 1 + iota // there is no window of the sources
	unionSourcesPartial                                       // that window does not hold all of them
	unionBehind                                               // sources joined
)

type unionResult struct {
	state  windowState
	newest int64  // of the sources
	seen   string // the newest source that the union holds
	page   UnionPage
}

// read looks at a union and its sources in one round trip, and with a token asks for the
// lease of a union that is missing.
func (u *Union[K]) read(ctx context.Context, k K, from int64, most int, names []string, token string) unionResult {
	w := u.window
	life, renew := w.ttls()
	sourcesLife, sourcesRenew := u.sources.ttls()
	args := append(make([]any, 0, 8+len(names)), from, most, life, renew, sourcesLife, sourcesRenew, token, w.policy.LeaseTTL.Milliseconds())
	for _, name := range names {
		args = append(args, stored(name))
	}
	one := scriptCall{script: unionReadScript, key: w.nameOf(k), args: args, more: []string{w.nameOf(k) + ":s", u.sources.nameOf(k)}}
	a, err := readUnion(w.client.run(ctx, []scriptCall{one})[0], names)
	if err != nil && !ended(ctx) {
		w.redisFailed(ctx, err)
	}
	return a
}

// readUnion understands union_read.lua.
func readUnion(cmd *redis.Cmd, names []string) (unionResult, error) {
	v, err := cmd.Result()
	if err != nil {
		return unionResult{}, err
	}
	if n, ok := v.(int64); ok {
		switch {
		case n == 0:
			return unionResult{state: windowGranted}, nil
		case n > 0:
			return unionResult{state: windowBusy}, nil
		case n == -1:
			return unionResult{state: unionSourcesAbsent}, nil
		case n == -2:
			return unionResult{state: unionSourcesPartial}, nil
		}
		return unionResult{state: windowAbsent}, nil
	}
	list, _ := v.([]any)
	if len(list) == 2 {
		newest, err := scoreIn(list[0])
		seen, _ := list[1].(string)
		return unionResult{state: unionBehind, newest: newest, seen: seen}, err
	}
	bad := fmt.Errorf("union_read.lua answered %T of %d items", v, len(list))
	if len(list) < 4 {
		return unionResult{}, bad
	}
	n, _ := list[3].(int64)
	if int64(len(list)) != 4+2*n+int64(len(names)) {
		return unionResult{}, bad
	}
	count, _ := list[1].(int64)
	a := unionResult{state: windowFound, page: UnionPage{Known: true, Floor: math.MinInt64, Has: map[string]bool{}}}
	a.page.Sources.Count = int(count)
	if a.page.Sources.Newest, err = scoreIn(list[0]); err != nil {
		return unionResult{}, err
	}
	if list[2] != "" {
		if a.page.Floor, err = scoreIn(list[2]); err != nil {
			return unionResult{}, err
		}
	}
	for i := int64(4); i < 4+2*n; i += 2 {
		member, _ := list[i].(string)
		score, err := scoreIn(list[i+1])
		if err != nil {
			return unionResult{}, err
		}
		a.page.Entries = append(a.page.Entries, Entry{Member: strings.TrimPrefix(member, "\x00"), Score: score})
	}
	for i, name := range names {
		if list[4+2*n+int64(i)] == int64(1) {
			a.page.Has[name] = true
		}
	}
	return a, nil
}

// scoreIn reads a score as Redis writes it: 1700000000000 may be 1.7e+12.
func scoreIn(v any) (int64, error) {
	text, _ := v.(string)
	score, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("a script answered the score %q", text)
	}
	return int64(score), nil
}

// repair does what a read found missing. It reports whether the read is to be repeated.
func (u *Union[K]) repair(ctx context.Context, k K, a unionResult) (again bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	switch a.state {
	case unionSourcesAbsent:
		_, err := u.sources.Has(ctx, k, nil)
		return true, err
	case windowAbsent:
		return u.detached(ctx, func(ctx context.Context) (bool, error) { return u.fill(ctx, k) })
	case unionBehind:
		return u.detached(ctx, func(ctx context.Context) (bool, error) { return u.join(ctx, k, a) })
	default:
		return false, nil
	}
}

// detached does something that goes on when its reader leaves, who must not leave a lease
// behind.
func (u *Union[K]) detached(ctx context.Context, do func(context.Context) (bool, error)) (bool, error) {
	type end struct {
		again bool
		err   error
	}
	done := make(chan end, 1)
	u.window.client.loads.Go(func() {
		e := end{err: errExited}
		defer func() { done <- e }()
		e.again, e.err = do(context.WithoutCancel(ctx))
	})
	select {
	case e := <-done:
		return e.again, e.err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// callLoader runs the loader once. A panic becomes an error, and so does what could not be kept.
func (u *Union[K]) callLoader(ctx context.Context, k K, above int64, limit int) (entries []Entry, newest int64, err error) {
	w := u.window
	w.counts.loadCalls.Add(1)
	w.counts.loads.Add(1)
	ctx, cancel := context.WithTimeout(ctx, w.policy.LoadTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		if err != nil {
			w.counts.loadErrors.Add(1)
		}
	}()
	entries, newest, err = u.load(ctx, k, above, limit)
	if err != nil {
		return nil, 0, err
	}
	if newest < 0 {
		return nil, 0, fmt.Errorf("the newest source has the score %d, want a positive one", newest)
	}
	if _, err := w.checkLoaded(entries); err != nil {
		return nil, 0, err
	}
	entries = entries[:min(len(entries), limit)]
	return entries, newest, checkScores(entries)
}

// fill takes the lease of a union, loads it, and stores it if the lease is still its own.
func (u *Union[K]) fill(ctx context.Context, k K) (again bool, err error) {
	w, token := u.window, rand.Text()
	if a := u.read(ctx, k, 0, 0, nil, token); a.state != windowGranted {
		return a.state != windowFailed, nil // somebody else was faster
	}
	entries, newest, err := u.callLoader(ctx, k, 0, w.policy.Size)
	mark := markPartial
	switch {
	case err != nil:
		mark = "" // nobody need wait for the lease to expire
	case len(entries) < w.policy.Size:
		mark = markWhole
	}
	life, _ := w.ttls()
	args := appendEntries([]any{token, mark, life, newest}, entries)
	cmd := w.client.run(ctx, []scriptCall{{script: windowStoreScript, key: w.nameOf(k), args: args, more: []string{w.nameOf(k) + ":s"}}})[0]
	kept, failed := cmd.Int()
	switch {
	case failed != nil:
		w.redisFailed(ctx, failed)
	case kept == 0 && err == nil:
		w.counts.storesRefused.Add(1)
	}
	return failed == nil, err
}

// join adds what the sources hold that joined since the union was made. Those that left
// again meanwhile count as held: if they come back, they have a higher score.
func (u *Union[K]) join(ctx context.Context, k K, a unionResult) (again bool, err error) {
	w := u.window
	seen, err := strconv.ParseInt(a.seen, 10, 64)
	if err != nil {
		return false, fmt.Errorf("its newest source: %w", err)
	}
	entries, newest, err := u.callLoader(ctx, k, seen, w.policy.Size+1)
	if err != nil {
		return false, err
	}
	args := appendEntries([]any{w.policy.Size, markPartial, a.seen, max(newest, a.newest)}, entries)
	cmd := w.client.run(ctx, []scriptCall{{script: unionJoinScript, key: w.nameOf(k), args: args, more: []string{w.nameOf(k) + ":s"}}})[0]
	if err := cmd.Err(); err != nil {
		w.redisFailed(ctx, err)
		return false, nil
	}
	return true, nil
}

var (
	//go:embed lua/union_read.lua
	unionReadLua string
	//go:embed lua/union_join.lua
	unionJoinLua string

	unionReadScript = redis.NewScript(unionReadLua)
	unionJoinScript = redis.NewScript(windowPutLua + unionJoinLua)
)
