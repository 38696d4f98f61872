// Package lock sets the field's ways to lock over several processes beside the
// one of Tandian, under one suite: recipes as they are taught, right ones and
// wrong ones, a library, and the locks of the database itself.
//
// A [Scheme] is one process of such a way. The work under the lock is always
// the same: one order for each user, counted first and inserted then, in one
// transaction, with no unique index to help. [Anomalies] forces single
// interleavings, in which a process is stopped, dies, is paused or has a wrong
// clock, and says which scheme survives them: what counts is the orders, not
// what a scheme believes. [Handover] measures what a lock costs and how long it
// lies idle between two holders.
//
// The suite has to be believed before its verdicts are: its tests assert that
// the schemes which are known to be wrong are seen to be wrong, each in its way
// and in no other.
package lock
