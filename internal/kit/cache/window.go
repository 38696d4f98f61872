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
	maxWindow = 5000      // a collection that is read whole has no more members
	maxScore  = 1<<53 - 1 // a float64 tells larger ones no longer apart

	// The scores of the marker, both below every entry's.
	markWhole   = "-inf"   // the window holds the whole list
	markPartial = "-1e300" // the list goes on below the window's oldest entry
)

// Entry is one place in a list. Lists are ordered by score, and by the bytes of
// the member where scores are equal; newest means highest in that order.
type Entry struct {
	Member string // any text, once in a list; short, and of fixed width where it counts
	Score  int64  // for instance Unix milliseconds; between −(2^53−1) and 2^53−1
}

// Compare orders entries from the oldest to the newest.
func (e Entry) Compare(other Entry) int {
	return cmp.Or(cmp.Compare(e.Score, other.Score), strings.Compare(e.Member, other.Member))
}

// WindowPolicy says how one kind of list is kept. Only Name is required: the
// zero value of every other field is a good setting. Times count in whole
// milliseconds, at least one.
type WindowPolicy struct {
	Name        string        // begins the keys after the hub's prefix, as "order:list"; with '-' for ':' the policy in metrics
	Size        int           // most entries of one window; default 200, at most 5000
	TTL         time.Duration // a window that is not read lives for three quarters of this at least, and for all of it at most; default 7 days
	LeaseTTL    time.Duration // how long other readers rely on one load that says nothing; default LoadTimeout + 1s
	LoadTimeout time.Duration // deadline of one loader call; default 2s
}

func (p WindowPolicy) withDefaults() WindowPolicy {
	p.Size = positiveOr(p.Size, 200)
	p.TTL = wholeMillis(positiveOr(p.TTL, 7*24*time.Hour))
	p.LoadTimeout = wholeMillis(positiveOr(p.LoadTimeout, 2*time.Second))
	p.LeaseTTL = wholeMillis(positiveOr(p.LeaseTTL, p.LoadTimeout+time.Second))
	return p
}

// WindowLoader reads the newest entries of up to 500 lists from the truth: of each
// list newest first in the order of [Entry.Compare], each member once, and limit of
// them if there are so many: fewer say that these are all. A list that it leaves out
// is empty. Like a [Loader] it must begin to read after it is called; an error counts
// for all lists of the call.
type WindowLoader[K comparable] func(ctx context.Context, ks []K, limit int) (map[K][]Entry, error)

// Window keeps the newest entries of lists that grow at their new end, such as
// the orders of a user, in one sorted set of Redis per list. It is safe for
// concurrent use.
//
// A set is either there as a whole, without a hole between its newest and its
// oldest entry, or not at all: only a load makes one, and a write changes one that
// is there or lets the next reader load. So a set that expired never comes back
// as a list of the one entry that was added after. A list that is longer than
// [WindowPolicy].Size goes on below the window, in the truth, where the reader
// has to follow it; an empty one is remembered.
//
// A read that begins after Add, Remove or Invalidate returned nil shows what it
// did, in every process, because loads store under the lease of [Cache]. When
// Redis is away, reads go to the loader; an error of Redis is never theirs.
type Window[K comparable] struct {
	client *Client
	policy WindowPolicy
	prefix string
	key    func(K) string
	load   WindowLoader[K]
	counts *counters
}

// NewWindow builds the windows of one kind of list. The function key gives each
// K a text of its own, the same in every process.
//
// NewWindow panics if the policy's name cannot stand in a key or is taken in this
// hub, or if its size is above 5000: these are mistakes in the program.
func NewWindow[K comparable](client *Client, p WindowPolicy, key func(K) string, load WindowLoader[K]) *Window[K] {
	p = p.withDefaults()
	if p.Size > maxWindow {
		panic(fmt.Sprintf("cache: window %s of %d entries, want at most %d", p.Name, p.Size, maxWindow))
	}
	return &Window[K]{
		client: client,
		policy: p,
		prefix: client.root + p.Name + ":{", // the noun's own keys
		key:    key,
		load:   load,
		counts: client.register(Policy{Name: strings.ReplaceAll(p.Name, ":", "-")}, nil, nil),
	}
}

// Page returns the newest first entries of a list that are older than after,
// newest first; without after, those at the list's new end. The cursor need not
// be in the list any more.
//
// If complete is true, the truth has nothing else there: fewer than first entries
// mean the end of the list. If it is false, the page ran past the oldest entry of
// the window: the reader takes what is missing from the truth, older than the
// last of entries, or than after if there are none.
//
// A page costs one round trip if the window is there. An error is the loader's,
// wrapped, or that of ctx.
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

// Page is what [Window.Page] returns of one list.
type Page struct {
	Entries  []Entry // newest first
	Complete bool    // the truth has nothing else there
}

// Pages returns the newest first entries of each list, as [Window.Page] would
// without a cursor. A list may stand in ks more than once.
//
// The pages cost one round trip if all windows are there; a round trip carries up
// to 500 lists, and about 20 000 entries. Those that are missing and that nobody else
// is loading take one call of the loader and one more round trip. When Redis is away,
// one call of the loader answers for all, 500 at a time.
//
// With an error, a loader's or that of ctx, the map holds the pages that could be
// had all the same.
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
		// The lease of a missing window is taken with the first look, so that is
		// detached, too: a reader who leaves must not leave a lease behind.
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

// distinct returns the keys in their order, each once.
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

// Add puts entries into a list's window, in whatever order they come, and drops
// what is then too many or too old for it. Call it after the commit that put them
// into the truth. To add an entry again does no harm; with another score it moves.
//
// With an error a reader may miss the entries: repeat the call, or Invalidate,
// until one succeeds. Add and Remove of the same member have to come in the order
// of their commits; whoever cannot promise that invalidates. Neither ends with
// ctx; a round trip of 500 entries has the hub's deadline.
func (w *Window[K]) Add(ctx context.Context, k K, entries ...Entry) error {
	return w.AddEach(ctx, map[K][]Entry{k: entries})
}

// AddEach is [Window.Add] for many lists: a round trip carries up to 500 of them, and
// one more before it asks which of them Redis has.
func (w *Window[K]) AddEach(ctx context.Context, lists map[K][]Entry) error {
	calls, n, most := make([]scriptCall, 0, len(lists)), 0, 1
	var err error
	for k, entries := range lists {
		err = cmp.Or(err, checkScores(entries))
		for part := range slices.Chunk(entries, batch) {
			calls = append(calls, scriptCall{script: windowAddScript, key: w.nameOf(k), args: appendEntries([]any{w.policy.Size, markPartial}, part)})
			most = max(most, len(part))
		}
		n += len(entries)
	}
	if err == nil && len(calls) > 1 {
		calls, err = w.existing(ctx, calls)
	}
	for part := range slices.Chunk(calls, batch/most) {
		if err == nil {
			err = w.write(ctx, part)
		}
	}
	if err != nil {
		return fmt.Errorf("add %d entries to window %s: %w", n, w.policy.Name, err)
	}
	return nil
}

// existing leaves out the calls about lists of which Redis has neither a window nor the lease
// of a load: a load that begins now finds what was committed before. Asking is cheap
// beside a script, and of most lists Redis has nothing.
func (w *Window[K]) existing(ctx context.Context, calls []scriptCall) ([]scriptCall, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.client.timeout)
	defer cancel()
	var known []scriptCall
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
				known = append(known, c)
			}
		}
	}
	return known, nil
}

// Remove takes members out of a list's window. Call it after the commit that took
// them out of the truth; what [Window.Add] says of errors and order holds here too.
// A window that goes below half of its size while its list goes on is dropped,
// for the next reader to load.
func (w *Window[K]) Remove(ctx context.Context, k K, members ...string) error {
	pairs := make([]any, 0, 2*len(members))
	for _, m := range members {
		pairs = append(pairs, "", stored(m))
	}
	p := w.client.Pipeline()
	w.removeIn(p, map[K][]any{k: pairs})
	return p.Exec(ctx)
}

// RemoveExactly takes entries out of a list's window that stand there with these
// very scores, and lets stand what has another one. Otherwise it is [Window.Remove].
//
// It needs no order among calls. Where a member never has the same score twice, such
// as the id of the row that put it into the list, a removal that comes late, or again,
// finds what was put there since under another score, or nothing.
//
// An Add that comes after the removal of what it adds would bring it back. So an insert
// that may be overtaken by its own removal is told by [Window.Invalidate], and removals
// by RemoveExactly; then nothing that was removed comes back, in whatever order the
// calls come, and nothing that is there is lost.
func (w *Window[K]) RemoveExactly(ctx context.Context, k K, entries ...Entry) error {
	return w.RemoveEach(ctx, map[K][]Entry{k: entries})
}

// RemoveEach is [Window.RemoveExactly] for many lists: a round trip carries up to 500 of
// them.
func (w *Window[K]) RemoveEach(ctx context.Context, lists map[K][]Entry) error {
	p := w.client.Pipeline()
	w.RemoveEachIn(p, lists)
	return p.Exec(ctx)
}

// RemoveEachIn is [Window.RemoveEach] as a part of a pipeline.
func (w *Window[K]) RemoveEachIn(p *Pipeline, lists map[K][]Entry) {
	pairs := make(map[K][]any, len(lists))
	for k, entries := range lists {
		pairs[k] = appendEntries(make([]any, 0, 2*len(entries)), entries)
	}
	w.removeIn(p, pairs)
}

// removeIn sends pairs of a score, or "" for any, and a member.
func (w *Window[K]) removeIn(p *Pipeline, lists map[K][]any) {
	fewest := (w.policy.Size + 1) / 2
	calls, n := make([]scriptCall, 0, len(lists)), 0
	for k, pairs := range lists {
		for part := range slices.Chunk(pairs, 2*batch) {
			calls = append(calls, scriptCall{script: windowRemoveScript, key: w.nameOf(k), args: append([]any{fewest}, part...)})
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

// Invalidate drops the windows of lists and makes loads under way unable to store
// what they read. It is for changes that Add and Remove cannot say; what
// [Cache.Invalidate] says of commits, errors and ctx holds here too.
func (w *Window[K]) Invalidate(ctx context.Context, ks ...K) error {
	p := w.client.Pipeline()
	w.InvalidateIn(p, ks...)
	return p.Exec(ctx)
}

// InvalidateIn is [Window.Invalidate] as a part of a pipeline.
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

// failed returns the first error of some answers, and counts it.
func (w *Window[K]) failed(answers []*redis.Cmd) error {
	for _, cmd := range answers {
		if err := cmd.Err(); err != nil {
			w.counts.redisErrors.Add(1)
			return err
		}
	}
	return nil
}

// Stats returns what these windows did in this process so far. A page counts as
// one key.
func (w *Window[K]) Stats() Stats { return w.counts.snapshot() }

// nameOf is the key in Redis.
func (w *Window[K]) nameOf(k K) string { return tagged(w.prefix, w.key(k)) }
