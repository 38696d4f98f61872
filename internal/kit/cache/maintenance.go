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
	filterBuildTimeout = 10 * time.Minute  // reading all keys
	pinMargin          = 2 * maintainEvery // time before its expiry at which a pinned entry is reloaded

	maxWarmKeys = 1000           // saved per policy and day
	warmTTL     = 48 * time.Hour // after the last save: at least to the end of the next day
)

func (c *core[K, V]) maintain(ctx context.Context) {
	now := c.client.clock.now.Load()
	if c.existence != nil && c.client.clock.inSync() && c.existence.isDue(now) && c.existence.startBuild() {
		c.client.loads.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, filterBuildTimeout)
			defer cancel()
			if err := c.existence.build(ctx); err != nil {
				c.client.logFailure(ctx, "build existence filter", c.policy.Name, err)
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
		c.local.remove(k) // a new entry has a weight again
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
		c.client.logFailure(ctx, "read pinned keys", c.policy.Name, err)
	}
}

// refreshEnding reloads those keys whose record becomes stale within pinMargin.
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

// SaveHotKeys saves the most-read keys of this process in Redis, for processes that start
// later. A running client saves each minute and at its end.
//
// Each policy has one list per UTC day. The score of a key is the maximum of the hits that any
// process counted at any time of the day. Writing a maximum is idempotent, and a key that becomes
// hot late in the day can still enter. After midnight the list of yesterday is still complete.
// Failures are logged.
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
			if text, ok := strings.CutPrefix(k.Key, prefix); ok && k.Hits > 0 {
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
			c.logFailure(ctx, "save hot keys", m.Stats().Name, err)
		}
	}
}

func (c *Client) warmKey(policy string, day time.Time) string {
	return c.root + "warm:" + policy + ":" + day.UTC().Format("20060102")
}

// Warm reads the saved hot keys of yesterday and today, for all caches with Source.Parse. The
// first clients then find them in Redis and in local memory. Warm returns the number of keys
// by policy and all errors, joined. The failure of one cache does not stop the others, so set
// a deadline in ctx.
//
// Call it at startup, once the client runs and before it serves requests.
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

func (c *core[K, V]) Warm(ctx context.Context) (read int, err error) {
	if _, ok := c.warmPrefix(); !ok {
		return 0, nil
	}
	ctx = ForWarmup(ctx)
	ks, err := c.loadWarmKeys(ctx)
	if err != nil {
		return 0, fmt.Errorf("read hot keys of cache %s: %w", c.policy.Name, err)
	}
	for part := range slices.Chunk(ks, 100) { // small steps leave load slots to clients
		_, failed := c.findMany(ctx, part)
		err = cmp.Or(err, failed)
		if read += len(part); ctx.Err() != nil {
			break
		}
	}
	return read, err
}

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
