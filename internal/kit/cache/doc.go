// Package cache is a read-through cache in Redis that several processes share, with an optional
// in-memory level in each process. Redis never returns a value older than the last
// invalidation of its key.
//
// # Use
//
// A [Client] holds the resources that the caches of one process share. A [Cache] stores one kind
// of value under one [Policy] and loads it from a [Source]. Keys are comparable. Values must
// survive a round trip through JSON:
//
//	client, err := cache.NewClient(rdb, cache.Options{Prefix: "td", Registerer: reg, Log: log})
//	go client.Run(ctx)
//	shops := cache.New(client, cache.Policy{Name: "shop"}, cache.Source[int64, Shop]{
//		Key:  func(id int64) string { return strconv.FormatInt(id, 10) },
//		Load: loadShops, // one SELECT … WHERE id IN (…) for all missing ids
//	})
//	one, err := shops.Get(ctx, 7)               // ErrNotFound if there is no row
//	page, err := shops.GetMany(ctx, []int64{…}) // one MGET, one SELECT for the misses
//	err = shops.Invalidate(ctx, 7)              // after the commit that changed row 7
//
// Other types store lists, with the same freshness:
//
//   - [QueryCache] stores query results until the next write to their [Table].
//   - [Window] stores the newest entries of lists that grow at one end.
//   - [Union] stores the newest entries of several lists, merged into one, such as a feed.
//   - [FirstPages] stores the first items of one list per owner.
//   - [Memory] stores values in this process only.
//   - [Pipeline] sends the changes of one commit in one round trip.
//
// # Patterns
//
// The usual caching patterns are settings of one protocol. Each has an example:
//
//   - Expiry: Policy{TTL: …}. A value expires after TTL.
//   - Stale-while-revalidate, also called logical expiry: Policy{TTL: …, StaleTTL: …, Beta: 1}.
//     After TTL a value is stale, not gone. Reads return it at once while one process reloads it
//     in the background. A read loads a missing value, so the cache needs no warm-up.
//   - Negative caching: [Cache.Get] also stores that a key has no value, for NegativeTTL. The
//     invalidation that follows the insert removes this entry.
//
// # Read path
//
// A read checks the memory of this process (L1), then the existence filter, then Redis. A miss
// calls the loader under a lease. Memory comes first because a hit there needs no filter.
// Memory and filter are options: the zero Policy uses Redis and the loader.
//
// # Freshness
//
// A read that begins after [Cache.Invalidate] returned nil never gets an older value from Redis or
// the loader, in any process. A load first takes a lease, a separate key next to the value with
// a token of this load. Redis stores the result only while the lease exists, and Invalidate
// deletes value and lease in one command. Thus a slow load cannot restore an old value. The
// method is the lease of "Scaling Memcache at Facebook" (NSDI 2013, section 3.2.1).
//
// The guarantee has three conditions:
//
//   - Loaders read the primary database, not a replica.
//   - The client reads the masters of Redis, not replicas.
//   - Redis does not lose acknowledged deletions. After a failover that lost some, call
//     [Client.InvalidateAll].
//
// L1 applies the invalidations of its own process at once. It applies those of other processes
// when the bus of [Options] delivers them. If the bus fails, entries expire within MaxAge
// ([Local]). Use [SkipLocal] to bypass L1. With [Source].Version, later reads of a process never
// return an older version than earlier ones.
//
// Call Invalidate after the commit of every insert, update and delete. Before the commit,
// another reader could load and store the old row. Therefore Invalidate takes no transaction.
//
// # Loads
//
// Usually all processes together run one loader call per missing key at a time. Other readers
// wait for its result. A reader never receives data that was read before its own call began (see
// flight.go). A load outlives the reader that started it, so a cancelled request costs other
// readers nothing.
//
// Policies and the client bound the number of concurrent loader calls. TTLs have jitter. A value
// above MaxBytes is returned but not stored. An optional limit bounds the reads of Redis. A read
// above a bound returns [ErrBusy] for the affected keys only.
//
// # Without Redis
//
// If Redis is unavailable, a read returns an expired L1 entry for up to StaleIfError, or calls the
// loader. L1 stores the result for at most MaxAge. A read never returns a Redis error. Invalidate
// then returns an error. Repeat it until it succeeds: old values become readable again with
// Redis. The go-redis client determines how long a dead Redis delays a read. Set
// ContextTimeoutEnabled, short dial and read timeouts, no retries and a circuit breaker.
//
// DESIGN.md lists the known anomalies of such caches, the test that excludes each, and the
// remaining limits.
package cache
