// Package cache keeps the results of a loader in Redis for every process that
// shares it, and never serves a value that is older than the last invalidation.
//
// One [Hub] per process holds what caches share; a [Cache] is one kind of value
// under one [Policy]. Any key type works whose values have a text of their own,
// any value type that survives a round trip through JSON:
//
//	hub, err := cache.NewHub(rdb, cache.Options{Prefix: "td", Registerer: reg, Log: log})
//	shops := cache.New(hub, cache.Policy{Name: "shop"}, func(id int64) string {
//		return strconv.FormatInt(id, 10)
//	}, loadShops) // one SELECT … WHERE id IN (…) for all missing ids
//
//	one, err := shops.Get(ctx, 7)               // ErrNotFound if there is no row
//	page, err := shops.GetMany(ctx, []int64{…}) // one MGET, one SELECT for the misses
//	err = shops.Invalidate(ctx, 7)              // after the commit that changed row 7
//
// # What holds
//
// Freshness. A read that begins after [Cache.Invalidate] returned never sees a
// value that was loaded before it, in any process. A load first takes a lease, a
// key of its own beside the value that names this one load; its result is stored
// only while the lease is still there; Invalidate deletes value and lease
// together. So a slow load cannot put an old value back, and no reader waits for
// a load that began before the invalidation. The method is the lease of
// "Scaling Memcache at Facebook" (NSDI 2013, section 3.2.1) with a token per
// load. It asks that loaders read the primary database and that Redis is read
// from its masters: a lagging replica of either is outside of it, and so is an
// invalidation that Redis acknowledged and then lost in a failover.
//
// Invalidate belongs after the commit. Before it, another reader can load and
// keep the row that is about to change. That is why it takes no transaction: there
// is no seat for one. Insert, update and delete all invalidate; the insert
// clears the entry that says "there is no such row".
//
// One load. All processes together run one loader call per missing key at a
// time; the others wait for its result. A load survives the reader that began
// it, so a closed browser tab costs nobody else a load. Absent keys are kept
// too, for [Policy].Negative.
//
// Redis away. A read then goes to the loader, in one call and without storing; an
// error of Redis is never an error of a read. An Invalidate that could not reach
// Redis returns the error and has to be repeated until it succeeds: values that
// were stored before stay readable as soon as Redis is back.
//
// The client decides how long a dead Redis delays a read: it wants
// ContextTimeoutEnabled, and short dial and read time-outs with no or one retry.
package cache
