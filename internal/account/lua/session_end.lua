-- session_end: end a session, and leave a mark for a while: whoever has read
-- its row before it ended must not fill it in again.
--
-- KEYS[1]  session:{S}   hash: user, until, row, end; or ended
-- ARGV[1]  life of the mark, milliseconds
--
-- returns  1
--
-- One key. O(1).
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'ended', '1')
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
