package lock

import "sync/atomic"

type counts struct{ acquired, waited, failed, lost, maxHold atomic.Int64 }

// Stats holds counters since the start.
type Stats struct {
	Acquired int64 // locks taken, without nested leases
	Waited   int64 // callers that waited for this process or another one
	Failed   int64 // calls that the store did not answer, or answered with an error
	Lost     int64 // locks that ended before their release
	MaxHold  int64 // locks that reached MaxHold or their fixed TTL
}

// Stats returns the counters since the start.
func (l *Locker) Stats() Stats {
	n := &l.count
	return Stats{n.acquired.Load(), n.waited.Load(), n.failed.Load(), n.lost.Load(), n.maxHold.Load()}
}
