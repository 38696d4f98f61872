package cache

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/semaphore"
)

// core is a cache of V, which is always a pointer. The compiler then shares one body between
// all value types with the same key type in a package.
type core[K comparable, V any] struct {
	loadLimiter
	source     pointerSource[K, V]
	prefix     string
	local      *local[K, V]        // nil: none
	existence  *existenceFilter[K] // nil: none
	flights    flights[K, V]
	refreshing sync.Map // keys of running background refreshes
	table      *Table   // of a [QueryCache]; nil: none
	disabled   bool     // see [Options.Disabled]
}

// loadLimiter bounds and counts the loader calls of one policy.
type loadLimiter struct {
	client *Client
	policy Policy
	counts *counters
	slots  *semaphore.Weighted // of loader calls
}

func (c *loadLimiter) limits() *loadLimiter { return c }

// pointerSource is a [Source] whose values are pointers.
type pointerSource[K comparable, V any] struct {
	key       func(K) string
	load      func(ctx context.Context, ks []K) (map[K]V, error)
	version   func(V) int64                                 // nil: none
	all       func(ctx context.Context) iter.Seq2[K, error] // nil: none
	parse     func(string) (K, error)                       // nil: none
	ephemeral bool
	pack      func(V) (codec byte, payload []byte, err error)
	unpack    func(codec byte, payload []byte) (V, error)
}

func newCore[K comparable, V any](client *Client, p Policy, s pointerSource[K, V], t *Table) *core[K, V] {
	p = p.withDefaults()
	prefix := client.prefix + p.Name + ":{"
	if t != nil {
		prefix += t.name + "}:"
	}
	c := &core[K, V]{
		loadLimiter: loadLimiter{client: client, policy: p, slots: semaphore.NewWeighted(int64(p.MaxLoads))},
		source:      s,
		prefix:      prefix,
		table:       t,
		disabled:    slices.Contains(client.disabled, p.Name),
		flights:     flights[K, V]{byKey: make(map[K]*flight[K, V])},
	}
	if !c.disabled {
		c.local = localOf[K, V](client, p)
	}
	if s.all != nil {
		c.existence = newExistenceFilter(s.all)
	}
	c.counts = client.register(p, c, c)
	if c.local != nil {
		c.counts.usage.Store(&usage{c.local.usage})
	}
	return c
}

// find is [Cache.Get].
func (c *core[K, V]) find(ctx context.Context, k K) (none V, err error) {
	if e, ok := c.localEntry(ctx, k); ok {
		if e.absent {
			return none, ErrNotFound
		}
		return e.v, nil
	}
	return c.get(ctx, k)
}

// localEntry returns the entry in this process if the reader may use it.
func (c *core[K, V]) localEntry(ctx context.Context, k K) (*entry[V], bool) {
	if c.local == nil {
		return nil, false
	}
	e, now, ok := c.local.get(k)
	if !ok || skipsLocal(ctx) {
		return nil, false
	}
	if e.sampled(now) || c.counts.localHits.Load() < exactHits {
		c.countLocalHit(ctx, e)
	}
	return e, true
}

// Counting a local hit would double its cost, and counting hot keys would slow Redis reads.
// After exactHits hits of a cache, only samples are counted.
const (
	exactHits   = 4096
	localSample = 64
	redisSample = 16
)

// sampled reports whether the hits of an entry count in this tick: each key counts in one of
// localSample ticks. Drawing a random number would cost a quarter of a hit.
func (e *entry[V]) sampled(now int64) bool { return (e.salt+uint8(now>>tickBits))%localSample == 0 }

func (c *core[K, V]) countLocalHit(ctx context.Context, e *entry[V]) {
	var n int64 = localSample
	if c.counts.localHits.Load() < exactHits {
		n = 1
	}
	c.counts.localHits.Add(n)
	if !isForWarmup(ctx) {
		c.client.hot.add(e.name, n)
	}
}

func (c *core[K, V]) get(ctx context.Context, k K) (none V, err error) {
	if c.excludes(ctx, k) {
		return none, ErrNotFound
	}
	if c.disabled {
		return c.loadAlone(ctx, k)
	}
	if !c.permitted() {
		if e, ok := c.stale(ctx, k); ok {
			return e.v, nil
		}
		return none, c.overLimit(1)
	}
	w := c.want(k)
	w.filtered = c.usesFilter(ctx)
	r := c.fetch(ctx, w.name)
	if r.err != nil && !ended(ctx) {
		c.redisFailed(ctx, r.err)
		if e, ok := c.staleIfUnavailable(ctx, k); ok {
			c.counts.misses.Add(1)
			return e.v, nil
		}
	}
	switch f := c.handleReply(ctx, &w, r); f.state {
	case value:
		if c.due(f) {
			c.refresh(ctx, []want[K]{w})
		}
		return f.v, nil
	case negative:
		return none, ErrNotFound
	case nothing, bare: // to be loaded
	}
	found := make(map[K]V, 1)
	failed, err := c.loadMissing(ctx, []want[K]{w}, found)
	if err = c.fillStale(ctx, failed, found, err); err != nil {
		return none, err
	}
	v, ok := found[k]
	if !ok {
		return none, ErrNotFound
	}
	return v, nil
}

// loadAlone is get for a disabled policy.
func (c *core[K, V]) loadAlone(ctx context.Context, k K) (none V, err error) {
	loaded, err := c.source.load(ctx, []K{k})
	if err != nil {
		return none, fmt.Errorf("load: %w", err)
	}
	v, ok := loaded[k]
	if !ok {
		return none, ErrNotFound
	}
	return v, nil
}

// findMany is [Cache.GetMany].
func (c *core[K, V]) findMany(ctx context.Context, ks []K) (map[K]V, error) {
	found := make(map[K]V, len(ks))
	var remote []K
	for _, k := range ks {
		if _, twice := found[k]; twice {
			continue
		}
		if e, ok := c.localEntry(ctx, k); ok {
			if !e.absent {
				found[k] = e.v
			}
		} else if !c.excludes(ctx, k) {
			remote = append(remote, k)
		}
	}
	return found, c.findRemote(ctx, remote, found)
}

// findRemote adds the values of keys that are not in local memory to found.
func (c *core[K, V]) findRemote(ctx context.Context, ks []K, found map[K]V) error {
	if len(ks) == 0 {
		return nil
	}
	if c.disabled {
		loaded, err := c.source.load(ctx, ks)
		maps.Copy(found, loaded)
		return err
	}
	missing, refused, err := c.getMany(ctx, ks, found)
	if len(missing) > 0 {
		failed, first := c.loadMissing(ctx, missing, found)
		refused, err = append(refused, failed...), cmp.Or(err, first)
	}
	return c.fillStale(ctx, refused, found, err)
}

// getMany adds the values in Redis to found. It returns the keys to load and the keys that the
// read limit refused.
func (c *core[K, V]) getMany(ctx context.Context, ks []K, found map[K]V) (missing []want[K], refused []K, err error) {
	filtered := c.usesFilter(ctx)
	for part := range slices.Chunk(c.wants(ks), batch) {
		if !c.permitted() {
			err = c.overLimit(len(part))
			for _, w := range part {
				refused = append(refused, w.k)
			}
			continue
		}
		var failed error
		var due []want[K]
		for i, r := range c.fetchMany(ctx, names(part)) {
			w := &part[i]
			w.filtered = filtered
			if r.err != nil && !ended(ctx) {
				failed = cmp.Or(failed, r.err)
				if e, ok := c.staleIfUnavailable(ctx, w.k); ok {
					c.counts.misses.Add(1)
					found[w.k] = e.v
					continue
				}
			}
			switch f := c.handleReply(ctx, w, r); f.state {
			case value:
				found[w.k] = f.v
				if c.due(f) {
					due = append(due, *w)
				}
			case nothing, bare:
				missing = append(missing, *w)
			case negative: // known to be absent
			}
		}
		if failed != nil {
			c.redisFailed(ctx, failed)
		}
		if len(due) > 0 {
			c.refresh(ctx, due)
		}
	}
	return missing, refused, err
}

func (c *core[K, V]) invalidate(ctx context.Context, ks []K) error {
	ctx = context.WithoutCancel(ctx)
	all := c.wants(ks)
	c.forget(all)
	if err := c.remove(ctx, all); err != nil {
		return fmt.Errorf("invalidate %d keys of cache %s: %w", len(ks), c.policy.Name, err)
	}
	c.removeLater(ctx, all)
	return nil
}

// remove deletes records before it publishes the keys: a receiver must not find the old ones.
func (c *core[K, V]) remove(ctx context.Context, all []want[K]) error {
	for part := range slices.Chunk(all, batch) {
		err := c.client.remove(ctx, names(part))
		c.forget(part) // earlier reads may have stored entries since the first forget
		if err == nil && len(all) <= maxPublishedKeys {
			err = c.publish(ctx, part)
		}
		if err != nil {
			c.counts.redisErrors.Add(1)
			return err
		}
	}
	if len(all) > maxPublishedKeys && c.hasLocalState() {
		return c.client.publish(ctx, busMessage{Policy: c.policy.Name})
	}
	return nil
}

// hasLocalState reports whether other processes need messages of this cache. Running loads do
// not: their results never serve readers that came after an invalidation.
func (c *core[K, V]) hasLocalState() bool { return c.local != nil || c.existence != nil }

func (c *core[K, V]) publish(ctx context.Context, wants []want[K]) error {
	if c.client.bus == nil || !c.hasLocalState() {
		return nil
	}
	texts := make([]string, len(wants))
	for i, w := range wants {
		texts[i] = c.source.key(w.k)
	}
	return c.client.publishKeys(ctx, c.policy.Name, texts)
}

// removeLater starts the second deletion of the policy, if any. ctx must outlive the request.
func (c *core[K, V]) removeLater(ctx context.Context, all []want[K]) {
	if c.policy.SecondDelete <= 0 {
		return
	}
	c.client.loads.Go(func() {
		pause := time.NewTimer(c.policy.SecondDelete)
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-c.client.closing:
		}
		if err := c.remove(ctx, all); err != nil {
			c.client.logFailure(ctx, "second delete", c.policy.Name, err)
		}
	})
}

func (c *core[K, V]) receive(texts []string) {
	if c.source.parse == nil {
		c.reset()
		return
	}
	wants := make([]want[K], 0, len(texts))
	for _, text := range texts {
		k, err := c.source.parse(text)
		if err != nil {
			c.reset()
			return
		}
		wants = append(wants, want[K]{k: k})
	}
	c.forget(wants)
}

func (c *core[K, V]) reset() {
	c.forgetAll()
	if c.existence != nil {
		c.existence.forget()
	}
}

func (c *core[K, V]) markExisting(ks []K) {
	if c.existence != nil {
		c.existence.add(ks...)
	}
}

func (c *core[K, V]) pipeline() *Pipeline { return c.client.Pipeline() }

// putIn is [Cache.PutIn]. Keys must be unique. stored receives the number of values that Redis
// stored.
func (c *core[K, V]) putIn(p *Pipeline, ks []K, vs []V, stored func(n int)) {
	var wants []want[K]
	var calls []scriptCall
	var others []K // keys that Redis can only delete
	for i, k := range ks {
		f := c.encode(context.Background(), vs[i], true, time.Now(), header{epoch: c.client.epoch.Load()})
		if f.version <= 0 || f.flags != 0 {
			others = append(others, k)
			continue
		}
		w := c.want(k)
		wants = append(wants, w)
		calls = append(calls, scriptCall{script: putScript, key: w.name, args: []any{f.record, f.ttl.Milliseconds()}})
	}
	p.add(calls, func(ctx context.Context, answers []*redis.Cmd) error {
		n, full, err := c.finishPut(ctx, wants, answers)
		stored(n)
		if err != nil {
			return fmt.Errorf("put %d keys of cache %s: %w", len(ks), c.policy.Name, err)
		}
		if others = append(others, full...); len(others) > 0 {
			return c.invalidate(ctx, others)
		}
		return nil
	})
}

// finishPut handles the replies of putScript. It returns the number of stored values and the
// keys to delete instead: a full Redis rejects stores but accepts deletions.
func (c *core[K, V]) finishPut(ctx context.Context, wants []want[K], answers []*redis.Cmd) (count int, full []K, err error) {
	c.forget(wants)
	for i, cmd := range answers {
		code, err := cmd.Int64()
		switch {
		case redis.HasErrorPrefix(err, "OOM"):
			full = append(full, wants[i].k)
		case err != nil:
			c.counts.redisErrors.Add(1)
			return count, full, err
		case code == 1:
			count++
		}
	}
	c.counts.redisErrors.Add(int64(len(full)))
	if err := c.publish(ctx, wants); err != nil {
		return count, full, err
	}
	c.removeLater(ctx, wants)
	return count, full, nil
}

// forget drops the local entries of these keys and adds the keys to the existence filter. New
// readers do not join their running loads.
func (c *core[K, V]) forget(wants []want[K]) {
	for _, w := range wants {
		c.markExisting([]K{w.k})
	}
	c.flights.forget(wants)
	if c.local != nil {
		for _, w := range wants {
			c.local.drop(w.k)
		}
	}
}

func (c *core[K, V]) pin(ctx context.Context, until time.Time, ks []K) error {
	if c.local != nil {
		ks = c.local.pins.set(c.client.clock.now.Load(), c.client.clock.at(until), ks)
		for _, k := range ks {
			c.local.remove(k) // to be stored again, as pinned
		}
	}
	_, err := c.findMany(ForWarmup(ctx), ks)
	return err
}

func (c *core[K, V]) Stats() Stats { return c.counts.snapshot() }

func (c *core[K, V]) excludes(ctx context.Context, k K) bool {
	if !c.usesFilter(ctx) || !c.existence.excludes(k) {
		return false
	}
	c.counts.excluded.Add(1)
	return true
}

// usesFilter reports whether the existence filter may answer. Out of sync, it may have missed
// an insert in another process.
func (c *core[K, V]) usesFilter(ctx context.Context) bool {
	return c.existence != nil && c.client.clock.inSync() && c.existence.built() && !skipsLocal(ctx)
}

// permitted reports whether the read limit allows one more Redis read, and counts it.
func (c *core[K, V]) permitted() bool {
	return c.policy.Essential || c.client.reads == nil || c.client.reads.Allow()
}

func (c *core[K, V]) overLimit(keys int) error {
	c.counts.limited.Add(int64(keys))
	return fmt.Errorf("read cache %s: %w", c.policy.Name, ErrBusy)
}

// stale returns an expired local entry that may replace an unavailable value.
func (c *core[K, V]) stale(ctx context.Context, k K) (*entry[V], bool) {
	if c.local == nil || skipsLocal(ctx) {
		return nil, false
	}
	e, ok := c.local.stale(k)
	if ok {
		c.counts.staleServed.Add(1)
	}
	return e, ok
}

// staleIfUnavailable is stale for a failure of Redis. It finds nothing if Redis rejects writes:
// that may last for hours, without any invalidation.
func (c *core[K, V]) staleIfUnavailable(ctx context.Context, k K) (*entry[V], bool) {
	if c.client.readOnly() {
		return nil, false
	}
	return c.stale(ctx, k)
}

// fillStale adds stale entries of keys that could not be read. It returns nil if each key has
// one and the reader has not left, otherwise err.
func (c *core[K, V]) fillStale(ctx context.Context, failed []K, found map[K]V, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	lacking := false
	for _, k := range failed {
		if e, ok := c.stale(ctx, k); ok {
			found[k] = e.v
		} else {
			lacking = true
		}
	}
	if lacking {
		return err
	}
	return nil
}

func (c *core[K, V]) due(f result[V]) bool {
	now := c.client.wall()
	if f.due(now, 0, 0) {
		c.counts.staleServed.Add(1)
		return true
	}
	return c.policy.Beta > 0 && f.due(now, c.policy.Beta, rand.Float64())
}

// storeLocal stores a result if the policy allows it. Otherwise it drops an older entry.
func (c *core[K, V]) storeLocal(w *want[K], f result[V]) {
	if c.local == nil {
		return
	}
	criteria := c.policy.Local.Criteria
	if f.flags&flagBare != 0 || criteria&Small == 0 && len(f.record) > smallBytes ||
		criteria&Hot == 0 && !c.client.hot.hot(w.name) && !c.local.pins.holds(w.k, c.client.clock.now.Load()) {
		c.local.discard(w.k, f.version)
		return
	}
	maxTTL := c.policy.TTL
	if f.state == negative {
		maxTTL = c.policy.NegativeTTL
	}
	left := min(f.created.Add(f.soft).Sub(c.client.wall()), maxTTL) // the clock of the writing process may be ahead
	c.local.put(w.k, w.stamp, &entry[V]{
		v: f.v, absent: f.state == negative, name: w.name, version: f.version,
		until: c.client.clock.now.Load() + int64(left), weight: uint32(len(f.record) + len(w.name) + overhead),
	})
}

// storeLocalBriefly stores a value that was loaded without a lease, for at most MaxAge: this
// process may miss its invalidations.
func (c *core[K, V]) storeLocalBriefly(w *want[K], f result[V]) {
	f.soft = min(f.soft, c.policy.Local.MaxAge)
	c.storeLocal(w, f)
}

func (c *core[K, V]) want(k K) want[K] {
	w := want[K]{k: k, name: c.nameOf(k)}
	if c.local != nil {
		w.stamp = c.local.stamp(k)
	}
	return w
}

// wants returns a want for each distinct key.
func (c *core[K, V]) wants(ks []K) []want[K] {
	seen := make(map[K]struct{}, len(ks))
	list := make([]want[K], 0, len(ks))
	for _, k := range ks {
		if _, twice := seen[k]; !twice {
			seen[k] = struct{}{}
			list = append(list, c.want(k))
		}
	}
	return list
}

func names[K comparable](wants []want[K]) []string {
	list := make([]string, len(wants))
	for i, w := range wants {
		list[i] = w.name
	}
	return list
}

// nameOf returns the key in Redis.
func (c *core[K, V]) nameOf(k K) string {
	text := c.source.key(k)
	if c.table != nil {
		return c.prefix + text // the table is the tag
	}
	return tagged(c.prefix, text)
}

// tagged completes a key whose prefix ends with an opening brace. The text becomes the hash tag
// that puts value and lease into one slot. It gets an underscore in front if the tag would be
// empty, or if it starts with one, so that keys stay distinct.
func tagged(prefix, text string) string {
	if text == "" || text[0] == '}' || text[0] == '_' {
		text = "_" + text
	}
	return prefix + text + "}"
}

func leaseOf(name string) string { return name + ":l" }

// handleReply decodes the first reply of Redis for one key, counts it and stores it locally.
func (c *core[K, V]) handleReply(ctx context.Context, w *want[K], r reply) result[V] {
	switch {
	case isForWarmup(ctx): // not a client's read
	case c.counts.hits.Load() < exactHits:
		c.client.hot.add(w.name, 1)
	case rand.Uint32()%redisSample == 0:
		c.client.hot.add(w.name, redisSample)
	}
	w.generation = r.generation
	f := c.decodeReply(ctx, w, r)
	switch f.state {
	case value:
		c.counts.hits.Add(1)
		c.storeLocal(w, f)
	case negative:
		c.counts.negativeHits.Add(1)
		c.foundAbsent(*w)
		c.storeLocal(w, f)
	default:
		c.counts.misses.Add(1)
	}
	return f
}

func (c *core[K, V]) foundAbsent(w want[K]) {
	if w.filtered {
		c.existence.foundAbsent()
	}
}

// decodeReply decodes a reply of Redis. It sets w.rejected and w.direct for the load that
// follows if there is no value.
func (c *core[K, V]) decodeReply(ctx context.Context, w *want[K], r reply) (f result[V]) {
	if r.err != nil {
		w.direct = true
		return f
	}
	if !r.there {
		return f
	}
	w.rejected = head(r.record)
	f.record = r.record
	var err error
	f.v, f.header, f.state, err = decode(r.record, c.source.unpack)
	if err != nil {
		c.counts.undecodable.Add(1)
		c.client.logFailure(ctx, "decode record", c.policy.Name, err)
	}
	if known := c.client.epoch.Load(); f.state != nothing && f.epoch < known {
		return result[V]{}
	} else if f.state != nothing && f.epoch > known { // the epoch of an invalid record is meaningless
		c.client.epochUnsure.Store(true) // an even later one may exist
		c.client.adopt(f.epoch)
	}
	if c.table != nil && !c.current(f, w.generation, r.generation) {
		return result[V]{}
	}
	w.direct = f.state == bare
	return f
}

// current reports whether a list belongs to the generation that was read with it. A reply
// without a generation must have that of the previous read or a later one.
func (c *core[K, V]) current(f result[V], before, now int64) bool {
	if now != 0 {
		return f.version == now
	}
	return before != 0 && f.version >= before
}

// fetch reads one record in one round trip, together with the generation of its table, if any.
// It creates a missing generation in a second round trip.
func (c *core[K, V]) fetch(ctx context.Context, name string) reply {
	if c.table == nil {
		return c.client.get(ctx, name)
	}
	return c.fetchMany(ctx, []string{name})[0]
}

// fetchMany is fetch for up to 500 records.
func (c *core[K, V]) fetchMany(ctx context.Context, names []string) []reply {
	if c.table == nil {
		return c.client.getMany(ctx, names, "")
	}
	replies := c.client.getMany(ctx, names, c.table.generation)
	if replies[0].err != nil || replies[0].generation != 0 {
		return replies // of one command: all have the same error and generation
	}
	generation, err := c.table.runGeneration(ctx, "read")
	for i := range replies {
		replies[i].generation, replies[i].err = generation, err
	}
	return replies
}

// ended reports whether ctx is over. A socket may see its deadline a moment before the timer
// of the context fires.
func ended(ctx context.Context) bool {
	at, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(at)
}

func (c *core[K, V]) redisFailed(ctx context.Context, err error) {
	c.counts.redisErrors.Add(1)
	c.client.logFailure(ctx, "read Redis", c.policy.Name, err)
}
