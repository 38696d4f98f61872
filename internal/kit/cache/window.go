package cache

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	maxWindow = 5000      // maximum entries that one command should read
	maxScore  = 1<<53 - 1 // limit of exact integers in a float64

	// The scores of the marker, both below the scores of all entries.
	markWhole   = "-inf"   // the window is the whole list
	markPartial = "-1e300" // the list continues below the window's oldest entry
)

// Entry is an entry of a list. Lists are ordered by score, and by the bytes of the member for
// equal scores. Newest means highest in this order.
type Entry struct {
	Member string // any text, unique in a list; short, and of fixed width if its order matters
	Score  int64  // for instance Unix milliseconds; between −(2^53−1) and 2^53−1
}

// Compare orders entries from the oldest to the newest.
func (e Entry) Compare(other Entry) int {
	return cmp.Or(cmp.Compare(e.Score, other.Score), strings.Compare(e.Member, other.Member))
}

// WindowPolicy configures one kind of window. Only Name is required: the zero value of every
// other field is a good setting. Durations are rounded down to whole milliseconds, at least one.
type WindowPolicy struct {
	Name        string        // key prefix after the client's, such as "order:list"; in metrics with '-' for ':'
	Size        int           // maximum entries of one window; default 200, at most 5000
	TTL         time.Duration // a window without reads expires after ¾ to 1 of this; default 7 days
	LeaseTTL    time.Duration // lifetime of a lease whose load is lost; default LoadTimeout + 1s
	LoadTimeout time.Duration // deadline of one loader call; default 2s
}

func (p WindowPolicy) withDefaults() WindowPolicy {
	p.Size = positiveOr(p.Size, 200)
	p.TTL = wholeMillis(positiveOr(p.TTL, 7*24*time.Hour))
	p.LoadTimeout = wholeMillis(positiveOr(p.LoadTimeout, 2*time.Second))
	p.LeaseTTL = wholeMillis(positiveOr(p.LeaseTTL, p.LoadTimeout+time.Second))
	return p
}

// A WindowLoader reads the newest entries of up to 500 lists from the source of truth. It
// returns each list newest first, in the order of [Entry.Compare], with unique members and up
// to limit entries. Fewer entries are the whole list; an omitted list is empty. Like a [Loader]
// it must read after it is called. An error counts for all lists of the call.
type WindowLoader[K comparable] func(ctx context.Context, ks []K, limit int) (map[K][]Entry, error)

// Window caches the newest entries of lists that grow at their new end, such as the orders of
// a user. Each list has one sorted set in Redis. It is safe for concurrent use.
//
// A window has no gap between its newest and its oldest entry. Only a load creates it. A write
// changes an existing window or makes the next reader load, so a window never consists of only
// the entries added after its expiry. A list with more than [WindowPolicy].Size entries
// continues in the source of truth. Empty lists are stored too.
//
// A read that begins after Add, Remove or Invalidate returned nil observes the change, in
// every process: loads store under a lease, as in [Cache]. If Redis is unavailable, reads call
// the loader. They never return a Redis error.
type Window[K comparable] struct {
	client *Client
	policy WindowPolicy
	prefix string
	key    func(K) string
	load   WindowLoader[K]
	counts *counters
}

// NewWindow returns the windows of one kind of list. The function key returns a unique text
// for each K, the same in every process.
//
// NewWindow panics on programming errors: an invalid policy name, a name that this client
// already has, or a size above 5000.
func NewWindow[K comparable](client *Client, p WindowPolicy, key func(K) string, load WindowLoader[K]) *Window[K] {
	p = p.withDefaults()
	if p.Size > maxWindow {
		panic(fmt.Sprintf("cache: window %s: size must be at most %d, got %d", p.Name, maxWindow, p.Size))
	}
	return &Window[K]{
		client: client,
		policy: p,
		prefix: client.root + p.Name + ":{", // outside the prefix of a Cache
		key:    key,
		load:   load,
		counts: client.register(Policy{Name: strings.ReplaceAll(p.Name, ":", "-")}, nil, nil),
	}
}

// Page returns up to first entries of a list, newest first. It begins below the cursor after,
// which the list need not contain any more, or at the newest entry if after is nil.
//
// If complete is true, fewer than first entries mean the end of the list. If it is false, the
// page passed the oldest entry of the window. The caller then reads the older rest from the
// source of truth: below the last entry returned, or below after if there are none.
//
// A page costs one round trip if the window exists. Page returns a wrapped loader error or the
// error of ctx.
func (w *Window[K]) Page(ctx context.Context, k K, after *Entry, first int) (entries []Entry, complete bool, err error) {
	if first < 1 {
		return nil, true, nil
	}
	part := firstRange(first)
	if after != nil {
		part.from = strconv.FormatInt(after.Score, 10)
	}
	one := []K{k}
	answers := w.read(ctx, one, part, "")
	w.count(answers)
	w.fill(ctx, one, part, answers)
	if err := answers[0].err; err != nil {
		return nil, false, err
	}
	entries, complete = answers[0].page(after, first)
	return entries, complete, nil
}

// Page is the page of one list that [Window.Pages] returns.
type Page struct {
	Entries  []Entry // newest first
	Complete bool    // as in [Window.Page]
}

// Pages returns up to first of the newest entries of each list, like [Window.Page] without a cursor.
// Lists may repeat.
//
// Pages costs one round trip if all windows exist; a round trip carries up to 500 lists and
// about 20 000 entries. Missing windows that no other reader loads cost one more round trip and
// one loader call for each 20 000 entries that they may have.
//
// Pages returns a loader error or the error of ctx. The map then holds the available pages.
func (w *Window[K]) Pages(ctx context.Context, ks []K, first int) (map[K]Page, error) {
	pages := make(map[K]Page, len(ks))
	if first < 1 {
		for _, k := range ks {
			pages[k] = Page{Complete: true}
		}
		return pages, nil
	}
	part := firstRange(first)
	var failed error
	for some := range slices.Chunk(distinct(ks), min(batch, max(1, maxTripEntries/part.count))) {
		// The first read takes the leases of missing windows, so it is detached too: a reader
		// that leaves must not leave a lease behind.
		answers := w.loadDetached(ctx, some, part)
		w.count(answers)
		w.fill(ctx, some, part, answers)
		for i, a := range answers {
			if a.err != nil {
				failed = cmp.Or(failed, a.err)
				continue
			}
			entries, complete := a.page(nil, first)
			pages[some[i]] = Page{entries, complete}
		}
	}
	return pages, failed
}

func distinct[K comparable](ks []K) []K {
	seen := make(map[K]struct{}, len(ks))
	list := make([]K, 0, len(ks))
	for _, k := range ks {
		if _, twice := seen[k]; !twice {
			seen[k] = struct{}{}
			list = append(list, k)
		}
	}
	return list
}

// Add adds entries to the window of a list, in any order, and drops entries beyond its size.
// Call it after the commit that added them to the source of truth. Adding an entry again with
// another score moves it.
//
// After an error a reader may miss the entries: repeat the call, or Invalidate, until one
// succeeds. Add and Remove of one member must come in the order of their commits; otherwise
// use Invalidate. Both ignore cancellation of ctx. Each round trip of 500 entries has the
// deadline RedisTimeout.
func (w *Window[K]) Add(ctx context.Context, k K, entries ...Entry) error {
	return w.AddEach(ctx, map[K][]Entry{k: entries})
}

// AddEach is [Window.Add] for many lists. First, one round trip for each 500 lists finds those
// that Redis has. Then each round trip carries up to 500 entries.
func (w *Window[K]) AddEach(ctx context.Context, lists map[K][]Entry) error {
	calls, n, longest := make([]scriptCall, 0, len(lists)), 0, 1
	var err error
	for k, entries := range lists {
		err = cmp.Or(err, checkScores(entries))
		for part := range slices.Chunk(entries, batch) {
			calls = append(calls, scriptCall{script: windowAddScript, key: w.nameOf(k), args: appendEntries([]any{w.policy.Size, markPartial}, part)})
			longest = max(longest, len(part))
		}
		n += len(entries)
	}
	if err == nil && len(calls) > 1 {
		calls, err = w.existing(ctx, calls)
	}
	for part := range slices.Chunk(calls, batch/longest) {
		if err == nil {
			err = w.write(ctx, part)
		}
	}
	if err != nil {
		return fmt.Errorf("add %d entries to window %s: %w", n, w.policy.Name, err)
	}
	return nil
}

// existing omits calls for lists that have neither a window nor a lease: a load that begins
// later finds the committed entries. The check is cheaper than a script, and Redis has only a
// few of the lists.
func (w *Window[K]) existing(ctx context.Context, calls []scriptCall) ([]scriptCall, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.client.timeout)
	defer cancel()
	var found []scriptCall
	for part := range slices.Chunk(calls, batch) {
		pipe := w.client.rdb.Pipeline()
		there := make([]*redis.IntCmd, len(part))
		for i, c := range part {
			there[i] = pipe.Exists(ctx, c.key, leaseOf(c.key))
		}
		if _, err := pipe.Exec(ctx); err != nil {
			w.counts.redisErrors.Add(1)
			return nil, err
		}
		for i, c := range part {
			if there[i].Val() > 0 {
				found = append(found, c)
			}
		}
	}
	return found, nil
}

// Remove removes members from the window of a list. Call it after the commit that removed them
// from the source of truth. The rules of [Window.Add] for errors and order apply. If the list
// continues below its window, Remove drops a window that falls below half of its size.
func (w *Window[K]) Remove(ctx context.Context, k K, members ...string) error {
	pairs := make([]any, 0, 2*len(members))
	for _, m := range members {
		pairs = append(pairs, "", stored(m))
	}
	p := w.client.Pipeline()
	w.removeIn(p, map[K][]any{k: pairs})
	return p.Exec(ctx)
}

// RemoveExactly is [Window.Remove] for entries with exactly these scores.
//
// Its calls need no order if a member never gets the same score twice, for instance because the
// score is the id of its row. A late or repeated removal then finds the member under a newer
// score, or not at all.
//
// An Add that comes after the removal of its entry would restore it. If that can happen,
// report inserts by [Window.Invalidate] and removals by RemoveExactly. Then no removed entry
// returns and no existing entry is lost, in any order of the calls.
func (w *Window[K]) RemoveExactly(ctx context.Context, k K, entries ...Entry) error {
	return w.RemoveEach(ctx, map[K][]Entry{k: entries})
}

// RemoveEach is [Window.RemoveExactly] for many lists: a round trip carries up to 500 of them.
func (w *Window[K]) RemoveEach(ctx context.Context, lists map[K][]Entry) error {
	p := w.client.Pipeline()
	w.RemoveEachIn(p, lists)
	return p.Exec(ctx)
}

// RemoveEachIn adds [Window.RemoveEach] to a pipeline.
func (w *Window[K]) RemoveEachIn(p *Pipeline, lists map[K][]Entry) {
	pairs := make(map[K][]any, len(lists))
	for k, entries := range lists {
		pairs[k] = appendEntries(make([]any, 0, 2*len(entries)), entries)
	}
	w.removeIn(p, pairs)
}

// removeIn sends pairs of a score, or "" for any, and a member.
func (w *Window[K]) removeIn(p *Pipeline, lists map[K][]any) {
	minEntries := (w.policy.Size + 1) / 2
	calls, n := make([]scriptCall, 0, len(lists)), 0
	for k, pairs := range lists {
		for part := range slices.Chunk(pairs, 2*batch) {
			calls = append(calls, scriptCall{script: windowRemoveScript, key: w.nameOf(k), args: append([]any{minEntries}, part...)})
		}
		n += len(pairs) / 2
	}
	p.add(calls, func(_ context.Context, answers []*redis.Cmd) error {
		if err := w.failed(answers); err != nil {
			return fmt.Errorf("remove %d members from window %s: %w", n, w.policy.Name, err)
		}
		return nil
	})
}

// Invalidate drops the windows of lists. Running loads of them cannot store their results. Use
// it for changes that Add and Remove cannot express. The rules of [Cache.Invalidate] for
// commits, errors and ctx apply.
func (w *Window[K]) Invalidate(ctx context.Context, ks ...K) error {
	p := w.client.Pipeline()
	w.InvalidateIn(p, ks...)
	return p.Exec(ctx)
}

// InvalidateIn adds [Window.Invalidate] to a pipeline.
func (w *Window[K]) InvalidateIn(p *Pipeline, ks ...K) {
	calls := make([]scriptCall, len(ks))
	for i, k := range ks {
		calls[i] = scriptCall{key: w.nameOf(k)}
	}
	p.add(calls, func(_ context.Context, answers []*redis.Cmd) error {
		if err := w.failed(answers); err != nil {
			return fmt.Errorf("invalidate %d windows %s: %w", len(ks), w.policy.Name, err)
		}
		return nil
	})
}

func (w *Window[K]) write(ctx context.Context, calls []scriptCall) error {
	return w.failed(w.client.run(context.WithoutCancel(ctx), calls))
}

// failed returns and counts the first error of some replies.
func (w *Window[K]) failed(answers []*redis.Cmd) error {
	for _, cmd := range answers {
		if err := cmd.Err(); err != nil {
			w.counts.redisErrors.Add(1)
			return err
		}
	}
	return nil
}

// Stats returns the counters of these windows in this process. A page counts as one key.
func (w *Window[K]) Stats() Stats { return w.counts.snapshot() }

func (w *Window[K]) nameOf(k K) string { return tagged(w.prefix, w.key(k)) }
