package cache

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// Stats holds the counters of one cache since its process started. Every key of a read counts
// as one of LocalHits, Excluded, Hits, NegativeHits, Misses and Limited. LocalHits of a Cache
// are exact up to 4096 and estimated from a sample beyond.
type Stats struct {
	Name          string // of the policy
	LocalHits     int64  // keys found in the memory of this process
	Excluded      int64  // keys excluded by the existence filter
	Hits          int64  // keys found in Redis
	NegativeHits  int64  // keys found in Redis as absent
	Misses        int64  // keys that the first read did not find, also because of errors
	StaleServed   int64  // stale values returned during a refresh or an outage
	Limited       int64  // keys refused by ReadLimit
	Waits         int64  // keys that waited for another load
	Loads         int64  // keys passed to the loader
	LoadCalls     int64  // loader calls
	LoadErrors    int64  // failed loader calls
	Busy          int64  // loader calls that got no slot in time
	Refreshes     int64  // keys with a started background refresh
	StoresRefused int64  // loaded keys not stored because the lease had ended
	RedisErrors   int64  // Redis round trips with an error
	Undecodable   int64  // records that did not decode, values that did not encode
	Oversize      int64  // values above MaxBytes

	LocalBytes     int64 // current size of local entries, without pinned ones
	LocalMax       int64 // maximum size of local entries; 0: none
	LocalEvictions int64 // evicted local entries
}

type counters struct {
	name string // of the policy

	localHits, excluded, hits, negativeHits, misses atomic.Int64
	staleServed, limited, waits                     atomic.Int64
	loads, loadCalls, loadErrors, busy, refreshes   atomic.Int64
	storesRefused, redisErrors                      atomic.Int64
	undecodable, oversize                           atomic.Int64

	usage atomic.Pointer[usage] // nil: no local memory
}

type usage struct {
	read func() (bytes, maxBytes, evicted int64)
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

// metric maps one series to a field of Stats.
type metric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(Stats) int64
}

func newMetrics() []metric {
	counter := func(name, help string, of func(Stats) int64) metric {
		return metric{prometheus.NewDesc("tandian_cache_"+name+"_total", help, []string{"policy"}, nil), prometheus.CounterValue, of}
	}
	gauge := func(name, help string, of func(Stats) int64) metric {
		return metric{prometheus.NewDesc("tandian_cache_"+name, help, []string{"policy"}, nil), prometheus.GaugeValue, of}
	}
	return []metric{
		counter("local_hits", "Keys found in local memory.", func(s Stats) int64 { return s.LocalHits }),
		counter("excluded", "Keys excluded by the existence filter.", func(s Stats) int64 { return s.Excluded }),
		counter("hits", "Keys found in Redis.", func(s Stats) int64 { return s.Hits }),
		counter("negative_hits", "Keys found in Redis as absent.", func(s Stats) int64 { return s.NegativeHits }),
		counter("misses", "Keys not found in the cache.", func(s Stats) int64 { return s.Misses }),
		counter("stale_served", "Stale values returned.", func(s Stats) int64 { return s.StaleServed }),
		counter("limited", "Keys rejected by the Redis read limit.", func(s Stats) int64 { return s.Limited }),
		counter("waits", "Keys that waited for another load.", func(s Stats) int64 { return s.Waits }),
		counter("loads", "Keys passed to the loader.", func(s Stats) int64 { return s.Loads }),
		counter("load_calls", "Loader calls.", func(s Stats) int64 { return s.LoadCalls }),
		counter("load_errors", "Failed loader calls.", func(s Stats) int64 { return s.LoadErrors }),
		counter("busy", "Loader calls that got no slot in time.", func(s Stats) int64 { return s.Busy }),
		counter("refreshes", "Keys whose background refresh started.", func(s Stats) int64 { return s.Refreshes }),
		counter("stores_refused", "Loaded keys not stored because their lease had ended.", func(s Stats) int64 { return s.StoresRefused }),
		counter("redis_errors", "Redis round trips with an error.", func(s Stats) int64 { return s.RedisErrors }),
		counter("undecodable", "Records that did not decode and values that did not encode.", func(s Stats) int64 { return s.Undecodable }),
		counter("oversize", "Values too large to store.", func(s Stats) int64 { return s.Oversize }),
		gauge("local_bytes", "Approximate bytes of local entries, excluding pinned ones.", func(s Stats) int64 { return s.LocalBytes }),
		gauge("local_limit_bytes", "Maximum bytes of local entries.", func(s Stats) int64 { return s.LocalMax }),
		counter("local_evictions", "Entries evicted from local memory.", func(s Stats) int64 { return s.LocalEvictions }),
	}
}

// collector exports the counters of all caches of a client.
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
