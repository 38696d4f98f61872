-- session_end: end a session, and store an end mark for a while. The mark prevents a reader
-- that saw the row before the end from restoring the session.
--
-- KEYS[1]  session:{S}   hash: user, until, row, end; or ended
-- ARGV[1]  lifetime of the mark, milliseconds
--
-- returns  1
--
-- One key. O(1).
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'ended', '1')
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
