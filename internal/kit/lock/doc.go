// Package lock gives at most one process at a time a name to work on, over all
// that share a Redis, several of them, or a PostgreSQL.
//
//	locks, err := lock.NewRedis([]redis.UniversalClient{rdb}, lock.Options{Prefix: "td", Log: log})
//	defer locks.Close(ctx)
//	err = locks.Do(ctx, "reconcile:7", func(ctx context.Context, lease *lock.Lease) error {
//		… // ctx ends before the lock does
//	})
//
// # What it is for
//
// A lock spares work that would be done twice. It does not keep money: every lock
// that ends by itself can have two holders, one of whom does not know yet. The
// garbage collector, the scheduler or the machine stops him longer than the lock
// lasts, the Redis that had it fails over to a replica that has not heard of it.
// What must never happen twice is forbidden by a unique index or by the condition
// of an update, and where neither says it, by [Register]. M. Kleppmann wrote why
// ("How to do distributed locking", 2016); to exclude others from one transaction
// of PostgreSQL, its row locks are better than any of these.
//
// # Calls
//
//   - [Locker.Try] takes a lock or says that it is [Busy].
//   - [Locker.Acquire] waits until its context ends, [Within] some time if told so.
//   - either with [For]: a given lease, which is not renewed.
//
// [Locker.Do] is Acquire, work and Release. A context that comes from a lease
// holds its lock: who locks the same name with it gets it again at once, and it
// is given up when all of its leases are released. So "re-entrant" means the call
// tree, which includes the goroutines that are given the context.
//
// # What holds
//
// The work's context ends before the lock does, as far as a process can tell: a
// lock lasts for Options.TTL and is renewed when a third of that is over; if no
// renewal is confirmed, by whatever fault, the context ends a twentieth of the TTL,
// 20 ms to a second, before the lock may be given to another. It ends at the next renewal, that is
// within a third of the TTL, if the lock was taken away. A holder that hangs keeps
// the lock for Options.MaxHold and what is left of its validity. Only the monotonic clock of
// the process and the lives that Redis counts are used; the monotonic clock of
// Linux stands still while a machine is suspended, which a holder notices late.
//
// A wait sends nothing. It begins with an attempt; whoever is refused listens for
// the release, by pub/sub, tries once more when the node says that it listens,
// and then when it is told of a release, when the connection was lost meanwhile,
// or when the holder's time is over. Of each process one caller at a time does so,
// the others stand behind it in the order of their calls. Between processes there
// is no order.
//
// A call that is cut short leaves nothing: what is granted to a caller who has
// gone is given up when the answer comes, and what was never answered is deleted
// until the node says so. The caller returns when its deadline passes; one that is
// cancelled in the middle of an attempt returns when the nodes have answered, after
// Options.NodeTimeout at the latest.
//
// # Tokens
//
// Every lock has a fencing token, greater than those of all earlier holders of
// its name. [Register] writes it into the database, as the first statement of the
// transaction that the lock is for; a holder of the past is refused there,
// whenever it wakes up. It has to be first: if it were compared only at the write,
// an earlier holder could still write between a later one's read and write.
//
// # Nodes
//
// On one Redis, or one Cluster, or behind Sentinel, a failover may lose the lock.
// Over three or five Redis nodes that know nothing of each other a majority has to
// grant it, and one (two) may be lost without two holders, as long as a node that
// lost its memory stays away for a TTL. Options.AllNodes wants all of them: any
// one that remembers keeps a second holder out, and any one that is away keeps
// everybody out. The counting is redsync's.
package lock
