package observe

import (
	"maps"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// observers caches the series of a metric by key. A vector would hash all labels under a lock. Like
// labels, the keys must be from a bounded set. It is safe for concurrent use.
type observers[K comparable] struct {
	series func(K) prometheus.Observer
	known  atomic.Pointer[map[K]prometheus.Observer]
}

// of returns the series of a key.
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
	o.known.CompareAndSwap(known, &more) // the loser of a race stores it next time
	return one
}
