// Package lock compares locks over several processes under one suite: recipes as they are
// taught, right ones and wrong ones, redsync, the locks of Postgres, and the locks of
// Tandian, which are redsync and advisory locks with leases that are renewed.
//
// A [Scheme] is one process of such a way. The work under the lock is always
// the same: one order for each user, counted first and inserted then, in one
// transaction, without a unique index, but for one scheme. [Anomalies] forces single
// interleavings, in which a process is stopped, dies, is paused or has a wrong
// clock, and says which scheme survives them: what counts is the orders, not
// what a scheme believes. [Handover] measures what a lock costs and how long it
// lies idle between two holders.
//
// The suite has to be believed before its verdicts are: its tests assert that
// the schemes which are known to be wrong are seen to be wrong, each in its way
// and in no other.
package lock
