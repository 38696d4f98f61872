// Package lock compares locks over several processes under one suite: commonly taught recipes,
// correct and wrong, redsync, the locks of Postgres, and those of Tandian. Tandian renews leases of
// redsync and of advisory locks.
//
// A [Scheme] is one process of a kind of lock. The work under the lock is always the same: one order
// per user, first counted and then inserted, in one transaction. There is no unique index, except
// for one scheme. [Anomalies] forces single interleavings, in which a process is stopped, dies,
// pauses or has a wrong clock, and reports which schemes survive. It judges by the
// orders, not by the reports of a scheme. [Handover] measures the cost of a lock, and its idle time between two
// holders.
//
// The tests assert that each known wrong scheme fails exactly where expected, so the other verdicts
// are credible.
package lock
