package cache

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// Stats counts what one cache did since its process started. Every key that a
// read asks for is one of LocalHits, Excluded, Hits, NegativeHits and Misses, or
// Limited. LocalHits are exact up to some thousands and estimated beyond.
type Stats struct {
	Name          string // of the policy
	LocalHits     int64  // keys answered by this process's own memory
	Excluded      int64  // keys that the guard knows to be absent
	Hits          int64  // keys answered by a record
	NegativeHits  int64  // keys answered by a record that says there is none
	Misses        int64  // keys that the first look did not find, for whatever reason
	StaleServed   int64  // values served after their time, while they were refreshed or could not be
	Limited       int64  // keys not asked for because the process had used up its reads of Redis
	Waits         int64  // keys that waited for a load of somebody else
	Loads         int64  // keys given to the loader
	LoadCalls     int64  // calls of the loader
	LoadErrors    int64  // calls of the loader that failed
	Busy          int64  // calls of the loader that found no place in time
	Refreshes     int64  // keys that a refresh in the background was begun for
	StoresRefused int64  // loaded keys not stored because the lease was gone
	RedisErrors   int64  // round trips to Redis in which something failed
	Undecodable   int64  // records that could not be read, values that could not be written
	Oversize      int64  // values found too big to be kept

	LocalBytes     int64 // that entries in this process's own memory have now; pinned ones not counted
	LocalMax       int64 // that they may have; 0: none are kept
	LocalEvictions int64 // entries that made place for others there
}

type counters struct {
	name string // of the policy

	localHits, excluded, hits, negativeHits, misses atomic.Int64
	staleServed, limited, waits                     atomic.Int64
	loads, loadCalls, loadErrors, busy, refreshes   atomic.Int64
	storesRefused, redisErrors                      atomic.Int64
	undecodable, oversize                           atomic.Int64

	usage atomic.Pointer[usage] // nil: nothing is kept in the process's own memory
}

// usage asks how full the process's own memory is.
type usage struct {
	read func() (bytes, most, evicted int64)
}

func (c *counters) snapshot() Stats {
	s := Stats{
		Name:          c.name,
		LocalHits:     c.localHits.Load(),
		Excluded:      c.excluded.Load(),
		Hits:          c.hits.Load(),
		NegativeHits:  c.negativeHits.Load(),
		Misses:        c.misses.Load(),
		StaleServed:   c.staleServed.Load(),
		Limited:       c.limited.Load(),
		Waits:         c.waits.Load(),
		Loads:         c.loads.Load(),
		LoadCalls:     c.loadCalls.Load(),
		LoadErrors:    c.loadErrors.Load(),
		Busy:          c.busy.Load(),
		Refreshes:     c.refreshes.Load(),
		StoresRefused: c.storesRefused.Load(),
		RedisErrors:   c.redisErrors.Load(),
		Undecodable:   c.undecodable.Load(),
		Oversize:      c.oversize.Load(),
	}
	if f := c.usage.Load(); f != nil {
		s.LocalBytes, s.LocalMax, s.LocalEvictions = f.read()
	}
	return s
}

// metric joins one series to the field of Stats that it shows.
type metric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(Stats) int64
}

func newMetrics() []metric {
	series := func(name, help string, of func(Stats) int64) metric {
		return metric{prometheus.NewDesc("tandian_cache_"+name+"_total", help, []string{"policy"}, nil), prometheus.CounterValue, of}
	}
	now := func(name, help string, of func(Stats) int64) metric {
		return metric{prometheus.NewDesc("tandian_cache_"+name, help, []string{"policy"}, nil), prometheus.GaugeValue, of}
	}
	return []metric{
		series("local_hits", "Keys answered by the process's own memory.", func(s Stats) int64 { return s.LocalHits }),
		series("excluded", "Keys that the existence guard knows to be absent.", func(s Stats) int64 { return s.Excluded }),
		series("hits", "Keys answered from Redis.", func(s Stats) int64 { return s.Hits }),
		series("negative_hits", "Keys answered by an entry that says there is none.", func(s Stats) int64 { return s.NegativeHits }),
		series("misses", "Keys that the first look did not find.", func(s Stats) int64 { return s.Misses }),
		series("stale_served", "Values served after their time.", func(s Stats) int64 { return s.StaleServed }),
		series("limited", "Reads refused by the limit on reads of Redis.", func(s Stats) int64 { return s.Limited }),
		series("waits", "Keys that waited for somebody else's load.", func(s Stats) int64 { return s.Waits }),
		series("loads", "Keys given to the loader.", func(s Stats) int64 { return s.Loads }),
		series("load_calls", "Calls of the loader.", func(s Stats) int64 { return s.LoadCalls }),
		series("load_errors", "Calls of the loader that failed.", func(s Stats) int64 { return s.LoadErrors }),
		series("busy", "Calls of the loader that found no place in time.", func(s Stats) int64 { return s.Busy }),
		series("refreshes", "Keys that a refresh in the background was begun for.", func(s Stats) int64 { return s.Refreshes }),
		series("stores_refused", "Loaded keys not stored because their lease was gone.", func(s Stats) int64 { return s.StoresRefused }),
		series("redis_errors", "Round trips to Redis in which something failed.", func(s Stats) int64 { return s.RedisErrors }),
		series("undecodable", "Records that could not be read, values that could not be written.", func(s Stats) int64 { return s.Undecodable }),
		series("oversize", "Values found too big to be kept.", func(s Stats) int64 { return s.Oversize }),
		now("local_bytes", "Bytes that entries in the process's own memory have, roughly; pinned ones not counted.", func(s Stats) int64 { return s.LocalBytes }),
		now("local_limit_bytes", "Bytes that entries in the process's own memory may have.", func(s Stats) int64 { return s.LocalMax }),
		series("local_evictions", "Entries that made place for others in the process's own memory.", func(s Stats) int64 { return s.LocalEvictions }),
	}
}

// collector shows the counters of all caches of a hub, from their first moment.
type collector struct{ client *Client }

func (c collector) Describe(to chan<- *prometheus.Desc) {
	for _, m := range c.client.metrics {
		to <- m.desc
	}
}

func (c collector) Collect(to chan<- prometheus.Metric) {
	for _, s := range c.client.Stats() {
		for _, m := range c.client.metrics {
			to <- prometheus.MustNewConstMetric(m.desc, m.kind, float64(m.value(s)), s.Name)
		}
	}
}
