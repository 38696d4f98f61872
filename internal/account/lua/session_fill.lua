-- session_fill: put a session that was read from its row, or has just begun,
-- into Redis, unless it is there already: living, or marked as ended. The mark
-- keeps a reader that saw the row just before the log-out from bringing the
-- session back.
--
-- KEYS[1]  session:{S}   hash: user, until, row; or ended
-- ARGV[1]  user id
-- ARGV[2]  when the session ends unless it is used, unix milliseconds
-- ARGV[3]  when it ends by its row, unix milliseconds
-- ARGV[4]  life of the key, milliseconds
--
-- returns  1 filled   0 there was one
--
-- One key. O(1).
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 0
end
redis.call('HSET', KEYS[1], 'user', ARGV[1], 'until', ARGV[2], 'row', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
