// Package lock gives one process at a time the right to work on a name.
//
//	locks, err := lock.NewRedis([]redis.UniversalClient{rdb}, lock.Options{Prefix: "td", Log: log})
//	defer locks.Close(ctx)
//	err = locks.Do(ctx, "order:7:42", func(ctx context.Context, lease *lock.Lease) error {
//		… // ctx ends before the lock does
//	})
//
// [NewRedis] runs redsync on one Redis node or on several independent ones. Package
// dblock has the same interface on advisory locks of Postgres. They are strongly
// consistent, like locks in ZooKeeper or etcd.
//
// # Purpose
//
// A lock saves work that several processes would do twice. It does not protect data.
// Every lock that expires can have two holders for a moment. A holder may be paused for
// longer than its lease, or Redis may fail over to a replica without the key. Use a
// unique index or a conditional UPDATE for operations that must not happen twice. M.
// Kleppmann explains why ("How to do distributed locking", 2016).
//
// # Guarantees
//
// The context of a lease ends before the lock does, as far as the process can tell. A
// lock lasts for Options.TTL and is renewed after a third of it. Without a confirmed
// renewal the context ends a twentieth of the TTL (20 ms to 1 s) before the expiry. If
// another process takes the lock, the context ends at the next renewal. A holder that
// hangs keeps the lock for at most Options.MaxHold plus the rest of its TTL.
//
// A wait does not poll. A release wakes one caller of each process, by pub/sub on Redis
// and by the server on Postgres. On Redis the waiter also retries when the key of the
// holder expires, and after each lost connection. Callers of one process wait in the
// order of their calls. There is no order between processes on Redis.
//
// A cancelled call leaves no lock behind: a late grant is released. The deletion of an
// unanswered attempt is retried until Redis confirms it or the TTL has passed.
package lock
