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

// windowState says what a read of a window came to.
type windowState int

const (
	windowFailed  windowState = iota // Redis did not answer
	windowAbsent                     // nobody holds a lease that this read knows of
	windowGranted                    // the reader has to load
	windowBusy                       // somebody else loads
	windowFound                      // Redis has it
	windowLoaded                     // it was read from the truth
)

type windowResult struct {
	state   windowState
	entries []Entry       // newest first
	whole   bool          // the window holds the whole list
	busy    time.Duration // what another load's lease has left
	err     error         // why there are no entries: the loader's, or that of ctx; nothing else counts then
}

// page chooses what is older than after. The entries may begin before it.
func (a windowResult) page(after *Entry, first int) (entries []Entry, complete bool) {
	entries = a.entries
	if after != nil {
		skip, _ := slices.BinarySearchFunc(entries, *after, func(e, after Entry) int {
			return cmp.Or(after.Compare(e), -1) // the cursor itself is not older than itself
		})
		entries = entries[skip:]
	}
	if len(entries) >= first {
		return entries[:first:first], true
	}
	return entries, a.whole
}

// pageRange is what window_read.lua is asked for.
type pageRange struct {
	from  string // score
	count int
}

// firstRange is the range of a first page.
func firstRange(first int) pageRange { return pageRange{from: "+inf", count: min(first, maxWindow)} }

// read looks at up to 500 windows in one round trip, and with a token asks for the
// leases of missing ones. Its answers are in the order of ks.
func (w *Window[K]) read(ctx context.Context, ks []K, part pageRange, token string) []windowResult {
	calls := make([]scriptCall, len(ks))
	for i, k := range ks {
		life, renew := w.ttls()
		calls[i] = scriptCall{script: windowReadScript, key: w.nameOf(k), args: []any{part.from, part.count, life, renew, token, w.policy.LeaseTTL.Milliseconds()}}
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

// ttls is the life that a window is given, and what it has left at most when it is
// given a new one by a read, in milliseconds. Windows that were loaded together shall
// not expire together, and a hot one shall not be written at every read.
func (w *Window[K]) ttls() (life, renew int64) {
	return spread(w.policy.TTL, 0.1, mathrand.Float64()).Milliseconds(), (w.policy.TTL * 3 / 4).Milliseconds()
}

// count counts what a first look at windows found.
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
		return windowResult{}, fmt.Errorf("window_read.lua answered %T", v)
	}
}

// parseWindow understands a marker's score and pairs of member and score.
func parseWindow(list []any) (windowResult, error) {
	if len(list)%2 != 1 {
		return windowResult{}, fmt.Errorf("window_read.lua answered %d items", len(list))
	}
	a := windowResult{state: windowFound, whole: list[0] == markWhole, entries: make([]Entry, 0, len(list)/2)}
	for i := 1; i < len(list); i += 2 {
		member, _ := list[i].(string)
		text, _ := list[i+1].(string)
		score, err := strconv.ParseFloat(text, 64) // 1700000000000 may be written as 1.7e+12
		if err != nil {
			return windowResult{}, fmt.Errorf("window_read.lua answered the score %q", text)
		}
		a.entries = append(a.entries, Entry{Member: strings.TrimPrefix(member, "\x00"), Score: int64(score)})
	}
	return a, nil
}

// stored is the member as the sorted set has it: the empty text is the marker's.
// The order of members stays what it was.
func stored(member string) string {
	if member == "" || member[0] == 0 {
		return "\x00" + member
	}
	return member
}

// appendEntries adds the arguments of ZADD.
func appendEntries(args []any, entries []Entry) []any {
	for _, e := range entries {
		args = append(args, e.Score, stored(e.Member))
	}
	return args
}

func checkScores(entries []Entry) error {
	for _, e := range entries {
		if e.Score > maxScore || e.Score < -maxScore {
			return fmt.Errorf("the score %d of %q is beyond 2^53", e.Score, e.Member)
		}
	}
	return nil
}

// fill answers for the windows that a first look did not find. While somebody else
// is loading them it looks again until they are there or the right to load them has
// come to this reader; how long it waits is the rule of [Cache.Get]. Then, and where
// Redis fails, it loads for itself.
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

// indexesOf returns the places of the answers in a state, unless they have an error.
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

// replaceResults replaces the answers at these places.
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

// loadDetached asks for leases, and loads and stores what is granted. It waits for that or
// for ctx; the load does not end with ctx.
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
	token := rand.Text() // one for each load, as in Cache
	answers := w.read(ctx, ks, part, token)
	replaceResults(ks, answers, indexesOf(answers, windowGranted), func(granted []K) (loaded []windowResult) {
		for part := range slices.Chunk(granted, max(1, maxTripEntries/w.policy.Size)) { // what one load holds in memory, and its time, have a bound
			some := w.loadLists(ctx, part)
			w.store(ctx, token, part, some)
			loaded = append(loaded, some...)
		}
		return loaded
	})
	return answers
}

// loadLists runs the loader once, if ctx has not ended.
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
		if err != nil { // of this list alone
			w.counts.loadErrors.Add(1)
			answers[i] = windowResult{err: fmt.Errorf("load a window %s: %w", w.policy.Name, err)}
		}
	}
	return answers
}

// callLoader is one call of the loader. A panic becomes an error.
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

// checkLoaded checks what a loader returned: entries out of order would be a window
// with holes, and nobody would ever see that.
func (w *Window[K]) checkLoaded(entries []Entry) (windowResult, error) {
	for i, e := range entries {
		if i > 0 && e.Compare(entries[i-1]) >= 0 {
			return windowResult{}, fmt.Errorf("%v comes after %v, want newest first and each once", e, entries[i-1])
		}
	}
	a := windowResult{state: windowLoaded, whole: len(entries) < w.policy.Size}
	a.entries = entries[:min(len(entries), w.policy.Size)]
	return a, checkScores(a.entries)
}

// store ends a load: what it read of each list is kept if the lease is still its
// own. Without entries that can be kept, others need not wait for the lease to
// expire. A round trip carries about 20 000 entries.
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

// storeSome is one round trip of store.
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
		life, _ := w.ttls()
		calls[i] = scriptCall{script: windowStoreScript, key: w.nameOf(k), args: appendEntries([]any{token, mark, life, ""}, loaded[i].entries)}
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
	w.client.logFailure(ctx, "asking Redis for a window", w.policy.Name, err)
}
