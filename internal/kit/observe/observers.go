package observe

import (
	"maps"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// observers remember the series of a metric, which a vector finds by a hash of all its
// labels, under a lock. The keys must be from a closed set, as labels are. They are safe
// for concurrent use.
type observers[K comparable] struct {
	series func(K) prometheus.Observer
	known  atomic.Pointer[map[K]prometheus.Observer]
}

// of is the series of a key.
func (o *observers[K]) of(key K) prometheus.Observer {
	known := o.known.Load()
	if known != nil {
		if one, ok := (*known)[key]; ok {
			return one
		}
	}
	one := o.series(key)
	more := map[K]prometheus.Observer{}
	if known != nil {
		more = maps.Clone(*known)
	}
	more[key] = one
	o.known.CompareAndSwap(known, &more) // who comes second remembers it the next time
	return one
}
