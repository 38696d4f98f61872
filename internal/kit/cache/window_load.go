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
	//go:embed lua/window_add.lua
	windowAddLua string
	//go:embed lua/window_remove.lua
	windowRemoveLua string

	windowReadScript   = redis.NewScript(windowReadLua)
	windowStoreScript  = redis.NewScript(windowStoreLua)
	windowAddScript    = redis.NewScript(windowAddLua)
	windowRemoveScript = redis.NewScript(windowRemoveLua)
)

// windowState says what a read of a window came to.
type windowState int

const (
	windowFailed  windowState = iota // Redis did not answer
	windowAbsent                     // nobody holds a lease that this read knows of
	windowGranted                    // the reader has to load
	windowBusy                       // somebody else loads
	windowFound                      // there are entries, from Redis or from the truth
)

type windowAnswer struct {
	is      windowState
	entries []Entry       // newest first
	whole   bool          // the window holds the whole list
	busy    time.Duration // what another load's lease has left
}

// page chooses what is older than after. The entries may begin before it.
func (a windowAnswer) page(after *Entry, first int) (entries []Entry, complete bool) {
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

// read looks at a window and with a token asks for the lease of a missing one.
func (w *Window[K]) read(ctx context.Context, name string, part pageRange, token string) windowAnswer {
	// Windows that were loaded together shall not expire together, and a hot one
	// shall not be written at every read.
	life := spread(w.policy.Life, 0.1, mathrand.Float64())
	renew := w.policy.Life * 3 / 4
	cmd := w.hub.run(ctx, windowReadScript, []call{{name, []any{
		part.from, part.count, life.Milliseconds(), renew.Milliseconds(), token, w.policy.LeaseTTL.Milliseconds(),
	}}})[0]
	a, err := readWindow(cmd)
	if err != nil && !ended(ctx) {
		w.redisFailed(ctx, err)
	}
	return a
}

func readWindow(cmd *redis.Cmd) (windowAnswer, error) {
	if err := cmd.Err(); err != nil {
		return windowAnswer{}, err
	}
	switch v := cmd.Val().(type) {
	case int64:
		switch {
		case v < 0:
			return windowAnswer{is: windowAbsent}, nil
		case v == 0:
			return windowAnswer{is: windowGranted}, nil
		}
		return windowAnswer{is: windowBusy, busy: time.Duration(v) * time.Millisecond}, nil
	case []any:
		return parseWindow(v)
	default:
		return windowAnswer{}, fmt.Errorf("window_read.lua answered %T", v)
	}
}

// parseWindow understands a marker's score and pairs of member and score.
func parseWindow(list []any) (windowAnswer, error) {
	if len(list)%2 != 1 {
		return windowAnswer{}, fmt.Errorf("window_read.lua answered %d items", len(list))
	}
	a := windowAnswer{is: windowFound, whole: list[0] == markWhole, entries: make([]Entry, 0, len(list)/2)}
	for i := 1; i < len(list); i += 2 {
		member, _ := list[i].(string)
		text, _ := list[i+1].(string)
		score, err := strconv.ParseFloat(text, 64) // 1700000000000 may be written as 1.7e+12
		if err != nil {
			return windowAnswer{}, fmt.Errorf("window_read.lua answered the score %q", text)
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
		if e.Score > largestScore || e.Score < -largestScore {
			return fmt.Errorf("the score %d of %q is beyond 2^53", e.Score, e.Member)
		}
	}
	return nil
}

// fill finds the entries of a window that a first look did not find. While
// somebody else is loading it looks again until the window is there or the right
// to load it has come to this reader; how long it waits is the rule of
// [Cache.Get]. Then, and when Redis fails, it loads for itself.
func (w *Window[K]) fill(ctx context.Context, k K, name string, part pageRange) (windowAnswer, error) {
	var waitUntil time.Time
	for pause := time.Millisecond; ; pause = min(2*pause, longestPause) {
		a, err := w.start(ctx, k, name, part)
		if err != nil || a.is == windowFound {
			return a, err
		}
		if a.is == windowFailed {
			break
		}
		if waitUntil.IsZero() {
			w.counts.waits.Add(1)
			waitUntil = time.Now().Add(min(a.busy, w.policy.LeaseTTL) + w.policy.LoadTimeout)
		}
		if time.Now().After(waitUntil) {
			break
		}
		if err := clock.Sleep(ctx, pause); err != nil {
			return a, err
		}
	}
	return w.call(ctx, k)
}

// start asks for the lease, and loads and stores if it is granted. It waits for
// that or for ctx; the load does not end with ctx.
func (w *Window[K]) start(ctx context.Context, k K, name string, part pageRange) (windowAnswer, error) {
	if err := ctx.Err(); err != nil {
		return windowAnswer{}, err
	}
	type result struct {
		windowAnswer
		err error
	}
	done := make(chan result, 1)
	w.hub.loads.Go(func() {
		r := result{err: errExited}
		defer func() { done <- r }()
		r.windowAnswer, r.err = w.fly(context.WithoutCancel(ctx), k, name, part)
	})
	select {
	case r := <-done:
		return r.windowAnswer, r.err
	case <-ctx.Done():
		return windowAnswer{}, ctx.Err()
	}
}

func (w *Window[K]) fly(ctx context.Context, k K, name string, part pageRange) (windowAnswer, error) {
	token := rand.Text() // one for each load, as in Cache
	a := w.read(ctx, name, part, token)
	if a.is != windowGranted {
		return a, nil
	}
	a, err := w.call(ctx, k)
	w.store(ctx, name, token, a, err == nil)
	return a, err
}

// call runs the loader once, if ctx has not ended. A panic of the loader becomes
// an error.
func (w *Window[K]) call(ctx context.Context, k K) (a windowAnswer, err error) {
	if err := ctx.Err(); err != nil {
		return a, err
	}
	ctx, cancel := context.WithTimeout(ctx, w.policy.LoadTimeout)
	defer cancel()
	w.counts.loadCalls.Add(1)
	w.counts.loads.Add(1)
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		if err != nil {
			w.counts.loadErrors.Add(1)
			a, err = windowAnswer{}, fmt.Errorf("load a window %s: %w", w.policy.Name, err)
		}
	}()
	entries, err := w.load(ctx, k, w.policy.Size)
	if err != nil {
		return a, err
	}
	return w.loaded(entries)
}

// loaded checks what a loader returned: entries out of order would be a window
// with holes, and nobody would ever see that.
func (w *Window[K]) loaded(entries []Entry) (windowAnswer, error) {
	for i, e := range entries {
		if i > 0 && e.Compare(entries[i-1]) >= 0 {
			return windowAnswer{}, fmt.Errorf("%v comes after %v, want newest first and each once", e, entries[i-1])
		}
	}
	a := windowAnswer{is: windowFound, whole: len(entries) < w.policy.Size}
	a.entries = entries[:min(len(entries), w.policy.Size)]
	return a, checkScores(a.entries)
}

// store ends a load: what it read is kept if the lease is still its own. Without
// entries that can be kept, others need not wait for the lease to expire.
func (w *Window[K]) store(ctx context.Context, name, token string, a windowAnswer, keep bool) {
	mark := markCut
	if a.whole {
		mark = markWhole
	}
	if !keep {
		mark = ""
	}
	life := spread(w.policy.Life, 0.1, mathrand.Float64())
	args := appendEntries([]any{token, mark, life.Milliseconds()}, a.entries)
	done, err := w.hub.run(ctx, windowStoreScript, []call{{name, args}})[0].Int()
	switch {
	case err != nil:
		w.redisFailed(ctx, err)
	case done == 0 && keep:
		w.counts.storesRefused.Add(1)
	}
}

func (w *Window[K]) redisFailed(ctx context.Context, err error) {
	w.counts.redisErrors.Add(1)
	w.hub.complain(ctx, "asking Redis for a window", w.policy.Name, err)
}
