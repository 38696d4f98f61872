package cache

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// scanCount is how many keys of Redis one step of a walk passes, about.
const scanCount = batch

// maxTripEntries is how many entries a round trip of a walk reads, about: what it answers
// must come in the hub's time, or the walk would not get past it.
const maxTripEntries = 20_000

// ScanCursor is where a walk over windows has come. The zero value is its beginning.
type ScanCursor struct {
	node   int // of the masters, by address
	cursor uint64
}

// WindowSnapshot is a window as it lies in Redis.
type WindowSnapshot[K comparable] struct {
	Key     K
	Entries []Entry // newest first
	Whole   bool    // the list does not go on below them
}

// Scan looks at the windows among the next few hundred keys of Redis, and says
// where to go on: at the zero Place the walk is over. A window that is kept all the
// while is seen; on a cluster that changes its masters, perhaps not. None is kept for
// longer because it was seen. It is for comparing windows with the truth: between
// the two looks a list may change.
//
// parse is the opposite of the windows' key. What it refuses is overlooked.
func (w *Window[K]) Scan(ctx context.Context, at ScanCursor, parse func(string) (K, error)) (kept []WindowSnapshot[K], next ScanCursor, err error) {
	nodes, err := w.client.masters(ctx)
	if err != nil {
		return nil, at, fmt.Errorf("walk over windows %s: %w", w.policy.Name, err)
	}
	if at.node >= len(nodes) {
		return nil, ScanCursor{}, nil
	}
	scanning, cancel := context.WithTimeout(ctx, w.client.timeout)
	defer cancel()
	names, cursor, err := nodes[at.node].Scan(scanning, at.cursor, escapePattern(w.prefix)+"*", scanCount).Result()
	if err != nil {
		return nil, at, fmt.Errorf("walk over windows %s: %w", w.policy.Name, err)
	}
	var of []K
	for _, name := range names {
		text, tagged := strings.CutSuffix(strings.TrimPrefix(name, w.prefix), "}")
		if k, err := parse(text); tagged && err == nil && w.nameOf(k) == name { // else it is a lease
			of = append(of, k)
		}
	}
	if kept, err = w.Peek(ctx, of...); err != nil {
		return nil, at, err
	}
	next = ScanCursor{at.node, cursor}
	if cursor == 0 {
		next.node++
	}
	if next == (ScanCursor{node: len(nodes)}) {
		next = ScanCursor{}
	}
	return kept, next, nil
}

// Peek returns the windows of these lists, of those that Redis has, for comparing them
// with the truth as [Window.Scan] does. It changes nothing, not even how long they are kept.
func (w *Window[K]) Peek(ctx context.Context, ks ...K) ([]WindowSnapshot[K], error) {
	var kept []WindowSnapshot[K]
	for part := range slices.Chunk(ks, max(1, maxTripEntries/w.policy.Size)) {
		some, err := w.peek(ctx, part)
		if err != nil {
			return nil, fmt.Errorf("look at %d windows %s: %w", len(part), w.policy.Name, err)
		}
		kept = append(kept, some...)
	}
	return kept, nil
}

// peek reads windows in one round trip.
func (w *Window[K]) peek(ctx context.Context, of []K) ([]WindowSnapshot[K], error) {
	ctx, cancel := context.WithTimeout(ctx, w.client.timeout)
	defer cancel()
	pipe := w.client.rdb.Pipeline()
	cmds := make([]*redis.ZSliceCmd, len(of))
	for i, k := range of {
		cmds[i] = pipe.ZRevRangeWithScores(ctx, w.nameOf(k), 0, maxWindow)
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	kept := make([]WindowSnapshot[K], 0, len(of))
	for i, cmd := range cmds {
		found, err := cmd.Result()
		if err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE") {
			return nil, err
		}
		if k, ok := snapshotOf(of[i], found); ok {
			kept = append(kept, k)
		}
	}
	return kept, nil
}

// snapshotOf reports false for what has no marker.
func snapshotOf[K comparable](k K, found []redis.Z) (WindowSnapshot[K], bool) {
	last := len(found) - 1
	if last < 0 || found[last].Member != "" {
		return WindowSnapshot[K]{}, false
	}
	kept := WindowSnapshot[K]{Key: k, Entries: make([]Entry, last), Whole: math.IsInf(found[last].Score, -1)}
	for i, z := range found[:last] {
		member, _ := z.Member.(string)
		kept.Entries[i] = Entry{Member: strings.TrimPrefix(member, "\x00"), Score: int64(z.Score)}
	}
	return kept, true
}

// masters are the nodes that hold keys, in an order that lasts.
func (c *Client) masters(ctx context.Context) ([]redis.Cmdable, error) {
	cluster, ok := c.rdb.(*redis.ClusterClient)
	if !ok {
		return []redis.Cmdable{c.rdb}, nil
	}
	var mu sync.Mutex
	var nodes []*redis.Client
	err := cluster.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		nodes = append(nodes, node)
		return nil
	})
	slices.SortFunc(nodes, func(a, b *redis.Client) int { return cmp.Compare(a.Options().Addr, b.Options().Addr) })
	all := make([]redis.Cmdable, len(nodes))
	for i, node := range nodes {
		all[i] = node
	}
	return all, err
}

// escapePattern has a pattern of Redis mean a text as it is.
func escapePattern(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`).Replace(text)
}
