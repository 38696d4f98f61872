// Package embedredis is a Redis inside the process, for the embedded mode and for tests.
//
// The database is miniredis, which was made for unit tests. Three things are added, because a server
// that runs for days needs them:
//
//   - Connections that are memory, not sockets ([Server.Dial]). No port is opened; a pipeline of any
//     length passes; a subscriber that stops reading costs memory up to [Options].OutputLimit and is
//     then cut off, while over TCP miniredis would stand still with it.
//   - A clock ([Server.Run]). miniredis expires nothing by itself, and its own clock walks over every
//     key at every command.
//   - A guard. What would end the process (miniredis panics on some arguments), what answers wrongly
//     and what Tandian forbids itself is refused: "ERR KEYS is not served by the embedded Redis". A
//     refusal inside MULTI makes EXEC abort, as in Redis.
//
// Client options that go-redis needs, beside those that every Tandian client has:
//
//	redis.Options{
//		Addr:                     "embedded", // only a name
//		Dialer:                   server.Dial,
//		Protocol:                 3,
//		ContextTimeoutEnabled:    true,
//		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
//	}
//
// DB stays 0, because SELECT is refused. go-redis watches a context's deadline but not its
// cancellation: a blocking read ends with its BLOCK time, with the deadline, or when client or server
// close.
//
// # Limits
//
//   - One process. Nobody outside can connect, and two processes see two different Redis.
//   - It starts empty and keeps nothing: all that matters is rebuilt from the database.
//   - About 50 000 keys. There is no maxmemory and no eviction; a key of 100 bytes takes about 370, and
//     every key name that was ever used keeps about 70.
//   - Expiry is off by up to 250 ms in both directions, so a TTL below half a second means little. From
//     about 30 000 keys on the clock slows down ([Server.Run]); with 50 000 it is off by up to 0.7 s.
//   - One lock: about 5 000 scripts a second in all, because each builds a new Lua state. Sorted sets
//     are sorted at every read (1.5 ms at 10 000 members), and SETBIT copies the string.
//   - Callers are trusted. A request of zero words and a script that returns a function still end the
//     process, and a script must not use BLOCK.
//
// # Differences that a guard cannot hide
//
// A HyperLogLog has the bytes of Redis and counts the same, but PFADD, PFCOUNT and PFMERGE are not
// served in scripts and transactions, and PFCOUNT not of several keys. An error that a command raises inside
// a script arrives as "ERR Error compiling script …", so scripts should return numbers or
// redis.error_reply. GEO distances differ by 2 in 100 000. Pending entries whose message was trimmed
// vanish from XPENDING. cjson.encode({}) is "[]". INFO answers at once even between MULTI and EXEC.
package embedredis
