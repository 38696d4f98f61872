package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	filterBuildTimeout = 10 * time.Minute  // for one reading of all keys
	pinMargin          = 2 * maintainEvery // before its end a pinned entry is read anew

	maxWarmKeys = 1000           // that are remembered of a policy and a day
	warmTTL     = 48 * time.Hour // from the last that was remembered: to the end of the day after
)

// maintain builds the guard when it is time and keeps what is pinned.
func (c *core[K, V]) maintain(ctx context.Context) {
	now := c.client.clock.now.Load()
	if c.existence != nil && c.client.clock.inSync() && c.existence.isDue(now) && c.existence.startBuild() {
		c.client.loads.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, filterBuildTimeout)
			defer cancel()
			if err := c.existence.build(ctx); err != nil {
				c.client.logFailure(ctx, "building the guard", c.policy.Name, err)
			}
		})
	}
	c.maintainPins(ctx)
}

func (c *core[K, V]) maintainPins(ctx context.Context) {
	if c.local == nil {
		return
	}
	now := c.client.clock.now.Load()
	if now == stopped {
		return
	}
	held, over := c.local.pins.split(now)
	for _, k := range over {
		c.local.remove(k) // it weighs again when it comes back
	}
	ending := slices.DeleteFunc(held, func(k K) bool {
		e, _, ok := c.local.get(k)
		return ok && now+int64(pinMargin) < e.until
	})
	if len(ending) == 0 {
		return
	}
	ctx = ForWarmup(ctx)
	c.refreshEnding(ctx, ending)
	if _, err := c.findMany(SkipLocal(ctx), ending); err != nil && ctx.Err() == nil {
		c.client.logFailure(ctx, "reading what is pinned", c.policy.Name, err)
	}
}

// refreshEnding loads those keys anew whose record in Redis is about to be due.
func (c *core[K, V]) refreshEnding(ctx context.Context, ks []K) {
	for part := range slices.Chunk(c.wants(ks), batch) {
		var due []want[K]
		for i, r := range c.client.getMany(ctx, names(part), "") {
			w := part[i]
			if f := c.decodeReply(ctx, &w, r); f.state == value && f.due(c.client.wall().Add(pinMargin), 0, 0) {
				due = append(due, w)
			}
		}
		if len(due) > 0 {
			c.refresh(ctx, due)
		}
	}
}

func (c *core[K, V]) warmPrefix() (prefix string, ok bool) {
	return c.prefix, c.source.parse != nil && !c.source.ephemeral
}

// SaveHotKeys notes in Redis which keys this process read most of late, for those
// processes that start later. A Hub that runs does so each minute and at its end.
//
// Each policy has a list for each day, of UTC, in which a key has the most hits that any
// process counted of it at any time of the day. A maximum can be written any number of
// times, by any number of processes, and a key that becomes hot late in the day needs
// nobody to make room for it. The list of yesterday is whole, so what was hot then is known
// all day long, however quiet it is today.
func (c *Client) SaveHotKeys(ctx context.Context) {
	hottest := c.hot.certain()
	now := c.wall()
	for _, m := range c.allCaches() {
		prefix, ok := m.warmPrefix()
		if !ok {
			continue
		}
		var keys []redis.Z
		for _, k := range hottest {
			if text, ours := strings.CutPrefix(k.Key, prefix); ours && k.Hits > 0 {
				keys = append(keys, redis.Z{Member: strings.TrimSuffix(text, "}"), Score: float64(k.Hits)})
			}
		}
		if len(keys) == 0 {
			continue
		}
		at := c.warmKey(m.Stats().Name, now)
		ctx, cancel := context.WithTimeout(ctx, c.timeout)
		pipe := c.rdb.Pipeline()
		pipe.ZAddArgs(ctx, at, redis.ZAddArgs{GT: true, Members: keys})
		pipe.ZRemRangeByRank(ctx, at, 0, -maxWarmKeys-1)
		pipe.PExpire(ctx, at, warmTTL)
		_, err := pipe.Exec(ctx)
		cancel()
		if err != nil {
			c.logFailure(ctx, "remembering what is hot", m.Stats().Name, err)
		}
	}
}

// warmKey is the list of a policy for the day of a time.
func (c *Client) warmKey(policy string, day time.Time) string {
	return c.root + "warm:" + policy + ":" + day.UTC().Format("20060102")
}

// Warm reads the keys that processes on this Redis read most yesterday and today, of all
// caches that can parse theirs, so that the first clients find them in Redis, and what is
// kept near is near. It returns how many it read of each policy. A cache that fails does
// not keep the others from it; one whose Redis is away fails each, so it ends with ctx.
//
// Call it at the start, once the Hub runs, before there are clients.
func (c *Client) Warm(ctx context.Context) (read map[string]int, err error) {
	read = map[string]int{}
	for _, m := range c.allCaches() {
		if _, ok := m.warmPrefix(); !ok {
			continue
		}
		n, failed := m.Warm(ctx)
		read[m.Stats().Name], err = n, errors.Join(err, failed)
		if ctx.Err() != nil {
			break
		}
	}
	return read, err
}

// Warm is [Cache.Warm].
func (c *core[K, V]) Warm(ctx context.Context) (read int, err error) {
	if _, ok := c.warmPrefix(); !ok {
		return 0, nil
	}
	ctx = ForWarmup(ctx)
	ks, err := c.loadWarmKeys(ctx)
	if err != nil {
		return 0, fmt.Errorf("read which keys of cache %s were hot: %w", c.policy.Name, err)
	}
	for part := range slices.Chunk(ks, 100) { // small steps: others read too
		_, failed := c.findMany(ctx, part)
		err = cmp.Or(err, failed)
		if read += len(part); ctx.Err() != nil {
			break
		}
	}
	return read, err
}

// loadWarmKeys are the keys to warm, each once.
func (c *core[K, V]) loadWarmKeys(ctx context.Context) (ks []K, err error) {
	now := c.client.wall()
	trip, cancel := context.WithTimeout(ctx, c.client.timeout)
	defer cancel()
	pipe := c.client.rdb.Pipeline()
	yesterday := pipe.ZRevRange(trip, c.client.warmKey(c.policy.Name, now.AddDate(0, 0, -1)), 0, maxWarmKeys-1)
	today := pipe.ZRevRange(trip, c.client.warmKey(c.policy.Name, now), 0, maxWarmKeys-1)
	if _, err := pipe.Exec(trip); err != nil {
		return nil, err
	}
	seen := map[K]bool{}
	for _, text := range append(yesterday.Val(), today.Val()...) {
		if k, err := c.source.parse(strings.TrimPrefix(text, "_")); err == nil && !seen[k] { // see tagged
			seen[k] = true
			ks = append(ks, k)
		}
	}
	return ks, nil
}
