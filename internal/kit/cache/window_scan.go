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

// scanCount is the approximate number of Redis keys per step of a scan.
const scanCount = batch

// maxTripEntries is the approximate number of entries per round trip. A larger reply might
// exceed RedisTimeout, and the scan would not progress.
const maxTripEntries = 20_000

// ScanCursor is the position of a scan over windows. The zero value is the start.
type ScanCursor struct {
	node   int // index of the master, by address
	cursor uint64
}

// WindowSnapshot is the content of a window in Redis.
type WindowSnapshot[K comparable] struct {
	Key     K
	Entries []Entry // newest first
	Whole   bool    // the list ends with them
}

// Scan returns the windows among the next few hundred keys of Redis and the next cursor; the
// zero ScanCursor ends the scan. A complete scan returns each window that exists throughout, at
// least once, unless a cluster changes its masters meanwhile. It does not renew windows. Use it to
// compare windows with the source of truth; a list may change between the two reads.
//
// The function parse is the inverse of the windows' key. Scan skips keys that it rejects.
func (w *Window[K]) Scan(ctx context.Context, at ScanCursor, parse func(string) (K, error)) (windows []WindowSnapshot[K], next ScanCursor, err error) {
	nodes, err := w.client.masters(ctx)
	if err != nil {
		return nil, at, fmt.Errorf("scan windows %s: %w", w.policy.Name, err)
	}
	if at.node >= len(nodes) {
		return nil, ScanCursor{}, nil
	}
	scanning, cancel := context.WithTimeout(ctx, w.client.timeout)
	defer cancel()
	names, cursor, err := nodes[at.node].Scan(scanning, at.cursor, escapePattern(w.prefix)+"*", scanCount).Result()
	if err != nil {
		return nil, at, fmt.Errorf("scan windows %s: %w", w.policy.Name, err)
	}
	var ks []K
	for _, name := range names {
		text, tagged := strings.CutSuffix(strings.TrimPrefix(name, w.prefix), "}")
		if k, err := parse(text); tagged && err == nil && w.nameOf(k) == name { // otherwise a lease
			ks = append(ks, k)
		}
	}
	if windows, err = w.Peek(ctx, ks...); err != nil {
		return nil, at, err
	}
	next = ScanCursor{at.node, cursor}
	if cursor == 0 {
		next.node++
	}
	if next == (ScanCursor{node: len(nodes)}) {
		next = ScanCursor{}
	}
	return windows, next, nil
}

// Peek returns those windows of these lists that Redis has, for comparison with the source of
// truth. It changes nothing and does not renew windows.
func (w *Window[K]) Peek(ctx context.Context, ks ...K) ([]WindowSnapshot[K], error) {
	var windows []WindowSnapshot[K]
	for part := range slices.Chunk(ks, max(1, maxTripEntries/w.policy.Size)) {
		some, err := w.peek(ctx, part)
		if err != nil {
			return nil, fmt.Errorf("read %d windows %s: %w", len(part), w.policy.Name, err)
		}
		windows = append(windows, some...)
	}
	return windows, nil
}

func (w *Window[K]) peek(ctx context.Context, ks []K) ([]WindowSnapshot[K], error) {
	ctx, cancel := context.WithTimeout(ctx, w.client.timeout)
	defer cancel()
	pipe := w.client.rdb.Pipeline()
	cmds := make([]*redis.ZSliceCmd, len(ks))
	for i, k := range ks {
		cmds[i] = pipe.ZRevRangeWithScores(ctx, w.nameOf(k), 0, maxWindow)
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	windows := make([]WindowSnapshot[K], 0, len(ks))
	for i, cmd := range cmds {
		found, err := cmd.Result()
		if err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE") {
			return nil, err
		}
		if snapshot, ok := snapshotOf(ks[i], found); ok {
			windows = append(windows, snapshot)
		}
	}
	return windows, nil
}

// snapshotOf returns false for a set without a marker.
func snapshotOf[K comparable](k K, found []redis.Z) (WindowSnapshot[K], bool) {
	last := len(found) - 1
	if last < 0 || found[last].Member != "" {
		return WindowSnapshot[K]{}, false
	}
	snapshot := WindowSnapshot[K]{Key: k, Entries: make([]Entry, last), Whole: math.IsInf(found[last].Score, -1)}
	for i, z := range found[:last] {
		member, _ := z.Member.(string)
		snapshot.Entries[i] = Entry{Member: strings.TrimPrefix(member, "\x00"), Score: int64(z.Score)}
	}
	return snapshot, true
}

// masters returns the nodes that hold keys, in a stable order.
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

func escapePattern(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`).Replace(text)
}
