// Package embedredis is an in-process Redis, for the embedded mode and for tests.
//
// The database is miniredis, which was written for unit tests. For servers that run for days, this
// package adds:
//
//   - In-memory connections instead of sockets ([Server.Dial]). No port is opened. A pipeline may
//     have any length. A client that stops reading is disconnected at [Options].OutputLimit; over
//     TCP, it would block miniredis.
//   - A clock ([Server.Run]). miniredis expires nothing by itself, and its own clock visits every
//     key at every command.
//   - A guard. It rejects commands that miniredis answers with a panic or a wrong result, and
//     commands that Tandian does not use: "ERR KEYS is not served by the embedded Redis". A
//     rejection inside MULTI makes EXEC fail, like in Redis.
//
// A go-redis client needs these options, in addition to those of every Tandian client:
//
//	redis.Options{
//		Addr:                     "embedded", // only a name
//		Dialer:                   server.Dial,
//		Protocol:                 3,
//		ContextTimeoutEnabled:    true,
//		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
//	}
//
// DB must be 0, because SELECT is rejected. go-redis observes the deadline of a context but not its
// cancellation. A blocking read ends after its BLOCK time, at the deadline, or when the client or
// the server closes.
//
// # Limits
//
//   - One process. Other processes cannot connect.
//   - It starts empty and stores nothing on disk: Tandian rebuilds its data from the database.
//   - About 50 000 keys. There is no maxmemory and no eviction. A key of 100 bytes takes about 370
//     bytes. Every key name ever used takes about 70 bytes until the process ends.
//   - Keys expire up to 250 ms early or late, so TTLs below half a second are unreliable. From about
//     30 000 keys on, the clock slows down ([Server.Run]); with 50 000 keys the error is up to 0.7 s.
//   - One lock: about 5 000 scripts a second in total, because each creates a Lua state. Every read
//     of a sorted set sorts it (1.5 ms with 10 000 members), and SETBIT copies the string.
//   - Callers are trusted. A request of zero words and a script that returns a function still end
//     the process. A script must not use BLOCK.
//
// # Remaining differences
//
// HyperLogLogs have the bytes and counts of Redis. But PFADD, PFCOUNT and PFMERGE are rejected in
// scripts and transactions, and so is PFCOUNT of several keys anywhere. The error of a command in a
// script arrives as "ERR Error compiling script …", so scripts should return numbers or
// redis.error_reply. GEO distances differ by 2 in 100 000. Pending entries whose message was trimmed
// vanish from XPENDING. cjson.encode({}) is "[]". INFO answers at once even between MULTI and EXEC.
package embedredis
