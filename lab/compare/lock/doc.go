// Package lock compares locks over several processes under one suite: commonly taught recipes,
// correct and wrong, redsync, the locks of Postgres, and the locks of Tandian, which are redsync
// and advisory locks with renewed leases.
//
// A [Scheme] is one process of such a way. The work under the lock is always the same: one order
// per user, first counted and then inserted, in one transaction. There is no unique index, except
// for one scheme. [Anomalies] forces single interleavings, in which a process is stopped, dies,
// pauses or has a wrong clock, and reports which schemes survive. It counts the orders, not the
// beliefs of a scheme. [Handover] measures the cost of a lock, and its idle time between two
// holders.
//
// The tests make the verdicts of the suite credible: they assert that the known wrong schemes fail,
// each in its way and in no other.
package lock
