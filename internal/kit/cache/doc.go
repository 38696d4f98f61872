// Package cache keeps the results of a loader in Redis, and if wanted in the
// process's own memory, for every process that shares the Redis, and never serves
// a value that is older than the last invalidation.
//
// # The four methods
//
// Caches of this kind are usually taught as four functions. Here they are one
// protocol under a [Policy]; each has an example of a few lines, for any type.
//
//   - set with TTL: Policy{Fresh: …}. What was loaded is gone after Fresh.
//   - set with logical expiry: Policy{Fresh: …, Grace: …, Beta: 1}. After Fresh a
//     value is due, not gone.
//   - get with null caching: [Cache.Get]. "There is none" is kept too, for
//     Policy.Negative, and the insert ends it.
//   - get with logical expiry: [Cache.Get] again. A value that is due is served at
//     once while one process loads it anew; one that is missing is loaded, never
//     answered with nothing.
//
// # Use
//
// One [Client] per process holds what caches share; a [Cache] is one kind of value
// under one [Policy], with a [Source]. Any comparable type is a key, any type that
// survives a round trip through JSON a value:
//
//	hub, err := cache.NewHub(rdb, cache.Options{Prefix: "td", Registerer: reg, Log: log})
//	go hub.Run(ctx)
//	shops := cache.New(hub, cache.Policy{Name: "shop"}, cache.Source[int64, Shop]{
//		Key:  func(id int64) string { return strconv.FormatInt(id, 10) },
//		Load: loadShops, // one SELECT … WHERE id IN (…) for all missing ids
//	})
//	one, err := shops.Get(ctx, 7)               // ErrNotFound if there is no row
//	page, err := shops.GetMany(ctx, []int64{…}) // one MGET, one SELECT for the misses
//	err = shops.Invalidate(ctx, 7)              // after the commit that changed row 7
//
// Lists of rows are cached by [QueryCache], under a generation that any write to the
// table ends, the newest entries of a list that grows by [Window], and the first
// pages of the lists of many owners by [FirstPages].
//
// # The way of a read
//
// The process's own memory (L1), then the existence guard, then Redis, then the
// loader under a lease. Memory comes first because a hit there needs no guard.
// Each step can be left out: a zero Policy is Redis and loader.
//
// # What holds
//
// Freshness. A read that begins after [Cache.Invalidate] returned never sees a
// value that was loaded before it, in any process. A load first takes a lease, a
// key of its own beside the value that names this one load; its result is stored
// only while the lease is still there; Invalidate deletes value and lease
// together. So a slow load cannot put an old value back. The method is the lease of
// "Scaling Memcache at Facebook" (NSDI 2013, section 3.2.1) with a token per
// load. It asks that loaders read the primary database and that Redis is read
// from its masters: a lagging replica of either is outside of it, and so is an
// invalidation that Redis acknowledged and then lost in a failover; for that,
// [Client.InvalidateAll] has everything loaded anew. What the process holds itself follows
// its own invalidations at once, and those of others as soon as it hears of them on
// the bus ([Options]), or after MaxAge ([Local]) if it hears nothing. No reader of a
// process is shown an older version than one before it was. [SkipLocal] passes over what
// the process holds.
//
// Invalidate belongs after the commit. Before it, another reader can load and
// keep the row that is about to change. That is why it takes no transaction: there
// is no seat for one. Insert, update and delete all invalidate; the insert
// clears the entry that says "there is no such row".
//
// One load. All processes together run one loader call per missing key at a
// time; the others wait for its result, the readers of one process together. A
// reader is never given what was read before it came, see flight.go. A load
// survives the reader that began it, so a closed browser tab costs nobody else a
// load.
//
// Bounds. Loader calls are bounded by policy and by process; lives are spread; a
// value too big is served and not kept; reads of Redis have a limit, if one is
// set. Who finds no place gets [ErrBusy], alone.
//
// Redis away. A read is then served from the process's own memory for
// StaleIfError, or goes to the loader without storing; an error of Redis is never
// an error of a read. An Invalidate that could not reach Redis returns the error
// and has to be repeated until it succeeds: values that were stored before stay
// readable as soon as Redis is back. The client decides how long a dead Redis
// delays a read: it wants ContextTimeoutEnabled, short dial and read time-outs, no
// retry, and a circuit breaker.
//
// DESIGN.md, beside this file, lists the known anomalies of such caches, with the
// test that excludes each, and what is left.
package cache
