// Package embedredis is an in-process Redis, for the embedded mode and for tests.
//
// The database is miniredis, which was written for unit tests. A server that runs for days needs
// three additions:
//
//   - In-memory connections instead of sockets ([Server.Dial]). No port is opened. A pipeline may
//     have any length. A subscriber that stops reading uses memory up to [Options].OutputLimit and
//     is then disconnected; over TCP, miniredis would block.
//   - A clock ([Server.Run]). miniredis expires nothing by itself, and its own clock visits every
//     key at every command.
//   - A guard. It rejects commands that would end the process (miniredis panics on some arguments),
//     commands with wrong results and commands that Tandian does not use: "ERR KEYS is not served
//     by the embedded Redis". A rejection inside MULTI makes EXEC fail, like in Redis.
//
// Client options that go-redis needs, in addition to those of every Tandian client:
//
//	redis.Options{
//		Addr:                     "embedded", // only a name
//		Dialer:                   server.Dial,
//		Protocol:                 3,
//		ContextTimeoutEnabled:    true,
//		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
//	}
//
// DB must be 0, because SELECT is rejected. go-redis observes a context's deadline but not its
// cancellation: a blocking read ends with its BLOCK time, with the deadline, or when client or
// server close.
//
// # Limits
//
//   - One process. Other processes cannot connect, and two processes have two different Redis
//     servers.
//   - It starts empty and stores nothing on disk: the server rebuilds its data from the database.
//   - About 50 000 keys. There is no maxmemory and no eviction. A key of 100 bytes takes about 370
//     bytes, and every key name ever used retains about 70.
//   - Expiry is inexact by up to 250 ms in both directions, so a TTL below half a second means
//     little. From about 30 000 keys on, the clock slows down ([Server.Run]); with 50 000 keys the
//     error is up to 0.7 s.
//   - One lock: about 5 000 scripts a second in all, because each creates a Lua state. Sorted sets
//     are sorted at every read (1.5 ms with 10 000 members), and SETBIT copies the string.
//   - Callers are trusted. A request of zero words and a script that returns a function still end
//     the process, and a script must not use BLOCK.
//
// # Remaining differences
//
// A HyperLogLog has the bytes of Redis and counts the same. But PFADD, PFCOUNT and PFMERGE are
// rejected in scripts and transactions, and PFCOUNT of several keys is rejected. An error that a
// command raises in a script arrives as "ERR Error compiling script …", so scripts should return
// numbers or redis.error_reply. GEO distances differ by 2 in 100 000. Pending entries whose message
// was trimmed vanish from XPENDING. cjson.encode({}) is "[]". INFO answers at once even between
// MULTI and EXEC.
package embedredis
