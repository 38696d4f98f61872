package cache

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	guardTimeout = 10 * time.Minute // for one reading of all keys
	pinMargin    = 2 * tendEvery    // before its end a pinned entry is read anew

	warmKeys = 1000           // that are remembered of a policy
	warmLife = 48 * time.Hour // without a process that remembers
	halfLife = time.Hour      // after which a key that was read has half its weight
)

// tend builds the guard when it is time and keeps what is pinned.
func (c *Cache[K, V]) tend(ctx context.Context) {
	now := c.hub.clock.now.Load()
	if c.guard != nil && c.hub.clock.inSync() && c.guard.isDue(now) && c.guard.claim() {
		c.hub.loads.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, guardTimeout)
			defer cancel()
			if err := c.guard.build(ctx); err != nil {
				c.hub.complain(ctx, "building the guard", c.policy.Name, err)
			}
		})
	}
	c.tendPins(ctx)
}

func (c *Cache[K, V]) tendPins(ctx context.Context) {
	if c.local == nil {
		return
	}
	now := c.hub.clock.now.Load()
	if now == stopped {
		return
	}
	held, over := c.local.pins.sort(now)
	for _, k := range over {
		c.local.entries.Invalidate(k) // it weighs again when it comes back
	}
	ending := slices.DeleteFunc(held, func(k K) bool {
		e, _, ok := c.local.get(k)
		return ok && now+int64(pinMargin) < e.until
	})
	if len(ending) == 0 {
		return
	}
	c.refreshEnding(ctx, ending)
	if _, err := c.GetMany(Fresh(ctx), ending); err != nil && ctx.Err() == nil {
		c.hub.complain(ctx, "reading what is pinned", c.policy.Name, err)
	}
}

// refreshEnding loads those keys anew whose record in Redis is about to be due.
func (c *Cache[K, V]) refreshEnding(ctx context.Context, ks []K) {
	for part := range slices.Chunk(c.wants(ks), batch) {
		var due []want[K]
		for i, r := range c.hub.getMany(ctx, names(part), "") {
			w := part[i]
			if f := c.read(ctx, &w, r); f.is == value && f.due(c.hub.wall().Add(pinMargin), 0, 0) {
				due = append(due, w)
			}
		}
		if len(due) > 0 {
			c.refresh(ctx, due)
		}
	}
}

func (c *Cache[K, V]) remembers() (prefix string, ok bool) {
	return c.prefix, c.source.Parse != nil
}

// Remember notes in Redis which keys this process read most of late, for those
// processes that start later. A Hub that runs does so each minute and at its end. Older reads fade by forward decay (Cormode,
// Shkapenyuk, Srivastava, Xu, ICDE 2009): instead of shrinking old scores, new
// ones are larger, so nobody has to touch what is there.
func (h *Hub) Remember(ctx context.Context) {
	hottest := h.hot.certain()
	now := float64(h.wall().Unix())
	for _, m := range h.joined() {
		prefix, ok := m.remembers()
		if !ok {
			continue
		}
		var keys []redis.Z
		for _, k := range hottest {
			if text, ours := strings.CutPrefix(k.Key, prefix); ours && k.Hits > 0 {
				keys = append(keys, redis.Z{Member: strings.TrimSuffix(text, "}"), Score: now + halfLife.Seconds()*math.Log2(float64(k.Hits))})
			}
		}
		if len(keys) == 0 {
			continue
		}
		at := h.warmKey(m.Stats().Name)
		ctx, cancel := context.WithTimeout(ctx, h.timeout)
		pipe := h.rdb.Pipeline()
		pipe.ZAddArgs(ctx, at, redis.ZAddArgs{GT: true, Members: keys})
		pipe.ZRemRangeByRank(ctx, at, 0, -warmKeys-1)
		pipe.PExpire(ctx, at, warmLife)
		_, err := pipe.Exec(ctx)
		cancel()
		if err != nil {
			h.complain(ctx, "remembering what is hot", m.Stats().Name, err)
		}
	}
}

func (h *Hub) warmKey(policy string) string { return h.root + "warm:" + policy }

// Warm reads the keys that processes on this Redis read most before, the hottest
// first, so that the first clients find them near. It needs Source.Parse, and
// does nothing without; keys that cannot be parsed are overlooked. A Hub that
// runs calls it once at its start.
func (c *Cache[K, V]) Warm(ctx context.Context) error {
	if c.source.Parse == nil {
		return nil
	}
	texts, err := c.hub.rdb.ZRevRange(c.hub.within(ctx), c.hub.warmKey(c.policy.Name), 0, warmKeys-1).Result()
	if err != nil {
		return fmt.Errorf("read which keys of cache %s were hot: %w", c.policy.Name, err)
	}
	var ks []K
	for _, text := range texts {
		if k, err := c.source.Parse(strings.TrimPrefix(text, "_")); err == nil { // see tagged
			ks = append(ks, k)
		}
	}
	for part := range slices.Chunk(ks, 100) { // small steps: others read too
		_, failed := c.GetMany(ctx, part)
		err = cmp.Or(err, failed)
	}
	return err
}
