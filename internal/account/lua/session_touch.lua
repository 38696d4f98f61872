-- session_touch: let a session that is used live on, at most once in a while,
-- and say when its row is due for the same. Whoever is told so has claimed it:
-- of many requests at once one writes the row.
--
-- KEYS[1]  session:{S}   hash: user, until, row; or ended
-- ARGV[1]  when the session ends now unless it is used, unix milliseconds
-- ARGV[2]  life of the key, milliseconds
-- ARGV[3]  least time between two refreshes, milliseconds
-- ARGV[4]  least time between two refreshes of the row, milliseconds
--
-- returns  0 gone or ended   1 it lives on   2 it lives on, and its row is due
--
-- One key. O(1).
local s = redis.call('HMGET', KEYS[1], 'user', 'until', 'row')
if not s[1] then
  return 0
end
if tonumber(ARGV[1]) - tonumber(s[2]) < tonumber(ARGV[3]) then
  return 1
end
redis.call('HSET', KEYS[1], 'until', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
if tonumber(ARGV[1]) - tonumber(s[3]) < tonumber(ARGV[4]) then
  return 1
end
redis.call('HSET', KEYS[1], 'row', ARGV[1])
return 2
