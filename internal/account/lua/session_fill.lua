-- session_fill: store a session that was read from its row or has just begun. It does not
-- replace a live session, or an end mark: a reader that saw the row before a logout must not
-- restore the session. It replaces a hash of an earlier version, without "end".
--
-- KEYS[1]  session:{S}   hash: user, until, row, end; or ended
-- ARGV[1]  user id
-- ARGV[2]  expiry unless the session is used, unix milliseconds
-- ARGV[3]  last use in the row plus the lifetime of a session, unix milliseconds
-- ARGV[4]  latest possible end, unix milliseconds
-- ARGV[5]  lifetime of the key, milliseconds
--
-- returns  1 stored   0 already there
--
-- One key. O(1).
local s = redis.call('HMGET', KEYS[1], 'ended', 'end')
if s[1] or s[2] then
  return 0
end
redis.call('HSET', KEYS[1], 'user', ARGV[1], 'until', ARGV[2], 'row', ARGV[3], 'end', ARGV[4])
redis.call('PEXPIRE', KEYS[1], ARGV[5])
return 1
