package cache

import (
	"cmp"
	"context"
	"crypto/rand"
	_ "embed" // the scripts
	"fmt"
	mathrand "math/rand/v2"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

var (
	//go:embed lua/window_read.lua
	windowReadLua string
	//go:embed lua/window_store.lua
	windowStoreLua string
	//go:embed lua/window_has.lua
	windowHasLua string
	//go:embed lua/window_put.lua
	windowPutLua string
	//go:embed lua/window_add.lua
	windowAddLua string
	//go:embed lua/window_remove.lua
	windowRemoveLua string

	windowReadScript   = redis.NewScript(windowReadLua)
	windowStoreScript  = redis.NewScript(windowStoreLua)
	windowHasScript    = redis.NewScript(windowHasLua)
	windowAddScript    = redis.NewScript(windowPutLua + windowAddLua)
	windowRemoveScript = redis.NewScript(windowRemoveLua)
)

// windowState is the outcome of a read of a window.
type windowState int

const (
	windowFailed  windowState = iota // Redis is unavailable
	windowAbsent                     // missing, without a known lease
	windowGranted                    // this reader must load
	windowBusy                       // another reader loads
	windowFound                      // read from Redis
	windowLoaded                     // read from the source of truth
)

type windowResult struct {
	state   windowState
	entries []Entry       // newest first
	whole   bool          // the window holds the whole list
	busy    time.Duration // remaining time of another load's lease
	err     error         // of the loader or ctx; invalidates the other fields
}

// page selects entries older than after. The window may begin with newer ones.
func (a windowResult) page(after *Entry, first int) (entries []Entry, complete bool) {
	entries = a.entries
	if after != nil {
		skip, _ := slices.BinarySearchFunc(entries, *after, func(e, after Entry) int {
			return cmp.Or(after.Compare(e), -1) // excludes the cursor itself
		})
		entries = entries[skip:]
	}
	if len(entries) >= first {
		return entries[:first:first], true
	}
	return entries, a.whole
}

// pageRange is a request to window_read.lua.
type pageRange struct {
	from  string // score
	count int
}

func firstRange(first int) pageRange { return pageRange{from: "+inf", count: min(first, maxWindow)} }

// read reads up to 500 windows in one round trip. With a token it also requests the leases of
// missing ones. Its results are in the order of ks.
func (w *Window[K]) read(ctx context.Context, ks []K, part pageRange, token string) []windowResult {
	calls := make([]scriptCall, len(ks))
	for i, k := range ks {
		ttl, renewBelow := w.ttls()
		calls[i] = scriptCall{script: windowReadScript, key: w.nameOf(k), args: []any{part.from, part.count, ttl, renewBelow, token, w.policy.LeaseTTL.Milliseconds()}}
	}
	answers := make([]windowResult, len(ks))
	var failed error
	for i, cmd := range w.client.run(ctx, calls) {
		var err error
		answers[i], err = readWindow(cmd)
		failed = cmp.Or(failed, err)
	}
	if failed != nil && !ended(ctx) {
		w.redisFailed(ctx, failed)
	}
	return answers
}

// ttls returns the TTL of a window and the remaining TTL below which a read renews it, in
// milliseconds. Windows that were loaded together must not expire together, and a read must
// not write a hot window each time.
func (w *Window[K]) ttls() (ttl, renewBelow int64) {
	return spread(w.policy.TTL, 0.1, mathrand.Float64()).Milliseconds(), (w.policy.TTL * 3 / 4).Milliseconds()
}

// count counts the results of a first read.
func (w *Window[K]) count(answers []windowResult) {
	for _, a := range answers {
		if a.state == windowFound {
			w.counts.hits.Add(1)
		} else {
			w.counts.misses.Add(1)
		}
	}
}

func readWindow(cmd *redis.Cmd) (windowResult, error) {
	if err := cmd.Err(); err != nil {
		return windowResult{}, err
	}
	switch v := cmd.Val().(type) {
	case int64:
		switch {
		case v < 0:
			return windowResult{state: windowAbsent}, nil
		case v == 0:
			return windowResult{state: windowGranted}, nil
		}
		return windowResult{state: windowBusy, busy: time.Duration(v) * time.Millisecond}, nil
	case []any:
		return parseWindow(v)
	default:
		return windowResult{}, fmt.Errorf("window_read.lua returned %T", v)
	}
}

// parseWindow parses the score of the marker and pairs of member and score.
func parseWindow(list []any) (windowResult, error) {
	if len(list)%2 != 1 {
		return windowResult{}, fmt.Errorf("window_read.lua returned %d items", len(list))
	}
	a := windowResult{state: windowFound, whole: list[0] == markWhole, entries: make([]Entry, 0, len(list)/2)}
	for i := 1; i < len(list); i += 2 {
		member, _ := list[i].(string)
		text, _ := list[i+1].(string)
		score, err := strconv.ParseFloat(text, 64) // 1700000000000 may be written as 1.7e+12
		if err != nil {
			return windowResult{}, fmt.Errorf("window_read.lua returned invalid score %q", text)
		}
		a.entries = append(a.entries, Entry{Member: strings.TrimPrefix(member, "\x00"), Score: int64(score)})
	}
	return a, nil
}

// stored returns the member as in the sorted set, where the empty text is the marker. It
// preserves the order of members.
func stored(member string) string {
	if member == "" || member[0] == 0 {
		return "\x00" + member
	}
	return member
}

// appendEntries appends the arguments of ZADD.
func appendEntries(args []any, entries []Entry) []any {
	for _, e := range entries {
		args = append(args, e.Score, stored(e.Member))
	}
	return args
}

func checkScores(entries []Entry) error {
	for _, e := range entries {
		if e.Score > maxScore || e.Score < -maxScore {
			return fmt.Errorf("score of %q must be at most 2^53-1 in magnitude, got %d", e.Member, e.Score)
		}
	}
	return nil
}

// fill completes the results that a first read did not find. While another reader loads them,
// fill reads again until they are stored or it gets the lease. It waits as long as
// [Cache.Get]. After that, or if Redis fails, it calls the loader without storing.
func (w *Window[K]) fill(ctx context.Context, ks []K, part pageRange, answers []windowResult) {
	load := func(some []K) []windowResult { return w.loadLists(ctx, some) }
	start := func(some []K) []windowResult { return w.loadDetached(ctx, some, part) }
	var waitUntil time.Time
	for pause := time.Millisecond; ; pause = min(2*pause, maxPause) {
		replaceResults(ks, answers, indexesOf(answers, windowFailed), load)
		busy := indexesOf(answers, windowBusy)
		open := append(indexesOf(answers, windowAbsent), busy...)
		if len(open) == 0 {
			return
		}
		if len(busy) > 0 && waitUntil.IsZero() {
			w.counts.waits.Add(int64(len(busy)))
			waitUntil = time.Now().Add(min(maxLease(answers), w.policy.LeaseTTL) + w.policy.LoadTimeout)
		}
		if len(busy) > 0 && (time.Now().After(waitUntil) || clock.Sleep(ctx, pause) != nil) {
			replaceResults(ks, answers, open, load)
			return
		}
		replaceResults(ks, answers, open, start)
	}
}

// indexesOf omits results with an error.
func indexesOf(answers []windowResult, is windowState) []int {
	var at []int
	for i, a := range answers {
		if a.state == is && a.err == nil {
			at = append(at, i)
		}
	}
	return at
}

func maxLease(answers []windowResult) (lease time.Duration) {
	for _, a := range answers {
		lease = max(lease, a.busy)
	}
	return lease
}

func replaceResults[K comparable](ks []K, answers []windowResult, at []int, find func([]K) []windowResult) {
	if len(at) == 0 {
		return
	}
	some := make([]K, len(at))
	for i, j := range at {
		some[i] = ks[j]
	}
	for i, a := range find(some) {
		answers[at[i]] = a
	}
}

// loadDetached requests leases, and loads and stores the granted lists. If ctx ends, it returns
// and the load continues.
func (w *Window[K]) loadDetached(ctx context.Context, ks []K, part pageRange) []windowResult {
	if err := ctx.Err(); err != nil {
		return slices.Repeat([]windowResult{{err: err}}, len(ks))
	}
	done := make(chan []windowResult, 1)
	w.client.loads.Go(func() {
		answers := slices.Repeat([]windowResult{{err: errExited}}, len(ks))
		defer func() { done <- answers }()
		answers = w.runLoad(context.WithoutCancel(ctx), ks, part)
	})
	select {
	case answers := <-done:
		return answers
	case <-ctx.Done():
		return slices.Repeat([]windowResult{{err: ctx.Err()}}, len(ks))
	}
}

func (w *Window[K]) runLoad(ctx context.Context, ks []K, part pageRange) []windowResult {
	token := rand.Text() // one per load, as in core.runLoad
	answers := w.read(ctx, ks, part, token)
	replaceResults(ks, answers, indexesOf(answers, windowGranted), func(granted []K) (loaded []windowResult) {
		for part := range slices.Chunk(granted, max(1, maxTripEntries/w.policy.Size)) { // bounds memory and duration of a load
			some := w.loadLists(ctx, part)
			w.store(ctx, token, part, some)
			loaded = append(loaded, some...)
		}
		return loaded
	})
	return answers
}

// loadLists runs the loader once, unless ctx has ended.
func (w *Window[K]) loadLists(ctx context.Context, ks []K) []windowResult {
	if err := ctx.Err(); err != nil {
		return slices.Repeat([]windowResult{{err: err}}, len(ks))
	}
	w.counts.loadCalls.Add(1)
	w.counts.loads.Add(int64(len(ks)))
	lists, err := w.callLoader(ctx, ks)
	if err != nil {
		w.counts.loadErrors.Add(1)
		err = fmt.Errorf("load %d windows %s: %w", len(ks), w.policy.Name, err)
		return slices.Repeat([]windowResult{{err: err}}, len(ks))
	}
	answers := make([]windowResult, len(ks))
	for i, k := range ks {
		answers[i], err = w.checkLoaded(lists[k])
		if err != nil { // affects this list only
			w.counts.loadErrors.Add(1)
			answers[i] = windowResult{err: fmt.Errorf("load window %s: %w", w.policy.Name, err)}
		}
	}
	return answers
}

// callLoader runs the loader. It converts a panic to an error.
func (w *Window[K]) callLoader(ctx context.Context, ks []K) (lists map[K][]Entry, err error) {
	ctx, cancel := context.WithTimeout(ctx, w.policy.LoadTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return w.load(ctx, ks, w.policy.Size)
}

// checkLoaded checks a loader: unordered entries would produce a window with gaps.
func (w *Window[K]) checkLoaded(entries []Entry) (windowResult, error) {
	for i, e := range entries {
		if i > 0 && e.Compare(entries[i-1]) >= 0 {
			return windowResult{}, fmt.Errorf("loader returned %v after %v (want newest first, each once)", e, entries[i-1])
		}
	}
	a := windowResult{state: windowLoaded, whole: len(entries) < w.policy.Size}
	a.entries = entries[:min(len(entries), w.policy.Size)]
	return a, checkScores(a.entries)
}

// store ends a load. Redis stores each list if the lease still belongs to this load. A list
// that failed only releases its lease, so that other readers need not wait for its expiry. A
// round trip carries about 20 000 entries.
func (w *Window[K]) store(ctx context.Context, token string, ks []K, loaded []windowResult) {
	for first := 0; first < len(ks); {
		next, entries := first, 0
		for next < len(ks) && entries < maxTripEntries {
			entries += len(loaded[next].entries)
			next++
		}
		w.storeSome(ctx, token, ks[first:next], loaded[first:next])
		first = next
	}
}

func (w *Window[K]) storeSome(ctx context.Context, token string, ks []K, loaded []windowResult) {
	calls := make([]scriptCall, len(ks))
	for i, k := range ks {
		mark := markPartial
		switch a := loaded[i]; {
		case a.err != nil:
			mark = ""
		case a.whole:
			mark = markWhole
		}
		ttl, _ := w.ttls()
		calls[i] = scriptCall{script: windowStoreScript, key: w.nameOf(k), args: appendEntries([]any{token, mark, ttl, ""}, loaded[i].entries)}
	}
	var failed error
	for i, cmd := range w.client.run(ctx, calls) {
		done, err := cmd.Int()
		failed = cmp.Or(failed, err)
		if err == nil && done == 0 && loaded[i].err == nil {
			w.counts.storesRefused.Add(1)
		}
	}
	if failed != nil {
		w.redisFailed(ctx, failed)
	}
}

func (w *Window[K]) redisFailed(ctx context.Context, err error) {
	w.counts.redisErrors.Add(1)
	w.client.logFailure(ctx, "read window", w.policy.Name, err)
}
