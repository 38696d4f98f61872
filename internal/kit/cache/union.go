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

// UnionEntry returns an entry of a union with its source and item. The source name must not be
// empty and must not contain '/'.
func UnionEntry(source, item string, score int64) Entry {
	return Entry{Member: source + "/" + item, Score: score}
}

// A UnionLoader reads up to limit of the newest entries of a list, newest first. It includes
// only sources with a score higher than above. From the same snapshot it returns the score of
// the list's newest source, or 0 if it has none. It must read after it is called, like a
// [Loader].
type UnionLoader[K comparable] func(ctx context.Context, k K, above int64, limit int) (entries []Entry, newest int64, err error)

// Union caches the newest entries of several lists, its sources, merged into one list. For
// instance, the feed of a user is the union of the notes of followed authors. A [Window] of the
// same key holds the current sources. It is safe for concurrent use.
//
// Writers push new entries into the window of the union with [Window.AddEach]. A read skips
// entries of former sources. The union stores the score of the newest source that it includes.
// A reader that finds a newer source adds its entries. So the union needs no message when
// sources join or leave. One script reads both windows, so no intermediate state is visible.
//
// A union has conditions:
//
//   - Scores of sources are positive and increase with each source that joins, also with one
//     that joins again.
//   - The loader of the window of sources reads one snapshot of the source of truth.
//   - After a source joins, call [Window.Invalidate] on the window of sources, not Add.
//   - Two entries of a list never have the same score: a page ends between two scores.
//   - The reader skips entries that the source of truth no longer has: they may remain in the
//     union or return.
type Union[K comparable] struct {
	window  *Window[K]
	sources *Window[K]
	load    UnionLoader[K]
}

// NewUnion returns the unions of one kind. Their keys have the same texts as those of sources:
// both share a slot of a cluster. It panics like [NewWindow].
func NewUnion[K comparable](client *Client, p WindowPolicy, sources *Window[K], load UnionLoader[K]) *Union[K] {
	all := func(context.Context, []K, int) (map[K][]Entry, error) { return nil, errReadAlone }
	return &Union[K]{window: NewWindow(client, p, sources.key, all), sources: sources, load: load}
}

// errReadAlone is the load error of a union that is read as a plain window.
var errReadAlone = errors.New("window belongs to a union (want Union.Page)")

// Window returns the window with the entries, to add and to inspect them. Read them with
// [Union.Page]: reads of the window itself fail if it is missing.
func (u *Union[K]) Window() *Window[K] { return u.window }

// SourceSet identifies the sources of a list without their names. Two values for one list are
// equal if and only if the sources are the same.
type SourceSet struct {
	Newest int64 // score of the newest source
	Count  int
}

// UnionPage is a part of a union.
type UnionPage struct {
	// OK reports that the union has the page. Otherwise Redis is unavailable, another
	// reader is loading, or the list has more sources than a window holds: read the source of
	// truth.
	OK      bool
	Entries []Entry // newest first, of current sources
	// Floor is the lowest score down to which Entries is complete, if it has fewer entries than
	// the limit. It is math.MinInt64 if the union is the whole list.
	Floor   int64
	Sources SourceSet
	Has     map[string]bool // true for each requested name that is a source
}

// maxUnionReads bounds the reads of one page. They repeat if sources joined or a load was
// overtaken. After the last one, the source of truth must answer.
const maxUnionReads = 4

// Page returns up to limit of the newest entries of a list at and below the score from. From
// the same snapshot it reports which of some names are sources of the list.
//
// It costs one round trip. A missing union costs one loader call and three more round trips;
// new sources cost one call and two. Page returns a wrapped loader error or the error of ctx,
// never a Redis error.
func (u *Union[K]) Page(ctx context.Context, k K, from int64, limit int, names []string) (UnionPage, error) {
	for try := range maxUnionReads {
		a := u.read(ctx, k, from, limit, names, "")
		if try == 0 {
			u.window.count([]windowResult{{state: a.state}})
		}
		if a.state == windowFound {
			return a.page, nil
		}
		if a.state == unionSourcesAbsent && try > 0 {
			break // a load of the sources was not stored: another would not help
		}
		retry, err := u.repair(ctx, k, a)
		if err != nil {
			return UnionPage{}, fmt.Errorf("load union %s: %w", u.window.policy.Name, err)
		}
		if !retry {
			break
		}
	}
	return UnionPage{}, ctx.Err()
}

// Invalidate drops the unions of lists; the next reader loads them.
func (u *Union[K]) Invalidate(ctx context.Context, ks ...K) error {
	return u.window.Invalidate(ctx, ks...)
}

// NewestSource returns the score of the newest source that the union of a list includes, or 0
// if there is no union. It changes nothing and does not renew the union.
func (u *Union[K]) NewestSource(ctx context.Context, k K) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, u.window.client.timeout)
	defer cancel()
	seen, err := u.window.client.rdb.Get(ctx, u.window.nameOf(k)+":s").Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return 0, fmt.Errorf("read newest source of union %s: %w", u.window.policy.Name, err)
	}
	return seen, nil
}

const (
	unionSourcesAbsent  windowState = windowLoaded + 1 + iota // the window of sources is missing
	unionSourcesPartial                                       // the window of sources is not whole
	unionBehind                                               // the union lacks new sources
)

type unionResult struct {
	state  windowState
	newest int64  // of the sources
	seen   string // score of the newest source that the union includes
	page   UnionPage
}

// read reads a union and its sources in one round trip. With a token it also requests the
// lease of a missing union.
func (u *Union[K]) read(ctx context.Context, k K, from int64, limit int, names []string, token string) unionResult {
	w := u.window
	ttl, renewBelow := w.ttls()
	sourcesTTL, sourcesRenewBelow := u.sources.ttls()
	args := append(make([]any, 0, 8+len(names)), from, limit, ttl, renewBelow, sourcesTTL, sourcesRenewBelow, token, w.policy.LeaseTTL.Milliseconds())
	for _, name := range names {
		args = append(args, stored(name))
	}
	call := scriptCall{script: unionReadScript, key: w.nameOf(k), args: args, more: []string{w.nameOf(k) + ":s", u.sources.nameOf(k)}}
	a, err := readUnion(w.client.run(ctx, []scriptCall{call})[0], names)
	if err != nil && !ended(ctx) {
		w.redisFailed(ctx, err)
	}
	return a
}

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
	bad := fmt.Errorf("union_read.lua returned %T of %d items", v, len(list))
	if len(list) < 4 {
		return unionResult{}, bad
	}
	n, _ := list[3].(int64)
	if int64(len(list)) != 4+2*n+int64(len(names)) {
		return unionResult{}, bad
	}
	count, _ := list[1].(int64)
	a := unionResult{state: windowFound, page: UnionPage{OK: true, Floor: math.MinInt64, Has: map[string]bool{}}}
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

// scoreIn parses a score as Redis writes it: 1700000000000 may be 1.7e+12.
func scoreIn(v any) (int64, error) {
	text, _ := v.(string)
	score, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("script returned invalid score %q", text)
	}
	return int64(score), nil
}

// repair loads the missing part of a union. It reports whether to repeat the read.
func (u *Union[K]) repair(ctx context.Context, k K, a unionResult) (retry bool, err error) {
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

// detached runs do, which continues when its reader leaves, so that no lease is left behind.
func (u *Union[K]) detached(ctx context.Context, do func(context.Context) (bool, error)) (bool, error) {
	type end struct {
		retry bool
		err   error
	}
	done := make(chan end, 1)
	u.window.client.loads.Go(func() {
		e := end{err: errExited}
		defer func() { done <- e }()
		e.retry, e.err = do(context.WithoutCancel(ctx))
	})
	select {
	case e := <-done:
		return e.retry, e.err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// callLoader runs the loader once. It returns an error for a panic or an invalid result.
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
		return nil, 0, fmt.Errorf("newest source has score %d (want a positive score)", newest)
	}
	if _, err := w.checkLoaded(entries); err != nil {
		return nil, 0, err
	}
	entries = entries[:min(len(entries), limit)]
	return entries, newest, checkScores(entries)
}

// fill takes the lease of a union, loads the union, and stores it unless the lease was lost.
func (u *Union[K]) fill(ctx context.Context, k K) (retry bool, err error) {
	w, token := u.window, rand.Text()
	if a := u.read(ctx, k, 0, 0, nil, token); a.state != windowGranted {
		return a.state != windowFailed, nil // another reader was faster
	}
	entries, newest, err := u.callLoader(ctx, k, 0, w.policy.Size)
	mark := markPartial
	switch {
	case err != nil:
		mark = "" // only release the lease
	case len(entries) < w.policy.Size:
		mark = markWhole
	}
	ttl, _ := w.ttls()
	args := appendEntries([]any{token, mark, ttl, newest}, entries)
	cmd := w.client.run(ctx, []scriptCall{{script: windowStoreScript, key: w.nameOf(k), args: args, more: []string{w.nameOf(k) + ":s"}}})[0]
	done, failed := cmd.Int()
	switch {
	case failed != nil:
		w.redisFailed(ctx, failed)
	case done == 0 && err == nil:
		w.counts.storesRefused.Add(1)
	}
	return failed == nil, err
}

// join adds the entries of new sources. Sources that left meanwhile count as included: they
// would return with a higher score.
func (u *Union[K]) join(ctx context.Context, k K, a unionResult) (retry bool, err error) {
	w := u.window
	seen, err := strconv.ParseInt(a.seen, 10, 64)
	if err != nil {
		return false, fmt.Errorf("parse newest source: %w", err)
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
