-- session_fill: store a session that was read from its row or has just begun. A live
-- session and an end mark stay: a reader that saw the row before a log-out must not
-- restore the session. A hash of an earlier version, without "end", is replaced.
--
-- KEYS[1]  session:{S}   hash: user, until, row, end; or ended
-- ARGV[1]  user id
-- ARGV[2]  when the session ends unless it is used, unix milliseconds
-- ARGV[3]  a session's life after the last use in its row, unix milliseconds
-- ARGV[4]  when it ends at the latest, unix milliseconds
-- ARGV[5]  life of the key, milliseconds
--
-- returns  1 stored   0 there was one
--
-- One key. O(1).
local s = redis.call('HMGET', KEYS[1], 'ended', 'end')
if s[1] or s[2] then
  return 0
end
redis.call('HSET', KEYS[1], 'user', ARGV[1], 'until', ARGV[2], 'row', ARGV[3], 'end', ARGV[4])
redis.call('PEXPIRE', KEYS[1], ARGV[5])
return 1
